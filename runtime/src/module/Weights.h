//===- Weights.h - Parameters of an entry by name ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are matched by name, shape and dtype, never by order, and packed for
// the matmuls that use them, again whenever a session has changed them.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_WEIGHTS_H
#define ESPALIER_MODULE_WEIGHTS_H

#include "espalier/abi.h"
#include "module/SharedWeights.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace espalier {

class Module;
class PackedWeight;
class ThreadPool;

/// A weight: uniform in +-sqrt(6 / (fan_in + fan_out)) for a matrix of fan_in
/// rows and fan_out columns, zeros for any other shape and for integers.
/// Element i is the i-th number of a splitmix64 sequence that starts at
/// seed + FNV-1a(name), so the weight depends on nothing but seed, name, dtype
/// and shape.
Tensor randomWeight(const std::string &name, uint32_t dtype,
                    const std::vector<int64_t> &shape, uint64_t seed);

/// A random weight for each parameter of `entry`.
Weights randomWeights(const espalier_entry &entry, uint64_t seed);

/// An entry's parameters and states: those of `weights` with the same names.
class BoundWeights {
public:
  /// Finds them. If any parameter is missing, any tensor has another shape or
  /// dtype, or is neither a parameter nor a state of any entry of `module`, the
  /// Error lists them all. Missing states are added to `weights`, as zeros;
  /// what the entry writes comes to own its bytes. For a dry run, which looks
  /// at no data, missing parameters are zeros, too.
  BoundWeights(const Module &module, const espalier_entry &entry,
               std::shared_ptr<SharedWeights> weights, bool dry = false);
  ~BoundWeights();

  /// The data of a PARAMETER or STATE buffer.
  char *data(uint32_t buffer) const {
    return const_cast<char *>(bound[buffer]->tensor.data);
  }
  /// By weight of the entry's table.
  const std::vector<std::unique_ptr<PackedWeight>> &packed() const {
    return packedWeights;
  }

  /// Packs again what has changed since it was packed, with the threads of
  /// `pool` if there is one, and says whether there was any. To be called at
  /// the start of a run, under a lock of `shared()`. Any number of threads may.
  bool refresh(ThreadPool *pool);
  /// Says that the run that holds the lock changes what the entry writes.
  void markWritten();
  /// Whether the entry writes any.
  bool isWriter() const { return !written.empty(); }

  SharedWeights &shared() const { return *weights; }

private:
  struct Source;

  const espalier_entry &entry;
  std::shared_ptr<SharedWeights> weights;
  /// By buffer; null for those of other kinds.
  std::vector<SharedWeight *> bound;
  std::vector<SharedWeight *> written;
  std::vector<std::unique_ptr<PackedWeight>> packedWeights;
  /// By weight, the version that is packed.
  std::vector<uint64_t> packedVersions;
  std::mutex refreshing;
};

} // namespace espalier

#endif // ESPALIER_MODULE_WEIGHTS_H
