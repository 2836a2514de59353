//===- OneDnnLayer.cpp - Layers by the oneDNN backend ---------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions and products. Other layers move more bytes than they compute;
// there the built-in kernels are as fast, without copies to other layouts, and
// their results are those of abi.h to the last NaN.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/OneDnn.h"
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "device/cpu/layers/ConvolutionShape.h"
#include "support/Error.h"

#include <algorithm>
#include <mutex>
#include <string>

namespace espalier {

namespace {

/// The first failure of several threads.
class Failure {
public:
  void note(const char *message) {
    std::lock_guard<std::mutex> lock(mutex);
    if (first.empty())
      first = message;
  }
  void raise(const char *what) const {
    if (!first.empty())
      fail(ESPALIER_UNSUPPORTED, "oneDNN cannot compute a %s: %s", what,
           first.c_str());
  }

private:
  std::mutex mutex;
  std::string first;
};

class OneDnnConvolutionLayer final : public LayerKernel {
public:
  OneDnnConvolutionLayer(const OneDnnLayers &library, void *layer)
      : library(library), layer(layer) {}
  ~OneDnnConvolutionLayer() override { library.destroy(layer); }

  int64_t scratchBytes() const override { return library.scratchBytes(layer); }
  const char *backend() const override { return "onednn"; }

  void run(const LayerCall &call) const override {
    auto operands = reinterpret_cast<float *const *>(call.operands);
    Failure failure;
    for (int64_t stage = 0; stage < library.stages(layer); ++stage)
      forEachIndex(
          call.pool, library.parts(layer, stage), [&](unsigned, int64_t part) {
            if (!library.run(layer, stage, part, operands, call.scratch))
              failure.note(library.error());
          });
    failure.raise("convolution");
  }

private:
  const OneDnnLayers &library;
  void *layer;
};

class OneDnnMatmul final : public LayerKernel {
public:
  OneDnnMatmul(const OneDnnLayers &library, const LayerProblem &problem,
               unsigned threads)
      : library(library) {
    const uint32_t flags = problem.layer.flags;
    whole.transposesA = flags & ESPALIER_LAYER_TRANSPOSE_A;
    whole.transposesB = flags & ESPALIER_LAYER_TRANSPOSE_B;
    whole.accumulates = flags & ESPALIER_LAYER_ACCUMULATE;
    whole.m = problem.operands[2].shape[0];
    whole.n = problem.operands[2].shape[1];
    whole.k = problem.operands[0].shape[whole.transposesA ? 0 : 1];
    whole.ldA = problem.operands[0].shape[1];
    whole.ldB = problem.operands[1].shape[1];
    whole.ldOut = whole.n;
    // The longer side of the result is cut, into parts worth a thread's while.
    constexpr int64_t kMinExtent = 32;
    cutsRows = whole.m > whole.n;
    parts = std::clamp<int64_t>((cutsRows ? whole.m : whole.n) / kMinExtent, 1,
                                threads);
  }

  const char *backend() const override { return "onednn"; }

  void run(const LayerCall &call) const override {
    auto operands = reinterpret_cast<float *const *>(call.operands);
    Failure failure;
    forEachIndex(call.pool, parts, [&](unsigned, int64_t part) {
      OneDnnProduct product = whole;
      const int64_t extent = cutsRows ? whole.m : whole.n;
      const int64_t begin = extent * part / parts;
      (cutsRows ? product.m : product.n) = extent * (part + 1) / parts - begin;
      const int64_t row = cutsRows ? begin : 0, column = cutsRows ? 0 : begin;
      product.a = operands[0] + row * (whole.transposesA ? 1 : whole.ldA);
      product.b = operands[1] + column * (whole.transposesB ? whole.ldB : 1);
      product.out = operands[2] + row * whole.ldOut + column;
      if (!library.multiply(&product))
        failure.note(library.error());
    });
    failure.raise("matrix product");
  }

private:
  const OneDnnLayers &library;
  OneDnnProduct whole{};
  bool cutsRows;
  int64_t parts;
};

LayerKernelPointer makeOneDnnConvolution(const OneDnnLayers &library,
                                         const LayerProblem &problem,
                                         unsigned threads) {
  const ConvolutionShape shape(problem);
  OneDnnConvolution wanted{};
  wanted.kind = problem.layer.kind == ESPALIER_LAYER_CONV2D
                    ? OneDnnConvolution::Forward
                : problem.layer.kind == ESPALIER_LAYER_CONV2D_TRANSPOSE
                    ? OneDnnConvolution::Transpose
                    : OneDnnConvolution::WeightAdjoint;
  wanted.hasBias = problem.operands.size() == 4;
  wanted.accumulates = (problem.layer.flags & ESPALIER_LAYER_ACCUMULATE) != 0;
  wanted.threads = (int32_t)threads;
  wanted.images = shape.images;
  wanted.groups = shape.groups;
  wanted.channels = shape.imageChannels * shape.groups;
  wanted.height = shape.height;
  wanted.width = shape.width;
  wanted.results = shape.resultChannels * shape.groups;
  wanted.resultHeight = shape.resultHeight;
  wanted.resultWidth = shape.resultWidth;
  wanted.windowHeight = shape.windowHeight;
  wanted.windowWidth = shape.windowWidth;
  std::copy_n(shape.strides, 2, wanted.strides);
  std::copy_n(shape.dilations, 2, wanted.dilations);
  std::copy_n(shape.padding, 4, wanted.padding);
  void *layer = library.createConvolution(&wanted);
  if (!layer)
    return nullptr;
  return std::make_unique<OneDnnConvolutionLayer>(library, layer);
}

} // namespace

LayerKernelPointer makeOneDnnLayer(const LayerProblem &problem,
                                   unsigned threads) {
  for (const LayerTensor &tensor : problem.operands)
    if (tensor.dtype != ESPALIER_F32 || tensor.elements() == 0)
      return nullptr;
  switch (problem.layer.kind) {
  case ESPALIER_LAYER_CONV2D:
  case ESPALIER_LAYER_CONV2D_TRANSPOSE:
  case ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT:
    return makeOneDnnConvolution(oneDnnLayers(), problem, threads);
  case ESPALIER_LAYER_MATMUL:
    return std::make_unique<OneDnnMatmul>(oneDnnLayers(), problem, threads);
  default:
    return nullptr;
  }
}

} // namespace espalier
