//===- LayerBackend.h - Layers that oneDNN computes -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The second table of functions of libespalier_onednn.so (see Backend.h). A
// layer is made once; it runs in stages, one after another, each of parts that
// threads may run at the same time. All tensors are f32 and dense, images are
// N x C x H x W; what oneDNN wants in other layouts is copied to the scratch
// memory of the call.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_ONEDNN_LAYERBACKEND_H
#define ESPALIER_DEVICE_CPU_ONEDNN_LAYERBACKEND_H

#include <cstdint>

namespace espalier {

/// A convolution or one of its adjoints, with extents of at least 1. Of its
/// operands, `channels` and `results` are those of all groups together.
struct OneDnnConvolution {
  enum Kind : int32_t { Forward, Transpose, WeightAdjoint };
  Kind kind;
  int32_t hasBias;     // Forward: operand 2
  int32_t accumulates; // WeightAdjoint: adds to what is there
  int32_t threads;     // that may run parts at the same time
  int64_t images, groups;
  int64_t channels, height, width;
  int64_t results, resultHeight, resultWidth;
  int64_t windowHeight, windowWidth;
  int64_t strides[2], dilations[2], padding[4];
};

/// A row-major matrix product; see ESPALIER_LAYER_MATMUL. ld: elements between
/// rows.
struct OneDnnProduct {
  bool transposesA, transposesB, accumulates;
  int64_t m, n, k;
  const float *a, *b;
  float *out;
  int64_t ldA, ldB, ldOut;
};

/// No function throws. Those that can fail say why in `error()`, which is valid
/// until the next failure on the same thread.
struct OneDnnLayers {
  /// sizeof(OneDnnLayers) where the backend was compiled.
  uint64_t structSize;
  /// Null if oneDNN has no kernel for it.
  void *(*createConvolution)(const OneDnnConvolution *);
  void (*destroy)(void *layer);
  /// Of the memory that a call needs, aligned to 64.
  int64_t (*scratchBytes)(const void *layer);
  int64_t (*stages)(const void *layer);
  int64_t (*parts)(const void *layer, int64_t stage);
  /// `operands` as abi.h orders them. False on failure.
  bool (*run)(const void *layer, int64_t stage, int64_t part,
              float *const *operands, char *scratch);
  /// Extents are at least 1. False on failure.
  bool (*multiply)(const OneDnnProduct *);
  const char *(*error)();
};

using OneDnnLayersQuery = const OneDnnLayers *(*)();
constexpr const char *OneDnnLayersSymbol = "espalier_onednn_layers";

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_ONEDNN_LAYERBACKEND_H
