//===- NNInterfaces.cpp - Cost and batched forms of layer operators -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace espalier::nn;

using Batched = FailureOr<SmallVector<Value>>;

/// One vector of results.
static Batched single(Operation *op) {
  return SmallVector<Value>(op->getResults());
}

//===----------------------------------------------------------------------===//
// BatchableOpInterface
//===----------------------------------------------------------------------===//

/// Operators that work on rows of one dimension add one for the batch.
static LogicalResult checkRank(Operation *op, Value row, int64_t rank) {
  auto type = cast<RankedTensorType>(row.getType());
  if (type.getRank() == rank)
    return success();
  return op->emitOpError("has no batched form over values of rank ")
         << type.getRank() << "; expects rank " << rank << " in a vertex "
         << "function, but got " << type;
}

Batched MatmulOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  if (failed(checkRank(*this, getInput(), 1)))
    return failure();
  if (isRowsType(operands[1].getType()))
    return emitOpError("has no batched form with a weight that differs from "
                       "vertex to vertex; use nn.row_matmul");
  return single(MatmulOp::create(builder, getLoc(), operands[0], operands[1]));
}

Batched DenseOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  if (failed(checkRank(*this, getInput(), 1)))
    return failure();
  if (isRowsType(operands[1].getType()) || isRowsType(operands[2].getType()))
    return emitOpError("has no batched form with a weight or bias that "
                       "differs from vertex to vertex");
  return single(DenseOp::create(builder, getLoc(), operands[0], operands[1],
                                operands[2]));
}

Batched EmbeddingOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  if (failed(checkRank(*this, getIds(), 0)))
    return failure();
  if (isRowsType(operands[0].getType()))
    return emitOpError("has no batched form with a table that differs from "
                       "vertex to vertex");
  return single(
      EmbeddingOp::create(builder, getLoc(), operands[0], operands[1]));
}

Batched SoftmaxOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  if (failed(checkRank(*this, getInput(), 1)))
    return failure();
  return single(SoftmaxOp::create(builder, getLoc(), operands[0]));
}

// An operand that all rows share is a view of rows, and costs nothing.
bool LayerNormOp::needsRows() { return true; }
bool LayerNormAdjointOp::needsRows() { return true; }
bool DropoutOp::needsRows() { return true; }
bool SoftmaxCrossEntropyOp::needsRows() { return true; }
bool SoftmaxCrossEntropyAdjointOp::needsRows() { return true; }
bool BinaryCrossEntropyOp::needsRows() { return true; }
bool BinaryCrossEntropyAdjointOp::needsRows() { return true; }
bool CorrectOp::needsRows() { return true; }
bool RowMatmulOp::needsRows() { return true; }
bool OuterOp::needsRows() { return true; }

Batched LayerNormOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  if (failed(checkRank(*this, getInput(), 1)))
    return failure();
  return single(LayerNormOp::create(builder, getLoc(), operands[0], operands[1],
                                    operands[2], getEpsilonAttr()));
}

Batched LayerNormAdjointOp::buildBatched(OpBuilder &builder,
                                         ValueRange operands) {
  if (failed(checkRank(*this, getInput(), 1)))
    return failure();
  return single(LayerNormAdjointOp::create(builder, getLoc(), operands[0],
                                           operands[1], operands[2],
                                           getEpsilonAttr()));
}

Batched DropoutOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  return single(DropoutOp::create(builder, getLoc(), operands[0], operands[1],
                                  operands[2], getProbabilityAttr(),
                                  getSiteAttr()));
}

Batched SoftmaxCrossEntropyOp::buildBatched(OpBuilder &builder,
                                            ValueRange operands) {
  if (failed(checkRank(*this, getLogits(), 1)))
    return failure();
  return single(SoftmaxCrossEntropyOp::create(builder, getLoc(), operands[0],
                                              operands[1]));
}

Batched SoftmaxCrossEntropyAdjointOp::buildBatched(OpBuilder &builder,
                                                   ValueRange operands) {
  if (failed(checkRank(*this, getLogits(), 1)))
    return failure();
  return single(SoftmaxCrossEntropyAdjointOp::create(
      builder, getLoc(), operands[0].getType(), operands));
}

Batched BinaryCrossEntropyOp::buildBatched(OpBuilder &builder,
                                           ValueRange operands) {
  if (failed(checkRank(*this, getLogits(), 1)))
    return failure();
  return single(BinaryCrossEntropyOp::create(builder, getLoc(), operands[0],
                                             operands[1]));
}

