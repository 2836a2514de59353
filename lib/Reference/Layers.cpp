//===- Layers.cpp - Operators of the nn dialect -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dense layers, embeddings, softmax and groups of elementwise operators, on
// one row or on each of several. Activations are in Elementwise.cpp.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

Array reference::matmul(Operands operands) {
  const Array &input = *operands[0];
  const Array &weight = *operands[1];
  size_t K = weight.shape[0], N = weight.shape[1];
  std::vector<int64_t> shape = input.shape;
  shape.back() = N;
  Array result = Array::zeros(shape);
  size_t rows = N == 0 ? 0 : result.data.size() / N;
  for (size_t r = 0; r != rows; ++r)
    for (size_t k = 0; k != K; ++k) {
      double x = input.data[r * K + k];
      for (size_t n = 0; n != N; ++n)
        result.data[r * N + n] += x * weight.data[k * N + n];
    }
  return result;
}

Array reference::dense(Operands operands) {
  Array result = matmul(operands.take_front(2));
  const Array &bias = *operands[2];
  for (size_t i = 0; i != result.data.size(); ++i)
    result.data[i] += bias.data[i % bias.data.size()];
  return result;
}

FailureOr<Array> reference::embedding(nn::EmbeddingOp op, Operands operands,
                                      const Context &context) {
  const Array &table = *operands[0];
  const Array &ids = *operands[1];
  int64_t rows = table.shape[0], columns = table.shape[1];
  std::vector<int64_t> shape = ids.shape;
  shape.push_back(columns);
  Array result = Array::zeros(shape);
  for (size_t i = 0; i != ids.data.size(); ++i) {
    int64_t id = (int64_t)ids.data[i];
    if (id >= rows)
      return op.emitOpError()
             << context.describe(i, ids.data.size()) << ": id " << id
             << " is outside the table, which has " << rows
             << " rows; ids and weights must come from the same vocabulary";
    if (id < 0)
      continue;
    std::copy_n(table.data.begin() + id * columns, columns,
                result.data.begin() + i * columns);
  }
  return result;
}

Array reference::softmax(Operands operands) {
  Array result = *operands[0];
  size_t columns = result.shape.back();
  for (size_t row = 0; row != result.data.size(); row += columns) {
    double *x = result.data.data() + row;
    double greatest = *std::max_element(x, x + columns);
    double sum = 0;
    for (size_t i = 0; i != columns; ++i)
      sum += x[i] = std::exp(x[i] - greatest);
    for (size_t i = 0; i != columns; ++i)
      x[i] /= sum;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// elementwise
//===----------------------------------------------------------------------===//

/// Row `row` of a batch of rows.
static ArrayPtr rowOf(const Array &rows, int64_t row) {
  Array result = Array::zeros({rows.shape.begin() + 1, rows.shape.end()});
  size_t count = result.data.size();
  std::copy_n(rows.data.begin() + row * count, count, result.data.begin());
  return std::make_shared<Array>(std::move(result));
}

/// What the body of `op` yields for one row.
static FailureOr<SmallVector<ArrayPtr>>
evaluateBody(nn::ElementwiseOp op, Operands arguments, const Context &context) {
  Block &body = op.getBody().front();
  llvm::DenseMap<Value, ArrayPtr> values;
  for (auto [value, array] : llvm::zip_equal(body.getArguments(), arguments))
    values[value] = array;
  auto lookup = [&](Value value) { return values.lookup(value); };
  for (Operation &inner : body.without_terminator()) {
    SmallVector<ArrayPtr> operands =
        llvm::map_to_vector(inner.getOperands(), lookup);
    FailureOr<SmallVector<ArrayPtr>> results =
        evaluate(&inner, operands, context);
    if (failed(results))
      return failure();
    for (auto [value, array] : llvm::zip_equal(inner.getResults(), *results))
      values[value] = array;
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(), lookup);
}

FailureOr<SmallVector<ArrayPtr>>
reference::elementwiseGroup(nn::ElementwiseOp op, Operands operands,
                            const Context &context) {
  if (!op.isBatched())
    return evaluateBody(op, operands, context);

  Block &body = op.getBody().front();
  auto isBatch = [&](size_t index) {
    return op.getInputs()[index].getType() != body.getArgument(index).getType();
  };
  std::optional<int64_t> rows;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    if (!isBatch(index))
      continue;
    if (rows && *rows != operand->shape[0])
      return op.emitOpError("expects inputs of as many rows, but input #")
             << index << " has " << operand->shape[0] << " and one before it "
             << *rows;
    rows = operand->shape[0];
  }

  SmallVector<Array> results;
  for (Value yielded : body.getTerminator()->getOperands()) {
    std::vector<int64_t> shape{*rows};
    llvm::append_range(shape, cast<ShapedType>(yielded.getType()).getShape());
    results.push_back(Array::zeros(shape));
  }
  for (int64_t row = 0; row != *rows; ++row) {
    SmallVector<ArrayPtr> arguments;
    for (auto [index, operand] : llvm::enumerate(operands))
      arguments.push_back(isBatch(index) ? rowOf(*operand, row) : operand);
    FailureOr<SmallVector<ArrayPtr>> yielded =
        evaluateBody(op, arguments, context);
    if (failed(yielded))
      return failure();
    for (auto [result, part] : llvm::zip_equal(results, *yielded))
      llvm::copy(part->data,
                 result.data.begin() + row * (int64_t)part->data.size());
  }
  return llvm::map_to_vector(results, [](Array &result) -> ArrayPtr {
    return std::make_shared<Array>(std::move(result));
  });
}
