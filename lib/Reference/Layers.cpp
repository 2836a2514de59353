//===- Layers.cpp - Operators of the nn dialect -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dense layers, embeddings, softmax, normalisation, dropout and groups of
// elementwise operators, on one row or on each of several. Activations are in
// Elementwise.cpp, losses in Losses.cpp.
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

Array reference::softmaxAdjoint(Operands operands) {
  const Array &output = *operands[0];
  Array result = *operands[1];
  size_t columns = output.shape.back();
  for (size_t row = 0; row != result.data.size(); row += columns) {
    double sum = 0;
    for (size_t i = row; i != row + columns; ++i)
      sum += result.data[i] * output.data[i];
    for (size_t i = row; i != row + columns; ++i)
      result.data[i] = output.data[i] * (result.data[i] - sum);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// layer_norm, dropout
//===----------------------------------------------------------------------===//

/// One row brought to mean 0 and variance 1, and what it was multiplied with.
static std::pair<std::vector<double>, double> normalize(ArrayRef<double> row,
                                                        double epsilon) {
  double count = row.size(), mean = 0, variance = 0;
  for (double x : row)
    mean += x / count;
  for (double x : row)
    variance += (x - mean) * (x - mean) / count;
  double factor = 1 / std::sqrt(variance + epsilon);
  std::vector<double> normal;
  for (double x : row)
    normal.push_back((x - mean) * factor);
  return {normal, factor};
}

Array reference::layerNorm(nn::LayerNormOp op, Operands operands) {
  const Array &scale = *operands[1], &shift = *operands[2];
  Array result = *operands[0];
  size_t columns = result.shape.back();
  for (size_t row = 0; row != result.data.size(); row += columns) {
    auto [normal, factor] = normalize(ArrayRef(result.data).slice(row, columns),
                                      op.getEpsilon().convertToDouble());
    for (size_t c = 0; c != columns; ++c) {
      size_t own = (row + c) % scale.data.size();
      result.data[row + c] = normal[c] * scale.data[own] + shift.data[own];
    }
  }
  return result;
}

SmallVector<ArrayPtr> reference::layerNormAdjoint(nn::LayerNormAdjointOp op,
                                                  Operands operands) {
  const Array &input = *operands[0], &scale = *operands[1];
  const Array &adjoint = *operands[2];
  Array ofInput = Array::zeros(input.shape), ofScale = ofInput;
  size_t columns = input.shape.back();
  for (size_t row = 0; row != input.data.size(); row += columns) {
    auto [normal, factor] = normalize(ArrayRef(input.data).slice(row, columns),
                                      op.getEpsilon().convertToDouble());
    // The adjoints of the normal row; and through mean and variance.
    std::vector<double> scaled(columns);
    double mean = 0, product = 0;
    for (size_t c = 0; c != columns; ++c) {
      scaled[c] =
          adjoint.data[row + c] * scale.data[(row + c) % scale.data.size()];
      mean += scaled[c] / columns;
      product += scaled[c] * normal[c] / columns;
      ofScale.data[row + c] = adjoint.data[row + c] * normal[c];
    }
    for (size_t c = 0; c != columns; ++c)
      ofInput.data[row + c] = factor * (scaled[c] - mean - normal[c] * product);
  }
  return {std::make_shared<Array>(std::move(ofInput)),
          std::make_shared<Array>(std::move(ofScale))};
}

/// As nn.dropout says it.
static uint32_t mix(uint32_t a) {
  a ^= a >> 16;
  a *= 0x7feb352d;
  a ^= a >> 15;
  a *= 0x846ca68b;
  return a ^ a >> 16;
}

Array reference::dropout(nn::DropoutOp op, Operands operands) {
  const Array &seeds = *operands[1], &rows = *operands[2];
  Array result = *operands[0];
  double kept = 1 - op.getProbability().convertToDouble();
  auto threshold = (uint32_t)std::round(std::ldexp(kept, 31));
  size_t columns = result.data.size() / std::max<size_t>(1, rows.data.size());
  auto asUnsigned = [](double x) { return (uint32_t)(int32_t)x; };
  for (size_t i = 0; i != result.data.size(); ++i) {
    uint32_t row = i / columns, column = i % columns;
    uint32_t seed = asUnsigned(seeds.data[row % seeds.data.size()]);
    uint32_t key =
        mix(mix(seed + 0x9e3779b9 * op.getSite()) + asUnsigned(rows.data[row]));
    bool isKept = mix(key + 0x9e3779b9 * column) >> 1 < threshold;
    result.data[i] = isKept ? result.data[i] / kept : 0;
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
