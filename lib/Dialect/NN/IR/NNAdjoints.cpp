//===- NNAdjoints.cpp - Derivatives of layer operators --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DifferentiableOpInterface. In the formulas d is the adjoint of the result.
// Where a function of the result will do, it is used: the result is more often
// kept anyway, and tanh and sigmoid then need no other value.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace espalier::nn;

/// Whether `type` is a batch, of static size or not, of rows with one
/// dimension.
static bool isBatchOfRows(Type type) {
  return cast<RankedTensorType>(type).getRank() == 2;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// dx = d W^T, dW = x^T d. Over a batch the products of all rows are summed.
static void addProduct(OpBuilder &builder, Location loc, Adjoints &adjoints,
                       Value input, Value weight, Value adjoint) {
  if (adjoints.wants(input))
    adjoints.add(input,
                 MatmulOp::create(builder, loc, adjoint,
                                  TransposeOp::create(builder, loc, weight)));
  if (!adjoints.wants(weight))
    return;
  // The adjoint of W is the transpose of W^T's, which is had by swapping.
  Value x = input, y = adjoint;
  if (auto transpose = weight.getDefiningOp<TransposeOp>()) {
    weight = transpose.getMatrix();
    std::swap(x, y);
  }
  if (isBatchOfRows(x.getType()))
    adjoints.add(weight, OuterSumOp::create(builder, loc, x, y));
  else
    adjoints.add(weight, OuterOp::create(builder, loc, x, y));
}

void MatmulOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  addProduct(builder, getLoc(), adjoints, getInput(), getWeight(),
             adjoints.of(getResult()));
}

void DenseOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  Value adjoint = adjoints.of(getResult());
  addProduct(builder, getLoc(), adjoints, getInput(), getWeight(), adjoint);
  if (!adjoints.wants(getBias()))
    return;
  adjoints.add(getBias(),
               isBatchOfRows(adjoint.getType())
                   ? Value(SumRowsOp::create(builder, getLoc(), adjoint))
                   : adjoint);
}

/// y = x M or y = x M^T: the other one gives dx = d M^T or d M.
void RowMatmulOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  Value adjoint = adjoints.of(getResult());
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(),
                 RowMatmulOp::create(builder, getLoc(), adjoint, getMatrix(),
                                     !getTransposed()));
  if (!adjoints.wants(getMatrix()))
    return;
  Value x = getInput(), y = adjoint;
  if (getTransposed())
    std::swap(x, y);
  adjoints.add(getMatrix(), OuterOp::create(builder, getLoc(), x, y));
}

/// z[i, j] = x[i] y[j]: dx = d y, dy = x d, of the matrix d.
void OuterOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  Value adjoint = adjoints.of(getResult());
  if (adjoints.wants(getX()))
    adjoints.add(getX(), RowMatmulOp::create(builder, getLoc(), getY(), adjoint,
                                             /*transposed=*/true));
  if (adjoints.wants(getY()))
    adjoints.add(getY(), RowMatmulOp::create(builder, getLoc(), getX(), adjoint,
                                             /*transposed=*/false));
}

void EmbeddingOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getTable()))
    adjoints.add(getTable(),
                 ScatterRowsOp::create(builder, getLoc(), getTable().getType(),
                                       adjoints.of(getResult()), getIds()));
}

//===----------------------------------------------------------------------===//
// Normalisation, dropout
//===----------------------------------------------------------------------===//

void LayerNormOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  Location loc = getLoc();
  Value d = adjoints.of(getResult());
  // Over a batch, scale and shift are shared by all rows, or not.
  auto addShared = [&](Value operand, Value rows) {
    adjoints.add(operand, operand.getType() == rows.getType()
                              ? rows
                              : SumRowsOp::create(builder, loc, rows));
  };
  if (adjoints.wants(getInput()) || adjoints.wants(getScale())) {
    auto both = LayerNormAdjointOp::create(builder, loc, getInput(), getScale(),
                                           d, getEpsilonAttr());
    adjoints.add(getInput(), both.getInputAdjoint());
    if (adjoints.wants(getScale()))
      addShared(getScale(), both.getScaleAdjoint());
  }
  if (adjoints.wants(getShift()))
    addShared(getShift(), d);
}

void DropoutOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  // The same elements are dropped of the adjoint.
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(),
                 DropoutOp::create(builder, getLoc(), adjoints.of(getResult()),
                                   getSeed(), getRow(), getProbabilityAttr(),
                                   getSiteAttr()));
}

//===----------------------------------------------------------------------===//
// Losses, sums
//===----------------------------------------------------------------------===//

void SoftmaxOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  // y (d - sum(d y))
  if (!adjoints.wants(getInput()))
    return;
  Location loc = getLoc();
  Value y = getResult(), d = adjoints.of(y);
  auto type = cast<RankedTensorType>(y.getType());
  if (type.getRank() == 2 && type.hasStaticShape()) {
    adjoints.add(getInput(),
                 SoftmaxAdjointOp::create(builder, loc, type, y, d));
    return;
  }
  Value sum =
      SumOp::create(builder, loc, arith::MulFOp::create(builder, loc, d, y));
  Value spread = BroadcastOp::create(builder, loc, y.getType(), sum);
  Value difference = arith::SubFOp::create(builder, loc, d, spread);
  adjoints.add(getInput(), arith::MulFOp::create(builder, loc, difference, y));
}

