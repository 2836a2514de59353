//===- CheckRecomputation.h - Whether a sequence of runs works --*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays a sequence of operators, from the graph and nothing else, and counts
// the bytes that are live at each. It shares no code with the planner.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_CHECKRECOMPUTATION_H
#define ESPALIER_PLANNING_CHECKRECOMPUTATION_H

#include "espalier/Planning/Graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::planning {

/// What is wrong, with names; empty if nothing is: operators that never run, or
/// again though they may not, that read what is not made yet, or another value
/// of a parameter than the first time; outputs that are missing at the end, or
/// name what has been made anew since; more than `budgetBytes` live. `inPlace`:
/// whether outputs may lie where inputs lay. `peakBytes`, if any, is the most
/// that is live at once.
std::string checkRecomputation(const Graph &graph,
                               const std::vector<OperatorId> &sequence,
                               int64_t budgetBytes, bool inPlace = false,
                               int64_t *peakBytes = nullptr);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_CHECKRECOMPUTATION_H
