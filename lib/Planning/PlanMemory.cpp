//===- PlanMemory.cpp - Training within a budget --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/PlanMemory.h"

#include "PlaceCopies.h"

#include "espalier/Planning/Liveness.h"
#include "espalier/Planning/OrderOperators.h"

#include <algorithm>
#include <memory>

using namespace espalier::planning;

static constexpr int64_t unlimited = INT64_MAX / 4;

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
    thorough = isLarge()
                   ? Effort{{0.9}, {0.2}, 1, 4}
                   : Effort{{1, 0.97, 0.93, 0.87, 0.8}, {0.02, 0.2, 1}, 6, 40};
  }

  std::optional<Plan> plan(int64_t budget) {
    // Everything stays, if it fits.
    if (live.peakBytes - options.alignment < budget) {
      Attempt attempt = attemptOf({all(), unlimited, unlimited, 0});
      packPlan(attempt.plan, budget, options.alignment);
      if (attempt.plan.arenaBytes <= budget)
        return std::move(attempt.plan);
    }
    if (isLarge())
      return search(all(), budget, thorough);
    climb();
    const Attempt *best = nullptr;
    for (const Attempt &rung : ladder)
      if (rung.plan.arenaBytes <= budget && (!best || isBetter(rung, *best)))
        best = &rung;
    if (best)
      return best->plan;
    return std::nullopt;
  }

  void describe(const Plan &plan, PlanMemoryReport &report) const {
    report.baselineBytes = live.baselineBytes;
    report.livenessBytes = live.peakBytes;
    describePlan(input, plan, options.alignment, report);
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

  /// The smallest budget that a plan was found for; -1: none.
  int64_t smallest() {
    if (!isLarge()) {
      climb();
      int64_t least = -1;
      for (const Attempt &rung : ladder)
        if (least < 0 || rung.plan.arenaBytes < least)
          least = rung.plan.arenaBytes;
      return least;
    }
    int64_t high = live.peakBytes;
    if (!search(all(), high, thorough))
      return -1;
    std::optional<Plan> plan = descend(high, 4);
    return plan ? plan->arenaBytes : high;
  }

private:
  /// What a plan may do besides keeping what it has.
  struct Means {
    bool offload = false;
    bool recompute = false;
  };
  struct Choice {
    Means means;
    int64_t walkBudget = 0;
    int64_t placeBudget = 0;
    double linkPrice = 0;
    std::shared_ptr<std::vector<double>> stalls = nullptr;
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
    walk.offload = choice.means.offload;
    walk.recompute = choice.means.recompute;
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

  /// How hard to look for a plan.
  struct Effort {
    std::vector<double> rooms;
    std::vector<double> prices;
    int stallRounds;
    int packings;
  };

  Means all() const { return {options.offload, options.recompute}; }
  bool isLarge() const { return graph.operators.size() > 4000; }

  /// Plans for budgets that do not depend on the one that is asked for. Whoever
  /// takes the fastest that fits gets no slower, and no lower peak, by a larger
  /// budget: what is faster and no higher would have been taken before.
  void climb() {
    if (hasClimbed)
      return;
    hasClimbed = true;
    Attempt keeping = attemptOf({all(), unlimited, unlimited, 0});
    if (keeping.fits) {
      packPlan(keeping.plan, live.peakBytes, options.alignment);
      addRung(std::move(keeping.plan));
    }
    static const Effort brief = {{1, 0.95, 0.88}, {0.03, 0.2, 1}, 2, 8};
    static const Effort quick = {{1, 0.92}, {0.2}, 1, 3};
    // To have the choice is not always to make the best of it.
    std::vector<Means> fewer;
    if (options.offload && options.recompute)
      fewer = {{true, false}, {false, true}};
    int64_t lowest = live.peakBytes;
    auto add = [&](std::optional<Plan> plan) {
      if (!plan)
        return false;
      lowest = std::min(lowest, plan->arenaBytes);
      addRung(std::move(*plan));
      return true;
    };
    add(descend(lowest, 12));
    WalkFailure why = failure;
    for (Means means : fewer)
      while (lowest > floor() &&
             add(search(means, lowest - 1 - lowest / 100, thorough))) {
      }
    auto level = double(live.peakBytes);
    while (int64_t(level) >= std::max<int64_t>(lowest, 1)) {
      add(search(all(), int64_t(level), brief));
      for (Means means : fewer)
        add(search(means, int64_t(level), quick));
      level *= 0.96;
    }
    failure = why;
  }

  void addRung(Plan plan) {
    Attempt rung;
    Duration duration = durationOf(input, plan);
    rung.fits = true;
    rung.seconds = duration.seconds;
    rung.transferBytes = duration.transferBytes;
    rung.plan = std::move(plan);
    ladder.push_back(std::move(rung));
  }

  /// What no plan is below.
  int64_t floor() const {
    int64_t bytes = 0;
    for (const Operator &op : graph.operators)
      bytes = std::max(bytes, leastBytes(op));
    return bytes;
  }

  /// The plan for the smallest budget below `high` that is found by bisection.
  std::optional<Plan> descend(int64_t high, int rounds) {
    int64_t low = floor();
    if (low >= high) {
      failure = largestFailure();
      return std::nullopt;
    }
    std::optional<Plan> best = search(all(), low, thorough);
    if (best)
      return best;
    WalkFailure why = failure;
    for (; rounds > 0; --rounds) {
      int64_t middle = low + (high - low) / 2;
      middle -= middle % options.alignment;
      if (middle <= low)
        break;
      std::optional<Plan> plan = search(all(), middle, thorough);
      if (!plan) {
        low = middle;
        why = failure.bytesNeeded > 0 ? failure : why;
        continue;
      }
      high = std::min(middle, plan->arenaBytes);
      best = std::move(plan);
      if (high - low <= std::max(options.alignment, high / 500))
        break;
    }
    failure = why;
    return best;
  }

  /// What would have failed first, where nothing was tried.
  WalkFailure largestFailure() const {
    WalkFailure why;
    for (size_t step = 0; step < order.size(); ++step) {
      int64_t bytes = leastBytes(graph.operators[order[step]]);
      if (bytes > why.bytesNeeded) {
        why.bytesNeeded = bytes;
        why.step = int32_t(step);
      }
    }
    return why;
  }

  std::optional<Plan> search(Means means, int64_t budget,
                             const Effort &effort) {
    failure = {};
    std::vector<Attempt> attempts;
    auto attempt = [&](const Choice &choice) {
      Attempt made = attemptOf(choice);
      if (made.fits)
        attempts.push_back(std::move(made));
    };
    for (double room : effort.rooms)
      for (double price : effort.prices)
        attempt({means, int64_t(double(budget) * room), budget, price});
    if (attempts.empty())
      attempt({means, budget, budget, 0.2});
    if (attempts.empty())
      return std::nullopt;

    // What waited for the link is worth more than it was thought to be.
    for (int round = 0; round < effort.stallRounds; ++round) {
      const Attempt &best =
          *std::min_element(attempts.begin(), attempts.end(), isBetter);
      Choice choice = best.choice;
      auto stalls = std::make_shared<std::vector<double>>(best.stalls);
      if (choice.stalls)
        for (size_t t = 0; t < stalls->size(); ++t)
          (*stalls)[t] = std::max((*stalls)[t], (*choice.stalls)[t]);
      choice.stalls = std::move(stalls);
      attempt(choice);
    }

    // The fastest that can be packed.
    for (int tries = 0; !attempts.empty() && tries < effort.packings; ++tries) {
      auto best = std::min_element(attempts.begin(), attempts.end(), isBetter);
      Attempt fastest = std::move(*best);
      attempts.erase(best);
      packPlan(fastest.plan, budget, options.alignment);
      if (fastest.plan.arenaBytes <= budget)
        return std::move(fastest.plan);
      double ratio = double(budget) / double(fastest.plan.arenaBytes) * 0.998;
      Choice choice = fastest.choice;
      choice.walkBudget = int64_t(double(choice.walkBudget) * ratio);
      choice.placeBudget = int64_t(double(choice.placeBudget) * ratio);
      attempt(choice);
    }
    return std::nullopt;
  }

  const Graph &graph;
  const PlanMemoryOptions &options;
  std::vector<OperatorId> order;
  WalkInput input;
  Liveness live;
  WalkFailure failure;
  Effort thorough;
  std::vector<Attempt> ladder;
  bool hasClimbed = false;
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

class MemoryPlanner::Implementation {
public:
  Implementation(const Graph &graph, const Machine &machine,
                 const PlanMemoryOptions &options)
      : graph(graph), machine(machine), options(options),
        problem(findProblem(graph, options)) {
    if (problem.empty())
      planner =
          std::make_unique<Planner>(this->graph, this->machine, this->options);
  }

  const Graph &graph;
  Machine machine;
  PlanMemoryOptions options;
  std::string problem;
  std::unique_ptr<Planner> planner;
};

MemoryPlanner::MemoryPlanner(const Graph &graph, const Machine &machine,
                             const PlanMemoryOptions &options)
    : implementation(
          std::make_unique<Implementation>(graph, machine, options)) {}

MemoryPlanner::~MemoryPlanner() = default;

std::optional<Plan> MemoryPlanner::plan(int64_t budget,
                                        PlanMemoryReport &report,
                                        std::string &error) {
  report = {};
  error = implementation->problem;
  if (!error.empty())
    return std::nullopt;
  Planner &planner = *implementation->planner;
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
  error = "no plan for " + std::to_string(budget) + " bytes on the device; " +
          (report.smallestBudget < 0
               ? "nor was one found for any other budget"
               : "the smallest budget that one was found for is " +
                     std::to_string(report.smallestBudget) + " bytes") +
          ". Operator '" + report.peakOperator +
          "' needs the most; the largest tensors then:";
  for (const auto &[name, bytes] : report.largest)
    error += " '" + name + "' (" + std::to_string(bytes) + " bytes)";
  return std::nullopt;
}

int64_t MemoryPlanner::smallestBudget(std::string &error) {
  error = implementation->problem;
  if (!error.empty())
    return -1;
  int64_t smallest = implementation->planner->smallest();
  if (smallest < 0)
    error = "no plan was found for any budget";
  return smallest;
}

std::optional<Plan>
espalier::planning::planMemory(const Graph &graph, const Machine &machine,
                               const PlanMemoryOptions &options,
                               PlanMemoryReport &report, std::string &error) {
  int64_t budget =
      options.budget < 0 ? machine.device.memoryBytes : options.budget;
  return MemoryPlanner(graph, machine, options).plan(budget, report, error);
}

int64_t espalier::planning::smallestBudget(const Graph &graph,
                                           const Machine &machine,
                                           PlanMemoryOptions options,
                                           std::string &error) {
  return MemoryPlanner(graph, machine, options).smallestBudget(error);
}
