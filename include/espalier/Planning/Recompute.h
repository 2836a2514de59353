//===- Recompute.h - Operators run again for want of memory -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of any graph, with a budget of bytes: which operators to run again, and when,
// so that the tensors that are live at once fit, at the least extra time. The
// setting is Checkmate's and Moccasin's.
//
// The answer is a sequence of runs. It has every operator at least once, and
// the first runs are in the graph's order. The runs between two first runs, of
// `t - 1` and of `t`, are stage `t`: they are in the graph's order, too. Any
// such sequence computes the right thing, because an operator's inputs have
// always been made before. It says everything: who reads a tensor reads what
// its maker's last run made, and a tensor is live from a run of its maker to
// the last that reads what this run made. What is between is what costs memory.
//
// The bytes live at a run are those of its inputs, of its outputs, of what is
// kept for later, and its workspace. Outputs of the graph are kept from the
// last run of their maker to the end. Parameters and inputs are there
// throughout. An operator's workspace is that of its thriftiest algorithm. A
// view costs nothing, and keeps what it names. An updated parameter is in the
// old one's place.
//
// An operator is run again only if it is `recomputable`, reads no parameter
// that has been updated since, and is no view of one output among others.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_RECOMPUTE_H
#define ESPALIER_PLANNING_RECOMPUTE_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace espalier::planning {

struct RecomputeOptions {
  /// An output of an input's size may lie where the input lay, if the operator
  /// says so (Operator::inPlace), reads it once, and nothing reads the input
  /// afterwards.
  bool inPlace = false;
  /// Changes that the search tries before it is content. 0: none, the first
  /// sequence that fits is taken. -1: by the size of the graph, so that it
  /// takes seconds. The same number gives the same answer on every machine.
  int64_t changes = -1;
  /// The search stops after so long, wherever it is. 0: when it is done. Where
  /// this strikes, the answer depends on the machine's speed.
  double secondsLimit = 0;
};

struct Recomputation {
  /// Operators, views among them, in the order in which they run.
  std::vector<OperatorId> sequence;
  /// The most that is live at a run.
  int64_t peakBytes = 0;
  /// The number in `sequence` of the first run that has so much live.
  int64_t peakRun = 0;
  /// What one run of every operator costs, views apart.
  double secondsOnce = 0;
  /// Runs beyond the first ones, views apart, and what they cost.
  int64_t runsAgain = 0;
  double secondsAgain = 0;
};

/// What one run of every operator costs, and the most that is then live.
Recomputation withoutRecomputation(const Graph &graph,
                                   const RecomputeOptions &options = {});

/// No sequence has a lower peak: the most that one operator needs at once, with
/// what is there throughout and what cannot be made again.
int64_t recomputationLowerBound(const Graph &graph,
                                const RecomputeOptions &options = {});

/// A sequence within the budget. If there is none, or none is found: nothing,
/// and `error` has the smallest budget that one was found for, the step that
/// needs it, and the largest tensors there. The graph has passed checkGraph().
std::optional<Recomputation>
planRecomputation(const Graph &graph, int64_t budgetBytes, std::string &error,
                  const RecomputeOptions &options = {});

/// The same for several budgets; a larger one never costs more. `errors` has a
/// text for each that has no answer.
std::vector<std::optional<Recomputation>>
planRecomputations(const Graph &graph, const std::vector<int64_t> &budgets,
                   std::vector<std::string> &errors,
                   const RecomputeOptions &options = {});

/// The sequence's steps and buffers, without offsets: a buffer for each stay of
/// a tensor, views sharing, and, if `inPlace`, outputs that take over inputs.
/// `sequence` must be a Recomputation's.
Plan planOfSequence(const Graph &graph, const std::vector<OperatorId> &sequence,
                    bool inPlace = false);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_RECOMPUTE_H
