//===- PaperPolicies.cpp - What SuperNeurons decides ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The paper's rules go by what a layer is: results of checkpoints are offloaded
// and come back one checkpoint ahead (section 3.3.1), others are dropped and
// computed again (section 3.4). Speed-centric recomputation keeps what it has
// computed until it was used, memory-centric recomputation drops it after each
// operator, and the cost-aware one keeps it as long as the layer that needs the
// most, max(l_i), is not exceeded.
//
//===----------------------------------------------------------------------===//

#include "PlaceCopies.h"

#include "espalier/Planning/Liveness.h"
#include "espalier/Planning/PlanMemory.h"

#include <algorithm>

using namespace espalier::planning;

namespace {
class Policy {
public:
  Policy(const WalkInput &input, const PaperPolicy &policy)
      : in(input), graph(input.graph), policy(policy) {
    fixed.evictAfter.resize(in.order.size());
    fixed.fetchBefore.resize(in.order.size());
  }

  FixedDecisions decide() {
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      TensorId s = TensorId(t);
      OperatorId maker = in.producer[s];
      if (in.storage[s] != s || maker < 0 ||
          graph.operators[maker].pass != Pass::forward ||
          graph.tensors[s].kind != TensorKind::temporary)
        continue;
      int32_t forward = -1, backward = -1;
      for (int32_t u = in.useStart[s]; u < in.useStart[s + 1]; ++u) {
        int32_t use = in.uses[u];
        if (use == int32_t(in.order.size()))
          continue;
        if (graph.operators[in.order[use]].pass == Pass::forward)
          forward = use;
        else if (backward < 0)
          backward = use;
      }
      if (forward < 0 || backward < 0)
        continue;
      if (graph.operators[maker].checkpoint) {
        if (policy.offload) {
          fixed.evictAfter[forward].push_back({s, true});
          offloaded.push_back(s);
        }
      } else if (policy.recompute != PaperPolicy::Recompute::none) {
        fixed.evictAfter[forward].push_back({s, false});
        dropped.push_back(s);
      }
    }
    if (policy.fetchAhead)
      fetchAhead();
    if (policy.recompute == PaperPolicy::Recompute::memoryCentric)
      for (size_t position = 0; position < in.order.size(); ++position)
        if (graph.operators[in.order[position]].pass != Pass::forward)
          for (TensorId s : dropped)
            fixed.evictAfter[position].push_back({s, false});
    return std::move(fixed);
  }

  /// max(l_i).
  int64_t largestLayer() const {
    int64_t most = 0;
    for (size_t id = 0; id < graph.operators.size(); ++id) {
      const Operator &op = graph.operators[id];
      int64_t bytes = leastWorkspace(op);
      for (int32_t r = in.readStart[id]; r < in.readStart[id + 1]; ++r)
        bytes += in.bytes[in.reads[r]];
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        bool isInPlace =
            policy.inPlace && i < op.inPlace.size() && op.inPlace[i] >= 0;
        if (!isInPlace && in.storage[op.outputs[i]] == op.outputs[i])
          bytes += in.bytes[op.outputs[i]];
      }
      most = std::max(most, bytes);
    }
    return most;
  }

private:
  /// While the adjoint of a checkpoint runs, what the one before it made comes.
  void fetchAhead() {
    for (size_t i = 0; i + 1 < offloaded.size(); ++i) {
      const Operator &next = graph.operators[in.producer[offloaded[i + 1]]];
      if (next.inputs.empty())
        continue;
      TensorId x = in.storage[next.inputs.front()];
      for (int32_t u = in.useStart[x]; u < in.useStart[x + 1]; ++u) {
        int32_t use = in.uses[u];
        if (use < int32_t(in.order.size()) &&
            graph.operators[in.order[use]].pass == Pass::backward) {
          fixed.fetchBefore[use].push_back(offloaded[i]);
          break;
        }
      }
    }
  }

  const WalkInput &in;
  const Graph &graph;
  const PaperPolicy &policy;
  FixedDecisions fixed;
  std::vector<TensorId> offloaded, dropped;
};
} // namespace

std::optional<Plan> espalier::planning::planAsInThePaper(
    const Graph &graph, const Machine &machine, const PaperPolicy &policy,
    PlanMemoryReport &report, std::string &error) {
  error = checkGraph(graph);
  if (!error.empty())
    return std::nullopt;
  std::vector<OperatorId> order = givenOrder(graph);
  WalkInput input(graph, machine, order, policy.alignment);
  Policy decisions(input, policy);
  FixedDecisions fixed = decisions.decide();
  WalkOptions walk;
  bool isCostAware = policy.recompute == PaperPolicy::Recompute::costAware;
  walk.budget = isCostAware ? decisions.largestLayer() : INT64_MAX / 4;
  walk.hostBudget = INT64_MAX / 4;
  walk.alignment = policy.alignment;
  walk.offload = policy.offload;
  walk.recompute = true;
  walk.inPlace = policy.inPlace;
  walk.fixed = &fixed;
  Schedule schedule;
  WalkFailure failure;
  bool fits = walkMemory(input, walk, schedule, failure);
  // What is small and lives long, statistics and images, comes on top.
  for (int tries = 0; !fits && tries < 50; ++tries) {
    walk.budget =
        std::max(walk.budget + walk.budget / 100, failure.bytesNeeded);
    fits = walkMemory(input, walk, schedule, failure);
  }
  if (!fits) {
    error = "the policy has no plan within the largest layer's " +
            std::to_string(walk.budget) + " bytes: operator '" +
            graph.operators[order[failure.step]].name + "' needs " +
            std::to_string(failure.bytesNeeded);
    return std::nullopt;
  }
  PlaceOptions place;
  place.alignment = policy.alignment;
  place.isFixed = true;
  Plan plan = placeCopies(input, schedule, place);
  if (!policy.fetchAhead) {
    place.budget = loadOf(plan, policy.alignment);
    place.isFixed = false;
    plan = placeCopies(input, std::move(schedule), place);
  }
  packPlan(plan, -1, policy.alignment);
  describePlan(input, plan, policy.alignment, report);
  LivenessOptions liveness;
  liveness.inPlace = policy.inPlace;
  liveness.alignment = policy.alignment;
  Liveness live = analyzeLiveness(graph, order, liveness);
  report.baselineBytes = live.baselineBytes;
  report.livenessBytes = live.peakBytes;
  return plan;
}
