//===- PlanMemoryTest.cpp - Plans within budgets --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Networks.h"
#include "RandomGraphs.h"

#include "espalier/Planning/CheckPlan.h"
#include "espalier/Planning/Liveness.h"
#include "espalier/Planning/OrderOperators.h"
#include "espalier/Planning/PlanMemory.h"
#include "espalier/Planning/SelectAlgorithms.h"
#include "espalier/Planning/SplitOperators.h"

#include <gtest/gtest.h>

using namespace espalier::planning;

namespace {

constexpr double mebibyte = 1048576.0;

std::string problemOf(const Graph &graph, const Plan &plan, int64_t budget,
                      int64_t host = -1) {
  CheckPlanOptions options;
  options.budgetBytes = budget;
  options.hostMemoryBytes = host;
  return checkPlan(graph, plan, options);
}

/// x -> a -> b -> c, where b may lie where a is.
Graph makeSmallChain() {
  Graph graph;
  for (auto [name, bytes, kind] :
       std::vector<std::tuple<const char *, int64_t, TensorKind>>{
           {"x", 100, TensorKind::input},
           {"a", 200, TensorKind::temporary},
           {"b", 200, TensorKind::temporary},
           {"c", 50, TensorKind::output}}) {
    Tensor tensor;
    tensor.name = name;
    tensor.bytes = bytes;
    tensor.kind = kind;
    graph.tensors.push_back(tensor);
  }
  for (int i = 0; i < 3; ++i) {
    Operator op;
    op.name = "make " + graph.tensors[i + 1].name;
    op.inputs = {i};
    op.outputs = {i + 1};
    op.flops = 10;
    graph.operators.push_back(op);
  }
  graph.operators[1].inPlace = {0};
  return graph;
}

TEST(Liveness, IntervalsSetsAndPeak) {
  Graph graph = makeSmallChain();
  Liveness live = analyzeLiveness(graph, givenOrder(graph));
  EXPECT_EQ(live.home, (std::vector<TensorId>{0, 1, 1, 3}));
  EXPECT_EQ(live.liveBytes, (std::vector<int64_t>{300, 300, 350}));
  EXPECT_EQ(live.peakBytes, 350);
  EXPECT_EQ(live.peakStep, 2);
  EXPECT_EQ(live.baselineBytes, 350);
  EXPECT_EQ(live.inSet(graph, 1), (std::vector<TensorId>{0, 1}));
  EXPECT_EQ(live.outSet(graph, 1), (std::vector<TensorId>{0, 2}));
  EXPECT_EQ(live.largestAt(2, 2), (std::vector<TensorId>{1, 0}));

  LivenessOptions apart;
  apart.inPlace = false;
  live = analyzeLiveness(graph, givenOrder(graph), apart);
  EXPECT_EQ(live.liveBytes, (std::vector<int64_t>{300, 500, 350}));

  // What is read later is not taken over, nor what is read twice.
  graph.operators[2].inputs = {2, 1};
  EXPECT_EQ(analyzeLiveness(graph, givenOrder(graph)).home[2], 2);
  graph.operators[2].inputs = {2};
  graph.operators[1].inputs = {1, 1};
  EXPECT_EQ(analyzeLiveness(graph, givenOrder(graph)).home[2], 2);
}

TEST(Liveness, ViewsKeepWhatTheyAreOf) {
  Graph graph = makeSmallChain();
  graph.tensors[2].viewOf = 1;
  Liveness live = analyzeLiveness(graph, givenOrder(graph));
  EXPECT_EQ(live.home[2], 1);
  EXPECT_EQ(live.last[1], 2);
  EXPECT_EQ(live.liveBytes, (std::vector<int64_t>{300, 300, 350}));
}

TEST(OrderOperators, UpdatesComeAfterTheirGradients) {
  NetworkOptions options;
  options.batch = 1;
  Graph graph = makeAlexNet(options);
  int64_t given = analyzeLiveness(graph, givenOrder(graph)).peakBytes;
  std::vector<OperatorId> order = updatesFirst(graph);
  ASSERT_TRUE(isOrder(graph, order));
  int64_t better = analyzeLiveness(graph, order).peakBytes;
  EXPECT_LT(better, given);
  EXPECT_LE(analyzeLiveness(graph, bestOrder(graph)).peakBytes, better);
}

TEST(OrderOperators, RouteFollowsABranchToTheJoin) {
  // a fans out to b and c, d after b, e joins d and c (the paper's Fig. 6).
  Graph graph;
  auto add = [&](const char *name, std::vector<TensorId> inputs) {
    Tensor tensor;
    tensor.name = name;
    tensor.bytes = 1;
    graph.tensors.push_back(tensor);
    Operator op;
    op.name = name;
    op.inputs = std::move(inputs);
    op.outputs = {TensorId(graph.tensors.size()) - 1};
    graph.operators.push_back(op);
  };
  add("a", {});
  add("b", {0});
  add("c", {0});
  add("d", {1});
  add("e", {3, 2});
  EXPECT_EQ(routeOf(graph), (std::vector<OperatorId>{0, 1, 3, 2, 4}));
}

TEST(OrderOperators, RandomGraphs) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    Graph graph = makeRandomGraph(seed);
    ASSERT_EQ(checkGraph(graph), "") << seed;
    for (auto make : {routeOf, updatesFirst, freeingFirst, bestOrder})
      ASSERT_TRUE(isOrder(graph, make(graph))) << seed;
    ASSERT_LE(analyzeLiveness(graph, bestOrder(graph)).peakBytes,
              analyzeLiveness(graph, givenOrder(graph)).peakBytes)
        << seed;
  }
}

