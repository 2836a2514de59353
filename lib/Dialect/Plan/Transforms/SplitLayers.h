//===- SplitLayers.h - Layers a part of the batch at a time -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_TRANSFORMS_SPLITLAYERS_H
#define ESPALIER_DIALECT_PLAN_TRANSFORMS_SPLITLAYERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace espalier::plan {

/// Splits the operators of the layered network `function` that need more than
/// `limit` bytes at a time, and those that make or read the same batches, into
/// `parts`. How many were split; none if it gains nothing.
mlir::FailureOr<int64_t> splitLayers(mlir::func::FuncOp function, int64_t limit,
                                     int32_t parts);

} // namespace espalier::plan

#endif // ESPALIER_DIALECT_PLAN_TRANSFORMS_SPLITLAYERS_H
