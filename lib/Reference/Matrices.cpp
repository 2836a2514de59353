//===- Matrices.cpp - Sums, products of rows, rows of tables ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What adjoints are made of, on one row or on each of several.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <map>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

/// How many rows `array` has, as a value of type `type`; 1 if it is one row.
static int64_t rowsOf(Type type, const Array &array) {
  return nn::isRowsType(type) ? array.shape[0] : 1;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Array reference::broadcast(nn::BroadcastOp op, Operands operands) {
  std::vector<int64_t> shape =
      cast<RankedTensorType>(op.getType()).getShape().vec();
  int64_t rows = rowsOf(op.getType(), *operands[0]);
  if (nn::isRowsType(op.getType()))
    shape[0] = rows;
  Array result = Array::zeros(shape);
  for (size_t i = 0; i != result.data.size(); ++i)
    result.data[i] = operands[0]->data[i / (result.data.size() / (size_t)rows)];
  return result;
}

Array reference::sum(nn::SumOp op, Operands operands) {
  const Array &input = *operands[0];
  Type type = op.getInput().getType();
  int64_t rows = rowsOf(type, input);
  Array result = Array::zeros(nn::isRowsType(type) ? std::vector<int64_t>{rows}
                                                   : std::vector<int64_t>{});
  for (auto [i, element] : llvm::enumerate(input.data))
    result.data[i / (input.data.size() / (size_t)rows)] += element;
  return result;
}

Array reference::sumRows(Operands operands) {
  const Array &rows = *operands[0];
  Array result = Array::zeros({rows.shape.begin() + 1, rows.shape.end()});
  for (auto [i, element] : llvm::enumerate(rows.data))
    result.data[i % result.data.size()] += element;
  return result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Array reference::transpose(Operands operands) {
  const Array &matrix = *operands[0];
  int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  Array result = Array::zeros({columns, rows});
  for (int64_t i = 0; i != rows; ++i)
    for (int64_t j = 0; j != columns; ++j)
      result.data[j * rows + i] = matrix.data[i * columns + j];
  return result;
}

Array reference::rowMatmul(nn::RowMatmulOp op, Operands operands) {
  const Array &input = *operands[0], &matrix = *operands[1];
  int64_t rows = rowsOf(op.getInput().getType(), input);
  int64_t K = matrix.shape[matrix.shape.size() - 2], N = matrix.shape.back();
  int64_t in = op.getTransposed() ? N : K, out = op.getTransposed() ? K : N;
  std::vector<int64_t> shape = input.shape;
  shape.back() = out;
  Array result = Array::zeros(shape);
  for (int64_t row = 0; row != rows; ++row)
    for (int64_t i = 0; i != in; ++i)
      for (int64_t o = 0; o != out; ++o) {
        int64_t k = op.getTransposed() ? o : i, n = op.getTransposed() ? i : o;
        result.data[row * out + o] +=
            input.data[row * in + i] * matrix.data[(row * K + k) * N + n];
      }
  return result;
}

Array reference::outer(nn::OuterOp op, Operands operands) {
  const Array &x = *operands[0], &y = *operands[1];
  int64_t rows = rowsOf(op.getX().getType(), x);
  int64_t K = x.shape.back(), N = y.shape.back();
  std::vector<int64_t> shape = x.shape;
  shape.push_back(N);
  Array result = Array::zeros(shape);
  for (int64_t row = 0; row != rows; ++row)
    for (int64_t k = 0; k != K; ++k)
      for (int64_t n = 0; n != N; ++n)
        result.data[(row * K + k) * N + n] =
            x.data[row * K + k] * y.data[row * N + n];
  return result;
}

FailureOr<Array> reference::outerSum(nn::OuterSumOp op, Operands operands) {
  const Array &x = *operands[0], &y = *operands[1];
  if (x.shape[0] != y.shape[0])
    return op.emitOpError("expects as many rows of x as of y, but got ")
           << x.shape[0] << " and " << y.shape[0];
  int64_t K = x.shape[1], N = y.shape[1];
  Array result = Array::zeros({K, N});
  for (int64_t row = 0; row != x.shape[0]; ++row)
    for (int64_t k = 0; k != K; ++k)
      for (int64_t n = 0; n != N; ++n)
        result.data[k * N + n] += x.data[row * K + k] * y.data[row * N + n];
  return result;
}

//===----------------------------------------------------------------------===//
// Rows of a table
//===----------------------------------------------------------------------===//

/// Calls `visit` with the number and the id of each row that has one, or
/// reports an error if the id is no row of the table.
static LogicalResult
forEachId(Operation *op, const Array &ids, int64_t rows,
          function_ref<void(int64_t row, int64_t id)> visit) {
  for (auto [row, id] : llvm::enumerate(ids.data)) {
    if (id >= rows)
      return op->emitOpError("row ")
             << row << ": id " << (int64_t)id
             << " is outside the table, which has " << rows << " rows";
    if (id >= 0)
      visit(row, (int64_t)id);
  }
  return success();
}

FailureOr<Array> reference::scatterRows(nn::ScatterRowsOp op,
                                        Operands operands) {
  Array result =
      Array::zeros(cast<RankedTensorType>(op.getType()).getShape().vec());
  int64_t columns = result.shape[1];
  auto add = [&](int64_t row, int64_t id) {
    for (int64_t c = 0; c != columns; ++c)
      result.data[id * columns + c] += operands[0]->data[row * columns + c];
  };
  if (failed(forEachId(op, *operands[1], result.shape[0], add)))
    return failure();
  return result;
}

SmallVector<ArrayPtr> reference::combineRows(Operands operands) {
  const Array &rows = *operands[0], &ids = *operands[1];
  int64_t columns = rows.shape[1];
  Array sums = Array::zeros(rows.shape), owners = Array::zeros(ids.shape);
  std::map<double, int64_t> first;
  for (auto [row, id] : llvm::enumerate(ids.data)) {
    owners.data[row] = -1;
    if (id < 0)
      continue;
    auto [it, inserted] = first.try_emplace(id, row);
    if (inserted)
      owners.data[row] = id;
    for (int64_t c = 0; c != columns; ++c)
      sums.data[it->second * columns + c] += rows.data[row * columns + c];
  }
  return {std::make_shared<Array>(std::move(sums)),
          std::make_shared<Array>(std::move(owners))};
}

FailureOr<Array> reference::updateRows(nn::UpdateRowsOp op, Operands operands) {
  Array result = *operands[0];
  int64_t columns = result.shape[1];
  auto replace = [&](int64_t row, int64_t id) {
    std::copy_n(operands[2]->data.begin() + row * columns, columns,
                result.data.begin() + id * columns);
  };
  if (failed(forEachId(op, *operands[1], result.shape[0], replace)))
    return failure();
  return result;
}