TEST(PlanMemory, NothingLeavesWhatFits) {
  Graph graph = makeAlexNet();
  PlanMemoryReport report;
  std::string error;
  std::optional<Plan> plan = planMemory(graph, makeK40c(), {}, report, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(problemOf(graph, *plan, makeK40c().device.memoryBytes), "");
  EXPECT_EQ(report.transferBytes, 0);
  EXPECT_EQ(report.recomputedOperators, 0);
  EXPECT_EQ(plan->hostBytes, 0);
  EXPECT_DOUBLE_EQ(report.seconds, report.secondsUnlimited);
}

TEST(PlanMemory, SaysWhatDoesNotFit) {
  NetworkOptions options;
  options.batch = 4;
  Graph graph = makeAlexNet(options);
  PlanMemoryOptions tight;
  tight.budget = 1000000;
  PlanMemoryReport report;
  std::string error;
  EXPECT_FALSE(planMemory(graph, makeK40c(), tight, report, error));
  EXPECT_NE(error.find("no plan for 1000000 bytes"), std::string::npos);
  EXPECT_NE(error.find("fc1"), std::string::npos) << error;
  ASSERT_FALSE(report.largest.empty());
  EXPECT_GT(report.smallestBudget, tight.budget);
  tight.budget = report.smallestBudget;
  std::optional<Plan> plan =
      planMemory(graph, makeK40c(), tight, report, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(problemOf(graph, *plan, tight.budget), "");
}

/// Plans for budgets from what everything needs down to the smallest.
void sweep(const Graph &graph, const Machine &machine, int budgets) {
  MemoryPlanner planner(graph, machine, {});
  PlanMemoryReport report;
  std::string error;
  std::optional<Plan> plan = planner.plan(INT64_MAX / 8, report, error);
  ASSERT_TRUE(plan) << error;
  int64_t all = plan->arenaBytes;
  int64_t smallest = planner.smallestBudget(error);
  ASSERT_GT(smallest, 0) << error;
  ASSERT_LT(smallest, all);
  int64_t peak = INT64_MAX;
  double seconds = 0;
  for (int i = budgets - 1; i >= 0; --i) {
    int64_t budget = smallest + (all - smallest) / (budgets - 1) * i;
    plan = planner.plan(budget, report, error);
    ASSERT_TRUE(plan) << budget << ": " << error;
    EXPECT_EQ(problemOf(graph, *plan, budget, machine.hostMemoryBytes), "");
    EXPECT_LE(plan->arenaBytes, peak);
    EXPECT_GE(report.seconds, seconds);
    peak = plan->arenaBytes;
    seconds = report.seconds;
  }
  // By itself, a budget gets the same plan.
  PlanMemoryOptions options;
  options.budget = smallest;
  plan = planMemory(graph, machine, options, report, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->arenaBytes, peak);
  EXPECT_EQ(report.seconds, seconds);
}

TEST(PlanMemory, LessMemoryIsNoFasterAndHasNoHigherPeak) {
  NetworkOptions options;
  options.batch = 64;
  sweep(makeAlexNet(options), makeK40c(), 20);
}

TEST(PlanMemory, ResidualNetworksToo) {
  NetworkOptions options;
  options.batch = 8;
  sweep(makeResNet({1, 1, 1, 1}, options), makeK40c(), 20);
}

// But for what luck in the search makes of it.
TEST(PlanMemory, MoreMeansAreNoWorse) {
  NetworkOptions network;
  network.batch = 8;
  for (const Graph &graph :
       {makeAlexNet(network), makeResNet({1, 1, 1, 1}, network)}) {
    const Machine machine = makeK40c();
    std::string error;
    MemoryPlanner all(graph, machine, {});
    const int64_t smallest = all.smallestBudget(error);
    for (bool offload : {false, true}) {
      PlanMemoryOptions options;
      options.offload = offload;
      options.recompute = !offload;
      MemoryPlanner one(graph, machine, options);
      const int64_t least = one.smallestBudget(error);
      ASSERT_GT(least, 0) << error;
      EXPECT_LE(smallest, least + least / 50);
      PlanMemoryReport report, ofAll;
      ASSERT_TRUE(one.plan(INT64_MAX / 8, report, error)) << error;
      const int64_t peak = report.lowerBoundBytes;
      for (int64_t budget = peak; budget > least; budget -= peak / 20) {
        ASSERT_TRUE(one.plan(budget, report, error)) << error;
        ASSERT_TRUE(all.plan(budget, ofAll, error)) << error;
        EXPECT_LE(ofAll.seconds, 1.02 * report.seconds)
            << budget << " of " << peak << ", offload " << offload;
      }
    }
  }
}

TEST(PlanMemory, NextToNothing) {
  for (int64_t bytes : {0, 1, 64}) {
    Graph graph;
    graph.tensors = {{"y", bytes, TensorKind::output, -1}};
    Operator op;
    op.name = "make";
    op.outputs = {0};
    graph.operators = {op};
    std::string error;
    MemoryPlanner planner(graph, makeK40c(), {});
    const int64_t smallest = planner.smallestBudget(error);
    EXPECT_EQ(smallest, bytes) << error;
    PlanMemoryReport report;
    EXPECT_TRUE(planner.plan(smallest, report, error)) << error;
    EXPECT_FALSE(planner.plan(bytes - 1, report, error));
    EXPECT_EQ(report.peakOperator, "make");
  }
}

TEST(PlanMemory, UpdatesThatDoNotReadTheOldValue) {
  // w is needed by nobody until it is written.
  Graph graph;
  graph.tensors = {{"w", 6400, TensorKind::parameter, -1},
                   {"x", 6400, TensorKind::input, -1},
                   {"a", 6400, TensorKind::temporary, -1},
                   {"b", 6400, TensorKind::output, -1},
                   {"w'", 6400, TensorKind::temporary, -1}};
  auto add = [&](const char *name, TensorId from, TensorId to) {
    Operator op;
    op.name = name;
    op.inputs = {from};
    op.outputs = {to};
    op.flops = 1e6;
    graph.operators.push_back(op);
  };
  add("first", 1, 2), add("second", 2, 3), add("update", 3, 4);
  graph.operators.back().updates = {0};
  graph.operators.back().recomputable = false;
  ASSERT_EQ(checkGraph(graph), "");
  std::string error;
  MemoryPlanner planner(graph, makeK40c(), {});
  for (int64_t budget = planner.smallestBudget(error); budget <= 32000;
       budget += 1600) {
    PlanMemoryReport report;
    std::optional<Plan> plan = planner.plan(budget, report, error);
    ASSERT_TRUE(plan) << error;
    EXPECT_EQ(problemOf(graph, *plan, budget), "") << budget;
    for (const Step &step : plan->steps)
      EXPECT_FALSE(step.kind == Step::Kind::prefetch &&
                   plan->buffers[step.outputs[0]].tensor == 0)
          << budget;
  }
}

TEST(PlanMemory, RandomGraphsAndBudgets) {
  int plans = 0, offloading = 0, recomputing = 0;
  for (uint32_t seed = 0; seed < 1500; ++seed) {
    Graph graph = makeRandomGraph(seed);
    Machine machine;
    machine.device = {"device", 1 << 20, 1e9, 1e9, 1e-7, "cpu"};
    machine.link = {1e9, 1e-7, seed % 2 == 0};
    machine.hostMemoryBytes = seed % 5 == 0 ? 20000 : 1 << 30;
    PlanMemoryOptions options;
    options.offload = seed % 4 != 1;
    options.recompute = seed % 4 != 2;
    options.inPlace = seed % 7 != 0;
    options.reorder = seed % 3 != 0;
    std::string error;
    MemoryPlanner planner(graph, machine, options);
    int64_t smallest = planner.smallestBudget(error);
    ASSERT_GE(smallest, 0) << seed << error;
    PlanMemoryReport report;
    std::optional<Plan> plan = planner.plan(1 << 28, report, error);
    ASSERT_TRUE(plan) << seed << error;
    int64_t all = std::max(plan->arenaBytes, smallest);
    for (int i = 0; i < 7; ++i) {
      int64_t budget = smallest + (all - smallest) * i / 6;
      plan = planner.plan(budget, report, error);
      ASSERT_TRUE(plan) << seed << " at " << budget << error;
      ASSERT_EQ(problemOf(graph, *plan, budget, machine.hostMemoryBytes), "")
          << seed << " at " << budget;
      ASSERT_TRUE(options.offload || report.transferBytes == 0) << seed;
      ASSERT_TRUE(options.recompute || report.recomputedOperators == 0) << seed;
      ++plans;
      offloading += report.transferBytes > 0 ? 1 : 0;
      recomputing += report.recomputedOperators > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(plans, 10000);
  // They are not all trivial.
  EXPECT_GT(offloading, plans / 4);
  EXPECT_GT(recomputing, plans / 20);
}

TEST(PaperPolicies, AlexNetAtBatch200) {
  NetworkOptions network;
  network.batch = 200;
  network.asInThePaper = true;
  Graph graph = makeAlexNet(network);
  auto peak = [&](bool offload, PaperPolicy::Recompute recompute,
                  std::string &at) {
    PaperPolicy policy;
    policy.offload = offload;
    policy.recompute = recompute;
    policy.inPlace = true;
    PlanMemoryReport report;
    std::string error;
    std::optional<Plan> plan =
        planAsInThePaper(graph, makeK40c(), policy, report, error);
    EXPECT_TRUE(plan) << error;
    EXPECT_EQ(problemOf(graph, *plan, -1), "");
    at = report.peakOperator;
    return double(plan->arenaBytes) / mebibyte;
  };
  using Recompute = PaperPolicy::Recompute;
  std::string at;
  EXPECT_NEAR(peak(false, Recompute::none, at), 1489.355, 0.01);
  EXPECT_EQ(at, "pool5.adjoint");
  EXPECT_LE(peak(true, Recompute::none, at), 1.02 * 1132.155);
  EXPECT_NEAR(peak(true, Recompute::costAware, at), 886.23, 0.01);
  EXPECT_EQ(at, "lrn1.adjoint");

  // Without the library's habits: in place, adjoints read what they need.
  network.asInThePaper = false;
  network.dataOnly = true;
  graph = makeAlexNet(network);
  EXPECT_LE(double(analyzeLiveness(graph, givenOrder(graph)).baselineBytes) /
                mebibyte,
            1.02 * 2189.437);
  std::string error;
  int64_t smallest = smallestBudget(graph, makeK40c(), {}, error);
  EXPECT_LE(double(smallest) / mebibyte, 670) << error;
}

TEST(SplitOperators, GoesBelowTheLargestLayer) {
  NetworkOptions network;
  network.batch = 200;
  network.dataOnly = true;
  Graph graph = makeAlexNet(network);
  int64_t whole = largestOperator(graph);
  SplitGraph split = splitToFit(graph, whole / 4);
  EXPECT_EQ(checkGraph(split.graph), "");
  EXPECT_GT(split.parts, 1);
  EXPECT_LE(largestOperator(split.graph), whole / 3);

  // Every row of every batch is made once, and so is every sum.
  std::vector<int64_t> rows(graph.tensors.size(), 0);
  for (const Piece &piece : split.tensors) {
    int64_t batch = graph.tensors[piece.of].batch;
    rows[piece.of] += piece.parts == 1 ? -1 : batch > 0 ? piece.rows(batch) : 1;
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    if (rows[t] != -1) {
      EXPECT_EQ(rows[t], graph.tensors[t].batch > 0 ? graph.tensors[t].batch
                                                    : split.parts)
          << graph.tensors[t].name;
    }

  std::string error;
  int64_t smallest = smallestBudget(graph, makeK40c(), {}, error);
  int64_t below = smallestBudget(split.graph, makeK40c(), {}, error);
  EXPECT_LT(below, smallest);
  EXPECT_LE(double(below) / mebibyte, 450);
  PlanMemoryOptions options;
  options.budget = below;
  PlanMemoryReport report;
  std::optional<Plan> plan =
      planMemory(split.graph, makeK40c(), options, report, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(problemOf(split.graph, *plan, below), "");
}

TEST(SplitOperators, StatisticsReadAllPieces) {
  NetworkOptions network;
  network.batch = 8;
  network.splitNormalization = true;
  Graph graph = makeResNet({1, 1, 1, 1}, network);
  SplitGraph split = splitOperators(graph, 0, 4);
  EXPECT_EQ(checkGraph(split.graph), "");
  bool found = false;
  for (size_t i = 0; i < split.graph.operators.size(); ++i)
    if (split.graph.operators[i].kind == "batch_statistics") {
      EXPECT_EQ(split.graph.operators[i].inputs.size(), 4u);
      found = true;
    }
  EXPECT_TRUE(found);
  // As it was.
  SplitGraph same = splitOperators(graph, INT64_MAX, 4);
  EXPECT_EQ(same.parts, 1);
  EXPECT_EQ(same.graph.operators.size(), graph.operators.size());
}

TEST(SelectAlgorithms, TheFastestThatFits) {
  NetworkOptions network;
  network.batch = 16;
  network.workspaces = true;
  Graph graph = makeAlexNet(network);
  Machine machine = makeK40c();
  PlanMemoryOptions options;
  PlanMemoryReport report;
  std::string error;
  auto count = [&](int64_t budget, size_t algorithm) {
    options.budget = budget;
    std::optional<Plan> plan =
        planMemory(graph, machine, options, report, error);
    EXPECT_TRUE(plan) << error;
    std::vector<AlgorithmChoice> choices =
        selectAlgorithms(graph, machine, *plan, budget);
    EXPECT_EQ(problemOf(graph, *plan, budget), "");
    size_t found = 0;
    for (const AlgorithmChoice &choice : choices) {
      const Step &step = plan->steps[choice.step];
      const std::vector<Algorithm> &all = graph.operators[step.op].algorithms;
      EXPECT_EQ(step.workspaceBytes, all[choice.algorithm].workspaceBytes);
      if (choice.fastestThatDoesNotFit >= 0) {
        EXPECT_GT(all[choice.fastestThatDoesNotFit].workspaceBytes,
                  choice.freeBytes);
      }
      found += size_t(choice.algorithm) == algorithm ? 1 : 0;
    }
    return found;
  };
  int64_t smallest = smallestBudget(graph, machine, options, error);
  size_t fastWithRoom = count(int64_t(12) << 30, 0);
  EXPECT_EQ(fastWithRoom, 14u);
  EXPECT_LT(count(smallest, 0), fastWithRoom);
}

/// x -> y -> z, y being copied to the host meanwhile: at the second operator
/// [0, 100) is y's, from the third on nobody's.
struct AlgorithmsOfAChain {
  Graph graph;
  Machine machine;
  Plan plan;

  AlgorithmsOfAChain() {
    for (const char *name : {"x", "y", "z", "u", "v"})
      graph.tensors.push_back({name, 100, TensorKind::temporary, -1, 0});
    graph.tensors[0].kind = TensorKind::input;
    graph.tensors[4].kind = TensorKind::output;
    for (int i = 0; i < 4; ++i) {
      Operator op;
      op.name = "op" + std::to_string(i);
      op.inputs = {i};
      op.outputs = {i + 1};
      op.flops = 1;
      graph.operators.push_back(op);
    }
    graph.operators[3].algorithms = {
        {"large", 96, 0}, {"small", 32, 0}, {"none", 0, 0}};
    machine.device.flopsPerSecond = 1;
    machine.link.bytesPerSecond = 100;
    // x, y, z, u, v; y's copy starts behind op1.
    plan.buffers = {{0, 100, 0, 0, 192, -1},
                    {1, 100, 0, 2, 0, -1},
                    {2, 100, 1, 3, 320, -1},
                    {3, 100, 3, 4, 192, -1},
                    {4, 100, 4, 4, 320, -1}};
    auto compute = [&](int32_t op) {
      Step step;
      step.op = op;
      step.inputs = {op};
      step.outputs = {op + 1};
      plan.steps.push_back(step);
    };
    compute(0);
    compute(1);
    Step copy;
    copy.kind = Step::Kind::offload;
    copy.inputs = {1};
    plan.steps.push_back(copy);
    compute(2);
    compute(3);
    plan.steps.back().algorithm = 2;
    plan.arenaBytes = 420;
    plan.hostBytes = 100;
  }

  AlgorithmChoice choose(int64_t budget) {
    std::vector<AlgorithmChoice> choices =
        selectAlgorithms(graph, machine, plan, budget, 1);
    EXPECT_EQ(choices.size(), 1u);
    EXPECT_EQ(problemOf(graph, plan, budget), "");
    return choices.front();
  }
};

TEST(SelectAlgorithms, NothingForNothing) {
  // Nothing is known of their speeds.
  AlgorithmsOfAChain chain;
  AlgorithmChoice choice = chain.choose(1000);
  EXPECT_EQ(choice.algorithm, 2);
  EXPECT_EQ(choice.runnerUp, 0);
  EXPECT_EQ(chain.plan.steps.back().workspaceBytes, 0);
  EXPECT_EQ(chain.plan.steps.back().workspaceOffset, -1);
  EXPECT_EQ(chain.plan.arenaBytes, 420);
}

TEST(SelectAlgorithms, AsLowAsThereIsRoom) {
  AlgorithmsOfAChain chain;
  chain.machine.device.algorithmSpeeds = {{"large", 2}, {"small", 2}};
  // The largest gap is behind everything, and the arena need not grow.
  AlgorithmChoice choice = chain.choose(1000);
  EXPECT_EQ(choice.freeBytes, 580);
  EXPECT_EQ(choice.algorithm, 0);
  EXPECT_EQ(choice.runnerUp, 1);
  EXPECT_EQ(choice.fastestThatDoesNotFit, -1);
  EXPECT_EQ(chain.plan.steps.back().workspaceOffset, 0);
  EXPECT_EQ(chain.plan.arenaBytes, 420);
}

TEST(SelectAlgorithms, NotWhereACopyStillReads) {
  AlgorithmsOfAChain chain;
  chain.machine.device.algorithmSpeeds = {{"large", 2}, {"small", 2}};
  // y's copy takes 5 seconds, the operator beside it one.
  chain.machine.link.bytesPerSecond = 20;
  EXPECT_EQ(chain.choose(420).algorithm, 1);
  EXPECT_EQ(chain.plan.steps.back().workspaceOffset, 100);
  EXPECT_EQ(chain.choose(1000).algorithm, 0);
  EXPECT_EQ(chain.plan.steps.back().workspaceOffset, 420);
  EXPECT_EQ(chain.plan.arenaBytes, 516);
}

} // namespace
