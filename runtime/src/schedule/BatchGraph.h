//===- BatchGraph.h - One graph argument of a run ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry's graphs are numbered; this is what a run knows of each, and which
// of their rows a phase runs over.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SCHEDULE_BATCHGRAPH_H
#define ESPALIER_SCHEDULE_BATCHGRAPH_H

#include "graph/Forest.h"
#include "schedule/EdgeTable.h"
#include "schedule/EqualVertices.h"
#include "schedule/Schedule.h"

namespace espalier {

struct BatchGraph {
  /// The caller's structures, or `reversed`.
  const Forest *forest = nullptr;
  /// Of a graph that is another one with its edges turned round.
  Forest reversed;
  /// Whether equal vertices share a row, and which do.
  bool shared = false;
  EqualVertices equal;
  Schedule schedule;
  /// Only built if the program asks for it.
  EdgeTable edges;
};

/// How many rows a buffer with `rows` (ESPALIER_ROWS_*, not ONE) of `graph`
/// has.
int64_t rowsOf(const BatchGraph &graph, uint32_t rows);

/// The rows of a phase over `rows` (ESPALIER_ROWS_*) that are of `type` (0: of
/// any, otherwise one more than the type): two ranges, the second mostly empty.
/// Those of a phase over tasks are the rows of all its tasks.
struct PhaseRanges {
  RowRange first;
  RowRange second;
};
PhaseRanges phaseRanges(const Schedule &schedule, uint32_t rows, uint32_t type);

} // namespace espalier

#endif // ESPALIER_SCHEDULE_BATCHGRAPH_H
