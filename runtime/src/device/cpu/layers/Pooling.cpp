//===- Pooling.cpp - Maxima and means of windows --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel of an image is a plane; threads share the planes. Forward a row of
// results is made at a time, an element of all their windows after another,
// which vectorises; no order of theirs can be seen in a maximum, and sums are
// row by row.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "memory/Arena.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace espalier {

namespace {

struct Shape {
  int64_t planes;
  int64_t height, width; // of the image
  int64_t resultHeight, resultWidth;
  int64_t window[2], strides[2], padding[2];

  Shape(const LayerProblem &problem, const LayerTensor &image,
        const LayerTensor &result)
      : planes(image.shape[0] * image.shape[1]), height(image.shape[2]),
        width(image.shape[3]), resultHeight(result.shape[2]),
        resultWidth(result.shape[3]) {
    for (int i = 0; i < 2; ++i) {
      window[i] = problem.layer.window[i];
      strides[i] = problem.layer.strides[i];
      padding[i] = problem.layer.padding[i];
    }
  }
  int64_t area() const { return height * width; }
  int64_t resultArea() const { return resultHeight * resultWidth; }

  /// What of a window lies in the image, along dimension i.
  struct Span {
    int64_t begin, end;
  };
  Span span(int i, int64_t at) const {
    int64_t begin = at * strides[i] - padding[i];
    return {std::max<int64_t>(begin, 0),
            std::min(begin + window[i], i == 0 ? height : width)};
  }
  /// Calls body(x, ix) for the results of a row whose window has its element
  /// `v` inside the image, and where that is.
  template <typename Body> void forEachInside(int64_t v, Body body) const {
    const int64_t offset = v - padding[1], step = strides[1];
    const int64_t first = offset >= 0 ? 0 : (-offset + step - 1) / step;
    const int64_t last =
        width > offset ? std::min(resultWidth, (width - offset - 1) / step + 1)
                       : 0;
    if (step == 1)
      for (int64_t x = first; x < last; ++x)
        body(x, x + offset);
    else
      for (int64_t x = first; x < last; ++x)
        body(x, x * step + offset);
  }
};

template <typename T> class MaxPool final : public LayerKernel {
public:
  explicit MaxPool(const LayerProblem &problem)
      : shape(problem, problem.operands[0], problem.operands[1]) {}

  void run(const LayerCall &call) const override {
    forEachIndex(call.pool, shape.planes, [&](unsigned, int64_t plane) {
      const T *image = operandOf<T>(call, 0) + plane * shape.area();
      T *out = operandOf<T>(call, 1) + plane * shape.resultArea();
      for (int64_t y = 0; y < shape.resultHeight; ++y) {
        T *best = out + y * shape.resultWidth;
        std::fill_n(best, shape.resultWidth,
                    -std::numeric_limits<T>::infinity());
        const Shape::Span rows = shape.span(0, y);
        for (int64_t row = rows.begin; row < rows.end; ++row) {
          const T *from = image + row * shape.width;
          for (int64_t v = 0; v < shape.window[1]; ++v)
            shape.forEachInside(v, [&](int64_t x, int64_t ix) {
              const T value = from[ix];
              best[x] = best[x] >= value      ? best[x]
                        : std::isnan(best[x]) ? best[x]
                                              : value;
            });
        }
      }
    });
  }

private:
  Shape shape;
};

template <typename T> class MaxPoolAdjoint final : public LayerKernel {
public:
  MaxPoolAdjoint(const LayerProblem &problem, unsigned threads)
      : shape(problem, problem.operands[0], problem.operands[1]),
        threads(threads) {}

  int64_t scratchBytes() const override { return threads * workerBytes(); }

  void run(const LayerCall &call) const override {
    forEachIndex(call.pool, shape.planes, [&](unsigned w, int64_t plane) {
      const T *image = operandOf<T>(call, 0) + plane * shape.area();
      const T *d = operandOf<T>(call, 1) + plane * shape.resultArea();
      T *out = operandOf<T>(call, 2) + plane * shape.area();
      T *best = reinterpret_cast<T *>(call.scratch + w * workerBytes());
      Place *places = reinterpret_cast<Place *>(best + shape.resultWidth);
      std::fill_n(out, shape.area(), T(0));
      for (int64_t y = 0; y < shape.resultHeight; ++y) {
        findFirstLargest(image, y, best, places);
        for (int64_t x = 0; x < shape.resultWidth; ++x)
          out[places[x]] += *d++;
      }
    });
  }

private:
  /// A number of the size of T, so that both are compared and chosen alike.
  using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  int64_t workerBytes() const {
    return alignUp(shape.resultWidth * (int64_t)(sizeof(T) + sizeof(Place)));
  }

  /// For a row of results, where in the plane each has its maximum.
  void findFirstLargest(const T *image, int64_t y, T *__restrict best,
                        Place *__restrict places) const {
    const Shape::Span rows = shape.span(0, y);
    for (int64_t x = 0; x < shape.resultWidth; ++x) {
      places[x] = Place(rows.begin * shape.width + shape.span(1, x).begin);
      best[x] = -std::numeric_limits<T>::infinity();
    }
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const T *from = image + row * shape.width;
      const Place first = Place(row * shape.width);
      for (int64_t v = 0; v < shape.window[1]; ++v)
        shape.forEachInside(v, [&](int64_t x, int64_t ix) {
          // NaN is larger than all; so that two comparisons say it, what is
          // not less or equal is larger, unless the best is NaN.
          const T value = from[ix], other = best[x];
          const bool isLarger = !(value <= other) && !std::isnan(other);
          best[x] = isLarger ? value : other;
          places[x] = isLarger ? Place(first + ix) : places[x];
        });
    }
  }

