//===- Batches.h - The structures, batch by batch ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of structures cut into batches, and a pass over all of them.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_BATCHES_H
#define ESPALIER_RUN_BATCHES_H

#include "Arguments.h"
#include "Options.h"

#include "espalier/runtime.hpp"
#include "tensor/Tensor.h"

#include <optional>
#include <vector>

namespace espalier::run {

using namespace runtime;

/// Results of all batches, one after another.
class Collector {
public:
  Collector(const espalier_entry &entry, const Graphs &graphs, int64_t batches);
  /// Copies the results of the batch number `batch`.
  void add(const Result &result, const BatchRange &range, int64_t batch);
  const std::vector<NamedTensor> &tensors() const { return results; }

private:
  std::vector<uint32_t> rows;  // ESPALIER_ROWS_* of every result
  std::vector<char> perSample; // whether it has a part for each sample
  std::vector<size_t> graphs;  // whose rows
  std::vector<NamedTensor> results;
};

/// How many structures a batch of `entry` has: as many as the option says, 64
/// if it does not, and of a layered network as many as that takes.
int64_t batchSizeOf(const espalier_entry &entry, std::optional<int64_t> option);

class Batches {
public:
  Batches(const Graphs &graphs, const Arguments &arguments, int64_t batchSize);

  int64_t count() const { return (int64_t)batches.size(); }

  /// Runs all batches and returns the seconds that took. Results go to
  /// `collector` if there is one. Shows progress on a terminal if it takes
  /// long.
  double pass(const Session &session, Collector *collector) const;

private:
  struct Batch {
    BatchRange range;
    Graphs graphs;
    std::vector<NamedView> arguments;
  };
  /// Runs a batch. An Error says where in the file the batch begins.
  Result run(const Session &session, int64_t number) const;

  std::vector<Batch> batches;
};

} // namespace espalier::run

#endif // ESPALIER_RUN_BATCHES_H
