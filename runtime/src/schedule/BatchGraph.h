//===- BatchGraph.h - One graph argument of a run ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry's graphs are numbered; this is what a run knows of each.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SCHEDULE_BATCHGRAPH_H
#define ESPALIER_SCHEDULE_BATCHGRAPH_H

#include "graph/Forest.h"
#include "schedule/EdgeTable.h"
#include "schedule/Schedule.h"

namespace espalier {

struct BatchGraph {
  /// The caller's structures, or `reversed`.
  const Forest *forest = nullptr;
  /// Of a graph that is another one with its edges turned round.
  Forest reversed;
  Schedule schedule;
  /// Only built if the program asks for it.
  EdgeTable edges;
};

} // namespace espalier

#endif // ESPALIER_SCHEDULE_BATCHGRAPH_H
