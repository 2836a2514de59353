//===- LowerNetwork.h - Layered networks become steps -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_CONVERSION_LOWERTOMODEL_LOWERNETWORK_H
#define ESPALIER_CONVERSION_LOWERTOMODEL_LOWERNETWORK_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace espalier {

/// Writes a function that `assign-buffers` has planned as a model.entry, and
/// its kernels beside it.
mlir::LogicalResult lowerNetwork(mlir::func::FuncOp function,
                                 mlir::SymbolTable &symbols,
                                 unsigned vectorBits);

} // namespace espalier

#endif // ESPALIER_CONVERSION_LOWERTOMODEL_LOWERNETWORK_H
