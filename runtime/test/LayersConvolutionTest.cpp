//===- LayersConvolutionTest.cpp - Convolutions and their adjoints --------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LayersTesting.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace espalier;

namespace {

/// One convolution by its extents, and the three layers of it.
struct Case {
  int64_t images, channels, height, width;
  int64_t results, windowHeight, windowWidth, groups;
  int64_t strides[2], dilations[2], padding[4];

  int64_t resultExtent(int i) const {
    int64_t extent = i == 0 ? height : width;
    int64_t window = i == 0 ? windowHeight : windowWidth;
    return (extent + padding[i] + padding[2 + i] - (window - 1) * dilations[i] -
            1) /
               strides[i] +
           1;
  }
  std::vector<int64_t> imageShape() const {
    return {images, channels, height, width};
  }
  std::vector<int64_t> weightShape() const {
    return {results, channels / groups, windowHeight, windowWidth};
  }
  std::vector<int64_t> resultShape() const {
    return {images, results, resultExtent(0), resultExtent(1)};
  }
  espalier_layer layer(uint32_t kind) const {
    espalier_layer layer = layerOf(kind);
    for (int i = 0; i < 2; ++i) {
      layer.strides[i] = strides[i];
      layer.dilations[i] = dilations[i];
    }
    for (int i = 0; i < 4; ++i)
      layer.padding[i] = padding[i];
    layer.groups = groups;
    return layer;
  }

  /// Calls body(n, o, y, x, i, u, v, iy, ix) for every product that there is:
  /// channel i of o's group, at (iy, ix) inside the image.
  template <typename Body> void forEachProduct(Body body) const {
    int64_t perGroup = channels / groups;
    for (int64_t n = 0; n < images; ++n)
      for (int64_t o = 0; o < results; ++o)
        for (int64_t y = 0; y < resultExtent(0); ++y)
          for (int64_t x = 0; x < resultExtent(1); ++x)
            for (int64_t i = 0; i < perGroup; ++i)
              for (int64_t u = 0; u < windowHeight; ++u)
                for (int64_t v = 0; v < windowWidth; ++v) {
                  int64_t iy = y * strides[0] + u * dilations[0] - padding[0];
                  int64_t ix = x * strides[1] + v * dilations[1] - padding[1];
                  if (iy < 0 || iy >= height || ix < 0 || ix >= width)
                    continue;
                  int64_t group = o / (results / groups);
                  body(n, o, y, x, i, u, v, group * perGroup + i, iy, ix);
                }
  }
};

void expectForward(const Case &c, const Values &image, const Values &weight,
                   bool withBias, double tolerance) {
  LayerTest test(c.layer(ESPALIER_LAYER_CONV2D), {image, weight});
  Values x = image, w = weight, y(c.resultShape());
  c.forEachProduct([&](int64_t n, int64_t o, int64_t oy, int64_t ox, int64_t i,
                       int64_t u, int64_t v, int64_t channel, int64_t iy,
                       int64_t ix) {
    y.at(n, o, oy, ox) += w.at(o, i, u, v) * x.at(n, channel, iy, ix);
  });
  if (withBias) {
    Values bias = wholeValues({c.results}, 9);
    for (size_t e = 0; e < y.data.size(); ++e)
      y.data[e] +=
          bias.data[e / (c.resultExtent(0) * c.resultExtent(1)) % c.results];
    test.reads.push_back(bias);
  }
  test.expected = {y};
  test.tolerance = tolerance;
  expectLayer(test);
}

void expectTranspose(const Case &c, const Values &d, const Values &weight,
                     double tolerance) {
  LayerTest test(c.layer(ESPALIER_LAYER_CONV2D_TRANSPOSE), {d, weight});
  Values w = weight, dy = d, dx(c.imageShape());
  c.forEachProduct([&](int64_t n, int64_t o, int64_t oy, int64_t ox, int64_t i,
                       int64_t u, int64_t v, int64_t channel, int64_t iy,
                       int64_t ix) {
    dx.at(n, channel, iy, ix) += w.at(o, i, u, v) * dy.at(n, o, oy, ox);
  });
  test.expected = {dx};
  test.tolerance = tolerance;
  expectLayer(test);
}

void expectWeightAdjoint(const Case &c, const Values &image, const Values &d,
                         bool accumulates, double tolerance) {
  LayerTest test(c.layer(ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT), {image, d});
  Values x = image, dy = d, dw(c.weightShape());
  if (accumulates) {
    test.layer.flags = ESPALIER_LAYER_ACCUMULATE;
    test.before = dw = wholeValues(c.weightShape(), 5);
  }
  c.forEachProduct([&](int64_t n, int64_t o, int64_t oy, int64_t ox, int64_t i,
                       int64_t u, int64_t v, int64_t channel, int64_t iy,
                       int64_t ix) {
    dw.at(o, i, u, v) += dy.at(n, o, oy, ox) * x.at(n, channel, iy, ix);
  });
  test.expected = {dw};
  test.tolerance = tolerance;
  expectLayer(test);
}

/// Whole numbers, so that any order of sums gives the same; then others.
void expectAll(const Case &c) {
  expectForward(c, wholeValues(c.imageShape()), wholeValues(c.weightShape(), 2),
                false, 0);
  expectForward(c, wholeValues(c.imageShape()), wholeValues(c.weightShape(), 2),
                true, 0);
  expectTranspose(c, wholeValues(c.resultShape(), 3),
                  wholeValues(c.weightShape(), 2), 0);
  for (bool accumulates : {false, true})
    expectWeightAdjoint(c, wholeValues(c.imageShape()),
                        wholeValues(c.resultShape(), 3), accumulates, 0);
  expectForward(c, randomValues(c.imageShape()),
                randomValues(c.weightShape(), 2), true, 64);
  expectTranspose(c, randomValues(c.resultShape(), 3),
                  randomValues(c.weightShape(), 2), 64);
  expectWeightAdjoint(c, randomValues(c.imageShape()),
                      randomValues(c.resultShape(), 3), false, 64);
}

} // namespace

