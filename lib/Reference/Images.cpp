//===- Images.cpp - Operators on batches of images --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions, pools and normalisation by channel, as their definitions say
// it: one loop for each dimension. Sizes of results are those of their types.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

static Array zerosOf(Value value) {
  return Array::zeros(cast<RankedTensorType>(value.getType()).getShape().vec());
}

static int64_t numberOf(ArrayAttr numbers, unsigned index) {
  return cast<IntegerAttr>(numbers[index]).getInt();
}

static ArrayPtr share(Array array) {
  return std::make_shared<Array>(std::move(array));
}

/// The element n, c, y, x of an array of rank 4.
template <typename AnyArray>
static auto &at(AnyArray &array, int64_t n, int64_t c, int64_t y, int64_t x) {
  const std::vector<int64_t> &shape = array.shape;
  return array.data[((n * shape[1] + c) * shape[2] + y) * shape[3] + x];
}

static bool isInside(const Array &images, int64_t y, int64_t x) {
  return y >= 0 && y < images.shape[2] && x >= 0 && x < images.shape[3];
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Calls `visit` for each product in the convolution of images of the shape of
/// `input` with a weight of the shape of `weight`, with references to the three
/// elements that have part in it.
template <typename Op, typename Input, typename Weight, typename Output,
          typename Visit>
static void forEachProduct(Op op, Input &input, Weight &weight, Output &output,
                           Visit visit) {
  int64_t perGroup = weight.shape[0] / (int64_t)op.getGroups();
  for (int64_t n = 0; n != output.shape[0]; ++n)
    for (int64_t o = 0; o != output.shape[1]; ++o)
      for (int64_t i = 0; i != output.shape[2]; ++i)
        for (int64_t j = 0; j != output.shape[3]; ++j)
          for (int64_t c = 0; c != weight.shape[1]; ++c)
            for (int64_t u = 0; u != weight.shape[2]; ++u)
              for (int64_t v = 0; v != weight.shape[3]; ++v) {
                int64_t y = i * numberOf(op.getStrides(), 0) +
                            u * numberOf(op.getDilations(), 0) -
                            numberOf(op.getPadding(), 0);
                int64_t x = j * numberOf(op.getStrides(), 1) +
                            v * numberOf(op.getDilations(), 1) -
                            numberOf(op.getPadding(), 1);
                if (isInside(input, y, x))
                  visit(at(input, n, o / perGroup * weight.shape[1] + c, y, x),
                        at(weight, o, c, u, v), at(output, n, o, i, j));
              }
}

Array reference::conv2d(nn::Conv2dOp op, Operands operands) {
  Array result = zerosOf(op.getResult());
  if (op.getBias()) {
    int64_t channels = result.shape[1];
    int64_t image = result.shape[2] * result.shape[3];
    for (auto [index, element] : llvm::enumerate(result.data))
      element = operands[2]->data[(int64_t)index / image % channels];
  }
  forEachProduct(op, *operands[0], *operands[1], result,
                 [](double x, double w, double &y) { y += x * w; });
  return result;
}

Array reference::conv2dTranspose(nn::Conv2dTransposeOp op, Operands operands) {
  Array result = zerosOf(op.getResult());
  forEachProduct(op, result, *operands[1], *operands[0],
                 [](double &x, double w, double y) { x += y * w; });
  return result;
}

Array reference::conv2dWeightAdjoint(nn::Conv2dWeightAdjointOp op,
                                     Operands operands) {
  Array result = zerosOf(op.getResult());
  forEachProduct(op, *operands[0], result, *operands[1],
                 [](double x, double &w, double y) { w += x * y; });
  return result;
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

/// Calls `visit(n, c, i, j, places)` for each window of the pool of `images`,
/// which has the shape `pooled`, with the y and x of its elements in the image,
/// row by row.
template <typename Op, typename Visit>
static void forEachWindow(Op op, const Array &images, ArrayRef<int64_t> pooled,
                          Visit visit) {
  for (int64_t n = 0; n != pooled[0]; ++n)
    for (int64_t c = 0; c != pooled[1]; ++c)
      for (int64_t i = 0; i != pooled[2]; ++i)
        for (int64_t j = 0; j != pooled[3]; ++j) {
          SmallVector<std::pair<int64_t, int64_t>> places;
          for (int64_t u = 0; u != numberOf(op.getWindow(), 0); ++u)
            for (int64_t v = 0; v != numberOf(op.getWindow(), 1); ++v) {
              int64_t y = i * numberOf(op.getStrides(), 0) + u -
                          numberOf(op.getPadding(), 0);
              int64_t x = j * numberOf(op.getStrides(), 1) + v -
                          numberOf(op.getPadding(), 1);
              if (isInside(images, y, x))
                places.push_back({y, x});
            }
          visit(n, c, i, j, places);
        }
}

using Places = ArrayRef<std::pair<int64_t, int64_t>>;

/// The first of the largest; NaN is larger than any other.
static std::pair<int64_t, int64_t> largest(const Array &images, int64_t n,
                                           int64_t c, Places places) {
  std::pair<int64_t, int64_t> best = places.front();
  for (auto [y, x] : places.drop_front()) {
    double value = at(images, n, c, y, x);
    double most = at(images, n, c, best.first, best.second);
    if (value > most || (std::isnan(value) && !std::isnan(most)))
      best = {y, x};
  }
  return best;
}

Array reference::maxPool2d(nn::MaxPool2dOp op, Operands operands) {
  const Array &input = *operands[0];
  Array result = zerosOf(op.getResult());
  forEachWindow(op, input, result.shape,
                [&](int64_t n, int64_t c, int64_t i, int64_t j, Places places) {
                  auto [y, x] = largest(input, n, c, places);
                  at(result, n, c, i, j) = at(input, n, c, y, x);
                });
  return result;
}

Array reference::maxPool2dAdjoint(nn::MaxPool2dAdjointOp op,
                                  Operands operands) {
  const Array &input = *operands[0], &adjoint = *operands[1];
  Array result = zerosOf(op.getResult());
  forEachWindow(op, input, adjoint.shape,
                [&](int64_t n, int64_t c, int64_t i, int64_t j, Places places) {
                  auto [y, x] = largest(input, n, c, places);
                  at(result, n, c, y, x) += at(adjoint, n, c, i, j);
                });
  return result;
}

/// What the sum over a window with elements at `places` is divided by.
template <typename Op> static double divisor(Op op, Places places) {
  if (!op.getCountPadding())
    return (double)places.size();
  return (double)(numberOf(op.getWindow(), 0) * numberOf(op.getWindow(), 1));
}

Array reference::avgPool2d(nn::AvgPool2dOp op, Operands operands) {
  const Array &input = *operands[0];
  Array result = zerosOf(op.getResult());
  forEachWindow(op, input, result.shape,
                [&](int64_t n, int64_t c, int64_t i, int64_t j, Places places) {
                  double sum = 0;
                  for (auto [y, x] : places)
                    sum += at(input, n, c, y, x);
                  at(result, n, c, i, j) = sum / divisor(op, places);
                });
  return result;
}

Array reference::avgPool2dAdjoint(nn::AvgPool2dAdjointOp op,
                                  Operands operands) {
  const Array &adjoint = *operands[0];
  Array result = zerosOf(op.getResult());
  forEachWindow(op, result, adjoint.shape,
                [&](int64_t n, int64_t c, int64_t i, int64_t j, Places places) {
                  double share = at(adjoint, n, c, i, j) / divisor(op, places);
                  for (auto [y, x] : places)
                    at(result, n, c, y, x) += share;
                });
  return result;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// The channel (dimension 1) of element `index`.
static int64_t channelOf(const Array &array, size_t index) {
  int64_t image = 1;
  for (size_t dim = 2; dim < array.shape.size(); ++dim)
    image *= array.shape[dim];
  return (int64_t)index / image % array.shape[1];
}

/// How many elements a channel has.
static double channelSize(const Array &array) {
  return (double)array.data.size() / (double)array.shape[1];
}

Array reference::sumChannels(Operands operands) {
  const Array &input = *operands[0];
  Array result = Array::zeros({input.shape[1]});
  for (auto [index, element] : llvm::enumerate(input.data))
    result.data[channelOf(input, index)] += element;
  return result;
}

Array reference::spreadChannels(nn::SpreadChannelsOp op, Operands operands) {
  Array result = zerosOf(op.getResult());
  for (auto [index, element] : llvm::enumerate(result.data))
    element = operands[0]->data[channelOf(result, index)];
  return result;
}

static double reciprocalDeviation(double variance, const APFloat &epsilon) {
  return 1 / std::sqrt(variance + epsilon.convertToDouble());
}

SmallVector<ArrayPtr> reference::batchNorm(nn::BatchNormOp op,
                                           Operands operands) {
  const Array &input = *operands[0];
  const Array &scale = *operands[1], &shift = *operands[2];
  double count = channelSize(input);
  Array mean = Array::zeros(scale.shape), variance = mean;
  for (auto [index, x] : llvm::enumerate(input.data))
    mean.data[channelOf(input, index)] += x / count;
  for (auto [index, x] : llvm::enumerate(input.data)) {
    int64_t c = channelOf(input, index);
    variance.data[c] += (x - mean.data[c]) * (x - mean.data[c]) / count;
  }
  Array result = input;
  for (auto [index, y] : llvm::enumerate(result.data)) {
    int64_t c = channelOf(input, index);
    double normal = (y - mean.data[c]) *
                    reciprocalDeviation(variance.data[c], op.getEpsilon());
    y = normal * scale.data[c] + shift.data[c];
  }
  return {share(std::move(result)), share(std::move(mean)),
          share(std::move(variance))};
}

Array reference::batchNormInference(nn::BatchNormInferenceOp op,
                                    Operands operands) {
  const Array &scale = *operands[1], &shift = *operands[2];
  const Array &mean = *operands[3], &variance = *operands[4];
  Array result = *operands[0];
  for (auto [index, y] : llvm::enumerate(result.data)) {
    int64_t c = channelOf(result, index);
    double normal = (y - mean.data[c]) *
                    reciprocalDeviation(variance.data[c], op.getEpsilon());
    y = normal * scale.data[c] + shift.data[c];
  }
  return result;
}

SmallVector<ArrayPtr> reference::batchNormAdjoint(nn::BatchNormAdjointOp op,
                                                  Operands operands) {
  const Array &input = *operands[0], &scale = *operands[1];
  const Array &mean = *operands[2], &variance = *operands[3];
  const Array &adjoint = *operands[4];
  Array ofScale = Array::zeros(scale.shape), ofShift = ofScale;
  auto normal = [&](size_t index, int64_t c) {
    return (input.data[index] - mean.data[c]) *
           reciprocalDeviation(variance.data[c], op.getEpsilon());
  };
  for (auto [index, d] : llvm::enumerate(adjoint.data)) {
    int64_t c = channelOf(input, index);
    ofShift.data[c] += d;
    ofScale.data[c] += d * normal(index, c);
  }
  Array ofInput = adjoint;
  double count = channelSize(input);
  for (auto [index, d] : llvm::enumerate(ofInput.data)) {
    int64_t c = channelOf(input, index);
    double centred = d - ofShift.data[c] / count -
                     normal(index, c) * ofScale.data[c] / count;
    d = scale.data[c] * reciprocalDeviation(variance.data[c], op.getEpsilon()) *
        centred;
  }
  return {share(std::move(ofInput)), share(std::move(ofScale)),
          share(std::move(ofShift))};
}

/// Calls `visit(n, c, y, x, others)` for each element, with the channels that
/// its response is normalised by.
template <typename Visit>
static void forEachResponse(const Array &images, int64_t size, Visit visit) {
  for (int64_t n = 0; n != images.shape[0]; ++n)
    for (int64_t c = 0; c != images.shape[1]; ++c)
      for (int64_t y = 0; y != images.shape[2]; ++y)
        for (int64_t x = 0; x != images.shape[3]; ++x)
          visit(n, c, y, x,
                llvm::seq(std::max<int64_t>(0, c - size / 2),
                          std::min(images.shape[1], c + size / 2 + 1)));
}

/// The base of the power by which each element is multiplied.
template <typename Op> static Array responseBase(Op op, const Array &input) {
  double alpha = op.getAlpha().convertToDouble() / (double)op.getSize();
  Array base = Array::zeros(input.shape);
  forEachResponse(input, op.getSize(),
                  [&](int64_t n, int64_t c, int64_t y, int64_t x, auto others) {
                    double sum = 0;
                    for (int64_t other : others)
                      sum +=
                          at(input, n, other, y, x) * at(input, n, other, y, x);
                    at(base, n, c, y, x) =
                        op.getBias().convertToDouble() + alpha * sum;
                  });
  return base;
}

Array reference::lrn(nn::LrnOp op, Operands operands) {
  Array result = *operands[0], base = responseBase(op, *operands[0]);
  for (auto [y, b] : llvm::zip_equal(result.data, base.data))
    y *= std::pow(b, -op.getBeta().convertToDouble());
  return result;
}

Array reference::lrnAdjoint(nn::LrnAdjointOp op, Operands operands) {
  const Array &input = *operands[0], &adjoint = *operands[1];
  Array base = responseBase(op, input), result = Array::zeros(input.shape);
  double beta = op.getBeta().convertToDouble();
  double factor =
      2 * op.getAlpha().convertToDouble() * beta / (double)op.getSize();
  forEachResponse(
      input, op.getSize(),
      [&](int64_t n, int64_t c, int64_t y, int64_t x, auto others) {
        double sum = 0;
        for (int64_t other : others)
          sum += at(adjoint, n, other, y, x) * at(input, n, other, y, x) *
                 std::pow(at(base, n, other, y, x), -beta - 1);
        at(result, n, c, y, x) =
            at(adjoint, n, c, y, x) * std::pow(at(base, n, c, y, x), -beta) -
            factor * at(input, n, c, y, x) * sum;
      });
  return result;
}

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

Array reference::pad(nn::PadOp op, Operands operands) {
  Array result = zerosOf(op.getResult());
  std::fill(result.data.begin(), result.data.end(),
            op.getValue().convertToDouble());
  const Array &input = *operands[0];
  for (int64_t n = 0; n != input.shape[0]; ++n)
    for (int64_t c = 0; c != input.shape[1]; ++c)
      for (int64_t y = 0; y != input.shape[2]; ++y)
        for (int64_t x = 0; x != input.shape[3]; ++x)
          at(result, n, c, y + numberOf(op.getPadding(), 0),
             x + numberOf(op.getPadding(), 1)) = at(input, n, c, y, x);
  return result;
}
