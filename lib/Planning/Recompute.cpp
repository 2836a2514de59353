//===- Recompute.cpp - Operators run again for want of memory -------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Recompute.h"

#include "RecomputationOf.h"
#include "RunSearch.h"

#include <algorithm>
#include <numeric>

using namespace espalier::planning;

Recomputation espalier::planning::recomputationOf(
    const RunProblem &problem, const std::vector<RunSchedule::Again> &again) {
  RunSchedule schedule(problem, again);
  Recomputation result;
  result.sequence = problem.sequenceOf(schedule.runs());
  for (const RunProblem::Runner &runner : problem.runners)
    result.secondsOnce += runner.seconds;
  result.runsAgain = int64_t(again.size());
  for (RunSchedule::Again run : again)
    result.secondsAgain += problem.runners[run.runner].seconds;
  RunProfile::Run peak = schedule.getProfile().peakRun();
  if (peak.key < 0) {
    // Views only.
    result.peakBytes = problem.fixedBytes;
    return result;
  }
  result.peakBytes = peak.bytes;
  // The run's number, now that views are among them: as many runs of its
  // operator come before it as stages that it runs in.
  RunnerId runner = schedule.runnerOf(peak.key);
  int64_t before = 0;
  for (RunnerId stage : schedule.stagesOf(runner))
    before += stage < schedule.stageOf(peak.key);
  OperatorId op = problem.runners[runner].op;
  for (size_t i = 0; i < result.sequence.size(); ++i)
    if (result.sequence[i] == op && before-- == 0)
      result.peakRun = int64_t(i);
  return result;
}

namespace {

/// Why there is no plan, and what there is one for.
std::string describeFailure(const RunProblem &problem, int64_t budget,
                            const std::vector<RunSchedule::Again> &lowest) {
  RunSchedule schedule(problem, lowest);
  RunProfile::Run peak = schedule.getProfile().peakRun();
  int64_t bound = problem.lowerBound();
  std::string text = "no recomputation fits into " + std::to_string(budget) +
                     " bytes; the smallest budget that one was found for is " +
                     std::to_string(peak.bytes) + " bytes, and none below " +
                     std::to_string(bound) + " can be";
  if (peak.key < 0)
    return text;
  const Operator &op =
      problem.graph.operators[problem.runners[schedule.runnerOf(peak.key)].op];
  text += "; that much is live when '" + op.name + "' runs";
  std::vector<ValueId> live;
  for (size_t value = 0; value < problem.values.size(); ++value) {
    RunSchedule::Stay stay = schedule.stayAt(ValueId(value), peak.key + 1);
    if (stay.made >= 0 && stay.last >= peak.key)
      live.push_back(ValueId(value));
  }
  std::sort(live.begin(), live.end(), [&](ValueId a, ValueId b) {
    int64_t ofA = problem.values[a].bytes;
    int64_t ofB = problem.values[b].bytes;
    return ofA != ofB ? ofA > ofB : a < b;
  });
  for (size_t i = 0; i < std::min<size_t>(live.size(), 3); ++i) {
    const RunProblem::Value &value = problem.values[live[i]];
    text += i == 0 ? ", the largest being " : "; ";
    text += "'" + problem.graph.tensors[value.tensor].name + "' (" +
            std::to_string(value.bytes) + " bytes)";
  }
  if (problem.fixedBytes > 0)
    text += "; parameters and inputs are " +
            std::to_string(problem.fixedBytes) + " bytes of it";
  return text;
}

/// A plan for a smaller budget is one for a larger one, too. In `order`,
/// budgets ascend.
void keepCheapest(const std::vector<size_t> &order,
                  std::vector<std::optional<Recomputation>> &plans) {
  const std::optional<Recomputation> *best = nullptr;
  for (size_t number : order) {
    std::optional<Recomputation> &plan = plans[number];
    if (best && (!plan || (*best)->secondsAgain < plan->secondsAgain))
      plan = *best;
    if (plan)
      best = &plan;
  }
}

} // namespace

Recomputation
espalier::planning::withoutRecomputation(const Graph &graph,
                                         const RecomputeOptions &options) {
  return recomputationOf(RunProblem(graph, options), {});
}

int64_t
espalier::planning::recomputationLowerBound(const Graph &graph,
                                            const RecomputeOptions &options) {
  return RunProblem(graph, options).lowerBound();
}

std::optional<Recomputation>
espalier::planning::planRecomputation(const Graph &graph, int64_t budgetBytes,
                                      std::string &error,
                                      const RecomputeOptions &options) {
  std::vector<std::string> errors;
  std::vector<std::optional<Recomputation>> plans =
      planRecomputations(graph, {budgetBytes}, errors, options);
  error = errors[0];
  return std::move(plans[0]);
}

std::vector<std::optional<Recomputation>>
espalier::planning::planRecomputations(const Graph &graph,
                                       const std::vector<int64_t> &budgets,
                                       std::vector<std::string> &errors,
                                       const RecomputeOptions &options) {
  RunProblem problem(graph, options);
  RunSearch search(problem, options);
  std::vector<std::optional<Recomputation>> plans(budgets.size());
  errors.assign(budgets.size(), "");
  // From the smallest up: what fits a small budget fits a larger one, so that
  // with it to begin with, that is never dearer.
  std::vector<size_t> order(budgets.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return budgets[a] != budgets[b] ? budgets[a] < budgets[b] : a < b;
  });
  std::vector<std::vector<RunSchedule::Again>> known;
  std::vector<size_t> failed;
  for (size_t number : order) {
    if (budgets[number] < problem.lowerBound()) {
      failed.push_back(number);
      continue;
    }
    std::optional<std::vector<RunSchedule::Again>> again =
        search.find(budgets[number], known);
    if (!again) {
      failed.push_back(number);
      continue;
    }
    plans[number] = recomputationOf(problem, *again);
    known = {std::move(*again)};
  }
  // What the smallest budget is, is asked only now. The answer may fit after
  // all where nothing else was found.
  if (!failed.empty())
    search.findLowest();
  for (size_t number : failed) {
    std::optional<std::vector<RunSchedule::Again>> again;
    if (budgets[number] >= search.lowestPeak())
      again = search.find(budgets[number], {search.lowestRuns()});
    if (again)
      plans[number] = recomputationOf(problem, *again);
  }
  keepCheapest(order, plans);
  for (size_t number : failed)
    if (!plans[number])
      errors[number] =
          describeFailure(problem, budgets[number], search.lowestRuns());
  return plans;
}
