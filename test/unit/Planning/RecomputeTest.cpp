//===- RecomputeTest.cpp - Runs again within a budget ---------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Recompute.h"
#include "espalier/Planning/AssignBuffers.h"
#include "espalier/Planning/CheckPlan.h"
#include "espalier/Planning/CheckRecomputation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <tuple>

using namespace espalier::planning;

namespace {

/// Under a sanitizer, which takes several times as long, there are fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint32_t randomGraphs = 2000;
constexpr uint32_t searchedGraphs = 60;
#else
constexpr uint32_t randomGraphs = 14000;
constexpr uint32_t searchedGraphs = 150;
#endif

Operator makeOperator(const std::string &name, std::vector<TensorId> inputs,
                      std::vector<TensorId> outputs, double seconds) {
  Operator op;
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.seconds = seconds;
  return op;
}

/// f1 .. fn forward, bn .. b1 backward, where b of i reads f of i and of i - 1.
Graph makeTrainingChain(int layers) {
  Graph graph;
  graph.tensors.push_back({"x", 1, TensorKind::input, -1});
  for (int i = 1; i <= layers; ++i) {
    graph.tensors.push_back(
        {"f" + std::to_string(i), 10, TensorKind::temporary, -1});
    graph.operators.push_back(
        makeOperator("f" + std::to_string(i), {i - 1}, {i}, 1));
  }
  TensorId gradient = -1;
  for (int i = layers; i >= 1; --i) {
    TensorId made = TensorId(graph.tensors.size());
    graph.tensors.push_back(
        {"b" + std::to_string(i), 10,
         i == 1 ? TensorKind::output : TensorKind::temporary, -1});
    std::vector<TensorId> inputs = {i, i - 1};
    if (gradient >= 0)
      inputs.push_back(gradient);
    graph.operators.push_back(
        makeOperator("b" + std::to_string(i), inputs, {made}, 2));
    gradient = made;
  }
  return graph;
}

/// Everything that a graph can have, in small.
class RandomGraph {
public:
  RandomGraph(uint32_t seed, int operators, bool plain)
      : random(seed), plain(plain) {
    if (!plain)
      for (int i = below(3); i >= 0; --i)
        add(below(2) ? TensorKind::parameter : TensorKind::input, below(20));
    for (int i = 0; i < operators; ++i)
      addOperator(i);
    // What nothing reads is an output, and a few others.
    std::vector<std::vector<OperatorId>> consumers = consumersOf(graph);
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.tensors[t].kind == TensorKind::temporary &&
          ((consumers[t].empty() && below(4) > 0) || below(12) == 0))
        graph.tensors[t].kind = TensorKind::output;
  }

  Graph graph;

private:
  int below(int count) { return int(random() % uint32_t(count)); }

  TensorId add(TensorKind kind, int64_t bytes, TensorId viewOf = -1) {
    graph.tensors.push_back(
        {"t" + std::to_string(graph.tensors.size()), bytes, kind, viewOf});
    readable.push_back(TensorId(graph.tensors.size()) - 1);
    return readable.back();
  }

  void addOperator(int number) {
    Operator op;
    op.name = "o" + std::to_string(number);
    op.seconds = below(8);
    int reads = readable.empty() ? 0 : 1 + below(3);
    // Mostly what is near, now and then what is far, as in training.
    for (int i = 0; i < reads; ++i) {
      int far = below(3) == 0 ? int(readable.size())
                              : std::min<int>(4, int(readable.size()));
      op.inputs.push_back(readable[readable.size() - 1 - size_t(below(far))]);
    }
    if (!plain && reads > 0 && below(6) == 0) {
      TensorId of = op.inputs[0];
      op.inputs = {of};
      op.outputs = {add(TensorKind::temporary, graph.tensors[of].bytes, of)};
      // Now and then with something else beside the name.
      if (below(4) == 0)
        op.outputs.push_back(add(TensorKind::temporary, below(20)));
    } else {
      int makes = plain ? 1 : 1 + below(5) / 4;
      for (int i = 0; i < makes; ++i)
        op.outputs.push_back(add(TensorKind::temporary, 1 + below(20)));
      if (!plain)
        decorate(op);
    }
    graph.operators.push_back(op);
  }

