//===- LayersCopyTest.cpp - Pad, concat, slice, sums and products ---------===//
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

/// Calls body(a, b, c, d) for every element of a tensor of rank 4.
template <typename Body>
void forEach(const std::vector<int64_t> &shape, Body body) {
  for (int64_t a = 0; a < shape[0]; ++a)
    for (int64_t b = 0; b < shape[1]; ++b)
      for (int64_t c = 0; c < shape[2]; ++c)
        for (int64_t d = 0; d < shape[3]; ++d)
          body(a, b, c, d);
}

void expectMatmul(int64_t m, int64_t k, int64_t n, uint32_t flags,
                  bool isWhole = true) {
  bool ta = flags & ESPALIER_LAYER_TRANSPOSE_A;
  bool tb = flags & ESPALIER_LAYER_TRANSPOSE_B;
  std::vector<int64_t> aShape = {ta ? k : m, ta ? m : k};
  std::vector<int64_t> bShape = {tb ? n : k, tb ? k : n};
  Values a = isWhole ? wholeValues(aShape) : randomValues(aShape);
  Values b = isWhole ? wholeValues(bShape, 2) : randomValues(bShape, 2);
  LayerTest test(layerOf(ESPALIER_LAYER_MATMUL), {a, b});
  test.layer.flags = flags;
  Values out({m, n});
  if (flags & ESPALIER_LAYER_ACCUMULATE)
    test.before = out = wholeValues({m, n}, 3);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p)
        out.at(i, j) +=
            (ta ? a.at(p, i) : a.at(i, p)) * (tb ? b.at(j, p) : b.at(p, j));
  test.expected = {out};
  test.tolerance = isWhole ? 0 : 64;
  expectLayer(test);
}

} // namespace

TEST(LayersCopy, Pad) {
  for (double value : {0.0, -2.5, (double)NAN}) {
    LayerTest test(layerOf(ESPALIER_LAYER_PAD), {randomValues({2, 3, 4, 5})});
    int64_t padding[] = {1, 0, 3, 2};
    std::copy_n(padding, 4, test.layer.padding);
    test.layer.value = value;
    Values out({2, 3, 8, 7}, value);
    forEach(test.reads[0].shape,
            [&](int64_t a, int64_t b, int64_t c, int64_t d) {
              out.at(a, b, c + 1, d) = test.reads[0].at(a, b, c, d);
            });
    test.expected = {out};
    expectLayer(test);
  }
}

TEST(LayersCopy, PadOfNothing) {
  LayerTest test(layerOf(ESPALIER_LAYER_PAD), {Values({2, 1, 0, 3})});
  test.layer.padding[0] = 2;
  test.layer.value = 7;
  test.expected = {Values({2, 1, 2, 3}, 7)};
  expectLayer(test);
}

TEST(LayersCopy, Concat) {
  for (uint32_t axis = 0; axis < 4; ++axis) {
    std::vector<int64_t> shape = {2, 3, 4, 5};
    LayerTest test(layerOf(ESPALIER_LAYER_CONCAT));
    test.layer.axis = axis;
    // More operands than a usual step has, one of nothing.
    int64_t sizes[] = {2, 1, 0, 5, 1, 1, 3, 1, 2};
    int64_t total = 0;
    for (int64_t size : sizes) {
      shape[axis] = size;
      test.reads.push_back(randomValues(shape, 1 + (uint32_t)total));
      total += size;
    }
    shape[axis] = total;
    Values out(shape);
    int64_t first = 0;
    for (Values &part : test.reads) {
      forEach(part.shape, [&](int64_t a, int64_t b, int64_t c, int64_t d) {
        int64_t to[] = {a, b, c, d};
        to[axis] += first;
        out.at(to[0], to[1], to[2], to[3]) = part.at(a, b, c, d);
      });
      first += part.shape[axis];
    }
    test.expected = {out};
    expectLayer(test);
  }
}

TEST(LayersCopy, Slice) {
  LayerTest test(layerOf(ESPALIER_LAYER_SLICE), {randomValues({4, 5, 6, 7})});
  int64_t offsets[] = {1, 0, 2, 3};
  std::copy_n(offsets, 4, test.layer.offsets);
  Values out({2, 5, 3, 4});
  forEach(out.shape, [&](int64_t a, int64_t b, int64_t c, int64_t d) {
    out.at(a, b, c, d) = test.reads[0].at(a + 1, b, c + 2, d + 3);
  });
  test.expected = {out};
  expectLayer(test);
}

