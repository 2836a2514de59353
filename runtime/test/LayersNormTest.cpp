//===- LayersNormTest.cpp - Batch norm and response normalisation ---------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LayersTesting.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace espalier;

namespace {

/// A batch norm of images of any rank from 2 on.
struct BatchNorm {
  std::vector<int64_t> shape;
  Values x, scale, shift, d;
  double epsilon = 1e-3;
  int64_t channels, area = 1;
  std::vector<double> mean, variance, inverse;

  explicit BatchNorm(std::vector<int64_t> shape, double center = 0)
      : shape(shape), x(randomValues(shape)),
        scale(randomValues({shape[1]}, 2)), shift(randomValues({shape[1]}, 3)),
        d(randomValues(shape, 4)), channels(shape[1]) {
    for (size_t i = 2; i < shape.size(); ++i)
      area *= shape[i];
    for (double &value : x.data)
      value = (double)(float)(value + center);
    mean.assign(channels, 0);
    variance.assign(channels, 0);
    for (size_t e = 0; e < x.data.size(); ++e)
      mean[channelOf(e)] += x.data[e] / count();
    for (size_t e = 0; e < x.data.size(); ++e)
      variance[channelOf(e)] +=
          std::pow(x.data[e] - mean[channelOf(e)], 2) / count();
    for (double v : variance)
      inverse.push_back(1 / std::sqrt(v + epsilon));
  }
  size_t channelOf(size_t e) const { return e / area % channels; }
  double count() const { return (double)(shape[0] * area); }

  Values channelValues(const std::vector<double> &data) const {
    Values values({channels});
    values.data = data;
    return values;
  }
  Values normalised() const {
    Values y(shape);
    for (size_t e = 0; e < y.data.size(); ++e) {
      size_t c = channelOf(e);
      y.data[e] =
          (x.data[e] - mean[c]) * inverse[c] * scale.data[c] + shift.data[c];
    }
    return y;
  }

  void expectForward(int inPlace, double tolerance = 64) const {
    LayerTest test(layerOf(ESPALIER_LAYER_BATCH_NORM), {x, scale, shift});
    test.layer.epsilon = epsilon;
    test.expected = {normalised(), channelValues(mean),
                     channelValues(variance)};
    test.tolerance = tolerance;
    test.inPlace = inPlace;
    expectLayer(test);
  }
  void expectInference(int inPlace) const {
    LayerTest test(
        layerOf(ESPALIER_LAYER_BATCH_NORM_INFERENCE),
        {x, scale, shift, channelValues(mean), channelValues(variance)});
    test.layer.epsilon = epsilon;
    test.expected = {normalised()};
    test.tolerance = 64;
    test.inPlace = inPlace;
    expectLayer(test);
  }
  /// The adjoints by the definition: with the derivatives of the mean and of
  /// the variance each in its place.
  void expectAdjoint(int inPlace) const {
    Values dx(shape);
    std::vector<double> dScale(channels), dShift(channels), dMean(channels),
        dVariance(channels);
    for (size_t e = 0; e < dx.data.size(); ++e) {
      size_t c = channelOf(e);
      double distance = x.data[e] - mean[c];
      dScale[c] += d.data[e] * distance * inverse[c];
      dShift[c] += d.data[e];
      double dNormal = d.data[e] * scale.data[c];
      dVariance[c] += dNormal * distance * -0.5 * std::pow(inverse[c], 3);
      dMean[c] -= dNormal * inverse[c];
    }
    for (size_t e = 0; e < dx.data.size(); ++e) {
      size_t c = channelOf(e);
      dx.data[e] = d.data[e] * scale.data[c] * inverse[c] +
                   dVariance[c] * 2 * (x.data[e] - mean[c]) / count() +
                   dMean[c] / count();
    }
    LayerTest test(layerOf(ESPALIER_LAYER_BATCH_NORM_ADJOINT),
                   {x, scale, channelValues(mean), channelValues(variance), d});
    test.layer.epsilon = epsilon;
    test.expected = {dx, channelValues(dScale), channelValues(dShift)};
    test.tolerance = 256;
    test.inPlace = inPlace;
    expectLayer(test);
  }
};

struct Lrn {
  std::vector<int64_t> shape;
  int64_t size;
  double alpha, beta, bias;
  Values x, d;

  Lrn(std::vector<int64_t> shape, int64_t size, double alpha, double beta,
      double bias)
      : shape(shape), size(size), alpha(alpha), beta(beta), bias(bias),
        x(randomValues(shape)), d(randomValues(shape, 2)) {}

