//===- BatchNorm.cpp - Normalisation over the batch -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads share the channels. Sums are in double: they have as many terms as a
// channel has points in the whole batch. The variance is the mean square of the
// distance from the mean, which is known by then, so that a mean far from zero
// costs no digits.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "device/cpu/layers/LaneSums.h"

#include <cmath>

namespace espalier {

namespace {

struct Shape {
  int64_t images, channels, area;

  explicit Shape(const LayerTensor &images)
      : images(images.shape[0]), channels(images.shape[1]), area(1) {
    for (uint32_t i = 2; i < images.rank; ++i)
      area *= images.shape[i];
  }
  double count() const { return (double)(images * area); }
  /// Calls body(offset) for the channel of every image.
  template <typename Body> void forEachPlane(int64_t channel, Body body) const {
    for (int64_t n = 0; n < images; ++n)
      body((n * channels + channel) * area);
  }
};

template <typename T> class BatchNorm final : public LayerKernel {
public:
  explicit BatchNorm(const LayerProblem &problem)
      : shape(problem.operands[0]), epsilon(problem.layer.epsilon) {}

  void run(const LayerCall &call) const override {
    const T *input = operandOf<T>(call, 0), *scale = operandOf<T>(call, 1);
    const T *shift = operandOf<T>(call, 2);
    T *out = operandOf<T>(call, 3), *means = operandOf<T>(call, 4);
    T *variances = operandOf<T>(call, 5);
    forEachIndex(call.pool, shape.channels, [&](unsigned, int64_t c) {
      double sum = 0, squares = 0;
      shape.forEachPlane(c, [&](int64_t offset) {
        const T *x = input + offset;
        sum += sumOfTerms(shape.area, [&](int64_t i) { return (double)x[i]; });
      });
      const double mean = sum / shape.count();
      shape.forEachPlane(c, [&](int64_t offset) {
        const T *x = input + offset;
        squares += sumOfTerms(shape.area, [&](int64_t i) {
          const double distance = (double)x[i] - mean;
          return distance * distance;
        });
      });
      const double variance = squares / shape.count();
      const T center = T(mean);
      const T factor = T(scale[c] / std::sqrt(variance + epsilon));
      const T added = shift[c];
      means[c] = center;
      variances[c] = T(variance);
      shape.forEachPlane(c, [&](int64_t offset) {
        for (int64_t i = offset; i < offset + shape.area; ++i)
          out[i] = (input[i] - center) * factor + added;
      });
    });
  }

private:
  Shape shape;
  double epsilon;
};

template <typename T> class BatchNormInference final : public LayerKernel {
public:
  explicit BatchNormInference(const LayerProblem &problem)
      : shape(problem.operands[0]), epsilon(problem.layer.epsilon) {}

  void run(const LayerCall &call) const override {
    const T *input = operandOf<T>(call, 0), *scale = operandOf<T>(call, 1);
    const T *shift = operandOf<T>(call, 2), *mean = operandOf<T>(call, 3);
    const T *variance = operandOf<T>(call, 4);
    T *out = operandOf<T>(call, 5);
    forEachIndex(call.pool, shape.channels, [&](unsigned, int64_t c) {
      const T factor = T(scale[c] / std::sqrt((double)variance[c] + epsilon));
      const T center = mean[c], added = shift[c];
      shape.forEachPlane(c, [&](int64_t offset) {
        for (int64_t i = offset; i < offset + shape.area; ++i)
          out[i] = (input[i] - center) * factor + added;
      });
    });
  }

private:
  Shape shape;
  double epsilon;
};

/// With h = (input - mean) / sqrt(variance + epsilon), by channel:
///   adjoint of shift = sum of d, of scale = sum of d h, of the input =
///   scale / sqrt(variance + epsilon) (d - mean of d - h * mean of d h).
template <typename T> class BatchNormAdjoint final : public LayerKernel {
public:
  explicit BatchNormAdjoint(const LayerProblem &problem)
      : shape(problem.operands[0]), epsilon(problem.layer.epsilon) {}

  void run(const LayerCall &call) const override {
    const T *input = operandOf<T>(call, 0), *scale = operandOf<T>(call, 1);
    const T *means = operandOf<T>(call, 2), *variances = operandOf<T>(call, 3);
    const T *d = operandOf<T>(call, 4);
    T *out = operandOf<T>(call, 5), *scaleAdjoint = operandOf<T>(call, 6);
    T *shiftAdjoint = operandOf<T>(call, 7);
    forEachIndex(call.pool, shape.channels, [&](unsigned, int64_t c) {
      const double mean = means[c];
      const double inverse = 1 / std::sqrt((double)variances[c] + epsilon);
      double sum = 0, products = 0;
      shape.forEachPlane(c, [&](int64_t offset) {
        const T *x = input + offset, *more = d + offset;
        sum +=
            sumOfTerms(shape.area, [&](int64_t i) { return (double)more[i]; });
        products += sumOfTerms(shape.area, [&](int64_t i) {
          return (double)more[i] * ((double)x[i] - mean);
        });
      });
      products *= inverse;
      const T center = means[c];
      const T meanOfD = T(sum / shape.count());
      const T slope = T(products / shape.count() * inverse);
      const T factor = T(scale[c] * inverse);
      shape.forEachPlane(c, [&](int64_t offset) {
        for (int64_t i = offset; i < offset + shape.area; ++i)
          out[i] = (d[i] - meanOfD - (input[i] - center) * slope) * factor;
      });
      scaleAdjoint[c] = T(products);
      shiftAdjoint[c] = T(sum);
    });
  }

private:
  Shape shape;
  double epsilon;
};

} // namespace

LayerKernelPointer makeBatchNorm(const LayerProblem &problem) {
  switch (problem.layer.kind) {
  case ESPALIER_LAYER_BATCH_NORM:
    return makeByDtype<BatchNorm>(problem);
  case ESPALIER_LAYER_BATCH_NORM_INFERENCE:
    return makeByDtype<BatchNormInference>(problem);
  case ESPALIER_LAYER_BATCH_NORM_ADJOINT:
    return makeByDtype<BatchNormAdjoint>(problem);
  default:
    return nullptr;
  }
}

} // namespace espalier
