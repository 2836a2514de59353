//===- KernelBuilder.h - Functions over rows from operators -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_CONVERSION_LOWERTOMODEL_KERNELBUILDER_H
#define ESPALIER_CONVERSION_LOWERTOMODEL_KERNELBUILDER_H

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace espalier {

/// The attribute that marks a kernel function.
constexpr llvm::StringLiteral kKernelAttrName = "model.kernel";

/// Builds `func.func private @name(%operands: !llvm.ptr, %begin: i64,
/// %end: i64)`, an espalier_kernel that runs `op` over rows. Its operands are
/// the operator's operands, then its results; `indexed` says of each whether
/// its rows are found through an index (espalier_kernel_operand::index), and
/// `inPlace` that a result may lie where an operand does.
mlir::func::FuncOp buildKernel(mlir::OpBuilder &builder, llvm::StringRef name,
                               nn::RowKernelOpInterface op,
                               llvm::ArrayRef<bool> indexed,
                               unsigned vectorBits, bool inPlace);

} // namespace espalier

#endif // ESPALIER_CONVERSION_LOWERTOMODEL_KERNELBUILDER_H