  void decorate(Operator &op) {
    op.recomputable = below(8) > 0;
    if (below(4) == 0)
      op.algorithms = {{"fast", 30, 1}, {"thrifty", below(10), 2}};
    if (below(3) == 0 && !op.inputs.empty()) {
      op.inPlace.assign(op.outputs.size(), -1);
      op.inPlace[0] = below(int(op.inputs.size()));
      graph.tensors[op.outputs[0]].bytes =
          graph.tensors[op.inputs[size_t(op.inPlace[0])]].bytes;
    }
    TensorId parameter = below(int(graph.tensors.size()));
    if (below(6) == 0 && op.inPlace.empty() &&
        graph.tensors[parameter].kind == TensorKind::parameter &&
        updated.insert(parameter).second) {
      op.updates.assign(op.outputs.size(), -1);
      op.updates[0] = parameter;
      op.recomputable = false;
      graph.tensors[op.outputs[0]].bytes = graph.tensors[parameter].bytes;
      // From here on its next value is what is read.
      readable.erase(std::remove_if(readable.begin(), readable.end(),
                                    [&](TensorId t) {
                                      return graph.storageOf(t) == parameter;
                                    }),
                     readable.end());
    }
  }

  std::mt19937 random;
  bool plain;
  std::vector<TensorId> readable;
  std::set<TensorId> updated;
};

/// The cheapest of all sequences of stages, found by trying them all:
/// Dijkstra's algorithm over how many operators have run, the last that ran in
/// the stage, and what is live. Of graphs whose operators have one output each.
/// -1: none.
double findOptimum(const Graph &graph, int64_t budget) {
  size_t count = graph.operators.size();
  struct State {
    size_t done;
    /// The number after that of the last run in this stage.
    size_t next;
    uint32_t live;
    bool operator<(const State &other) const {
      return std::tie(done, next, live) <
             std::tie(other.done, other.next, other.live);
    }
  };
  std::map<State, double> cost;
  using Entry = std::pair<double, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  auto offer = [&](const State &state, double price) {
    auto [at, isNew] = cost.emplace(state, price);
    if (!isNew && at->second <= price)
      return;
    at->second = price;
    queue.push({price, state});
  };
  auto bytesOf = [&](uint32_t live) {
    int64_t bytes = 0;
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (live >> t & 1)
        bytes += graph.tensors[t].bytes;
    return bytes;
  };
  uint32_t outputs = 0;
  for (size_t t = 0; t < graph.tensors.size(); ++t)
    if (graph.tensors[t].kind == TensorKind::output)
      outputs |= 1U << t;
  offer({0, 0, 0}, 0);
  while (!queue.empty()) {
    auto [spent, state] = queue.top();
    queue.pop();
    if (spent > cost[state])
      continue;
    if (state.done == count && (state.live & outputs) == outputs)
      return spent;
    // Let go of one. That is free, so that any number of them is.
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (state.live >> t & 1)
        offer({state.done, state.next, state.live & ~(1U << t)}, spent);
    for (size_t op = state.next; op <= std::min(state.done, count - 1); ++op) {
      const Operator &runs = graph.operators[op];
      uint32_t needed = 0;
      for (TensorId input : runs.inputs)
        needed |= 1U << input;
      uint32_t with = state.live | 1U << runs.outputs[0];
      if ((state.live & needed) != needed || bytesOf(with) > budget)
        continue;
      bool first = op == state.done;
      offer({state.done + first, first ? 0 : op + 1, with},
            spent + runs.seconds);
    }
  }
  return -1;
}