  Shape shape;
  unsigned threads;
};

/// What a sum over a window is divided by.
template <typename T>
T divisor(const Shape &shape, bool countsPadding, int64_t y, int64_t x) {
  if (countsPadding)
    return T(shape.window[0] * shape.window[1]);
  const Shape::Span rows = shape.span(0, y), columns = shape.span(1, x);
  return T((rows.end - rows.begin) * (columns.end - columns.begin));
}

template <typename T> class AvgPool final : public LayerKernel {
public:
  explicit AvgPool(const LayerProblem &problem)
      : shape(problem, problem.operands[0], problem.operands[1]),
        countsPadding(problem.layer.flags & ESPALIER_LAYER_COUNT_PADDING) {}

  void run(const LayerCall &call) const override {
    forEachIndex(call.pool, shape.planes, [&](unsigned, int64_t plane) {
      const T *image = operandOf<T>(call, 0) + plane * shape.area();
      T *out = operandOf<T>(call, 1) + plane * shape.resultArea();
      for (int64_t y = 0; y < shape.resultHeight; ++y) {
        T *sums = out + y * shape.resultWidth;
        std::fill_n(sums, shape.resultWidth, T(0));
        const Shape::Span rows = shape.span(0, y);
        for (int64_t row = rows.begin; row < rows.end; ++row) {
          const T *from = image + row * shape.width;
          for (int64_t v = 0; v < shape.window[1]; ++v)
            shape.forEachInside(
                v, [&](int64_t x, int64_t ix) { sums[x] += from[ix]; });
        }
        for (int64_t x = 0; x < shape.resultWidth; ++x)
          sums[x] /= divisor<T>(shape, countsPadding, y, x);
      }
    });
  }

private:
  Shape shape;
  bool countsPadding;
};

template <typename T> class AvgPoolAdjoint final : public LayerKernel {
public:
  explicit AvgPoolAdjoint(const LayerProblem &problem)
      : shape(problem, problem.operands[1], problem.operands[0]),
        countsPadding(problem.layer.flags & ESPALIER_LAYER_COUNT_PADDING) {}

  void run(const LayerCall &call) const override {
    forEachIndex(call.pool, shape.planes, [&](unsigned, int64_t plane) {
      const T *d = operandOf<T>(call, 0) + plane * shape.resultArea();
      T *out = operandOf<T>(call, 1) + plane * shape.area();
      std::fill_n(out, shape.area(), T(0));
      for (int64_t y = 0; y < shape.resultHeight; ++y)
        for (int64_t x = 0; x < shape.resultWidth; ++x) {
          const T share = *d++ / divisor<T>(shape, countsPadding, y, x);
          const Shape::Span rows = shape.span(0, y), columns = shape.span(1, x);
          for (int64_t row = rows.begin; row < rows.end; ++row)
            for (int64_t column = columns.begin; column < columns.end; ++column)
              out[row * shape.width + column] += share;
        }
    });
  }

private:
  Shape shape;
  bool countsPadding;
};

} // namespace

LayerKernelPointer makePooling(const LayerProblem &problem, unsigned threads) {
  switch (problem.layer.kind) {
  case ESPALIER_LAYER_MAX_POOL2D:
    return makeByDtype<MaxPool>(problem);
  case ESPALIER_LAYER_MAX_POOL2D_ADJOINT:
    return makeByDtype<MaxPoolAdjoint>(problem, threads);
  case ESPALIER_LAYER_AVG_POOL2D:
    return makeByDtype<AvgPool>(problem);
  case ESPALIER_LAYER_AVG_POOL2D_ADJOINT:
    return makeByDtype<AvgPoolAdjoint>(problem);
  default:
    return nullptr;
  }
}

} // namespace espalier
