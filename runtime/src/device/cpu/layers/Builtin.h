//===- Builtin.h - The built-in kernels of layers ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for each family of layers, which has a file of its own.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_LAYERS_BUILTIN_H
#define ESPALIER_DEVICE_CPU_LAYERS_BUILTIN_H

#include "device/cpu/layers/Layer.h"

namespace espalier {

using LayerKernelPointer = std::unique_ptr<LayerKernel>;

/// Null for what is of another family.
LayerKernelPointer makeConvolution(const LayerProblem &, unsigned threads);
LayerKernelPointer makePooling(const LayerProblem &);
LayerKernelPointer makeBatchNorm(const LayerProblem &);
LayerKernelPointer makeLrn(const LayerProblem &, unsigned threads);
LayerKernelPointer makeSumChannels(const LayerProblem &);
LayerKernelPointer makeCopies(const LayerProblem &);
LayerKernelPointer makeMatmul(const LayerProblem &, unsigned threads);

/// Makes a `Kernel` of float or of double, as the last operand is.
template <template <typename> class Kernel, typename... Args>
LayerKernelPointer makeByDtype(const LayerProblem &problem, Args... args) {
  if (problem.operands.back().dtype == ESPALIER_F64)
    return std::make_unique<Kernel<double>>(problem, args...);
  return std::make_unique<Kernel<float>>(problem, args...);
}

/// An operand of a call.
template <typename T> T *operandOf(const LayerCall &call, size_t o) {
  return reinterpret_cast<T *>(call.operands[o]);
}

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_LAYERS_BUILTIN_H
