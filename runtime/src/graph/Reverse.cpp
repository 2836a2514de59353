//===- Reverse.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "graph/Reverse.h"

#include "graph/Forest.h"

namespace espalier {

void reverseEdges(const Forest &from, Forest &to) {
  int64_t vertices = from.vertices();
  to.structureOffsets = from.structureOffsets;
  // Compressed rows: count, sum, fill. While they are being filled, the list of
  // vertex v ends at offset v + 1.
  std::vector<int64_t> &offsets = to.childOffsets;
  offsets.assign(vertices + 2, 0);
  for (int32_t child : from.children)
    if (child >= 0)
      ++offsets[child + 2];
  for (int64_t v = 0; v < vertices; ++v)
    offsets[v + 2] += offsets[v + 1];
  to.children.resize(offsets[vertices + 1]);
  for (int64_t v = 0; v < vertices; ++v)
    for (int64_t e = from.childOffsets[v]; e < from.childOffsets[v + 1]; ++e)
      if (from.children[e] >= 0)
        to.children[offsets[from.children[e] + 1]++] = (int32_t)v;
  offsets.pop_back();
}

} // namespace espalier
