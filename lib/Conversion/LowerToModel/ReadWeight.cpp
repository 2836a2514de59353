//===- ReadWeight.cpp - What part of a matrix a weight is -----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadWeight.h"

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace espalier;

/// Appends columns, as one range with the last where they follow it.
static void append(WeightPart &part, int64_t begin, int64_t count) {
  if (count == 0)
    return;
  if (!part.begins.empty() && part.begins.back() + part.counts.back() == begin)
    part.counts.back() += count;
  else {
    part.begins.push_back(begin);
    part.counts.push_back(count);
  }
}

/// Columns [begin, begin + count) of those that `part` has.
static void select(WeightPart &part, int64_t begin, int64_t count) {
  WeightPart selected{part.matrix, part.row, part.rows,
                      {},          {},       part.transposed};
  for (auto [first, size] : llvm::zip(part.begins, part.counts)) {
    int64_t from = std::clamp<int64_t>(begin, 0, size);
    int64_t to = std::clamp<int64_t>(begin + count, 0, size);
    append(selected, first + from, to - from);
    begin -= size;
  }
  part = selected;
}

FailureOr<WeightPart> espalier::readWeight(Value value, Operation *reader) {
  if (auto transpose = value.getDefiningOp<nn::TransposeOp>()) {
    FailureOr<WeightPart> part = readWeight(transpose.getMatrix(), reader);
    if (succeeded(part))
      part->transposed = !part->transposed;
    return part;
  }
  if (auto concat = value.getDefiningOp<tensor::ConcatOp>()) {
    std::optional<WeightPart> whole;
    for (Value piece : concat.getInputs()) {
      FailureOr<WeightPart> part = readWeight(piece, reader);
      if (failed(part))
        return failure();
      if (!whole) {
        whole = *part;
        continue;
      }
      if (whole->matrix != part->matrix || whole->row != part->row ||
          whole->rows != part->rows || whole->transposed != part->transposed)
        return reader->emitOpError("expects the columns of its weight to be "
                                   "of the same rows of one matrix");
      for (auto [begin, count] : llvm::zip(part->begins, part->counts))
        append(*whole, begin, count);
    }
    if (concat.getDim() != (whole->transposed ? 0u : 1u))
      return reader->emitOpError("cannot read a weight that is put together "
                                 "from rows of others");
    return *whole;
  }
  if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>()) {
    FailureOr<WeightPart> part = readWeight(slice.getSource(), reader);
    if (failed(part))
      return failure();
    unsigned rows = part->transposed ? 1 : 0, columns = 1 - rows;
    part->row += slice.getStaticOffsets()[rows];
    part->rows = slice.getType().getDimSize(rows);
    select(*part, slice.getStaticOffsets()[columns],
           slice.getType().getDimSize(columns));
    return part;
  }
  auto type = cast<RankedTensorType>(value.getType());
  WeightPart part{value, 0, type.getDimSize(0), {}, {}};
  append(part, 0, type.getDimSize(1));
  return part;
}
