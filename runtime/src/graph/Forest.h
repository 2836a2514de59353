//===- Forest.h - The structures of a batch ---------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Input graphs in compressed-row form: K structures, one after another, each a
// DAG over its own vertices. Child lists are ordered; an absent child is -1.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_GRAPH_FOREST_H
#define ESPALIER_GRAPH_FOREST_H

#include "tensor/Tensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace espalier {

/// Per-vertex data that a reader found, e.g. "word": one row a vertex, in
/// vertex order. i32 fields use -1 for "this vertex has none".
using Fields = std::map<std::string, Tensor>;

class Forest {
public:
  int64_t structures() const { return (int64_t)structureOffsets.size() - 1; }
  int64_t vertices() const { return (int64_t)childOffsets.size() - 1; }

  /// Appends a structure of `childLists.size()` vertices. Child numbers are
  /// local to the structure (0 is its first vertex).
  /// The forest is checked (see `validate`) and unchanged if that fails.
  void append(const std::vector<std::vector<int32_t>> &childLists);
  /// The same from compressed rows: vertex v has children
  /// [offsets[v], offsets[v + 1]).
  void append(int64_t vertices, const int64_t *offsets,
              const int32_t *children);

  /// Checks the forest: offsets ascend, every child is -1 or a vertex of the
  /// same structure, no cycles. Throws an Error that names the structure and
  /// the vertices (a cycle is listed vertex by vertex).
  void validate() const;

  /// Structures [begin, end) as a forest of their own, with their fields.
  Forest slice(int64_t begin, int64_t end) const;
  /// The structures of these numbers, in this order, with their fields, which
  /// are copied. A number may be there any number of times.
  Forest select(const int64_t *numbers, int64_t count) const;

  /// The structure that vertex `v` belongs to.
  int64_t structureOf(int64_t v) const;

  /// Structure k owns vertices [structureOffsets[k], structureOffsets[k+1]).
  std::vector<int64_t> structureOffsets{0};
  /// Vertex v has children[childOffsets[v] .. childOffsets[v+1]).
  std::vector<int64_t> childOffsets{0};
  /// Numbered over the whole forest; -1 is an absent child.
  std::vector<int32_t> children;
  Fields fields;
  /// Tokens that a reader did not find in its vocabulary (and did not add).
  int64_t unseenTokens = 0;

private:
  void validateStructure(int64_t k) const;
  void checkFields() const;
};

} // namespace espalier

#endif // ESPALIER_GRAPH_FOREST_H
