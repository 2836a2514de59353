//===- Samples.h - Structures and arguments, in any order -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What training takes its batches from. (Batches.h is for those that are run as
// they stand in the file.)
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_SAMPLES_H
#define ESPALIER_RUN_SAMPLES_H

#include "Arguments.h"

#include "espalier/runtime.hpp"

#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

using namespace runtime;

class Samples {
public:
  /// `graphs` as read from `path`, with the arguments of `entry` in the
  /// files `inputs`, which `flag` gave. If the entry has an i32 argument
  /// "vertex_number" with a row a vertex, it is the vertex's number in the
  /// file, from 0, unless a file gives it: what dropout knows a vertex by. So
  /// is "row_number" of a layered network, the sample's number.
  Samples(const espalier_entry &entry, Graphs graphs, std::string path,
          const char *flag,
          const std::vector<std::pair<std::string, std::string>> &inputs);

  int64_t count() const { return graphs.count(); }
  int64_t vertices() const { return graphs.vertices(); }
  int64_t unseenTokens() const { return graphs.unseenTokens(); }
  const std::string &file() const { return path; }

  /// Runs the structures of these numbers. `more` are arguments that all share.
  /// If that fails, an Error names one that fails alone, if any does.
  Result run(const Session &session, const std::vector<int64_t> &numbers,
             const std::vector<NamedView> &more) const;

private:
  void numberSamples(const espalier_entry &entry);
  Result select(const Session &session, const std::vector<int64_t> &numbers,
                const std::vector<NamedView> &more) const;

  std::string path;
  Graphs graphs;
  Arguments arguments;
};

} // namespace espalier::run

#endif // ESPALIER_RUN_SAMPLES_H
