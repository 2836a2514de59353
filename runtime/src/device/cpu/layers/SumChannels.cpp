//===- SumChannels.cpp - Sums over all but the channels -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The adjoint of a bias. Threads share the channels; of a matrix, whose
// channels are its columns, they share blocks of columns.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "device/cpu/layers/LaneSums.h"

#include <algorithm>

namespace espalier {

namespace {

template <typename T> class SumChannels final : public LayerKernel {
public:
  explicit SumChannels(const LayerProblem &problem)
      : images(problem.operands[0].shape[0]),
        channels(problem.operands[0].shape[1]),
        accumulates(problem.layer.flags & ESPALIER_LAYER_ACCUMULATE) {
    for (uint32_t i = 2; i < problem.operands[0].rank; ++i)
      area *= problem.operands[0].shape[i];
  }

  void run(const LayerCall &call) const override {
    const T *input = operandOf<T>(call, 0);
    T *out = operandOf<T>(call, 1);
    const int64_t blocks = (channels + kColumns - 1) / kColumns;
    forEachIndex(call.pool, blocks, [&](unsigned, int64_t block) {
      const int64_t first = block * kColumns;
      const int64_t count = std::min(kColumns, channels - first);
      double sums[kColumns] = {};
      for (int64_t n = 0; n < images; ++n) {
        const T *from = input + (n * channels + first) * area;
        if (area == 1)
          for (int64_t c = 0; c < count; ++c)
            sums[c] += from[c];
        else
          for (int64_t c = 0; c < count; ++c)
            sums[c] += sumOfTerms(
                area, [&](int64_t i) { return (double)from[c * area + i]; });
      }
      for (int64_t c = 0; c < count; ++c)
        out[first + c] = accumulates ? out[first + c] + T(sums[c]) : T(sums[c]);
    });
  }

private:
  static constexpr int64_t kColumns = 16;
  int64_t images, channels, area = 1;
  bool accumulates;
};

} // namespace

LayerKernelPointer makeSumChannels(const LayerProblem &problem) {
  if (problem.layer.kind != ESPALIER_LAYER_SUM_CHANNELS)
    return nullptr;
  return makeByDtype<SumChannels>(problem);
}

} // namespace espalier
