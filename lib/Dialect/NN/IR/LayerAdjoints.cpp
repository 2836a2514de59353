//===- LayerAdjoints.cpp - Derivatives of layered networks' operators -----===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DifferentiableOpInterface. In the formulas d is the adjoint of the result.
// What an adjoint reads has to be in memory until then, so each reads as little
// as possible: a convolution its operands, a normalisation its input but never
// its result, a linear operator nothing.
//
// A convolution is linear in x and in W, and so are both of its adjoints: each
// of the three is an adjoint of the other two.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace espalier::nn;

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

namespace {
/// Builds convolutions with the attributes of `op`.
template <typename Op> struct Like {
  OpBuilder &builder;
  Op op;

  template <typename Other> Value build(Type type, Value left, Value right) {
    return Other::create(builder, op.getLoc(), type, left, right,
                         op.getStridesAttr(), op.getPaddingAttr(),
                         op.getDilationsAttr(), op.getGroupsAttr());
  }
  Value convolve(Type type, Value input, Value weight) {
    return Conv2dOp::create(builder, op.getLoc(), type, input, weight,
                            /*bias=*/Value(), op.getStridesAttr(),
                            op.getPaddingAttr(), op.getDilationsAttr(),
                            op.getGroupsAttr());
  }
};
} // namespace

void Conv2dOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  Value d = adjoints.of(getResult());
  Like<Conv2dOp> like{builder, *this};
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(), like.build<Conv2dTransposeOp>(getInput().getType(),
                                                           d, getWeight()));
  if (adjoints.wants(getWeight()))
    adjoints.add(getWeight(), like.build<Conv2dWeightAdjointOp>(
                                  getWeight().getType(), getInput(), d));
  if (getBias() && adjoints.wants(getBias()))
    adjoints.add(getBias(), SumChannelsOp::create(builder, getLoc(), d));
}

void Conv2dTransposeOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  Value d = adjoints.of(getResult());
  Like<Conv2dTransposeOp> like{builder, *this};
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(),
                 like.convolve(getInput().getType(), d, getWeight()));
  if (adjoints.wants(getWeight()))
    adjoints.add(getWeight(), like.build<Conv2dWeightAdjointOp>(
                                  getWeight().getType(), d, getInput()));
}

void Conv2dWeightAdjointOp::buildAdjoint(OpBuilder &builder,
                                         Adjoints &adjoints) {
  Value d = adjoints.of(getResult());
  Like<Conv2dWeightAdjointOp> like{builder, *this};
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(), like.build<Conv2dTransposeOp>(getInput().getType(),
                                                           getAdjoint(), d));
  if (adjoints.wants(getAdjoint()))
    adjoints.add(getAdjoint(),
                 like.convolve(getAdjoint().getType(), getInput(), d));
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

void MaxPool2dOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(),
                 MaxPool2dAdjointOp::create(
                     builder, getLoc(), getInput().getType(), getInput(),
                     adjoints.of(getResult()), getWindowAttr(),
                     getStridesAttr(), getPaddingAttr(), getCeilModeAttr()));
}

void AvgPool2dOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(), AvgPool2dAdjointOp::create(
                                 builder, getLoc(), getInput().getType(),
                                 adjoints.of(getResult()), getWindowAttr(),
                                 getStridesAttr(), getPaddingAttr(),
                                 getCeilModeAttr(), getCountPaddingAttr()));
}

void AvgPool2dAdjointOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getAdjoint()))
    adjoints.add(getAdjoint(),
                 AvgPool2dOp::create(builder, getLoc(), getAdjoint().getType(),
                                     adjoints.of(getResult()), getWindowAttr(),
                                     getStridesAttr(), getPaddingAttr(),
                                     getCeilModeAttr(), getCountPaddingAttr()));
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

namespace {
/// Arithmetic on tensors of one type.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(cast<RankedTensorType>(type)) {}

  Value number(double value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), value)));
  }
  Value plus(Value left, Value right) {
    return arith::AddFOp::create(builder, loc, left, right);
  }
  Value minus(Value left, Value right) {
    return arith::SubFOp::create(builder, loc, left, right);
  }
  Value times(Value left, Value right) {
    return arith::MulFOp::create(builder, loc, left, right);
  }
  Value over(Value left, Value right) {
    return arith::DivFOp::create(builder, loc, left, right);
  }
  Value negative(Value value) {
    return arith::NegFOp::create(builder, loc, value);
  }
  /// One number a channel in all of its elements.
  Value spread(Value channels) {
    return SpreadChannelsOp::create(builder, loc, type, channels);
  }

