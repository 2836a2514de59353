//===- PlanFile.h - Plans as JSON -------------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan's file has all that is needed to check, simulate and show it: the
// graph that was planned, what it was planned for, and the plan.
//
//   {
//   "espalier_plan": 1,
//   "budget": 12884901888,
//   "machine": "k40c",
//   "arena_bytes": 9000, "host_bytes": 4096,
//   "notes": ["conv1: winograd, 2.00 MiB; runner-up: direct, 1.4 times as
//   slow"], "graph": "alexnet", "tensors": [
//   {"name":"data","bytes":4096,"kind":"input"},
//   ...
//   ],
//   "operators": [
//   {"name":"conv1","kind":"conv2d","inputs":[0,1],"outputs":[2],"flops":1e9,
//    "bytes":2e6,"checkpoint":true,"algorithms":[{"name":"winograd",...}]},
//   ...
//   ], (the last of the algorithms needs the least workspace)
//   "buffers": [
//   {"tensor":0,"bytes":4096,"first":0,"last":41,"offset":0},
//   ...
//   ],
//   "steps": [
//   {"kind":"compute","op":0,"inputs":[0,1],"outputs":[2]},
//   {"kind":"offload","inputs":[2]},
//   ...
//   ]
//   }
//
// The names of members are those of Graph.h's and Plan.h's, in lower case with
// underscores. Costs (flops, bytes, seconds) are from 0 to 1e24. Members that
// have the value that those give them may be left out. Numbers are read back as
// they were written, bit by bit.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_PLANFILE_H
#define ESPALIER_PLANNING_PLANFILE_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Plan.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::planning {

struct PlanFile {
  Graph graph;
  Plan plan;
  /// What the arena had to fit in; 0: nothing was asked for.
  int64_t budgetBytes = 0;
  /// The machine that it was planned for; empty: none.
  std::string machine;
  /// What planners have to say to people, e.g. which algorithms were chosen.
  std::vector<std::string> notes;
};

/// None, and why and where, if `text` is no plan, or has a graph that
/// checkGraph() has something against. Whether the plan is a good one is for
/// checkPlan() to say; its numbers of tensors, operators and buffers are within
/// range.
std::optional<PlanFile> parsePlan(std::string_view text, std::string &error);

/// The same of a file, whose path `error` then starts with.
std::optional<PlanFile> readPlanFile(const std::string &path,
                                     std::string &error);

/// What parsePlan() reads back as the same plan. None, and why, if a name is
/// not UTF-8 or a cost not finite, which JSON has no words for.
std::optional<std::string> printPlan(const PlanFile &file, std::string &error);

bool writePlanFile(const std::string &path, const PlanFile &file,
                   std::string &error);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_PLANFILE_H