  template <typename Body> void forEachAround(int64_t c, Body body) const {
    for (int64_t o = 0; o < shape[1]; ++o)
      if (std::abs(o - c) <= (size - 1) / 2)
        body(o);
  }
  template <typename Body> void forEach(Body body) const {
    for (int64_t n = 0; n < shape[0]; ++n)
      for (int64_t c = 0; c < shape[1]; ++c)
        for (int64_t y = 0; y < shape[2]; ++y)
          for (int64_t z = 0; z < shape[3]; ++z)
            body(n, c, y, z);
  }
  double base(int64_t n, int64_t c, int64_t y, int64_t z) {
    double sum = 0;
    forEachAround(c, [&](int64_t o) { sum += std::pow(x.at(n, o, y, z), 2); });
    return bias + alpha / (double)size * sum;
  }
  espalier_layer layer(uint32_t kind) const {
    espalier_layer layer = layerOf(kind);
    layer.size = size;
    layer.alpha = alpha;
    layer.beta = beta;
    layer.bias = bias;
    return layer;
  }
  void expectAll() {
    Values out(shape), adjoint(shape);
    forEach([&](int64_t n, int64_t c, int64_t y, int64_t z) {
      out.at(n, c, y, z) = x.at(n, c, y, z) * std::pow(base(n, c, y, z), -beta);
    });
    // The derivative of each result by each input that it reads.
    forEach([&](int64_t n, int64_t c, int64_t y, int64_t z) {
      double power = std::pow(base(n, c, y, z), -beta);
      adjoint.at(n, c, y, z) += d.at(n, c, y, z) * power;
      forEachAround(c, [&](int64_t o) {
        adjoint.at(n, o, y, z) -= d.at(n, c, y, z) * x.at(n, c, y, z) * beta *
                                  power / base(n, c, y, z) * alpha /
                                  (double)size * 2 * x.at(n, o, y, z);
      });
    });
    LayerTest forward(layer(ESPALIER_LAYER_LRN), {x});
    forward.expected = {out};
    forward.tolerance = 32;
    expectLayer(forward);
    for (int inPlace : {-1, 1}) {
      LayerTest backward(layer(ESPALIER_LAYER_LRN_ADJOINT), {x, d});
      backward.expected = {adjoint};
      backward.tolerance = 64;
      backward.inPlace = inPlace;
      expectLayer(backward);
    }
  }
};

} // namespace

TEST(LayersNorm, BatchNorm) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 5, 4, 7},
                                     {2, 16, 9, 9},
                                     {4, 3},
                                     {2, 3, 11},
                                     {1, 2, 1, 2},
                                     {8, 20, 1, 1}}) {
    BatchNorm norm(shape);
    for (int inPlace : {-1, 0}) {
      norm.expectForward(inPlace);
      norm.expectInference(inPlace);
    }
    for (int inPlace : {-1, 4})
      norm.expectAdjoint(inPlace);
  }
}

/// One value a channel has no variance: epsilon alone is under the root.
TEST(LayersNorm, BatchNormOfOneValue) {
  BatchNorm norm({1, 3, 1, 1});
  norm.expectForward(-1);
  norm.expectInference(0);
}

/// The variance of numbers far from zero is not lost to rounding.
TEST(LayersNorm, BatchNormFarFromZero) {
  BatchNorm({2, 3, 17, 19}, 1000).expectForward(-1, 1 << 14);
}

TEST(LayersNorm, BatchNormNotFinite) {
  BatchNorm norm({2, 2, 2, 2});
  Values x = norm.x, expected = norm.normalised();
  x.data[1] = NAN; // image 0, channel 0
  for (size_t e = 0; e < expected.data.size(); ++e)
    if (norm.channelOf(e) == 0)
      expected.data[e] = NAN;
  Values mean = norm.channelValues(norm.mean);
  Values variance = norm.channelValues(norm.variance);
  mean.data[0] = variance.data[0] = NAN;
  LayerTest test(layerOf(ESPALIER_LAYER_BATCH_NORM),
                 {x, norm.scale, norm.shift});
  test.layer.epsilon = norm.epsilon;
  test.expected = {expected, mean, variance};
  test.tolerance = 64;
  expectLayer(test);
}

/// Of no images there is nothing to write but statistics, which are 0 / 0.
TEST(LayersNorm, BatchNormOfNothing) {
  BatchNorm norm({0, 2, 3, 3});
  norm.mean = norm.variance = {NAN, NAN};
  norm.expectForward(-1);
  norm.mean = norm.variance = {0.5, 2};
  norm.inverse = {1, 1};
  norm.expectAdjoint(-1);
}

TEST(LayersNorm, Lrn) {
  Lrn({2, 9, 5, 7}, 5, 1e-4, 0.75, 1).expectAll();
  Lrn({1, 12, 9, 9}, 5, 2, 0.75, 1).expectAll();
  Lrn({2, 4, 3, 3}, 3, 1, 0.5, 2).expectAll();
  Lrn({1, 3, 2, 2}, 9, 1, 1.25, 1).expectAll(); // wider than the channels
  Lrn({1, 5, 1, 1}, 1, 1, 0.75, 1).expectAll();
  Lrn({0, 5, 2, 2}, 5, 1, 0.75, 1).expectAll();
}
