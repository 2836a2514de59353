//===- SavedValues.h - What a backward pass keeps ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_VERTEX_TRANSFORMS_SAVEDVALUES_H
#define ESPALIER_DIALECT_VERTEX_TRANSFORMS_SAVEDVALUES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace espalier::vertex {

/// Chooses which values of a block's operators to keep, so that those of
/// `needed` can be had again: a value is kept, or computed again from values
/// that can be had again. Keeping a value of `free` costs nothing, any other
/// its bytes per vertex; computing one again costs nothing if its operator is
/// cheap (see isCheap), and is not done otherwise. The bytes kept are the
/// fewest possible, and of equal choices it takes the one that computes least.
///
/// Values without a defining operator in `operators` can always be had.
llvm::SetVector<mlir::Value>
chooseSavedValues(llvm::ArrayRef<mlir::Operation *> operators,
                  const llvm::SetVector<mlir::Value> &needed,
                  const llvm::DenseSet<mlir::Value> &free, bool recompute);

/// Whether computing the results of `op` again takes less than keeping them:
/// elementwise operators, and others of few operations an element.
bool isCheap(mlir::Operation *op);

} // namespace espalier::vertex

#endif // ESPALIER_DIALECT_VERTEX_TRANSFORMS_SAVEDVALUES_H
