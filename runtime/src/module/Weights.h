//===- Weights.h - Parameters of an entry by name ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights are matched by name, shape and dtype, never by order, and packed for
// the matmuls that use them.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_WEIGHTS_H
#define ESPALIER_MODULE_WEIGHTS_H

#include "espalier/abi.h"
#include "tensor/Tensor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace espalier {

class Module;
class PackedWeight;

using Weights = std::map<std::string, Tensor>;

/// A weight: uniform in +-sqrt(6 / (fan_in + fan_out)) for a matrix of fan_in
/// rows and fan_out columns, zeros for any other shape and for integers.
/// Element i is the i-th number of a splitmix64 sequence that starts at
/// seed + FNV-1a(name), so the weight depends on nothing but seed, name, dtype
/// and shape.
Tensor randomWeight(const std::string &name, uint32_t dtype,
                    const std::vector<int64_t> &shape, uint64_t seed);

/// A random weight for each parameter of `entry`.
Weights randomWeights(const espalier_entry &entry, uint64_t seed);

/// An entry's parameters.
struct BoundWeights {
  /// By buffer; without data for buffers that no step reads as they are.
  std::vector<Tensor> parameters;
  /// By weight of the entry's table.
  std::vector<std::unique_ptr<PackedWeight>> packed;
};

/// Finds and packs the parameters of `entry`. If any is missing, has another
/// shape or dtype, or is no parameter of any entry of `module`, the Error lists
/// them all.
BoundWeights bindWeights(const Module &module, const espalier_entry &entry,
                         const Weights &weights);

} // namespace espalier

#endif // ESPALIER_MODULE_WEIGHTS_H
