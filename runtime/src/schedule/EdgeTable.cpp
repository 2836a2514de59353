//===- EdgeTable.cpp ------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/EdgeTable.h"

#include "graph/Forest.h"
#include "schedule/Schedule.h"
#include "support/Error.h"

namespace espalier {

void EdgeTable::build(const Forest &forest, const Schedule &schedule,
                      bool incoming) {
  int64_t rows = schedule.vertices();
  int64_t slots = (int64_t)forest.children.size();
  if (slots > INT32_MAX)
    fail(ESPALIER_INVALID_ARGUMENT,
         "the structures have %lld child slots; a batch has at most %d edges, "
         "run fewer structures at once",
         (long long)slots, INT32_MAX);
  const int32_t *rowOfVertex = schedule.rowOfVertex();
  rowOffsets.resize(rows + 1);
  childRows.resize(slots);
  parentRows.resize(slots);
  int64_t edge = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int32_t v = schedule.vertexOfRow()[row];
    rowOffsets[row] = edge;
    for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
         ++e) {
      int32_t child = forest.children[e];
      if (child < 0)
        continue;
      childRows[edge] = rowOfVertex[child];
      parentRows[edge++] = (int32_t)row;
    }
  }
  rowOffsets[rows] = edge;
  childRows.resize(edge);
  parentRows.resize(edge);
  if (incoming)
    listIncoming(rows);
}

/// A stable counting sort of the edges by child: count, sum, fill.
void EdgeTable::listIncoming(int64_t rows) {
  inOffsets.assign(rows + 2, 0);
  inEdges.resize(childRows.size());
  for (int32_t child : childRows)
    ++inOffsets[child + 2];
  for (int64_t row = 0; row < rows; ++row)
    inOffsets[row + 2] += inOffsets[row + 1];
  for (int64_t e = 0; e < edges(); ++e)
    inEdges[inOffsets[childRows[e] + 1]++] = (int32_t)e;
}

} // namespace espalier
