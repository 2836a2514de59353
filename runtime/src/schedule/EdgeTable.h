//===- EdgeTable.h - The edges of a batch, row by row -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One edge for each child that is there, ordered by the parent's row, then by
// slot; an edge's place in that order is its number. What runs over the edges
// of a range of rows runs over a range of edges.
//
// As in Schedule, tables keep their memory from one `build` to the next, which
// takes O(vertices + edges).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SCHEDULE_EDGETABLE_H
#define ESPALIER_SCHEDULE_EDGETABLE_H

#include <cstdint>
#include <vector>

namespace espalier {

class Forest;
class Schedule;

class EdgeTable {
public:
  /// Lists the edges of `forest` as `schedule` orders it; `incoming` also asks
  /// for the edges to each row's parents.
  void build(const Forest &forest, const Schedule &schedule, bool incoming);

  int64_t edges() const { return (int64_t)childRows.size(); }

  /// The edges to the children of row r are [offsets()[r], offsets()[r + 1]).
  const int64_t *offsets() const { return rowOffsets.data(); }
  /// For each edge the row of its child, and that of its parent.
  const int32_t *childRow() const { return childRows.data(); }
  const int32_t *parentRow() const { return parentRows.data(); }

  /// The edges to the parents of row r, in ascending order, are
  /// incoming()[incomingOffsets()[r] .. incomingOffsets()[r + 1]).
  const int64_t *incomingOffsets() const { return inOffsets.data(); }
  const int32_t *incoming() const { return inEdges.data(); }

private:
  void listIncoming(int64_t rows);

  std::vector<int64_t> rowOffsets{0};
  std::vector<int32_t> childRows;
  std::vector<int32_t> parentRows;
  std::vector<int64_t> inOffsets;
  std::vector<int32_t> inEdges;
};

} // namespace espalier

#endif // ESPALIER_SCHEDULE_EDGETABLE_H