TEST(LayersConvolution, Windows) {
  //         images, C, H, W   O, window, groups  strides dilations padding
  expectAll({2, 3, 7, 9, 5, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  expectAll({2, 3, 9, 7, 5, 3, 2, 1, {2, 1}, {1, 1}, {0, 1, 2, 0}});
  expectAll({3, 4, 12, 11, 17, 7, 7, 1, {2, 2}, {1, 1}, {3, 3, 3, 3}});
  expectAll({1, 17, 5, 6, 33, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}});
}

TEST(LayersConvolution, StridesBeyondTheWindow) {
  expectAll({2, 3, 10, 11, 4, 2, 1, 1, {3, 4}, {1, 1}, {0, 0, 0, 0}});
  expectAll({2, 16, 8, 8, 8, 1, 1, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}});
}

TEST(LayersConvolution, AsymmetricPaddingAndDilation) {
  expectAll({2, 2, 8, 9, 3, 3, 3, 1, {2, 1}, {2, 3}, {2, 0, 1, 4}});
  // Padding beyond the window: whole patches lie outside.
  expectAll({1, 2, 3, 3, 2, 2, 2, 1, {1, 2}, {1, 1}, {4, 3, 2, 5}});
}

TEST(LayersConvolution, Groups) {
  expectAll({2, 6, 5, 5, 9, 3, 3, 3, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  expectAll({2, 32, 6, 6, 32, 3, 3, 2, {1, 1}, {1, 1}, {1, 1, 1, 1}});
}

TEST(LayersConvolution, Depthwise) {
  expectAll({2, 7, 6, 6, 7, 3, 3, 7, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  expectAll({2, 16, 7, 7, 32, 3, 3, 16, {2, 2}, {1, 1}, {1, 1, 1, 1}});
}

TEST(LayersConvolution, ImagesOfOnePoint) {
  expectAll({5, 20, 1, 1, 30, 1, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  expectAll({1, 4, 1, 1, 4, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}});
}

TEST(LayersConvolution, NoImagesNoChannelsNoPoints) {
  expectAll({0, 3, 4, 4, 2, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  expectAll({2, 0, 4, 4, 2, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  expectAll({2, 3, 4, 4, 0, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  expectAll({2, 3, 0, 4, 2, 1, 3, 1, {1, 1}, {1, 1}, {1, 1, 0, 1}});
}

/// Several pieces of every sum, and several tiles of the result.
TEST(LayersConvolution, ManyTiles) {
  expectAll({2, 70, 13, 12, 130, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}});
  expectAll({3, 8, 40, 40, 16, 3, 3, 1, {2, 2}, {1, 1}, {1, 1, 1, 1}});
}

/// What is not finite stays in the image that it is in, and stays visible.
TEST(LayersConvolution, NotFinite) {
  Case c{3, 2, 5, 5, 3, 3, 3, 1, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  Values image = wholeValues(c.imageShape());
  image.at(1, 0, 2, 2) = NAN;
  image.at(2, 1, 0, 4) = std::numeric_limits<double>::infinity();
  Values weight = wholeValues(c.weightShape(), 2);
  for (double &w : weight.data)
    if (w == 0)
      w = 1; // infinity times 0 would be NaN, in the loop as well
  expectForward(c, image, weight, true, 0);
}