void SoftmaxCrossEntropyOp::buildAdjoint(OpBuilder &builder,
                                         Adjoints &adjoints) {
  if (adjoints.wants(getLogits()))
    adjoints.add(getLogits(),
                 SoftmaxCrossEntropyAdjointOp::create(
                     builder, getLoc(), getLogits().getType(), getLogits(),
                     getLabels(), adjoints.of(getLoss())));
}

void BinaryCrossEntropyOp::buildAdjoint(OpBuilder &builder,
                                        Adjoints &adjoints) {
  if (adjoints.wants(getLogits()))
    adjoints.add(getLogits(),
                 BinaryCrossEntropyAdjointOp::create(
                     builder, getLoc(), getLogits().getType(), getLogits(),
                     getLabels(), adjoints.of(getLoss())));
}

void BroadcastOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getScalar()))
    adjoints.add(getScalar(),
                 SumOp::create(builder, getLoc(), adjoints.of(getResult())));
}

void SumOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(),
                 BroadcastOp::create(builder, getLoc(), getInput().getType(),
                                     adjoints.of(getResult())));
}

/// `row` in every row of the static batch `type`.
static Value spreadRow(OpBuilder &builder, Location loc, Value row,
                       RankedTensorType type) {
  if (type.getRank() == 1)
    return BroadcastOp::create(builder, loc, type, row);
  // Columns are channels of rows without height and width.
  int64_t columns = cast<RankedTensorType>(row.getType()).getNumElements();
  Type element = type.getElementType();
  auto flat = RankedTensorType::get(columns, element);
  auto matrix = RankedTensorType::get({type.getDimSize(0), columns}, element);
  auto all = llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank() - 1));
  if (all.size() > 1)
    row = tensor::CollapseShapeOp::create(builder, loc, flat, row,
                                          ArrayRef<ReassociationIndices>(all));
  Value spread = SpreadChannelsOp::create(builder, loc, matrix, row);
  if (all.size() == 1)
    return spread;
  for (int64_t &dim : all)
    ++dim;
  return tensor::ExpandShapeOp::create(
      builder, loc, type, spread, ArrayRef<ReassociationIndices>{{0}, all});
}

void SumRowsOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (!adjoints.wants(getRows()))
    return;
  Location loc = getLoc();
  Value adjoint = adjoints.of(getResult());
  if (!isRowsType(getRows().getType())) {
    adjoints.add(getRows(),
                 spreadRow(builder, loc, adjoint,
                           cast<RankedTensorType>(getRows().getType())));
    return;
  }
  // The same row for all; the rows themselves only say how many.
  auto spread = ElementwiseOp::create(builder, loc, getRows().getType(),
                                      ValueRange{getRows(), adjoint});
  OpBuilder::InsertionGuard guard(builder);
  Block *body =
      builder.createBlock(&spread.getBody(), {},
                          {adjoint.getType(), adjoint.getType()}, {loc, loc});
  YieldOp::create(builder, loc, ValueRange{body->getArgument(1)});
  adjoints.add(getRows(), spread.getResult(0));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

void SigmoidOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  // d (y - y y)
  if (!adjoints.wants(getInput()))
    return;
  Location loc = getLoc();
  Value y = getResult();
  Value square = arith::MulFOp::create(builder, loc, y, y);
  Value slope = arith::SubFOp::create(builder, loc, y, square);
  adjoints.add(getInput(),
               arith::MulFOp::create(builder, loc, adjoints.of(y), slope));
}

void ReluOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  // y > 0 ? d : 0; NaN in x stays visible through y.
  if (!adjoints.wants(getInput()))
    return;
  Location loc = getLoc();
  Value y = getResult(), d = adjoints.of(y);
  // A constant, not computed from y: who keeps y keeps nothing more.
  Value zero =
      FillOp::create(builder, loc, y.getType(), y, builder.getF64FloatAttr(0));
  Value positive =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGT, y, zero);
  adjoints.add(getInput(),
               arith::SelectOp::create(builder, loc, positive, d, zero));
}

void GeluOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  // d (erfc(-x / sqrt 2) / 2 + x exp(-x x / 2) / sqrt(2 pi))
  if (!adjoints.wants(getInput()))
    return;
  Location loc = getLoc();
  Value x = getInput();
  auto times = [&](Value left, Value right) -> Value {
    return arith::MulFOp::create(builder, loc, left, right);
  };
  auto splat = [&](double value) -> Value {
    return FillOp::create(builder, loc, x.getType(), x,
                          builder.getF64FloatAttr(value));
  };
  Value tail = math::ErfcOp::create(builder, loc, times(x, splat(-M_SQRT1_2)));
  Value density =
      math::ExpOp::create(builder, loc, times(times(x, x), splat(-0.5)));
  Value slope = arith::AddFOp::create(
      builder, loc, times(tail, splat(0.5)),
      times(times(x, density), splat(M_2_SQRTPI * M_SQRT1_2 / 2)));
  adjoints.add(getInput(), times(adjoints.of(getResult()), slope));
}
