//===- SharedWeights.h - Weights that sessions read and write ---*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors by name, owned together by the caller and all sessions made with
// them. A session whose entry writes a parameter does so in place, alone; any
// number of others read at a time, and see the new value when they run next.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_SHAREDWEIGHTS_H
#define ESPALIER_MODULE_SHAREDWEIGHTS_H

#include "tensor/Tensor.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

namespace espalier {

using Weights = std::map<std::string, Tensor>;

struct SharedWeight {
  Tensor tensor;
  /// Whether nobody else has these bytes, so that they may be written.
  bool owned = false;
  /// Grows whenever the value may have changed.
  uint64_t version = 1;

  /// Makes the bytes writable, by a copy if they are somebody else's.
  void own();
};

class SharedWeights {
public:
  explicit SharedWeights(const Weights &tensors);
  SharedWeights(const SharedWeights &) = delete;
  SharedWeights &operator=(const SharedWeights &) = delete;

  /// To be held while the tensors are read, or while they or the map change.
  /// Who waits to write goes before who comes later to read.
  std::shared_lock<std::shared_mutex> lockToRead();
  std::unique_lock<std::shared_mutex> lockToWrite();

  /// Elements are never removed, and stay where they are.
  std::map<std::string, SharedWeight> tensors;

private:
  std::shared_mutex mutex;
  /// Held while waiting for `mutex`.
  std::mutex turn;
};

} // namespace espalier

#endif // ESPALIER_MODULE_SHAREDWEIGHTS_H
