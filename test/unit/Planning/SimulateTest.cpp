//===- SimulateTest.cpp - Timelines and curves by hand --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Simulate.h"

#include "RandomPlan.h"
#include "TrainedLayer.h"
#include "espalier/Planning/CheckPlan.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace espalier::planning;

namespace {

using Kind = Step::Kind;
using Times = std::vector<std::pair<double, double>>;
using Bytes = std::vector<int64_t>;

/// 1 FLOP/s, and a link of 10 bytes a second.
Machine makeMachine(double latency, bool fullDuplex) {
  Machine machine;
  machine.device.flopsPerSecond = 1;
  machine.link = {10, latency, fullDuplex};
  return machine;
}

Times timesOf(const Simulation &simulation) {
  Times times;
  for (const StepTimes &step : simulation.steps)
    times.emplace_back(step.start, step.end);
  return times;
}

/// A copy of y takes 0.5 s and 30 bytes' 3 s. relu, which writes where y is,
/// waits for one; the adjoint, which reads it, for the other.
TEST(Simulate, OneLayer) {
  RandomPlan made = makeTrainedLayer();
  for (bool fullDuplex : {true, false}) {
    Simulation result =
        simulate(made.graph, made.plan, makeMachine(0.5, fullDuplex));
    EXPECT_EQ(timesOf(result), (Times{{0, 1},
                                      {1, 4.5},
                                      {4.5, 6.5},
                                      {6.5, 7.5},
                                      {7.5, 11},
                                      {11, 14},
                                      {14, 18},
                                      {18, 19}}));
    EXPECT_EQ(result.steps[2].memoryStall, 3.5);
    EXPECT_EQ(result.steps[2].fetchStall, 0);
    EXPECT_EQ(result.steps[5].memoryStall, 0);
    EXPECT_EQ(result.steps[5].fetchStall, 3.5);
    EXPECT_EQ(result.seconds, 19);
    EXPECT_EQ(result.secondsUnlimited, 12);
    EXPECT_EQ(result.computeSeconds, 12);
    EXPECT_EQ(result.fetchStallSeconds, 3.5);
    EXPECT_EQ(result.memoryStallSeconds, 3.5);
    EXPECT_EQ(result.drainSeconds, 0);
    EXPECT_EQ(result.offloadSeconds, 3.5);
    EXPECT_EQ(result.prefetchSeconds, 3.5);
  }
}

TEST(Simulate, OneLayersMemory) {
  RandomPlan made = makeTrainedLayer();
  Simulation result = simulate(made.graph, made.plan, makeMachine(0, true));
  // x and w are 60 at all steps, l is 4 from step 3. Step 0 has y and 10 bytes
  // of workspace; r and g are where y and d are.
  EXPECT_EQ(result.liveBytes, (Bytes{100, 90, 90, 124, 124, 124, 114, 84}));
  // l is the highest, from 120.
  EXPECT_EQ(result.highestBytes, (Bytes{100, 90, 90, 124, 124, 124, 124, 124}));
  // y stays until the adjoint, r is beside it, g beside d and y.
  EXPECT_EQ(result.livenessCurve, (Bytes{90, 90, 120, 154, 124, 154, 114, 84}));
  EXPECT_EQ(result.hostCurve, (Bytes{0, 30, 30, 30, 30, 0, 0, 0}));
  EXPECT_EQ(result.baselineBytes, 40 + 20 + 30 + 30 + 4 + 30 + 30 + 20);
  EXPECT_EQ(result.livenessBytes, 154);
  EXPECT_EQ(result.peakBytes, 124);
  EXPECT_EQ(result.lowerBoundBytes, 124);
  EXPECT_EQ(result.peakStep, 3);
  // The adjoint's d, y and g.
  EXPECT_EQ(result.largestOperatorBytes, 90);
  EXPECT_EQ(result.hostBytes, 30);
  EXPECT_EQ(result.offloadBytes, 30);
  EXPECT_EQ(result.prefetchBytes, 30);
  EXPECT_EQ(result.transferBytes(), 60);
  EXPECT_EQ(result.recomputedOperators, 0);
  EXPECT_EQ(result.recomputedFlops, 0);
}

/// x -> a (1 s), x -> b (1 s), x -> c (10 s), a, b -> z (1 s); a has 10 bytes,
/// b has 20. Everything has memory of its own.
enum : TensorId { x, a, b, c, z };
RandomPlan makeFan() {
  RandomPlan made;
  Graph &graph = made.graph;
  graph.tensors = {{"x", 5, TensorKind::input, -1},
                   {"a", 10, TensorKind::temporary, -1},
                   {"b", 20, TensorKind::temporary, -1},
                   {"c", 1, TensorKind::output, -1},
                   {"z", 10, TensorKind::output, -1}};
  graph.operators.resize(4);
  double seconds[] = {1, 1, 10, 1};
  for (OperatorId op = 0; op < 4; ++op) {
    graph.operators[op].name = std::string(1, char('A' + op));
    graph.operators[op].inputs = {x};
    graph.operators[op].outputs = {op + 1};
    graph.operators[op].flops = seconds[op];
  }
  graph.operators[3].inputs = {a, b};
  return made;
}

TEST(Simulate, CopiesBesideCompute) {
  RandomPlan made = makeFan();
  Plan &plan = made.plan;
  plan.buffers = {{x, 5, 0, 7, 0, -1},   {a, 10, 0, 1, 5, -1},
                  {b, 20, 2, 3, 15, -1}, {a, 10, 4, 7, 35, -1},
                  {c, 1, 5, 7, 45, -1},  {b, 20, 6, 7, 46, -1},
                  {z, 10, 7, 7, 66, -1}};
  plan.steps = {{Kind::compute, 0, {0}, {1}},  {Kind::offload, -1, {1}, {}},
                {Kind::compute, 1, {0}, {2}},  {Kind::offload, -1, {2}, {}},
                {Kind::prefetch, -1, {}, {3}}, {Kind::compute, 2, {0}, {4}},
                {Kind::prefetch, -1, {}, {5}}, {Kind::compute, 3, {3, 5}, {6}}};
  plan.arenaBytes = 76;
  plan.hostBytes = 30;
  ASSERT_EQ(checkPlan(made.graph, plan), "");

  // a's way back starts as soon as a is on the host, beside b's way there; b's
  // only when C, which was issued before it, has ended.
  Simulation full = simulate(made.graph, plan, makeMachine(0, true));
  EXPECT_EQ(timesOf(full), (Times{{0, 1},
                                  {1, 2},
                                  {1, 2},
                                  {2, 4},
                                  {2, 3},
                                  {2, 12},
                                  {12, 14},
                                  {14, 15}}));
  EXPECT_EQ(full.fetchStallSeconds, 2);
  EXPECT_EQ(full.memoryStallSeconds, 0);
  EXPECT_EQ(full.secondsUnlimited, 13);

  // With one engine a's way back comes after b's way there.
  Simulation half = simulate(made.graph, plan, makeMachine(0, false));
  EXPECT_EQ(timesOf(half), (Times{{0, 1},
                                  {1, 2},
                                  {1, 2},
                                  {2, 4},
                                  {4, 5},
                                  {2, 12},
                                  {12, 14},
                                  {14, 15}}));
}

/// b lies over the end of a, which is on its way to the host, then c over the
/// beginning: only the first of both waits, for the whole copy. The output z is
/// offloaded at last.
TEST(Simulate, MemoryIsWaitedForOnce) {
  RandomPlan made = makeFan();
  Plan &plan = made.plan;
  plan.buffers = {{x, 5, 0, 6, 0, -1},   {a, 10, 0, 1, 5, -1},
                  {b, 20, 2, 5, 14, -1}, {c, 1, 3, 6, 5, -1},
                  {a, 10, 4, 5, 34, -1}, {z, 10, 5, 6, 44, -1}};
  plan.steps = {{Kind::compute, 0, {0}, {1}},  {Kind::offload, -1, {1}, {}},
                {Kind::compute, 1, {0}, {2}},  {Kind::compute, 2, {0}, {3}},
                {Kind::prefetch, -1, {}, {4}}, {Kind::compute, 3, {4, 2}, {5}},
                {Kind::offload, -1, {5}, {}}};
  plan.arenaBytes = 54;
  plan.hostBytes = 10;
  ASSERT_EQ(checkPlan(made.graph, plan), "");
  Simulation result = simulate(made.graph, plan, makeMachine(0.25, true));
  EXPECT_EQ(timesOf(result), (Times{{0, 1},
                                    {1, 2.25},
                                    {2.25, 3.25},
                                    {3.25, 13.25},
                                    {13.25, 14.5},
                                    {14.5, 15.5},
                                    {15.5, 16.75}}));
  EXPECT_EQ(result.memoryStallSeconds, 1.25);
  EXPECT_EQ(result.fetchStallSeconds, 1.25);
  EXPECT_EQ(result.drainSeconds, 1.25);
  EXPECT_EQ(result.seconds, 16.75);
  // z stays on the device as well.
  EXPECT_EQ(result.hostCurve, (Bytes{0, 10, 10, 10, 10, 0, 10}));
  EXPECT_EQ(result.transferBytes(), 30);
}

TEST(Simulate, Recomputation) {
  RandomPlan made = makeFan();
  Plan &plan = made.plan;
  plan.buffers = {{x, 5, 0, 4, 0, -1},   {a, 10, 0, 0, 5, -1},
                  {b, 20, 1, 4, 5, -1},  {c, 1, 2, 4, 25, -1},
                  {a, 10, 3, 4, 26, -1}, {z, 10, 4, 4, 36, -1}};
  plan.steps = {{Kind::compute, 0, {0}, {1}},
                {Kind::compute, 1, {0}, {2}},
                {Kind::compute, 2, {0}, {3}},
                {Kind::compute, 0, {0}, {4}},
                {Kind::compute, 3, {4, 2}, {5}}};
  plan.arenaBytes = 46;
  ASSERT_EQ(checkPlan(made.graph, plan), "");
  Simulation result = simulate(made.graph, plan, makeMachine(0, true));
  EXPECT_EQ(result.seconds, 14);
  EXPECT_EQ(result.secondsUnlimited, 13);
  EXPECT_EQ(result.recomputedOperators, 1);
  EXPECT_EQ(result.recomputedFlops, 1);
  EXPECT_EQ(result.recomputedSeconds, 1);
  EXPECT_TRUE(result.steps[3].again);
  EXPECT_FALSE(result.steps[0].again);
  // Without: a stays from step 0 to step 4.
  EXPECT_EQ(result.livenessCurve, (Bytes{15, 35, 36, 36, 46}));
  EXPECT_EQ(result.liveBytes, (Bytes{15, 25, 26, 36, 46}));
}

TEST(Simulate, AnEmptyPlan) {
  Simulation result = simulate({}, {}, makeMachine(1, true));
  EXPECT_EQ(result.seconds, 0);
  EXPECT_EQ(result.peakBytes, 0);
  EXPECT_EQ(result.peakStep, -1);
}

/// Every step looks at all steps before it.
Times simulateSlowly(const RandomPlan &made, const Machine &machine) {
  const Plan &plan = made.plan;
  Times times;
  auto storage = [&](BufferId buffer) {
    TensorId tensor = made.graph.storageOf(plan.buffers[buffer].tensor);
    for (const Operator &op : made.graph.operators)
      for (size_t i = 0; i < op.updates.size(); ++i)
        if (op.outputs[i] == tensor)
          return op.updates[i];
    return tensor;
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step &step = plan.steps[s];
    double start = 0;
    std::vector<std::pair<int64_t, int64_t>> written;
    for (BufferId output : step.outputs)
      if (made.graph.tensors[plan.buffers[output].tensor].viewOf < 0 ||
          step.kind == Kind::prefetch)
        written.emplace_back(plan.buffers[output].offset,
                             plan.buffers[output].offset +
                                 plan.buffers[output].bytes);
    if (step.workspaceBytes > 0)
      written.emplace_back(step.workspaceOffset,
                           step.workspaceOffset + step.workspaceBytes);
    for (size_t before = 0; before < s; ++before) {
      const Step &other = plan.steps[before];
      bool waits = other.kind == Kind::compute;
      if (other.kind != Kind::compute && step.kind != Kind::compute)
        waits |= other.kind == step.kind || !machine.link.fullDuplex;
      if (other.kind == Kind::prefetch)
        waits |= std::count(step.inputs.begin(), step.inputs.end(),
                            other.outputs[0]) > 0;
      if (other.kind == Kind::offload) {
        const Buffer &read = plan.buffers[other.inputs[0]];
        for (auto [begin, end] : written)
          waits |= begin < read.offset + read.bytes && read.offset < end;
        if (step.kind == Kind::prefetch)
          waits |= storage(step.outputs[0]) == storage(other.inputs[0]);
      }
      if (waits)
        start = std::max(start, times[before].second);
    }
    double seconds = 0;
    if (step.kind == Kind::compute) {
      const Operator &op = made.graph.operators[step.op];
      seconds = !op.algorithms.empty() ? op.algorithms[step.algorithm].seconds
                                       : op.flops;
      if (made.graph.tensors[op.outputs[0]].viewOf >= 0)
        seconds = 0;
    } else {
      BufferId buffer =
          step.kind == Kind::offload ? step.inputs[0] : step.outputs[0];
      seconds =
          double(made.graph.tensors[plan.buffers[buffer].tensor].bytes) / 10;
    }
    times.emplace_back(start, start + seconds);
  }
  return times;
}

TEST(Simulate, RandomPlans) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    RandomPlan made = makeRandomPlan(seed);
    Machine machine = makeMachine(0, seed % 2 == 0);
    Simulation result = simulate(made.graph, made.plan, machine);
    ASSERT_EQ(timesOf(result), simulateSlowly(made, machine)) << seed;
    ASSERT_EQ(result.peakBytes, made.plan.arenaBytes) << seed;
    ASSERT_EQ(result.hostBytes, made.plan.hostBytes) << seed;
    ASSERT_LE(result.lowerBoundBytes, result.peakBytes) << seed;
    ASSERT_LE(result.livenessBytes, result.baselineBytes) << seed;
    ASSERT_LE(result.secondsUnlimited, result.seconds + 1e-9) << seed;
    ASSERT_NEAR(result.seconds,
                result.computeSeconds + result.fetchStallSeconds +
                    result.memoryStallSeconds + result.drainSeconds,
                1e-9)
        << seed;
    // Memory is a buffer's as long as it, a view or an update needs it.
    std::vector<OperatorId> makers = producersOf(made.graph);
    std::vector<BufferId> owner(made.plan.buffers.size());
    std::vector<int32_t> last(made.plan.buffers.size());
    for (size_t b = 0; b < owner.size(); ++b) {
      const Buffer &buffer = made.plan.buffers[b];
      OperatorId maker = makers[buffer.tensor];
      bool joins = buffer.sharesWith >= 0 &&
                   (made.graph.tensors[buffer.tensor].viewOf >= 0 ||
                    !made.graph.operators[maker].updates.empty());
      owner[b] = joins ? owner[buffer.sharesWith] : BufferId(b);
      last[b] = buffer.last;
      last[owner[b]] = std::max(last[owner[b]], buffer.last);
    }
    // One address at a time.
    for (size_t s = 0; s < made.plan.steps.size(); ++s) {
      const Step &step = made.plan.steps[s];
      std::vector<bool> used(size_t(made.plan.arenaBytes), false);
      for (size_t b = 0; b < owner.size(); ++b) {
        const Buffer &buffer = made.plan.buffers[b];
        if (buffer.first <= int32_t(s) && int32_t(s) <= last[b])
          std::fill_n(used.begin() + buffer.offset, buffer.bytes, true);
      }
      if (step.workspaceBytes > 0)
        std::fill_n(used.begin() + step.workspaceOffset, step.workspaceBytes,
                    true);
      ASSERT_EQ(result.liveBytes[s], std::count(used.begin(), used.end(), true))
          << seed << ", step " << s;
      int64_t highest = 0;
      for (size_t at = 0; at < used.size(); ++at)
        if (used[at])
          highest = int64_t(at) + 1;
      ASSERT_EQ(result.highestBytes[s], highest) << seed << ", step " << s;
    }
  }
}

} // namespace
