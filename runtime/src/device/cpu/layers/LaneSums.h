//===- LaneSums.h - Sums of many numbers ------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum in the order of its terms keeps the processor waiting for each addition
// before the next. Here a few sums run side by side, each in double, and are
// added up at the end: the order depends on the number of terms alone.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_LAYERS_LANESUMS_H
#define ESPALIER_DEVICE_CPU_LAYERS_LANESUMS_H

#include <cstdint>

namespace espalier {

/// The sum of term(0) to term(count - 1).
template <typename Term> double sumOfTerms(int64_t count, Term term) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane)
      lanes[lane] += term(i + lane);
  for (int lane = 0; i < count; ++i, ++lane)
    lanes[lane] += term(i);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane)
      lanes[lane] += lanes[lane + half];
  return lanes[0];
}

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_LAYERS_LANESUMS_H
