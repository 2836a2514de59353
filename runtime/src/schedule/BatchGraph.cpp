//===- BatchGraph.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/BatchGraph.h"

#include "espalier/abi.h"

namespace espalier {

int64_t rowsOf(const BatchGraph &graph, uint32_t rows) {
  switch (rows) {
  case ESPALIER_ROWS_LEAVES:
    return graph.schedule.leaves();
  case ESPALIER_ROWS_INNER:
    return graph.schedule.vertices() - graph.schedule.leaves();
  case ESPALIER_ROWS_STRUCTURES:
    return graph.forest->structures();
  case ESPALIER_ROWS_EDGES:
    return graph.edges.edges();
  case ESPALIER_ROWS_CALLER:
    return graph.forest->vertices();
  default: // ESPALIER_ROWS_VERTICES
    return graph.schedule.vertices();
  }
}

PhaseRanges phaseRanges(const Schedule &schedule, uint32_t rows,
                        uint32_t type) {
  RowRange leaves{0, schedule.leaves()};
  RowRange inner{schedule.leaves(), schedule.vertices()};
  if (type != 0) {
    leaves = schedule.leavesOf(type - 1);
    inner = schedule.innerOf(type - 1);
  }
  switch (rows) {
  case ESPALIER_ROWS_ONE:
    return {{0, 1}, {0, 0}};
  case ESPALIER_ROWS_STRUCTURES:
    return {{0, schedule.structures()}, {0, 0}};
  case ESPALIER_ROWS_LEAVES:
    return {leaves, {0, 0}};
  case ESPALIER_ROWS_INNER:
  case ESPALIER_ROWS_INNER_TASKS:
  case ESPALIER_ROWS_INNER_TASKS_REVERSED:
    return {inner, {0, 0}};
  default: // ESPALIER_ROWS_VERTICES, ESPALIER_ROWS_TASKS, _REVERSED
    if (leaves.end == inner.begin)
      return {{leaves.begin, inner.end}, {0, 0}};
    return {leaves, inner};
  }
}

} // namespace espalier