private:
  OpBuilder &builder;
  Location loc;
  RankedTensorType type;
};
} // namespace

void BatchNormOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  Location loc = getLoc();
  Value x = getInput();
  if (Value d = adjoints.of(getResult())) {
    Type channels = getScale().getType();
    auto all = BatchNormAdjointOp::create(builder, loc, x.getType(), channels,
                                          channels, x, getScale(), getMean(),
                                          getVariance(), d, getEpsilonAttr());
    adjoints.add(x, all.getInputAdjoint());
    adjoints.add(getScale(), all.getScaleAdjoint());
    adjoints.add(getShift(), all.getShiftAdjoint());
  }
  if (!adjoints.wants(x))
    return;
  // Every element has the same share of the mean, and 2 (x - mean) of the
  // variance.
  Arithmetic a(builder, loc, x.getType());
  auto type = cast<RankedTensorType>(x.getType());
  double count = double(type.getNumElements()) / type.getDimSize(1);
  if (Value d = adjoints.of(getMean()))
    adjoints.add(x, a.times(a.number(1 / count), a.spread(d)));
  if (Value d = adjoints.of(getVariance()))
    adjoints.add(x, a.times(a.times(a.number(2 / count), a.spread(d)),
                            a.minus(x, a.spread(getMean()))));
}

void BatchNormInferenceOp::buildAdjoint(OpBuilder &builder,
                                        Adjoints &adjoints) {
  // With r = 1 / sqrt(variance + epsilon): dx = d scale r, and by channel
  // dshift = sum d, dscale = sum d (x - mean) r, dmean = - sum dx, dvariance =
  // - scale dscale r^2 / 2. Two of them are the operator itself, of others.
  Location loc = getLoc();
  Value d = adjoints.of(getResult()), scale = getScale();
  Arithmetic a(builder, loc, scale.getType());
  auto normalize = [&](Value of, Value scale, Value mean) -> Value {
    return BatchNormInferenceOp::create(builder, loc, of.getType(), of, scale,
                                        a.number(0), mean, getVariance(),
                                        getEpsilonAttr());
  };
  auto sum = [&](Value value) -> Value {
    return SumChannelsOp::create(builder, loc, value);
  };
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(), normalize(d, scale, a.number(0)));
  if (adjoints.wants(getShift()))
    adjoints.add(getShift(), sum(d));
  if (adjoints.wants(getMean()))
    adjoints.add(getMean(), a.negative(sum(normalize(d, scale, a.number(0)))));
  if (!adjoints.wants(scale) && !adjoints.wants(getVariance()))
    return;
  Value normal = normalize(getInput(), a.number(1), getMean());
  Value ofScale = sum(arith::MulFOp::create(builder, loc, d, normal));
  adjoints.add(scale, ofScale);
  if (adjoints.wants(getVariance())) {
    Value variance =
        a.plus(getVariance(), a.number(getEpsilon().convertToDouble()));
    adjoints.add(
        getVariance(),
        a.over(a.times(a.number(-0.5), a.times(scale, ofScale)), variance));
  }
}

void LrnOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(),
                 LrnAdjointOp::create(builder, getLoc(), getInput().getType(),
                                      getInput(), adjoints.of(getResult()),
                                      getSizeAttr(), getAlphaAttr(),
                                      getBetaAttr(), getBiasAttr()));
}

//===----------------------------------------------------------------------===//
// Channels, borders
//===----------------------------------------------------------------------===//

void SumChannelsOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(), SpreadChannelsOp::create(
                                 builder, getLoc(), getInput().getType(),
                                 adjoints.of(getResult())));
}

void SpreadChannelsOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (adjoints.wants(getInput()))
    adjoints.add(getInput(), SumChannelsOp::create(builder, getLoc(),
                                                   adjoints.of(getResult())));
}

void PadOp::buildAdjoint(OpBuilder &builder, Adjoints &adjoints) {
  if (!adjoints.wants(getInput()))
    return;
  auto type = cast<RankedTensorType>(getInput().getType());
  auto padding = numbersOf<4>(getPadding());
  SmallVector<OpFoldResult> offsets, sizes, strides;
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    offsets.push_back(builder.getIndexAttr(dim < 2 ? 0 : padding[dim - 2]));
    sizes.push_back(builder.getIndexAttr(extent));
    strides.push_back(builder.getIndexAttr(1));
  }
  adjoints.add(getInput(),
               tensor::ExtractSliceOp::create(builder, getLoc(), type,
                                              adjoints.of(getResult()), offsets,
                                              sizes, strides));
}
