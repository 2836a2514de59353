//===- Lrn.cpp - Local response normalisation -----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some points of an image are worked on at a time, all channels of them;
// threads share these blocks of points.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "memory/Arena.h"

#include <algorithm>
#include <cmath>

namespace espalier {

namespace {

constexpr int64_t kPoints = 64;

template <typename T> struct Response {
  int64_t images, channels, area, around;
  T alphaPerSize, beta, bias;

  explicit Response(const LayerProblem &problem)
      : images(problem.operands[0].shape[0]),
        channels(problem.operands[0].shape[1]),
        area(problem.operands[0].shape[2] * problem.operands[0].shape[3]),
        around((problem.layer.size - 1) / 2),
        alphaPerSize(T(problem.layer.alpha / (double)problem.layer.size)),
        beta(T(problem.layer.beta)), bias(T(problem.layer.bias)) {}

  int64_t blocksPerImage() const { return (area + kPoints - 1) / kPoints; }
  int64_t blocks() const { return images * blocksPerImage(); }
  /// Where channel 0 of the block's points is, and how many they are.
  int64_t offset(int64_t block) const {
    return block / blocksPerImage() * channels * area +
           block % blocksPerImage() * kPoints;
  }
  int64_t points(int64_t block) const {
    return std::min(kPoints, area - block % blocksPerImage() * kPoints);
  }
  /// Channels [first, last) are around `channel`.
  int64_t first(int64_t channel) const {
    return std::max<int64_t>(0, channel - around);
  }
  int64_t last(int64_t channel) const {
    return channel + std::min(around, channels - 1 - channel) + 1;
  }

  /// The base of the power at some points of a channel.
  void bases(const T *input, int64_t channel, int64_t count, T *to) const {
    std::fill_n(to, count, T(0));
    for (int64_t c = first(channel); c < last(channel); ++c)
      for (int64_t i = 0; i < count; ++i)
        to[i] += input[c * area + i] * input[c * area + i];
    for (int64_t i = 0; i < count; ++i)
      to[i] = bias + alphaPerSize * to[i];
  }
  /// bases^-beta. Two square roots are much faster than a power.
  void powers(const T *bases, int64_t count, T *to) const {
    if (beta == T(0.75))
      for (int64_t i = 0; i < count; ++i) {
        const T root = std::sqrt(bases[i]);
        to[i] = 1 / (root * std::sqrt(root));
      }
    else
      for (int64_t i = 0; i < count; ++i)
        to[i] = std::pow(bases[i], -beta);
  }
};

template <typename T> class Lrn final : public LayerKernel {
public:
  explicit Lrn(const LayerProblem &problem, unsigned) : response(problem) {}

  void run(const LayerCall &call) const override {
    forEachIndex(call.pool, response.blocks(), [&](unsigned, int64_t block) {
      const int64_t offset = response.offset(block);
      const int64_t count = response.points(block);
      const T *input = operandOf<T>(call, 0) + offset;
      T *out = operandOf<T>(call, 1) + offset;
      T bases[kPoints], powers[kPoints];
      for (int64_t c = 0; c < response.channels; ++c) {
        response.bases(input, c, count, bases);
        response.powers(bases, count, powers);
        for (int64_t i = 0; i < count; ++i)
          out[c * response.area + i] = input[c * response.area + i] * powers[i];
      }
    });
  }

private:
  Response<T> response;
};

/// With b the base of an element: its adjoint is d b^-beta - 2 alpha beta /
/// size * input * the sum of d input b^(-beta - 1) over the channels around.
template <typename T> class LrnAdjoint final : public LayerKernel {
public:
  LrnAdjoint(const LayerProblem &problem, unsigned threads)
      : response(problem), threads(threads) {}

  int64_t scratchBytes() const override { return threads * workerBytes(); }

  void run(const LayerCall &call) const override {
    const int64_t channels = response.channels, area = response.area;
    forEachIndex(call.pool, response.blocks(), [&](unsigned w, int64_t block) {
      const int64_t offset = response.offset(block);
      const int64_t count = response.points(block);
      const T *input = operandOf<T>(call, 0) + offset;
      const T *d = operandOf<T>(call, 1) + offset;
      T *out = operandOf<T>(call, 2) + offset;
      // Of all channels, since the result may be in place of d.
      T *terms = reinterpret_cast<T *>(call.scratch + w * workerBytes());
      T *direct = terms + channels * kPoints;
      T bases[kPoints], powers[kPoints];
      for (int64_t c = 0; c < channels; ++c) {
        response.bases(input, c, count, bases);
        response.powers(bases, count, powers);
        for (int64_t i = 0; i < count; ++i) {
          const T passed = d[c * area + i] * powers[i];
          direct[c * kPoints + i] = passed;
          terms[c * kPoints + i] = passed * input[c * area + i] / bases[i];
        }
      }
      const T factor = 2 * response.alphaPerSize * response.beta;
      for (int64_t c = 0; c < channels; ++c) {
        T sums[kPoints] = {};
        for (int64_t o = response.first(c); o < response.last(c); ++o)
          for (int64_t i = 0; i < count; ++i)
            sums[i] += terms[o * kPoints + i];
        for (int64_t i = 0; i < count; ++i)
          out[c * area + i] =
              direct[c * kPoints + i] - factor * input[c * area + i] * sums[i];
      }
    });
  }

private:
  int64_t workerBytes() const {
    return alignUp(2 * response.channels * kPoints * (int64_t)sizeof(T));
  }

  Response<T> response;
  unsigned threads;
};

} // namespace

LayerKernelPointer makeLrn(const LayerProblem &problem, unsigned threads) {
  switch (problem.layer.kind) {
  case ESPALIER_LAYER_LRN:
    return makeByDtype<Lrn>(problem, threads);
  case ESPALIER_LAYER_LRN_ADJOINT:
    return makeByDtype<LrnAdjoint>(problem, threads);
  default:
    return nullptr;
  }
}

} // namespace espalier
