//===- Layer.cpp - Choosing a layer's kernel ------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/layers/Layer.h"

#include "device/cpu/layers/Builtin.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

namespace espalier {

int64_t LayerTensor::elements() const {
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i)
    count *= shape[i];
  return count;
}

int64_t LayerTensor::bytes() const {
  return elements() * (int64_t)dtypeSize(dtype);
}

std::unique_ptr<LayerKernel> makeLayerKernel(const LayerProblem &problem,
                                             unsigned threads) {
  LayerKernelPointer kernel = makeConvolution(problem, threads);
  if (!kernel)
    kernel = makePooling(problem);
  if (!kernel)
    kernel = makeBatchNorm(problem);
  if (!kernel)
    kernel = makeLrn(problem, threads);
  if (!kernel)
    kernel = makeSumChannels(problem);
  if (!kernel)
    kernel = makeCopies(problem);
  if (!kernel)
    kernel = makeMatmul(problem, threads);
  if (!kernel)
    fail(ESPALIER_UNSUPPORTED, "there is no layer of kind %u",
         problem.layer.kind);
  return kernel;
}

} // namespace espalier
