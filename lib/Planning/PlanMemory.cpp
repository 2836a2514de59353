//===- PlanMemory.cpp - Training within a budget --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/PlanMemory.h"

#include "PlaceCopies.h"

#include "espalier/Planning/AssignBuffers.h"
#include "espalier/Planning/Liveness.h"
#include "espalier/Planning/OrderOperators.h"

#include <algorithm>
#include <memory>

using namespace espalier::planning;

static constexpr int64_t unlimited = INT64_MAX / 4;

/// Offsets and the arena's bytes, of a plan that makes sense.
static void assignOffsets(Plan &plan, int64_t capacity, int64_t alignment) {
  std::vector<BufferId> owner(plan.buffers.size());
  std::vector<BufferInterval> intervals(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    owner[i] = buffer.sharesWith < 0 ? BufferId(i) : owner[buffer.sharesWith];
    BufferInterval &interval = intervals[owner[i]];
    if (owner[i] == BufferId(i))
      interval = {buffer.first, buffer.last + 1, buffer.bytes, alignment};
    interval.lower = std::min<int64_t>(interval.lower, buffer.first);
    interval.upper = std::max<int64_t>(interval.upper, buffer.last + 1);
  }
  std::vector<size_t> workspaceOf;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    if (plan.steps[s].workspaceBytes > 0) {
      workspaceOf.push_back(s);
      intervals.push_back({int64_t(s), int64_t(s) + 1,
                           plan.steps[s].workspaceBytes, alignment});
    }
  AssignBuffersOptions options;
  options.capacity = capacity;
  options.searchSteps = intervals.size() > 20000 ? 0 : 400000;
  BufferAssignment assignment = assignBuffers(intervals, options);
  plan.arenaBytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    Buffer &buffer = plan.buffers[i];
    buffer.offset = assignment.offsets[owner[i]];
    if (buffer.bytes > 0)
      plan.arenaBytes =
          std::max(plan.arenaBytes, buffer.offset + buffer.bytes);
  }
  for (size_t i = 0; i < workspaceOf.size(); ++i) {
    Step &step = plan.steps[workspaceOf[i]];
    step.workspaceOffset = assignment.offsets[plan.buffers.size() + i];
    plan.arenaBytes =
        std::max(plan.arenaBytes, step.workspaceOffset + step.workspaceBytes);
  }
}

