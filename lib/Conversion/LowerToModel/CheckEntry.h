//===- CheckEntry.h - What an entry must be to be lowered -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_CONVERSION_LOWERTOMODEL_CHECKENTRY_H
#define ESPALIER_CONVERSION_LOWERTOMODEL_CHECKENTRY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace espalier {

/// Reports an error unless every tensor of `function` is one row or rows that a
/// buffer can hold, and every operator works on them row by row.
mlir::LogicalResult checkEntry(mlir::func::FuncOp function);

} // namespace espalier

#endif // ESPALIER_CONVERSION_LOWERTOMODEL_CHECKENTRY_H
