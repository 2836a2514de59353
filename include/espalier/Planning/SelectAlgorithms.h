//===- SelectAlgorithms.h - How operators are computed ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fast convolutions want workspaces, and workspaces are worth less than what
// the tensors need the memory for: so a plan is made with those that need the
// least, and then each step gets the fastest that fits what is free in the
// arena while it runs (SuperNeurons, section 3.5). Nothing moves for it, and
// the peak stays within the budget. Memory that a copy still reads is not free,
// and no workspace is taken that makes an operator no faster.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_SELECTALGORITHMS_H
#define ESPALIER_PLANNING_SELECTALGORITHMS_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Machine.h"
#include "espalier/Planning/Plan.h"

#include <cstdint>
#include <vector>

namespace espalier::planning {

/// What was chosen for a step whose operator has several algorithms.
struct AlgorithmChoice {
  int32_t step = 0;
  int32_t algorithm = 0;
  /// The most that a workspace could have.
  int64_t freeBytes = 0;
  /// The next that would have been chosen; -1: none.
  int32_t runnerUp = -1;
  /// The fastest, if it does not fit; -1: it does.
  int32_t fastestThatDoesNotFit = -1;
};

/// Changes the algorithms, workspaces and the arena's bytes of a plan that has
/// offsets. Workspaces lie in [0, budget), each as low as there is room.
std::vector<AlgorithmChoice> selectAlgorithms(const Graph &graph,
                                              const Machine &machine,
                                              Plan &plan, int64_t budget,
                                              int64_t alignment = 64);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_SELECTALGORITHMS_H
