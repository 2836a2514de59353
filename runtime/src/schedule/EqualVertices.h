//===- EqualVertices.h - Vertices that compute the same ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two vertices of a batch are equal if they have the same type, read the same
// bytes of the caller's, and have equal children in every slot. What they
// compute is then equal, too, so one of them can stand for all: that is how the
// words that occur many times in a batch, and phrases of them, are evaluated
// once. Classes of equal vertices are found by hash-consing: children before
// parents, each vertex is looked up in a table under its type, its bytes and
// the classes of its children.
//
// As in Schedule, tables keep their memory from one `find` to the next, and
// finding takes O(vertices + edges + bytes) without recursion.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SCHEDULE_EQUALVERTICES_H
#define ESPALIER_SCHEDULE_EQUALVERTICES_H

#include "schedule/Schedule.h"

#include <cstdint>
#include <vector>

namespace espalier {

/// What vertices read of the caller: `rowBytes` of the row of each vertex, in
/// the caller's order; at leaves, at vertices with children, or at both.
struct VertexInput {
  const char *rows;
  int64_t rowBytes;
  bool atLeaves;
  bool atInner;
};

class EqualVertices {
public:
  /// Hashes have the bits of `hashMask` only: tests make all of them collide.
  explicit EqualVertices(uint64_t hashMask = UINT64_MAX) : hashMask(hashMask) {}

  /// Finds the classes of the vertices of `forest`, which must be valid, as
  /// must be `types`. With `keepRoots` the root of a structure is equal to no
  /// other vertex.
  void find(const Forest &forest, const std::vector<VertexInput> &inputs,
            VertexTypes types, bool keepRoots);

  /// For each vertex the one that stands for its class: the class's first, if
  /// children come before their parents.
  const std::vector<int32_t> &representatives() const { return standsFor; }
  /// For each vertex how many it stands for, itself included; 0 if another one
  /// stands for it.
  const std::vector<int32_t> &multiplicities() const { return counts; }

private:
  struct Slot {
    uint32_t hash;
    int32_t vertex; // -1: free
  };

  bool merge(const Forest &forest, const std::vector<VertexInput> &inputs,
             VertexTypes types, const int32_t *order);
  bool areEqual(int32_t v, int32_t w, bool isLeaf, const Forest &forest,
                const std::vector<VertexInput> &inputs,
                VertexTypes types) const;
  void keepRootsApart(const Forest &forest);

  uint64_t hashMask;
  std::vector<int32_t> standsFor;
  std::vector<int32_t> counts;
  /// Open addressing, at most half full.
  std::vector<Slot> table;
  /// Orders vertices whose children do not all come before them.
  Schedule byLevel;
};

} // namespace espalier

#endif // ESPALIER_SCHEDULE_EQUALVERTICES_H
