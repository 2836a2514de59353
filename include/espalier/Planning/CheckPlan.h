//===- CheckPlan.h - Does a plan do what it must? ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks plans, whoever made them. It shares no code with a planner: it follows
// what lies at every address of the arena and on the host, step by step.
//
// - Every operator that makes an output runs, and every one that updates a
//   parameter runs once. Only what is recomputable runs again.
// - Whatever a step reads is there: made, fetched or given before, not freed,
//   not overwritten, and, of a parameter, the value before or after its update
//   that the graph asks for.
// - What is prefetched was offloaded, or on the host from the start.
// - Parameters are updated where they are at the end; outputs are there.
// - No two buffers or workspaces are at the same time at the same address, but
//   for views, updates, and what takes over the memory of an input that its
//   operator allows and that nothing else needs.
// - The arena's and the host's bytes are what the steps need; the arena is
//   within the budget.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_CHECKPLAN_H
#define ESPALIER_PLANNING_CHECKPLAN_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Plan.h"

#include <string>

namespace espalier::planning {

struct CheckPlanOptions {
  /// That the arena must fit in; -1: none.
  int64_t budgetBytes = -1;
  /// That what the host holds must fit in; -1: none.
  int64_t hostMemoryBytes = -1;
};

/// What is wrong with the plan, and at which step; empty if nothing is. It
/// takes O(n log n) of the plan's size.
std::string checkPlan(const Graph &graph, const Plan &plan,
                      const CheckPlanOptions &options = {});

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_CHECKPLAN_H