TEST(Recompute, KeepsAllWhenAllFits) {
  Graph graph = makeTrainingChain(4);
  Recomputation plain = withoutRecomputation(graph);
  // At b4: x, f1 to f4, b4. At b3: b4 in f4's place.
  EXPECT_EQ(plain.peakBytes, 1 + 5 * 10);
  EXPECT_EQ(plain.peakRun, 4);
  EXPECT_EQ(plain.runsAgain, 0);
  std::string error;
  auto plan = planRecomputation(graph, plain.peakBytes, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->sequence, (std::vector<OperatorId>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(plan->secondsAgain, 0);
}

TEST(Recompute, RunsAgainWhatIsCheapest) {
  // a and b wait for e while `large` runs; b is the cheaper one.
  Graph graph;
  graph.tensors = {{"x", 1, TensorKind::input, -1},
                   {"a", 10, TensorKind::temporary, -1},
                   {"b", 10, TensorKind::temporary, -1},
                   {"large", 30, TensorKind::temporary, -1},
                   {"d", 1, TensorKind::temporary, -1},
                   {"e", 1, TensorKind::output, -1}};
  graph.operators = {
      makeOperator("a", {0}, {1}, 5), makeOperator("b", {0}, {2}, 2),
      makeOperator("large", {0}, {3}, 1), makeOperator("d", {3}, {4}, 1),
      makeOperator("e", {1, 2, 4}, {5}, 1)};
  EXPECT_EQ(withoutRecomputation(graph).peakBytes, 52);
  std::string error;
  auto plan = planRecomputation(graph, 42, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->sequence, (std::vector<OperatorId>{0, 1, 2, 3, 1, 4}));
  EXPECT_EQ(plan->peakBytes, 42);
  EXPECT_EQ(plan->peakRun, 3);
  EXPECT_EQ(plan->runsAgain, 1);
  EXPECT_EQ(plan->secondsAgain, 2);
  EXPECT_EQ(checkRecomputation(graph, plan->sequence, 42), "");
  // Now b has to come back, too.
  plan = planRecomputation(graph, 32, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->secondsAgain, 7);
}

TEST(Recompute, SaysWhatTheSmallestBudgetIs) {
  Graph graph = makeTrainingChain(4);
  // b3 reads three tensors and makes one.
  EXPECT_EQ(recomputationLowerBound(graph), 41);
  std::string error;
  EXPECT_FALSE(planRecomputation(graph, 40, error));
  EXPECT_EQ(error,
            "no recomputation fits into 40 bytes; the smallest budget that one "
            "was found for is 41 bytes, and none below 41 can be; that much is "
            "live when 'b4' runs, the largest being 'f2' (10 bytes); 'f3' (10 "
            "bytes); 'f4' (10 bytes); parameters and inputs are 1 bytes of it");
}

TEST(Recompute, LeavesAloneWhatMayNotRunAgain) {
  Graph graph = makeTrainingChain(4);
  for (Operator &op : graph.operators)
    op.recomputable = false;
  std::string error;
  EXPECT_FALSE(planRecomputation(graph, 50, error));
  EXPECT_EQ(recomputationLowerBound(graph), 51);
  EXPECT_TRUE(planRecomputation(graph, 51, error));
}

TEST(Recompute, ComesBeforeAParameterChanges) {
  // y = f(w); w' = update(w); z = g(y), so that y cannot be had again for g.
  Graph graph;
  graph.tensors = {{"w", 4, TensorKind::parameter, -1},
                   {"y", 100, TensorKind::temporary, -1},
                   {"w'", 4, TensorKind::temporary, -1},
                   {"u", 100, TensorKind::temporary, -1},
                   {"v", 1, TensorKind::temporary, -1},
                   {"z", 1, TensorKind::output, -1}};
  graph.operators = {
      makeOperator("f", {0}, {1}, 1), makeOperator("use", {1}, {4}, 1),
      makeOperator("large", {4}, {3}, 1),
      makeOperator("update", {0, 3}, {2}, 1), makeOperator("g", {1}, {5}, 1)};
  ASSERT_EQ(checkGraph(graph), "");
  std::string error;
  auto plan = planRecomputation(graph, 120, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->runsAgain, 1);
  graph.operators[3].updates = {0};
  EXPECT_FALSE(planRecomputation(graph, 120, error));
  EXPECT_EQ(checkRecomputation(graph, plan->sequence, 1000),
            "run 4: 'f' reads 'w' after an update that it must not see");
}

TEST(Recompute, NamesAgainWhatIsMadeAgain) {
  // y is let go while `large` runs, and the view that g reads is of the new y.
  Graph graph;
  graph.tensors = {{"x", 1, TensorKind::input, -1},
                   {"y", 100, TensorKind::temporary, -1},
                   {"flat", 100, TensorKind::temporary, 1},
                   {"u", 100, TensorKind::temporary, -1},
                   {"v", 1, TensorKind::temporary, -1},
                   {"z", 1, TensorKind::output, -1}};
  graph.operators = {
      makeOperator("f", {0}, {1}, 1), makeOperator("flatten", {1}, {2}, 0),
      makeOperator("use", {2}, {4}, 1), makeOperator("large", {4}, {3}, 1),
      makeOperator("g", {2, 3, 4}, {5}, 1)};
  std::string error;
  // g needs both large tensors, so that there is nothing to win.
  EXPECT_EQ(recomputationLowerBound(graph), 203);
  graph.operators[4].inputs = {2, 4};
  graph.operators.insert(graph.operators.begin() + 4,
                         makeOperator("small", {3}, {6}, 1));
  graph.tensors.push_back({"w", 1, TensorKind::output, -1});
  ASSERT_EQ(checkGraph(graph), "");
  auto plan = planRecomputation(graph, 110, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->sequence, (std::vector<OperatorId>{0, 1, 2, 3, 4, 0, 1, 5}));
  EXPECT_EQ(checkRecomputation(graph, plan->sequence, 110), "");
  // Without the view's second run, it would keep the first y.
  EXPECT_EQ(checkRecomputation(graph, {0, 1, 2, 3, 4, 0, 5}, 110),
            "run 3: 'large' has 202 bytes live, of 110");
}

TEST(Recompute, TakesOverInputsInPlace) {
  Graph graph;
  graph.tensors = {{"x", 0, TensorKind::input, -1},
                   {"y", 100, TensorKind::temporary, -1},
                   {"z", 100, TensorKind::output, -1}};
  graph.operators = {makeOperator("f", {0}, {1}, 1),
                     makeOperator("relu", {1}, {2}, 1)};
  graph.operators[1].inPlace = {0};
  EXPECT_EQ(withoutRecomputation(graph).peakBytes, 200);
  RecomputeOptions options;
  options.inPlace = true;
  EXPECT_EQ(withoutRecomputation(graph, options).peakBytes, 100);
  EXPECT_EQ(recomputationLowerBound(graph, options), 100);
}

TEST(Recompute, TakesOverWhatIsReadOnce) {
  // As a convolution with itself: where y is written, x is still read.
  Graph graph;
  graph.tensors = {{"x", 100, TensorKind::temporary, -1},
                   {"y", 100, TensorKind::output, -1}};
  graph.operators = {makeOperator("f", {}, {0}, 1),
                     makeOperator("g", {0, 0}, {1}, 1)};
  graph.operators[1].inPlace = {0};
  RecomputeOptions options;
  options.inPlace = true;
  EXPECT_EQ(withoutRecomputation(graph, options).peakBytes, 200);
}

TEST(Recompute, TakesOverWhatIsMadeAgainLater) {
  // g takes over the first x; the second one is an output.
  Graph graph;
  graph.tensors = {{"x", 100, TensorKind::output, -1},
                   {"y", 100, TensorKind::temporary, -1},
                   {"large", 90, TensorKind::temporary, -1},
                   {"z", 10, TensorKind::output, -1}};
  graph.operators = {
      makeOperator("f", {}, {0}, 1), makeOperator("g", {0}, {1}, 1),
      makeOperator("h", {1}, {2}, 1), makeOperator("i", {2}, {3}, 1)};
  graph.operators[1].inPlace = {0};
  RecomputeOptions options;
  options.inPlace = true;
  EXPECT_EQ(withoutRecomputation(graph, options).peakBytes, 290);
  std::string error;
  auto plan = planRecomputation(graph, 190, error, options);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(plan->sequence, (std::vector<OperatorId>{0, 1, 2, 3, 0}));
  EXPECT_EQ(plan->peakBytes, 190);
  int64_t peak = 0;
  EXPECT_EQ(checkRecomputation(graph, plan->sequence, 190, true, &peak), "");
  EXPECT_EQ(peak, 190);
}

TEST(Recompute, ALargerBudgetIsNeverDearer) {
  for (uint32_t seed = 0; seed < searchedGraphs / 5; ++seed) {
    Graph graph = RandomGraph(seed, 14, false).graph;
    RecomputeOptions options;
    options.changes = 200;
    int64_t least = recomputationLowerBound(graph, options);
    int64_t most = withoutRecomputation(graph, options).peakBytes;
    std::vector<int64_t> budgets;
    for (int i = 20; i >= 0; --i)
      budgets.push_back(least + (most - least) * i / 20);
    std::vector<std::string> errors;
    auto plans = planRecomputations(graph, budgets, errors, options);
    ASSERT_EQ(plans.size(), budgets.size());
    EXPECT_TRUE(plans[0]);
    double cost = 0;
    bool fits = true;
    for (size_t i = 0; i < plans.size(); ++i) {
      EXPECT_EQ(bool(plans[i]), errors[i].empty());
      fits &= bool(plans[i]);
      EXPECT_EQ(fits, bool(plans[i]));
      if (!plans[i])
        continue;
      EXPECT_LE(plans[i]->peakBytes, budgets[i]);
      EXPECT_GE(plans[i]->secondsAgain, cost);
      cost = plans[i]->secondsAgain;
    }
  }
}

/// Plans cannot have that: the new value would be written over elements that
/// are read later.
bool updatesThroughAView(const Graph &graph) {
  for (const Operator &op : graph.operators)
    for (TensorId parameter : op.updates)
      for (TensorId input : op.inputs)
        if (parameter >= 0 && graph.tensors[input].viewOf >= 0 &&
            graph.storageOf(input) == parameter)
          return true;
  return false;
}

TEST(Recompute, RandomPlansAreRight) {
  int planned = 0;
  int withRunsAgain = 0;
  int takenOver = 0;
  for (uint32_t seed = 0; seed < randomGraphs; ++seed) {
    std::mt19937 random(seed);
    Graph graph = RandomGraph(seed, 3 + int(random() % 14), false).graph;
    ASSERT_EQ(checkGraph(graph), "") << seed;
    RecomputeOptions options;
    options.changes = 12;
    options.inPlace = random() % 2;
    Recomputation plain = withoutRecomputation(graph, options);
    int64_t peak = 0;
    ASSERT_EQ(checkRecomputation(graph, plain.sequence, plain.peakBytes,
                                 options.inPlace, &peak),
              "")
        << seed;
    ASSERT_EQ(peak, plain.peakBytes) << seed;
    int64_t bound = recomputationLowerBound(graph, options);
    ASSERT_LE(bound, peak) << seed;
    int64_t budget = bound + int64_t(random() % uint64_t(peak - bound + 1));
    std::string error;
    auto plan = planRecomputation(graph, budget, error, options);
    if (!plan) {
      EXPECT_NE(error, "");
      continue;
    }
    ++planned;
    withRunsAgain += plan->runsAgain > 0;
    ASSERT_EQ(checkRecomputation(graph, plan->sequence, budget, options.inPlace,
                                 &peak),
              "")
        << seed;
    ASSERT_EQ(peak, plan->peakBytes) << seed;
    if (updatesThroughAView(graph))
      continue;
    Plan steps = planOfSequence(graph, plan->sequence, options.inPlace);
    ASSERT_TRUE(assignBuffers(steps, error)) << seed << error;
    ASSERT_EQ(checkPlan(graph, steps), "") << seed;
    for (const Buffer &buffer : steps.buffers)
      takenOver +=
          buffer.sharesWith >= 0 && graph.tensors[buffer.tensor].viewOf < 0;
  }
  // That it plans at all, and that there was something to plan.
  EXPECT_GT(uint32_t(planned), randomGraphs * 5 / 7);
  EXPECT_GT(uint32_t(withRunsAgain), randomGraphs / 7);
  EXPECT_GT(uint32_t(takenOver), randomGraphs / 14);
}

TEST(Recompute, IsNearTheOptimum) {
  int solvable = 0;
  int same = 0;
  double ours = 0;
  double optimal = 0;
  RecomputeOptions options;
  options.changes = 1500;
  for (uint32_t seed = 0; seed < searchedGraphs; ++seed) {
    Graph graph = RandomGraph(seed, 5 + int(seed % 4), true).graph;
    int64_t most = withoutRecomputation(graph).peakBytes;
    int64_t least = recomputationLowerBound(graph);
    if (least == most)
      continue;
    double once = 0;
    for (const Operator &op : graph.operators)
      once += op.seconds;
    for (int64_t budget : {least, (least + most) / 2, most - 1}) {
      double optimum = findOptimum(graph, budget);
      std::string error;
      auto plan = planRecomputation(graph, budget, error, options);
      if (optimum < 0) {
        EXPECT_FALSE(plan) << seed;
        continue;
      }
      ++solvable;
      if (!plan)
        continue;
      EXPECT_GE(once + plan->secondsAgain, optimum) << seed;
      same += once + plan->secondsAgain == optimum;
      ours += once + plan->secondsAgain;
      optimal += optimum;
    }
  }
  EXPECT_GT(uint32_t(solvable), searchedGraphs * 2 / 3);
  EXPECT_GE(same, solvable * 99 / 100) << "of " << solvable;
  EXPECT_LE(ours, 1.005 * optimal);
}

TEST(Recompute, PlansLargeGraphs) {
  Graph graph = makeTrainingChain(20000);
  int64_t most = withoutRecomputation(graph).peakBytes;
  std::string error;
  auto plan = planRecomputation(graph, most / 10, error);
  ASSERT_TRUE(plan) << error;
  EXPECT_EQ(checkRecomputation(graph, plan->sequence, most / 10), "");
  // Every operator once more is enough.
  EXPECT_LE(plan->runsAgain, 20000);
}

TEST(CheckRecomputation, FindsWhatIsWrong) {
  Graph graph = makeTrainingChain(2);
  graph.operators[1].recomputable = false;
  EXPECT_EQ(checkRecomputation(graph, {0, 1, 2, 3}, 100), "");
  EXPECT_EQ(checkRecomputation(graph, {0, 1, 2}, 100),
            "run 3: 'b1' never runs");
  EXPECT_EQ(checkRecomputation(graph, {1, 0, 2, 3}, 100),
            "run 0: 'f2' reads 'f1', which is not made yet");
  EXPECT_EQ(checkRecomputation(graph, {0, 1, 1, 2, 3}, 100),
            "run 2: 'f2' must not run again");
  EXPECT_EQ(checkRecomputation(graph, {0, 1, 7, 2, 3}, 100),
            "run 2: there is no operator 7");
  EXPECT_EQ(checkRecomputation(graph, {0, 1, 2, 3}, 30),
            "run 2: 'b2' has 31 bytes live, of 30");
  int64_t peak = 0;
  EXPECT_EQ(checkRecomputation(graph, {0, 1, 0, 2, 3}, 100, false, &peak), "");
  EXPECT_EQ(peak, 31);
}

} // namespace
