//===- Layer.h - A layer, prepared for execution ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer works on whole tensors whose shapes are known when the model is
// loaded. What depends on nothing else, such as the code that oneDNN generates,
// is made once, and shared by all layers of a session that are alike.
//
// The built-in kernels work on f32 and f64 and need no library. Work is cut by
// what is written, never within a sum, so that their bits do not depend on the
// number of threads. f32 uses oneDNN (onednn/LayerBackend.h) where it is
// faster, as ESPALIER_GEMM says (see Gemm.h).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_LAYERS_LAYER_H
#define ESPALIER_DEVICE_CPU_LAYERS_LAYER_H

#include "espalier/abi.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace espalier {

class ThreadPool;

struct LayerTensor {
  uint32_t dtype;
  uint32_t rank;
  int64_t shape[ESPALIER_MAX_RANK];

  int64_t elements() const;
  int64_t bytes() const;
};

/// A layer's attributes and its operands, in the step's order. They agree with
/// each other as abi.h says.
struct LayerProblem {
  espalier_layer layer;
  std::vector<LayerTensor> operands;
};

/// The same with matrices for operands of higher rank: the first extent is
/// theirs, the second the product of all others. Of a product of matrices.
LayerProblem withMatrices(LayerProblem problem);

/// What one run of a layer works with.
struct LayerCall {
  /// Where the operands are.
  char *const *operands;
  /// layer.workspace_bytes of the plan's, aligned to kAlignment.
  char *workspace;
  /// scratchBytes() of the library's, aligned to kAlignment.
  char *scratch;
  /// Null: the calling thread only. Otherwise not more threads than the kernel
  /// was made for.
  ThreadPool *pool;
};

class LayerKernel {
public:
  virtual ~LayerKernel() = default;
  LayerKernel(const LayerKernel &) = delete;
  LayerKernel &operator=(const LayerKernel &) = delete;

  /// Any number of threads may run a kernel at a time.
  virtual void run(const LayerCall &call) const = 0;
  /// What a run needs beside operands and workspace: tiles that are packed for
  /// the cache and, of oneDNN, copies in layouts of its own.
  virtual int64_t scratchBytes() const { return 0; }
  /// "builtin" or "onednn".
  virtual const char *backend() const { return "builtin"; }

protected:
  LayerKernel() = default;
};

/// The kernel that is the fastest for `problem` of those that the environment
/// allows, for up to `threads` threads.
std::unique_ptr<LayerKernel> makeLayerKernel(const LayerProblem &problem,
                                             unsigned threads);

/// Bytes of a workspace with which a layer's algorithm works on `points` points
/// at a time, or a few more; 0 if it uses none.
int64_t layerWorkspaceBytes(const LayerProblem &problem, int64_t points);

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_LAYERS_LAYER_H
