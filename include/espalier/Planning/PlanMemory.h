//===- PlanMemory.h - Training within a budget ------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is on the device when, so that all of it, with workspaces, fragmentation
// and copies under way, fits a budget: whatever is in the way is offloaded or
// computed again, whichever costs less. Everything that fits stays, so that
// nothing is copied or computed again without need.
//
// Decisions come from walks over the order (see MemoryWalk.h), several of them:
// with what a second of the link's is worth, and with how much room is left for
// copies that come early, no single walk knows. The one whose plan takes the
// least time is packed; if the arena exceeds the budget, a tighter one is
// tried.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_PLANMEMORY_H
#define ESPALIER_PLANNING_PLANMEMORY_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Machine.h"
#include "espalier/Planning/Plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::planning {

struct PlanMemoryOptions {
  /// Of the device's bytes; -1: all that it has.
  int64_t budget = -1;
  bool offload = true;
  bool recompute = true;
  bool inPlace = true;
  /// Whether operators may run in another order than they are listed in.
  bool reorder = true;
  int64_t alignment = 64;
};

/// What a plan costs, or why there is none.
struct PlanMemoryReport {
  /// A place for each tensor that does not lie in another's; the peak where
  /// none leaves the device; and the peak of the plan, before fragmentation.
  int64_t baselineBytes = 0;
  int64_t livenessBytes = 0;
  int64_t lowerBoundBytes = 0;
  /// By the machine's costs, beside a device of unlimited memory.
  double seconds = 0;
  double secondsUnlimited = 0;
  int64_t transferBytes = 0;
  int64_t recomputedOperators = 0;
  double recomputedFlops = 0;

  /// The operator at whose step the plan's peak is.
  std::string peakOperator;

  /// If the budget is too small: the smallest that a plan was found for, and,
  /// besides the operator that needs the most, the largest tensors that are
  /// there then.
  int64_t smallestBudget = 0;
  std::vector<std::pair<std::string, int64_t>> largest;
};

/// Plans for several budgets: most of the work is done once. The graph stays
/// the caller's. Of small graphs (up to some thousand operators), plans for
/// larger budgets are never slower, and those for smaller ones never need more.
class MemoryPlanner {
public:
  MemoryPlanner(const Graph &graph, const Machine &machine,
                const PlanMemoryOptions &options);
  ~MemoryPlanner();

  /// The options' budget does not matter. Nothing if it is too small, or the
  /// graph makes no sense; `error` says which.
  std::optional<Plan> plan(int64_t budget, PlanMemoryReport &report,
                           std::string &error);
  /// The smallest budget that a plan was found for; -1, and why, if there is
  /// none.
  int64_t smallestBudget(std::string &error);

private:
  class Implementation;
  std::unique_ptr<Implementation> implementation;
};

/// For the options' budget.
std::optional<Plan> planMemory(const Graph &graph, const Machine &machine,
                               const PlanMemoryOptions &options,
                               PlanMemoryReport &report, std::string &error);

int64_t smallestBudget(const Graph &graph, const Machine &machine,
                       PlanMemoryOptions options, std::string &error);

/// The policies of SuperNeurons, for comparison: which tensors leave is fixed
/// by what their operators are, whether there is room or not.
struct PaperPolicy {
  /// Results of convolutions (checkpoints) go to the host after the forward
  /// layer that follows.
  bool offload = false;
  /// They come back while the adjoint of the checkpoint after them runs, as the
  /// paper says; else as early as they do not raise the peak.
  bool fetchAhead = false;
  /// Other results of the forward pass are dropped, and computed again.
  enum class Recompute : uint8_t {
    none,
    speedCentric,
    memoryCentric,
    costAware
  };
  Recompute recompute = Recompute::none;
  bool inPlace = false;
  int64_t alignment = 1;
};
std::optional<Plan> planAsInThePaper(const Graph &graph, const Machine &machine,
                                     const PaperPolicy &policy,
                                     PlanMemoryReport &report,
                                     std::string &error);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_PLANMEMORY_H
