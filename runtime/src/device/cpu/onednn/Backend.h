//===- Backend.h - What the oneDNN backend offers ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of functions through which the runtime uses
// libespalier_onednn.so. It is a library of its own, loaded on demand, so that
// the runtime needs neither oneDNN nor OpenMP unless they do something.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_ONEDNN_BACKEND_H
#define ESPALIER_DEVICE_CPU_ONEDNN_BACKEND_H

#include <cstdint>

namespace espalier {

/// No function throws. Those that can fail say why in `error()`, which is valid
/// until the next failure on the same thread.
struct OneDnnBackend {
  /// sizeof(OneDnnBackend) where the backend was compiled.
  uint64_t structSize;
  /// A packed k x n weight (k, n > 0), or null.
  void *(*pack)(int64_t k, int64_t n, const float *rowMajorKxN);
  /// Packs other values in the same memory. False on failure.
  bool (*repack)(void *weight, const float *rowMajorKxN);
  /// As PackedWeight::multiply. False on failure.
  bool (*multiply)(const void *weight, const float *in, int64_t ldIn,
                   float *out, int64_t ldOut, int64_t m);
  void (*destroy)(void *weight);
  const char *(*error)();
};

using OneDnnBackendQuery = const OneDnnBackend *(*)();

constexpr const char *OneDnnLibraryName = "libespalier_onednn.so";
constexpr const char *OneDnnQuerySymbol = "espalier_onednn_backend";

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_ONEDNN_BACKEND_H
