//===- EqualVertices.cpp --------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/EqualVertices.h"

#include "graph/Forest.h"

#include <algorithm>
#include <cstring>

namespace espalier {

/// Stirs `value` into `hash`, so that every bit of either reaches the low half.
static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 32);
}

static uint64_t mixBytes(uint64_t hash, const char *bytes, int64_t count) {
  for (; count > 0; bytes += 8, count -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, std::min<int64_t>(count, 8));
    hash = mix(hash, word);
  }
  return hash;
}

static bool isRead(const VertexInput &input, bool isLeaf) {
  return isLeaf ? input.atLeaves : input.atInner;
}

/// Whether `v` and `w`, of which `v` is a leaf or not, are equal. Their
/// children have classes already.
bool EqualVertices::areEqual(int32_t v, int32_t w, bool isLeaf,
                             const Forest &forest,
                             const std::vector<VertexInput> &inputs,
                             VertexTypes types) const {
  if (types.count > 1 && types.of[v] != types.of[w])
    return false;
  int64_t begin = forest.childOffsets[v], end = forest.childOffsets[v + 1];
  int64_t other = forest.childOffsets[w];
  if (end - begin != forest.childOffsets[w + 1] - other)
    return false;
  for (int64_t e = begin; e < end; ++e, ++other) {
    int32_t left = forest.children[e], right = forest.children[other];
    if ((left < 0 ? -1 : standsFor[left]) !=
        (right < 0 ? -1 : standsFor[right]))
      return false;
  }
  for (const VertexInput &input : inputs)
    if (isRead(input, isLeaf) &&
        std::memcmp(input.rows + v * input.rowBytes,
                    input.rows + w * input.rowBytes, input.rowBytes) != 0)
      return false;
  return true;
}

/// Gives the vertices their classes, in `order`, or else in that of their
/// numbers. False if a child is not before its parent.
bool EqualVertices::merge(const Forest &forest,
                          const std::vector<VertexInput> &inputs,
                          VertexTypes types, const int32_t *order) {
  std::fill(table.begin(), table.end(), Slot{0, -1});
  uint64_t tableMask = table.size() - 1;
  for (int64_t i = 0; i < forest.vertices(); ++i) {
    int32_t v = order ? order[i] : (int32_t)i;
    uint64_t hash = types.count > 1 ? mix(0, types.of[v]) : 0;
    bool isLeaf = true;
    for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
         ++e) {
      int32_t child = forest.children[e];
      if (child >= 0) {
        if (!order && child >= v)
          return false;
        isLeaf = false;
        child = standsFor[child];
      }
      hash = mix(hash, (uint32_t)child);
    }
    if (standsFor[v] == v)
      continue; // A root that is kept apart.
    for (const VertexInput &input : inputs)
      if (isRead(input, isLeaf))
        hash = mixBytes(hash, input.rows + v * input.rowBytes, input.rowBytes);
    hash &= hashMask;

    uint64_t s = hash & tableMask;
    while (table[s].vertex >= 0 &&
           (table[s].hash != (uint32_t)hash ||
            !areEqual(v, table[s].vertex, isLeaf, forest, inputs, types)))
      s = (s + 1) & tableMask;
    if (table[s].vertex < 0)
      table[s] = {(uint32_t)hash, v};
    standsFor[v] = table[s].vertex;
  }
  return true;
}

void EqualVertices::keepRootsApart(const Forest &forest) {
  for (int64_t k = 0; k < forest.structures(); ++k)
    if (forest.structureOffsets[k] < forest.structureOffsets[k + 1]) {
      int64_t root = forest.structureOffsets[k + 1] - 1;
      standsFor[root] = (int32_t)root;
    }
}

void EqualVertices::find(const Forest &forest,
                         const std::vector<VertexInput> &inputs,
                         VertexTypes types, bool keepRoots) {
  size_t size = 1;
  while ((int64_t)size < 2 * forest.vertices())
    size *= 2;
  table.resize(size);
  auto start = [&] {
    standsFor.assign(forest.vertices(), -1);
    if (keepRoots)
      keepRootsApart(forest);
  };
  start();
  if (!merge(forest, inputs, types, nullptr)) {
    // Every reader of trees and sequences writes children first, so few batches
    // are put in order twice.
    byLevel.build(forest, 0, ESPALIER_POLICY_BATCHED, false);
    start();
    merge(forest, inputs, types, byLevel.vertexOfRow());
  }
  counts.assign(forest.vertices(), 0);
  for (int32_t representative : standsFor)
    ++counts[representative];
}

} // namespace espalier