TEST(LayersCopy, SliceOfLowerRank) {
  LayerTest test(layerOf(ESPALIER_LAYER_SLICE), {randomValues({6, 3})});
  test.layer.offsets[0] = 4;
  test.layer.offsets[1] = 1;
  Values out({2, 2});
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 2; ++j)
      out.at(i, j) = test.reads[0].at(4 + i, 1 + j);
  test.expected = {out};
  expectLayer(test);

  LayerTest nothing(layerOf(ESPALIER_LAYER_SLICE), {randomValues({6})});
  nothing.layer.offsets[0] = 6;
  nothing.expected = {Values({0})};
  expectLayer(nothing);
}

TEST(LayersCopy, RowsInTwoShapes) {
  // Rows of two elements, as images or not.
  LayerTest slice(layerOf(ESPALIER_LAYER_SLICE), {randomValues({5, 2})});
  slice.layer.offsets[0] = 3;
  Values part({2, 2, 1, 1});
  std::copy_n(slice.reads[0].data.begin() + 6, 4, part.data.begin());
  slice.expected = {part};
  expectLayer(slice);

  LayerTest back(layerOf(ESPALIER_LAYER_SLICE), {randomValues({5, 1, 2, 1})});
  back.layer.offsets[0] = 1;
  Values rows({3, 2});
  std::copy_n(back.reads[0].data.begin() + 2, 6, rows.data.begin());
  back.expected = {rows};
  expectLayer(back);

  LayerTest concat(layerOf(ESPALIER_LAYER_CONCAT),
                   {randomValues({2, 2, 1, 1}), randomValues({1, 2})});
  Values whole({3, 2});
  std::copy_n(concat.reads[0].data.begin(), 4, whole.data.begin());
  std::copy_n(concat.reads[1].data.begin(), 2, whole.data.begin() + 4);
  concat.expected = {whole};
  expectLayer(concat);
}

TEST(LayersCopy, SumChannels) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{3, 5, 4, 7},
                                     {33, 37},
                                     {2, 18, 3},
                                     {0, 4, 2, 2},
                                     {3, 0, 2, 2},
                                     {1, 1, 1, 1}})
    for (bool accumulates : {false, true}) {
      LayerTest test(layerOf(ESPALIER_LAYER_SUM_CHANNELS),
                     {wholeValues(shape)});
      Values sums({shape[1]});
      if (accumulates) {
        test.layer.flags = ESPALIER_LAYER_ACCUMULATE;
        test.before = sums = wholeValues({shape[1]}, 2);
      }
      int64_t area = 1;
      for (size_t i = 2; i < shape.size(); ++i)
        area *= shape[i];
      for (size_t e = 0; e < test.reads[0].data.size(); ++e)
        sums.data[e / area % shape[1]] += test.reads[0].data[e];
      test.expected = {sums};
      expectLayer(test);
    }
}

TEST(LayersMatmul, Shapes) {
  for (uint32_t flags = 0; flags < 16; ++flags) {
    if (flags & ESPALIER_LAYER_COUNT_PADDING)
      continue;
    SCOPED_TRACE("flags " + std::to_string(flags));
    expectMatmul(5, 7, 3, flags);
    expectMatmul(1, 300, 10, flags);
    expectMatmul(70, 1, 130, flags);
    expectMatmul(130, 401, 70, flags);
    expectMatmul(20, 33, 300, flags);
    expectMatmul(37, 250, 61, flags, /*isWhole=*/false);
    expectMatmul(3, 0, 4, flags);
    expectMatmul(0, 3, 4, flags);
    expectMatmul(3, 4, 0, flags);
  }
}

TEST(LayersMatmul, NotFinite) {
  LayerTest test(layerOf(ESPALIER_LAYER_MATMUL),
                 {wholeValues({3, 4}), wholeValues({4, 5}, 2)});
  Values &a = test.reads[0], &b = test.reads[1], out({3, 5});
  a.at(1, 2) = NAN;
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 5; ++j)
      for (int64_t p = 0; p < 4; ++p)
        out.at(i, j) += a.at(i, p) * b.at(p, j);
  test.expected = {out};
  expectLayer(test);
}
