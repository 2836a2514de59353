//===- PanelKernels.cpp ---------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/PanelKernels.h"

#include <cstring>

// Let a product and a sum become one fused instruction.
#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=fast")
#endif

namespace espalier {

namespace {

constexpr int XWidth = kPanelXWidth;
constexpr int YVectors = 2;

namespace baseline {
#define ESPALIER_PANEL_TARGET
#define ESPALIER_PANEL_VECTOR_BYTES 16
#include "device/cpu/PanelKernel.inc"
} // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
#define ESPALIER_PANEL_TARGET __attribute__((target("avx2,fma")))
#define ESPALIER_PANEL_VECTOR_BYTES 32
#include "device/cpu/PanelKernel.inc"
static_assert(YVectors * VectorBytes == kPanelMaxYBytes);
} // namespace avx2
#endif

} // namespace

template <typename T> PanelKernels<T> choosePanelKernels(bool widestVectors) {
#if defined(__x86_64__)
  if (widestVectors && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma"))
    return avx2::kernelSet<T>();
#endif
  (void)widestVectors;
  return baseline::kernelSet<T>();
}

template PanelKernels<float> choosePanelKernels<float>(bool);
template PanelKernels<double> choosePanelKernels<double>(bool);

} // namespace espalier