Batched BinaryCrossEntropyAdjointOp::buildBatched(OpBuilder &builder,
                                                  ValueRange operands) {
  if (failed(checkRank(*this, getLogits(), 1)))
    return failure();
  return single(BinaryCrossEntropyAdjointOp::create(
      builder, getLoc(), operands[0].getType(), operands));
}

Batched CorrectOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  if (failed(checkRank(*this, getLogits(), 1)))
    return failure();
  return single(CorrectOp::create(builder, getLoc(), operands[0], operands[1]));
}

Batched SumOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  return single(SumOp::create(builder, getLoc(), operands[0]));
}

Batched RowMatmulOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  return single(RowMatmulOp::create(builder, getLoc(), operands[0], operands[1],
                                    getTransposedAttr()));
}

Batched OuterOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  if (failed(checkRank(*this, getX(), 1)))
    return failure();
  return single(OuterOp::create(builder, getLoc(), operands[0], operands[1]));
}

Batched ElementwiseOp::buildBatched(OpBuilder &builder, ValueRange operands) {
  SmallVector<Type> types;
  for (Type type : getResultTypes())
    types.push_back(getRowsType(type));
  auto batched = ElementwiseOp::create(builder, getLoc(), types, operands);
  IRMapping mapping;
  getBody().cloneInto(&batched.getBody(), mapping);
  return single(batched);
}

//===----------------------------------------------------------------------===//
// CostOpInterface
//===----------------------------------------------------------------------===//

/// Elements of one row.
static int64_t rowElements(Type type) {
  if (isRowsType(type))
    type = getRowType(type);
  auto tensor = cast<RankedTensorType>(type);
  return tensor.hasStaticShape() ? tensor.getNumElements() : 0;
}

int64_t MatmulOp::getFlops() {
  auto weight = cast<RankedTensorType>(getWeight().getType());
  return 2 * weight.getNumElements() * rowElements(getResult().getType()) /
         std::max<int64_t>(1, weight.getDimSize(1));
}

int64_t DenseOp::getFlops() {
  auto weight = cast<RankedTensorType>(getWeight().getType());
  int64_t elements = rowElements(getResult().getType());
  return 2 * weight.getNumElements() * elements /
             std::max<int64_t>(1, weight.getDimSize(1)) +
         elements;
}

int64_t EmbeddingOp::getFlops() { return 0; }

int64_t SoftmaxOp::getFlops() {
  // A maximum, a subtraction, an exponential, a sum and a division each.
  return 5 * rowElements(getInput().getType());
}

int64_t LayerNormOp::getFlops() {
  // Two sums, a difference and its square, and three more.
  return 7 * rowElements(getInput().getType());
}

int64_t LayerNormAdjointOp::getFlops() {
  return 17 * rowElements(getInput().getType());
}

int64_t DropoutOp::getFlops() {
  // Integer operations count as well: a hash of eight, a test, a product.
  return 12 * rowElements(getInput().getType());
}

int64_t ElementwiseOp::getFlops() {
  int64_t flops = 0;
  for (Operation &op : getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>() && op.getNumResults() == 1)
      flops += rowElements(op.getResult(0).getType());
  return flops;
}

int64_t SoftmaxCrossEntropyOp::getFlops() {
  return 4 * rowElements(getLogits().getType());
}

int64_t SoftmaxCrossEntropyAdjointOp::getFlops() {
  return 6 * rowElements(getLogits().getType());
}

int64_t BinaryCrossEntropyOp::getFlops() {
  return 6 * rowElements(getLogits().getType());
}

int64_t BinaryCrossEntropyAdjointOp::getFlops() {
  return 6 * rowElements(getLogits().getType());
}

int64_t CorrectOp::getFlops() { return rowElements(getLogits().getType()); }

int64_t SumOp::getFlops() { return rowElements(getInput().getType()); }

int64_t SumRowsOp::getFlops() { return rowElements(getRows().getType()); }

int64_t RowMatmulOp::getFlops() {
  return 2 * rowElements(getMatrix().getType());
}

int64_t OuterOp::getFlops() { return rowElements(getResult().getType()); }

int64_t OuterSumOp::getFlops() {
  auto x = cast<RankedTensorType>(getX().getType());
  int64_t rows = isRowsType(x) ? 1 : x.getDimSize(0);
  return 2 * rows * getType().getNumElements();
}

int64_t ScatterRowsOp::getFlops() { return rowElements(getRows().getType()); }
