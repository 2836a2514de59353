//===- Report.h - What a run did and how long it took -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts of a run, as text for people and as JSON for programs.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_REPORT_H
#define ESPALIER_RUN_REPORT_H

#include "Options.h"

#include "espalier/runtime.hpp"
#include "tensor/Tensor.h"

#include <ostream>
#include <string>
#include <vector>

namespace espalier::run {

using namespace runtime;

struct Report {
  std::string model;
  std::string entry;
  int64_t structures = 0;
  int64_t vertices = 0;
  int64_t batches = 0;
  int64_t vocabulary = 0; // tokens
  double seconds = 0;     // of one pass
  /// Of one pass; split into kinds of work if `profiled`.
  espalier_stats stats{};
  bool profiled = false;
  /// Whether the entry runs over structures.
  bool hasGraphs = true;
  /// The entry's memory plan; null if it has none.
  const espalier_plan *plan = nullptr;
  /// Seconds of every measured pass, for --benchmark.
  std::vector<double> passes;
};

/// "1 batch", "2 batches".
std::string countText(int64_t count, const char *one, const char *many);

void print(std::ostream &out, const Options &options, const Report &report,
           const std::vector<NamedTensor> &results);

/// Writes the file of --stats.
void writeStats(const Options &options, const Report &report);

} // namespace espalier::run

#endif // ESPALIER_RUN_REPORT_H
