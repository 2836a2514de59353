//===- LayersPoolingTest.cpp - Pools and their adjoints -------------------===//
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

struct Case {
  int64_t images, channels, height, width;
  int64_t window[2], strides[2], padding[4];
  bool ceils = false;

  int64_t resultExtent(int i) const {
    int64_t room =
        (i == 0 ? height : width) + padding[i] + padding[2 + i] - window[i];
    return (room + (ceils ? strides[i] - 1 : 0)) / strides[i] + 1;
  }
  std::vector<int64_t> imageShape() const {
    return {images, channels, height, width};
  }
  std::vector<int64_t> resultShape() const {
    return {images, channels, resultExtent(0), resultExtent(1)};
  }
  espalier_layer layer(uint32_t kind) const {
    espalier_layer layer = layerOf(kind);
    for (int i = 0; i < 2; ++i) {
      layer.window[i] = window[i];
      layer.strides[i] = strides[i];
    }
    for (int i = 0; i < 4; ++i)
      layer.padding[i] = padding[i];
    return layer;
  }
  template <typename Body> void forEachWindow(Body body) const {
    for (int64_t n = 0; n < images; ++n)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t y = 0; y < resultExtent(0); ++y)
          for (int64_t x = 0; x < resultExtent(1); ++x)
            body(n, c, y, x);
  }
  /// Calls body(iy, ix) for what of a window lies in the image, row by row.
  template <typename Body>
  void forEachInside(int64_t y, int64_t x, Body body) const {
    for (int64_t u = 0; u < window[0]; ++u)
      for (int64_t v = 0; v < window[1]; ++v) {
        int64_t iy = y * strides[0] + u - padding[0];
        int64_t ix = x * strides[1] + v - padding[1];
        if (iy >= 0 && iy < height && ix >= 0 && ix < width)
          body(iy, ix);
      }
  }
};

void expectMaxPool(const Case &c, const Values &image) {
  Values in = image, d = wholeValues(c.resultShape(), 4);
  Values out(c.resultShape()), adjoint(c.imageShape());
  c.forEachWindow([&](int64_t n, int64_t ch, int64_t y, int64_t x) {
    int64_t bestY = -1, bestX = -1;
    double best = 0;
    c.forEachInside(y, x, [&](int64_t iy, int64_t ix) {
      double value = in.at(n, ch, iy, ix);
      bool larger = std::isnan(value) ? !std::isnan(best) : value > best;
      if (bestY < 0 || larger) {
        best = value;
        bestY = iy;
        bestX = ix;
      }
    });
    out.at(n, ch, y, x) = best;
    adjoint.at(n, ch, bestY, bestX) += d.at(n, ch, y, x);
  });
  LayerTest forward(c.layer(ESPALIER_LAYER_MAX_POOL2D), {image});
  forward.expected = {out};
  expectLayer(forward);
  LayerTest backward(c.layer(ESPALIER_LAYER_MAX_POOL2D_ADJOINT), {image, d});
  backward.expected = {adjoint};
  expectLayer(backward);
}

void expectAvgPool(const Case &c, const Values &image, bool countsPadding) {
  Values in = image, d = randomValues(c.resultShape(), 4);
  Values out(c.resultShape()), adjoint(c.imageShape());
  c.forEachWindow([&](int64_t n, int64_t ch, int64_t y, int64_t x) {
    double sum = 0, count = 0;
    c.forEachInside(y, x, [&](int64_t iy, int64_t ix) {
      sum += in.at(n, ch, iy, ix);
      count += 1;
    });
    if (countsPadding)
      count = (double)(c.window[0] * c.window[1]);
    out.at(n, ch, y, x) = sum / count;
    c.forEachInside(y, x, [&](int64_t iy, int64_t ix) {
      adjoint.at(n, ch, iy, ix) += d.at(n, ch, y, x) / count;
    });
  });
  LayerTest forward(c.layer(ESPALIER_LAYER_AVG_POOL2D), {image});
  LayerTest backward(c.layer(ESPALIER_LAYER_AVG_POOL2D_ADJOINT), {d});
  for (LayerTest *test : {&forward, &backward}) {
    test->layer.flags = countsPadding ? ESPALIER_LAYER_COUNT_PADDING : 0;
    test->tolerance = 16;
  }
  forward.expected = {out};
  backward.expected = {adjoint};
  expectLayer(forward);
  expectLayer(backward);
}

/// Whole numbers are often equal, so that the first one has to be found.
void expectAll(const Case &c) {
  expectMaxPool(c, wholeValues(c.imageShape()));
  expectMaxPool(c, randomValues(c.imageShape()));
  expectAvgPool(c, randomValues(c.imageShape()), false);
  expectAvgPool(c, randomValues(c.imageShape()), true);
}

} // namespace

TEST(LayersPooling, Windows) {
  expectAll({2, 3, 8, 8, {2, 2}, {2, 2}, {0, 0, 0, 0}});
  expectAll({2, 5, 9, 7, {3, 2}, {1, 2}, {0, 0, 0, 0}});
  expectAll({1, 2, 16, 33, {3, 3}, {2, 2}, {1, 1, 1, 1}});
}

TEST(LayersPooling, StridesBeyondTheWindow) {
  expectAll({2, 3, 10, 11, {2, 1}, {3, 4}, {0, 0, 0, 0}});
}

TEST(LayersPooling, AsymmetricPadding) {
  expectAll({2, 3, 6, 7, {3, 4}, {2, 1}, {2, 0, 1, 3}});
}

TEST(LayersPooling, RoundedUp) {
  expectAll({2, 3, 6, 8, {3, 3}, {2, 2}, {0, 0, 0, 0}, true});
  expectAll({1, 2, 7, 6, {3, 3}, {2, 2}, {1, 0, 0, 1}, true});
}

TEST(LayersPooling, WholeImagesAndOnePoint) {
  expectAll({3, 4, 5, 6, {5, 6}, {1, 1}, {0, 0, 0, 0}});
  expectAll({2, 3, 1, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  expectAll({2, 3, 1, 1, {3, 3}, {2, 2}, {1, 1, 1, 1}});
}

TEST(LayersPooling, NoImages) {
  expectAll({0, 3, 8, 8, {2, 2}, {2, 2}, {0, 0, 0, 0}});
  expectAll({2, 0, 8, 8, {2, 2}, {2, 2}, {0, 0, 0, 0}});
}

TEST(LayersPooling, NotFinite) {
  Case c{2, 2, 7, 7, {3, 3}, {2, 2}, {1, 1, 1, 1}};
  Values image = randomValues(c.imageShape());
  image.at(0, 0, 3, 3) = NAN;
  image.at(0, 1, 0, 0) = std::numeric_limits<double>::infinity();
  image.at(1, 0, 6, 6) = NAN;
  image.at(1, 0, 5, 6) = NAN;
  for (int64_t y = 0; y < 7; ++y)
    for (int64_t x = 0; x < 7; ++x)
      image.at(1, 1, y, x) = -std::numeric_limits<double>::infinity();
  expectMaxPool(c, image);
  expectAvgPool(c, image, false);
}
