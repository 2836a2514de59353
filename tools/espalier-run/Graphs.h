//===- Graphs.h - The structures of an entry's graphs -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most entries run over one graph. Of one that runs over several, the k-th
// structures of all graphs belong together, and are run together.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_GRAPHS_H
#define ESPALIER_RUN_GRAPHS_H

#include "Options.h"

#include "espalier/runtime.hpp"

#include <functional>
#include <string>
#include <vector>

namespace espalier::run {

using namespace runtime;

class Graphs {
public:
  /// Reads a file for every graph argument of `entry`; `flag` is what gave
  /// them.
  static Graphs read(const espalier_entry &entry, const char *flag,
                     const std::vector<StructureFile> &files,
                     Vocabulary &vocabulary, espalier_unseen unseen);

  /// For an entry without graphs: `count` samples, structures without vertices.
  static Graphs ofSamples(int64_t count);

  /// Structures, as many of each graph.
  int64_t count() const { return graphs.front().structures.count(); }
  /// Vertices of all graphs together, and of each.
  int64_t vertices() const;
  std::vector<int64_t> verticesOfEach() const;
  int64_t unseenTokens() const;

  /// Which of the graphs the rows of `buffer` belong to.
  size_t indexOf(const espalier_entry &entry,
                 const espalier_buffer_desc &buffer) const;
  Structures &operator[](size_t index) { return graphs[index].structures; }
  const Structures &operator[](size_t index) const {
    return graphs[index].structures;
  }

  Graphs slice(int64_t begin, int64_t end) const;
  Graphs select(const std::vector<int64_t> &numbers) const;
  Result run(const Session &session,
             const std::vector<NamedView> &arguments) const;

private:
  struct Graph {
    uint32_t number; // among the entry's graphs
    std::string name;
    Structures structures;
  };
  Graphs map(const std::function<Structures(const Structures &)> &part) const;

  /// One, without a name, if the entry has no graph argument.
  std::vector<Graph> graphs;
};

/// "a.ptb", or "source=a.ptb, target=b.ptb", for messages.
std::string textOf(const std::vector<StructureFile> &files);

} // namespace espalier::run

#endif // ESPALIER_RUN_GRAPHS_H
