//===- RunProblem.h - A graph as recomputation sees it ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What can be run again and what can be let go: operators without the views,
// and values, that is, memory that an operator makes, whatever names it has.
// Parameters, inputs, and what is written in a parameter's place are there
// throughout, so they are but a number of bytes.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_RUNPROBLEM_H
#define ESPALIER_LIB_PLANNING_RUNPROBLEM_H

#include "espalier/Planning/Recompute.h"

#include <vector>

namespace espalier::planning {

/// Numbers of RunProblem::runners and RunProblem::values.
using RunnerId = int32_t;
using ValueId = int32_t;

struct RunProblem {
  struct Value {
    int64_t bytes = 0;
    RunnerId maker = -1;
    /// Ascending.
    std::vector<RunnerId> readers;
    bool keptToTheEnd = false;
    TensorId tensor = -1;
  };

  /// An operator that is more than a view.
  struct Runner {
    OperatorId op = -1;
    std::vector<ValueId> reads;
    std::vector<ValueId> makes;
    double seconds = 0;
    int64_t workspaceBytes = 0;
    /// It can be run again in the stages up to this one; -1: not at all.
    /// As many as there are runners: also after the last of them.
    RunnerId lastStage = -1;
    /// Values that it reads and whose memory an output takes over, if this is
    /// the last that reads them.
    std::vector<ValueId> takesOver;
  };

  RunProblem(const Graph &graph, const RecomputeOptions &options);

  RunnerId size() const { return RunnerId(runners.size()); }
  int64_t lowerBound() const;
  /// The runs of runners as runs of operators, with the views among them, each
  /// as late as it can be.
  std::vector<OperatorId> sequenceOf(const std::vector<RunnerId> &runs) const;

  const Graph &graph;
  std::vector<Runner> runners;
  std::vector<Value> values;
  /// By tensor: what it names a part of; -1: what is there throughout.
  std::vector<ValueId> valueOf;
  /// By operator: whether it makes nothing but names.
  std::vector<bool> isView;
  int64_t fixedBytes = 0;
  bool hasTakeOvers = false;

private:
  void findViews();
  void makeValues();
  void makeRunners(const RecomputeOptions &options);
  /// What reads a parameter cannot be run any more when that has its next
  /// value.
  void limitByUpdates();
  void findTakeOvers(Runner &runner);
};

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_RUNPROBLEM_H
