//===- SharedWeights.cpp --------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/SharedWeights.h"

#include <cstring>

namespace espalier {

void SharedWeight::own() {
  if (owned)
    return;
  Tensor copy = Tensor::uninitialized(tensor.dtype, tensor.shape);
  if (tensor.bytes() > 0)
    std::memcpy(copy.mutableData(), tensor.data, tensor.bytes());
  tensor = std::move(copy);
  owned = true;
}

SharedWeights::SharedWeights(const Weights &given) {
  for (const auto &[name, tensor] : given)
    tensors[name].tensor = tensor;
}

std::shared_lock<std::shared_mutex> SharedWeights::lockToRead() {
  std::lock_guard<std::mutex> waiting(turn);
  return std::shared_lock<std::shared_mutex>(mutex);
}

std::unique_lock<std::shared_mutex> SharedWeights::lockToWrite() {
  std::lock_guard<std::mutex> waiting(turn);
  return std::unique_lock<std::shared_mutex>(mutex);
}

} // namespace espalier
