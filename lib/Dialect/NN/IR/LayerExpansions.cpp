//===- LayerExpansions.cpp - Whole batches, a part at a time --------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that work on the batch as a whole, made of operators with cuts
// (LayerOpInterface's buildWithCuts). Batch norm needs sums over the batch
// before anything that they are for: each is an operator of its own, whose
// terms are those of parts of the batch. So the statistics stay those of the
// whole batch, however small the parts that are on the device at a time.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace espalier::nn;

Value espalier::nn::buildElementwise(
    OpBuilder &builder, Location loc, Type result, ValueRange operands,
    llvm::function_ref<Value(OpBuilder &, ValueRange)> build) {
  auto group = ElementwiseOp::create(builder, loc, TypeRange(result), operands);
  SmallVector<Location> locations(operands.size(), loc);
  OpBuilder inside(builder.getContext());
  Block *body =
      inside.createBlock(&group.getBody(), {}, operands.getTypes(), locations);
  Value value = build(inside, body->getArguments());
  YieldOp::create(inside, loc, value);
  return group.getResult(0);
}

namespace {
/// Arithmetic by channel, and on images by channel, as batch norm has it.
class Channels {
public:
  Channels(OpBuilder &builder, Location loc, Value images, Value perChannel)
      : builder(builder), loc(loc), type(perChannel.getType()), zeros(splat(0)),
        ones(splat(1)) {
    auto shape = cast<RankedTensorType>(images.getType());
    elements = double(shape.getNumElements()) / double(shape.getDimSize(1));
  }

  Value splat(double value) {
    auto tensor = cast<RankedTensorType>(type);
    auto number = FloatAttr::get(tensor.getElementType(), value);
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(tensor, number));
  }

  Value sum(Value images) {
    return SumChannelsOp::create(builder, loc, type, images);
  }

  /// A sum over a channel, by the number of its elements.
  Value mean(Value sum) {
    return buildElementwise(builder, loc, type, sum,
                            [&](OpBuilder &inside, ValueRange in) -> Value {
                              return divide(inside, in[0]);
                            });
  }

  Value divide(OpBuilder &inside, Value sum) const {
    auto tensor = cast<RankedTensorType>(type);
    auto number = FloatAttr::get(tensor.getElementType(), elements);
    Value count = arith::ConstantOp::create(
        inside, loc, DenseElementsAttr::get(tensor, number));
    return arith::DivFOp::create(inside, loc, sum, count);
  }

  /// (x - mean) / sqrt(variance + epsilon) scale + shift
  Value normalize(Value x, Value scale, Value shift, Value mean, Value variance,
                  APFloat epsilon) {
    return BatchNormInferenceOp::create(builder, loc, x.getType(), x, scale,
                                        shift, mean, variance, epsilon);
  }

  Value multiply(Value left, Value right) {
    return buildElementwise(builder, loc, left.getType(), {left, right},
                            [&](OpBuilder &inside, ValueRange in) -> Value {
                              return arith::MulFOp::create(inside, loc, in[0],
                                                           in[1]);
                            });
  }

  OpBuilder &builder;
  Location loc;
  Type type;
  double elements;
  Value zeros, ones;
};
} // namespace

SmallVector<Value> BatchNormOp::buildWithCuts(OpBuilder &builder) {
  Channels of(builder, getLoc(), getInput(), getScale());
  Value x = getInput();
  Value mean = of.mean(of.sum(x));
  // x - mean: of variance 0 and epsilon 1.
  Value difference =
      of.normalize(x, of.ones, of.zeros, mean, of.zeros, APFloat(1.0));
  Value square = buildElementwise(
      builder, getLoc(), x.getType(), difference,
      [&](OpBuilder &inside, ValueRange in) -> Value {
        return arith::MulFOp::create(inside, getLoc(), in[0], in[0]);
      });
  Value variance = of.mean(of.sum(square));
  Value y =
      of.normalize(x, getScale(), getShift(), mean, variance, getEpsilon());
  return {y, mean, variance};
}

SmallVector<Value> BatchNormAdjointOp::buildWithCuts(OpBuilder &builder) {
  Channels of(builder, getLoc(), getInput(), getScale());
  Location loc = getLoc();
  Value x = getInput(), d = getAdjoint();
  Value shiftAdjoint = of.sum(d);
  Value normal = of.normalize(x, of.ones, of.zeros, getMean(), getVariance(),
                              getEpsilon());
  Value scaleAdjoint = of.sum(of.multiply(normal, d));
  // scale / sqrt(variance + epsilon) (d - dshift / M), less n by a number.
  Value centered = of.normalize(d, getScale(), of.zeros, of.mean(shiftAdjoint),
                                getVariance(), getEpsilon());
  Value slope = buildElementwise(
      builder, loc, of.type, {getScale(), scaleAdjoint, getVariance()},
      [&](OpBuilder &inside, ValueRange in) -> Value {
        auto tensor = cast<RankedTensorType>(of.type);
        APFloat epsilon = getEpsilon();
        auto number =
            FloatAttr::get(tensor.getElementType(), epsilon.convertToDouble());
        Value added = arith::ConstantOp::create(
            inside, loc, DenseElementsAttr::get(tensor, number));
        Value variance = arith::AddFOp::create(inside, loc, in[2], added);
        Value deviation = math::SqrtOp::create(inside, loc, variance);
        Value product =
            arith::MulFOp::create(inside, loc, in[0], of.divide(inside, in[1]));
        return arith::DivFOp::create(inside, loc, product, deviation);
      });
  Value along =
      of.normalize(x, slope, of.zeros, getMean(), getVariance(), getEpsilon());
  Value inputAdjoint = buildElementwise(
      builder, loc, d.getType(), {centered, along},
      [&](OpBuilder &inside, ValueRange in) -> Value {
        return arith::SubFOp::create(inside, loc, in[0], in[1]);
      });
  return {inputAdjoint, scaleAdjoint, shiftAdjoint};
}