/// The busiest step's bytes.
static int64_t loadOf(const Plan &plan, int64_t alignment) {
  std::vector<int64_t> change(plan.steps.size() + 1, 0);
  auto rounded = [&](int64_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<BufferId> owner(plan.buffers.size());
  std::vector<int32_t> last(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    owner[i] = buffer.sharesWith < 0 ? BufferId(i) : owner[buffer.sharesWith];
    last[owner[i]] = std::max(last[owner[i]], buffer.last);
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (owner[i] == BufferId(i)) {
      change[plan.buffers[i].first] += rounded(plan.buffers[i].bytes);
      change[last[i] + 1] -= rounded(plan.buffers[i].bytes);
    }
  int64_t load = 0, most = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    load += change[s];
    most = std::max(most, load + rounded(plan.steps[s].workspaceBytes));
  }
  return most;
}

namespace {
class Planner {
public:
  Planner(const Graph &graph, const Machine &machine,
          const PlanMemoryOptions &options)
      : graph(graph), options(options),
        order(options.reorder ? bestOrder(graph) : givenOrder(graph)),
        input(graph, machine, order, options.alignment) {
    LivenessOptions liveness;
    liveness.inPlace = options.inPlace;
    liveness.alignment = options.alignment;
    live = analyzeLiveness(graph, order, liveness);
  }

  std::optional<Plan> plan(int64_t budget) {
    // Everything stays, if it fits.
    if (live.peakBytes - options.alignment < budget) {
      Attempt attempt = attemptOf({unlimited, unlimited, 0, nullptr});
      assignOffsets(attempt.plan, budget, options.alignment);
      if (attempt.plan.arenaBytes <= budget)
        return std::move(attempt.plan);
    }
    return search(budget);
  }

  void describe(const Plan &plan, PlanMemoryReport &report) const {
    report.baselineBytes = live.baselineBytes;
    report.livenessBytes = live.peakBytes;
    report.lowerBoundBytes = loadOf(plan, options.alignment);
    Duration duration = durationOf(input, plan);
    report.seconds = duration.seconds;
    report.transferBytes = duration.transferBytes;
    report.secondsUnlimited = input.startTime.back();
    std::vector<bool> ran(graph.operators.size(), false);
    report.recomputedOperators = 0;
    report.recomputedFlops = 0;
    for (const Step &step : plan.steps) {
      if (step.kind != Step::Kind::compute)
        continue;
      const Operator &op = graph.operators[step.op];
      bool isView = !op.outputs.empty() &&
                    graph.tensors[op.outputs.front()].viewOf >= 0;
      if (ran[step.op] && !isView) {
        ++report.recomputedOperators;
        report.recomputedFlops += op.flops;
      }
      ran[step.op] = true;
    }
  }

  /// What an operator that does not fit needs.
  void describeFailure(PlanMemoryReport &report) const {
    report.baselineBytes = live.baselineBytes;
    report.livenessBytes = live.peakBytes;
    report.secondsUnlimited = input.startTime.back();
    report.peakOperator =
        order.empty() ? "" : graph.operators[order[failure.step]].name;
    report.largest.clear();
    for (TensorId t : failure.largest)
      report.largest.emplace_back(graph.tensors[t].name,
                                  graph.tensors[t].bytes);
  }

  /// By bisection, as far as that is quick.
  int64_t smallest() {
    int64_t high = std::max<int64_t>(live.peakBytes, options.alignment);
    while (!plan(high)) {
      if (high > 4 * live.peakBytes)
        return -1;
      high += high / 8 + options.alignment;
    }
    int64_t low = 0;
    for (const Operator &op : graph.operators)
      low = std::max(low, leastBytes(op));
    if (low < high && plan(low))
      return low;
    int rounds = graph.operators.size() > 20000 ? 4 : 24;
    for (; rounds > 0 && high - low > std::max<int64_t>(options.alignment,
                                                        high / 2000);
         --rounds) {
      int64_t middle = low + (high - low) / 2;
      middle -= middle % options.alignment;
      if (plan(middle))
        high = middle;
      else
        low = middle;
    }
    plan(low);
    return high;
  }

private:
  struct Choice {
    int64_t walkBudget = 0;
    int64_t placeBudget = 0;
    double linkPrice = 0;
    std::shared_ptr<std::vector<double>> stalls;
  };
  struct Attempt {
    Choice choice;
    bool fits = false;
    Plan plan;
    double seconds = 0;
    int64_t transferBytes = 0;
    std::vector<double> stalls;
  };

  /// What no plan can do without: what an operator reads and makes.
  int64_t leastBytes(const Operator &op) const {
    std::vector<TensorId> needed;
    for (TensorId t : op.inputs)
      needed.push_back(input.storage[t]);
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (!options.inPlace || i >= op.inPlace.size() || op.inPlace[i] < 0)
        needed.push_back(input.storage[op.outputs[i]]);
    std::sort(needed.begin(), needed.end());
    needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
    int64_t bytes = leastWorkspace(op);
    for (TensorId t : needed)
      bytes += input.bytes[t];
    return bytes;
  }

  Attempt attemptOf(const Choice &choice) {
    Attempt attempt;
    attempt.choice = choice;
    WalkOptions walk;
    walk.budget = choice.walkBudget;
    walk.hostBudget = input.machine.hostMemoryBytes > 0
                          ? input.machine.hostMemoryBytes
                          : unlimited;
    walk.alignment = options.alignment;
    walk.offload = options.offload;
    walk.recompute = options.recompute;
    walk.inPlace = options.inPlace;
    walk.linkPrice = choice.linkPrice;
    walk.stalls = choice.stalls.get();
    Schedule schedule;
    WalkFailure why;
    if (!walkMemory(input, walk, schedule, why)) {
      if (why.bytesNeeded > failure.bytesNeeded)
        failure = why;
      return attempt;
    }
    PlaceOptions place;
    place.budget = choice.placeBudget;
    place.alignment = options.alignment;
    attempt.plan = placeCopies(input, std::move(schedule), place);
    Duration duration = durationOf(input, attempt.plan);
    attempt.fits = attempt.plan.hostBytes <= walk.hostBudget;
    attempt.seconds = duration.seconds;
    attempt.transferBytes = duration.transferBytes;
    attempt.stalls = std::move(duration.stalls);
    return attempt;
  }

  static bool isBetter(const Attempt &a, const Attempt &b) {
    if (a.fits != b.fits)
      return a.fits;
    if (a.seconds != b.seconds)
      return a.seconds < b.seconds;
    return a.transferBytes < b.transferBytes;
  }

  std::optional<Plan> search(int64_t budget) {
    failure = {};
    std::vector<Attempt> attempts;
    bool isLarge = graph.operators.size() > 20000;
    std::vector<double> rooms = isLarge
                                    ? std::vector<double>{0.9}
                                    : std::vector<double>{1, 0.97, 0.93, 0.87, 0.8};
    std::vector<double> prices = isLarge ? std::vector<double>{0.2}
                                         : std::vector<double>{0.02, 0.2, 1};
    for (double room : rooms)
      for (double price : prices) {
        Attempt attempt = attemptOf(
            {int64_t(double(budget) * room), budget, price, nullptr});
        if (attempt.fits)
          attempts.push_back(std::move(attempt));
      }
    if (attempts.empty()) {
      Attempt attempt = attemptOf({budget, budget, 0.2, nullptr});
      if (!attempt.fits)
        return std::nullopt;
      attempts.push_back(std::move(attempt));
    }

    // What waited for the link is worth more than it was thought to be.
    for (int round = 0; round < (isLarge ? 1 : 6); ++round) {
      const Attempt &best =
          *std::min_element(attempts.begin(), attempts.end(), isBetter);
      Choice choice = best.choice;
      auto stalls = std::make_shared<std::vector<double>>(best.stalls);
      if (choice.stalls)
        for (size_t t = 0; t < stalls->size(); ++t)
          (*stalls)[t] = std::max((*stalls)[t], (*choice.stalls)[t]);
      choice.stalls = std::move(stalls);
      Attempt attempt = attemptOf(choice);
      if (attempt.fits)
        attempts.push_back(std::move(attempt));
    }

    // The fastest that can be packed.
    for (int tries = 0; !attempts.empty() && tries < (isLarge ? 4 : 40);
         ++tries) {
      auto best = std::min_element(attempts.begin(), attempts.end(), isBetter);
      Attempt attempt = std::move(*best);
      attempts.erase(best);
      assignOffsets(attempt.plan, budget, options.alignment);
      if (attempt.plan.arenaBytes <= budget)
        return std::move(attempt.plan);
      double ratio =
          double(budget) / double(attempt.plan.arenaBytes) * 0.998;
      Choice choice = attempt.choice;
      choice.walkBudget = int64_t(double(choice.walkBudget) * ratio);
      choice.placeBudget = int64_t(double(choice.placeBudget) * ratio);
      Attempt tighter = attemptOf(choice);
      if (tighter.fits)
        attempts.push_back(std::move(tighter));
    }
    return std::nullopt;
  }

  const Graph &graph;
  const PlanMemoryOptions &options;
  std::vector<OperatorId> order;
  WalkInput input;
  Liveness live;
  WalkFailure failure;
};
} // namespace

static std::string findProblem(const Graph &graph,
                               const PlanMemoryOptions &options) {
  std::string problem = checkGraph(graph);
  if (problem.empty() && !isOrder(graph, options.reorder ? updatesFirst(graph)
                                                         : givenOrder(graph)))
    problem = "a parameter is read after its update";
  std::vector<bool> updated(graph.tensors.size(), false);
  for (const Operator &op : graph.operators)
    for (TensorId parameter : op.updates) {
      if (!problem.empty() || parameter < 0)
        continue;
      if (updated[parameter])
        problem = "parameter '" + graph.tensors[parameter].name +
                  "' is updated twice";
      updated[parameter] = true;
    }
  return problem;
}

std::optional<Plan>
espalier::planning::planMemory(const Graph &graph, const Machine &machine,
                               const PlanMemoryOptions &options,
                               PlanMemoryReport &report, std::string &error) {
  error = findProblem(graph, options);
  if (!error.empty())
    return std::nullopt;
  int64_t budget =
      options.budget < 0 ? machine.device.memoryBytes : options.budget;
  Planner planner(graph, machine, options);
  std::optional<Plan> plan = planner.plan(budget);
  if (!plan) {
    // What fits less fits more.
    report.smallestBudget = planner.smallest();
    if (report.smallestBudget >= 0 && report.smallestBudget <= budget)
      plan = planner.plan(report.smallestBudget);
  }
  if (plan) {
    planner.describe(*plan, report);
    return plan;
  }
  planner.describeFailure(report);
  error = "no plan for " + std::to_string(budget) +
          " bytes on the device; the smallest budget that one was found for is " +
          std::to_string(report.smallestBudget) + " bytes. Operator '" +
          report.peakOperator + "' needs the most; the largest tensors then:";
  for (const auto &[name, bytes] : report.largest)
    error += " '" + name + "' (" + std::to_string(bytes) + " bytes)";
  return std::nullopt;
}

int64_t espalier::planning::smallestBudget(const Graph &graph,
                                           const Machine &machine,
                                           PlanMemoryOptions options,
                                           std::string &error) {
  error = findProblem(graph, options);
  if (!error.empty())
    return -1;
  return Planner(graph, machine, options).smallest();
}
