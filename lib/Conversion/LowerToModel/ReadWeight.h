//===- ReadWeight.h - What part of a matrix a weight is ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_CONVERSION_LOWERTOMODEL_READWEIGHT_H
#define ESPALIER_CONVERSION_LOWERTOMODEL_READWEIGHT_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace espalier {

/// Rows [row, row + rows) of `matrix`, and of these rows the columns
/// [begins[i], begins[i] + counts[i]), side by side; `transposed`, the
/// transpose of that.
struct WeightPart {
  mlir::Value matrix;
  int64_t row, rows;
  llvm::SmallVector<int64_t> begins, counts;
  bool transposed = false;
};

/// Sees through static slices, transposes and concatenations of columns (rows
/// of a transpose); `reader` reports the error if these are of different
/// matrices or rows.
mlir::FailureOr<WeightPart> readWeight(mlir::Value value,
                                       mlir::Operation *reader);

} // namespace espalier

#endif // ESPALIER_CONVERSION_LOWERTOMODEL_READWEIGHT_H
