//===- CheckPlanTest.cpp - Plans that are right, and spoiled ones ---------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/CheckPlan.h"

#include "RandomPlan.h"
#include "TrainedLayer.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace espalier::planning;

namespace {

using Kind = Step::Kind;

//===----------------------------------------------------------------------===//
// One plan by hand
//===----------------------------------------------------------------------===//

using namespace trained_layer;

std::string checked(const RandomPlan &made) {
  return checkPlan(made.graph, made.plan);
}

std::string problemOf(const std::function<void(RandomPlan &)> &spoil) {
  RandomPlan made = makeTrainedLayer();
  spoil(made);
  return checked(made);
}

TEST(CheckPlan, OneByHandIsRight) {
  EXPECT_EQ(checked(makeTrainedLayer()), "");
}

TEST(CheckPlan, SaysWhatIsWrong) {
  auto steps = [](RandomPlan &m) -> std::vector<Step> & {
    return m.plan.steps;
  };
  auto buffers = [](RandomPlan &m) -> std::vector<Buffer> & {
    return m.plan.buffers;
  };
  EXPECT_EQ(problemOf([&](auto &m) { steps(m)[3].inputs = {2}; }),
            "step 3 (loss) has buffer 2 of 'y' as input 0, which is 'r'");
  EXPECT_EQ(problemOf([&](auto &m) { steps(m)[5].inputs = {5, 2}; }),
            "step 5 (adjoint) reads buffer 2 of 'y', which is there to step 2");
  EXPECT_EQ(problemOf([&](auto &m) {
              // As if relu had not written where y is.
              buffers(m)[2].last = 5;
              buffers(m)[6].offset = 124;
              steps(m)[5].inputs = {5, 2};
            }),
            "step 5 (adjoint) reads buffer 2 of 'y', where 'r' lies by now");
  EXPECT_EQ(problemOf([&](auto &m) {
              std::swap(steps(m)[4], steps(m)[5]);
              buffers(m)[6].first = 5;
              buffers(m)[7].first = 4;
            }),
            "step 4 (adjoint) reads buffer 6 of 'y', which step 5 makes");
  EXPECT_EQ(problemOf([&](auto &m) {
              steps(m)[4].kind = Kind::compute;
              steps(m)[4].op = dense;
              steps(m)[4].inputs = {0, 1};
              steps(m)[4].algorithm = 1;
              m.graph.operators[dense].recomputable = false;
            }),
            "step 4 (dense) runs again, which it may not");
  EXPECT_EQ(problemOf([&](auto &m) { m.graph.operators[relu].inPlace = {}; }),
            "step 2 (relu) makes buffer 3 of 'r' in the memory of buffer 2 of "
            "'y', which the operator does not allow");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[3].sharesWith = -1; }),
            "step 2 (relu) makes buffer 3 of 'r' at [60, 90), and buffer 2 of "
            "'y' is at [60, 90) to step 2");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[2].last = 3; }),
            "step 2 (relu) takes over the memory of buffer 2 of 'y', which is "
            "needed to step 3");
  EXPECT_EQ(problemOf([&](auto &m) { steps(m)[0].workspaceOffset = 89; }),
            "step 0 (dense) has its workspace at [89, 99), and buffer 2 of 'y' "
            "is at [60, 90)");
  EXPECT_EQ(problemOf([&](auto &m) { steps(m)[0].workspaceBytes = 9; }),
            "step 0 (dense) has a workspace of 9 bytes, and its algorithm "
            "needs 10");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[9].sharesWith = -1; }),
            "step 7 (update) writes the update buffer 9 of 'w'' elsewhere than "
            "over buffer 1 of 'w'");
  EXPECT_EQ(problemOf([&](auto &m) {
              buffers(m)[9].sharesWith = 8;
              buffers(m)[9].offset = 60;
            }),
            "step 7 (update) writes the update buffer 9 of 'w'' over buffer 8 "
            "of 'dw', which is not 'w'");
  EXPECT_EQ(problemOf([&](auto &m) {
              steps(m).pop_back();
              buffers(m).pop_back();
              for (Buffer &buffer : buffers(m))
                buffer.last = std::min(buffer.last, 6);
            }),
            "operator 'update' never runs");
  EXPECT_EQ(problemOf([&](auto &m) {
              // On the host from the start, and not brought back there.
              buffers(m)[1].first = 1;
            }),
            "buffer 1 of 'w' is made by no step, and is there only from step "
            "1");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[4].last = 6; }),
            "the output 'l' is nowhere at the end");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[9].offset = 45; }),
            "step 7 (update) makes buffer 9 of 'w'' at [45, 65) in the memory "
            "of buffer 1 of 'w', which is at [40, 60)");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[8].offset = 20; }),
            "step 6 (weights) makes buffer 8 of 'dw' at [20, 40), and buffer 0 "
            "of 'x' is at [0, 40) to step 7");
  EXPECT_EQ(problemOf([&](auto &m) { m.plan.arenaBytes = 125; }),
            "the arena has 125 bytes, and its highest buffer ends at 124");
  EXPECT_EQ(problemOf([&](auto &m) { m.plan.hostBytes = 31; }),
            "the plan says that the host holds 31 bytes, and it holds 30");
  EXPECT_EQ(problemOf([&](auto &m) { std::swap(steps(m)[1], steps(m)[4]); }),
            "step 1 (prefetch) makes buffer 6 of 'y', which is there from step "
            "4");
  EXPECT_EQ(problemOf([&](auto &m) {
              steps(m)[1] = steps(m)[4];
              buffers(m)[6].first = 1;
              buffers(m)[6].offset = 124;
              steps(m)[4] = {Kind::offload, -1, {3}, {}};
              buffers(m)[3].last = 4;
            }),
            "step 1 (prefetch) fetches buffer 6 of 'y', and the host has "
            "nothing");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[6].bytes = 29; }),
            "buffer 6 of 'y' has 29 bytes, and the tensor 30");
  EXPECT_EQ(problemOf([&](auto &m) { buffers(m)[6].offset = -1; }),
            "buffer 6 of 'y' has no offset");
  EXPECT_EQ(problemOf([&](auto &m) { m.graph.operators[0].inputs = {r, w}; }),
            "operator 'dense' reads tensor 'r' before it is made");
}

TEST(CheckPlan, HoldsPlansToTheirBudgets) {
  RandomPlan made = makeTrainedLayer();
  CheckPlanOptions options;
  options.budgetBytes = 124;
  options.hostMemoryBytes = 30;
  EXPECT_EQ(checkPlan(made.graph, made.plan, options), "");
  options.budgetBytes = 123;
  EXPECT_EQ(checkPlan(made.graph, made.plan, options),
            "the arena has 124 bytes, and the budget is 123");
  options.budgetBytes = 124;
  options.hostMemoryBytes = 29;
  EXPECT_EQ(checkPlan(made.graph, made.plan, options),
            "the host holds 30 bytes, and has 29");
}

/// Runs dense again after the weight was updated, with the new weight.
TEST(CheckPlan, NothingIsRecomputedFromUpdatedParameters) {
  RandomPlan made = makeTrainedLayer();
  Plan &plan = made.plan;
  for (Buffer &buffer : plan.buffers)
    if (buffer.last == 7)
      buffer.last = 8;
  plan.buffers.push_back({y, 30, 8, 8, 90, -1});
  plan.steps.push_back({Kind::compute, dense, {0, 1}, {10}, 1});
  EXPECT_EQ(checked(made), "step 8 (dense) reads buffer 1 of 'w', which is "
                           "'w'' since it was updated");
  // Before the update it may.
  std::swap(plan.steps[7], plan.steps[8]);
  plan.buffers[9].first = 8;
  plan.buffers[10].first = plan.buffers[10].last = 7;
  EXPECT_EQ(checked(made), "");
}

/// The old weight is offloaded, fetched after the update, and updated again.
TEST(CheckPlan, AParameterIsUpdatedOnce) {
  RandomPlan made = makeTrainedLayer();
  Plan &plan = made.plan;
  plan.steps.insert(plan.steps.begin() + 6, {Kind::offload, -1, {1}, {}});
  for (Buffer &buffer : plan.buffers) {
    buffer.first += buffer.first >= 6;
    buffer.last += buffer.last >= 6;
  }
  plan.steps.push_back({Kind::prefetch, -1, {}, {10}});
  plan.steps.push_back({Kind::compute, update, {10, 8}, {11}});
  for (Buffer &buffer : plan.buffers)
    if (buffer.last == 8)
      buffer.last = 10;
  plan.buffers.push_back({w, 20, 9, 10, 124, -1});
  plan.buffers.push_back({w2, 20, 10, 10, 124, 10});
  EXPECT_EQ(checked(made), "step 10 (update) updates a parameter again");
}

TEST(CheckPlan, AParameterIsGivenOnce) {
  RandomPlan made = makeTrainedLayer();
  made.plan.buffers.push_back({w, 20, 0, 7, 124, -1});
  EXPECT_EQ(checked(made),
            "buffer 10 of 'w' and buffer 1 are both there from the start");
}

/// The weight lives on the host: it is fetched, updated, and brought back.
RandomPlan makeWithWeightOnHost() {
  RandomPlan made = makeTrainedLayer();
  Plan &plan = made.plan;
  plan.steps.insert(plan.steps.begin(), {Kind::prefetch, -1, {}, {1}});
  for (Buffer &buffer : plan.buffers) {
    buffer.first += buffer.tensor != x && buffer.tensor != w;
    ++buffer.last;
  }
  plan.steps.push_back({Kind::offload, -1, {9}, {}});
  for (BufferId stays : {0, 4, 9})
    plan.buffers[stays].last = 9;
  plan.hostBytes = 50;
  return made;
}

TEST(CheckPlan, ParametersMayLiveOnTheHost) {
  EXPECT_EQ(checked(makeWithWeightOnHost()), "");

  RandomPlan forgotten = makeWithWeightOnHost();
  forgotten.plan.steps.pop_back();
  for (Buffer &buffer : forgotten.plan.buffers)
    buffer.last = std::min(buffer.last, 8);
  EXPECT_EQ(checked(forgotten), "the host has 'w' at the end, not 'w''");

  // Fetched after the update, as the old one.
  RandomPlan late = makeWithWeightOnHost();
  late.plan.steps.push_back({Kind::prefetch, -1, {}, {10}});
  late.plan.buffers.push_back({w, 20, 10, 10, 90, -1});
  for (BufferId stays : {0, 4})
    late.plan.buffers[stays].last = 10;
  EXPECT_EQ(checked(late),
            "step 10 (prefetch) fetches buffer 10 of 'w', and the host has "
            "'w''");
}

TEST(CheckPlan, AnInputMayBeGoneButNotAParameter) {
  RandomPlan made = makeTrainedLayer();
  made.plan.buffers[0].last = 6;
  EXPECT_EQ(checked(made), "");
  Operator idle;
  idle.name = "idle";
  made.graph.tensors.push_back({"v", 8, TensorKind::parameter, -1});
  made.plan.buffers.push_back({9, 8, 0, 7, 124, -1});
  made.plan.arenaBytes = 132;
  EXPECT_EQ(checked(made), "");
  made.plan.buffers.back().last = 6;
  EXPECT_EQ(checked(made), "at the end, 'v' is not where the parameter 'v' was "
                           "at the start");
}

TEST(CheckPlan, WhatIsFetchedIsRead) {
  RandomPlan made = makeTrainedLayer();
  Plan &plan = made.plan;
  plan.steps.insert(plan.steps.begin() + 3, {Kind::prefetch, -1, {}, {10}});
  for (Buffer &buffer : plan.buffers) {
    buffer.first += buffer.first >= 3;
    buffer.last += buffer.last >= 3;
  }
  plan.buffers.push_back({y, 30, 3, 3, 90, -1});
  EXPECT_EQ(checked(made),
            "step 3 (prefetch) fetches buffer 10 of 'y', which nothing reads");
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// a -> make -> b; v is b's view, read by use -> c, an output.
RandomPlan makeView() {
  RandomPlan made;
  made.graph.tensors = {{"a", 8, TensorKind::input, -1},
                        {"b", 8, TensorKind::temporary, -1},
                        {"v", 8, TensorKind::temporary, 1},
                        {"c", 8, TensorKind::output, -1}};
  made.graph.operators.resize(3);
  for (OperatorId op = 0; op < 3; ++op) {
    made.graph.operators[op].name = std::string(1, char('p' + op));
    made.graph.operators[op].inputs = {op};
    made.graph.operators[op].outputs = {op + 1};
  }
  made.graph.operators[2].inPlace = {0};
  made.plan.buffers = {{0, 8, 0, 0, 0, -1},
                       {1, 8, 0, 1, 8, -1},
                       {2, 8, 1, 2, 8, 1},
                       {3, 8, 2, 2, 0, -1}};
  made.plan.steps = {{Kind::compute, 0, {0}, {1}},
                     {Kind::compute, 1, {1}, {2}},
                     {Kind::compute, 2, {2}, {3}}};
  made.plan.arenaBytes = 16;
  return made;
}

TEST(CheckPlan, Views) {
  RandomPlan made = makeView();
  EXPECT_EQ(checked(made), "");

  // Over the view, and so over what it is a view of.
  made.plan.buffers[3] = {3, 8, 2, 2, 8, 2};
  EXPECT_EQ(checked(made), "");
  made.graph.operators[2].inputs = {2, 1};
  made.plan.steps[2].inputs = {2, 1};
  made.plan.buffers[1].last = 2;
  EXPECT_EQ(checked(made),
            "step 2 (r) makes buffer 3 of 'c' in the memory of buffer 2 of "
            "'v', which it reads twice");

  made = makeView();
  made.plan.buffers[2].sharesWith = -1;
  EXPECT_EQ(checked(made),
            "step 1 (q) makes the view buffer 2 of 'v' elsewhere "
            "than in its input's memory");

  // Its memory is needed as long as the view.
  made = makeView();
  made.plan.buffers[3].offset = 8;
  EXPECT_EQ(checked(made), "step 2 (r) makes buffer 3 of 'c' at [8, 16), and "
                           "buffer 1 of 'b' is at [8, 16) to step 2");
}

//===----------------------------------------------------------------------===//
// Many plans at random
//===----------------------------------------------------------------------===//

TEST(CheckPlan, RandomPlansAreRight) {
  size_t fetched = 0, again = 0, shared = 0, updates = 0;
  for (unsigned seed = 0; seed < 10000; ++seed) {
    RandomPlan made = makeRandomPlan(seed);
    ASSERT_EQ(checked(made), "") << "seed " << seed;
    std::vector<int> runs(made.graph.operators.size(), 0);
    for (const Step &step : made.plan.steps) {
      fetched += step.kind == Kind::prefetch;
      if (step.kind != Kind::compute)
        continue;
      again += runs[step.op]++ > 0;
      updates += !made.graph.operators[step.op].updates.empty();
    }
    for (const Buffer &buffer : made.plan.buffers)
      shared += buffer.sharesWith >= 0;
  }
  // They have what plans may have.
  EXPECT_GT(fetched, 10000U);
  EXPECT_GT(again, 5000U);
  EXPECT_GT(shared, 10000U);
  EXPECT_GT(updates, 5000U);
}

/// Spoils a plan in one way at a random place; false if it has no such place.
using Mutation = std::function<bool(RandomPlan &, std::mt19937 &)>;

/// A random number of those below `count` that `fits`; -1: none does.
int pickWhere(std::mt19937 &random, size_t count,
              const std::function<bool(int)> &fits) {
  std::vector<int> fitting;
  for (size_t i = 0; i < count; ++i)
    if (fits(int(i)))
      fitting.push_back(int(i));
  return fitting.empty() ? -1 : fitting[random() % fitting.size()];
}

/// Makes room for a step before step number `at`.
void insertStep(Plan &plan, int at, Step step) {
  plan.steps.insert(plan.steps.begin() + at, std::move(step));
  for (Buffer &buffer : plan.buffers) {
    buffer.first += buffer.first >= at;
    buffer.last += buffer.last >= at;
  }
}

/// Buffers that end where the step was end before it.
void removeStep(Plan &plan, int at) {
  plan.steps.erase(plan.steps.begin() + at);
  for (Buffer &buffer : plan.buffers) {
    buffer.first -= buffer.first > at;
    buffer.last -= buffer.last >= at && buffer.last > buffer.first;
  }
}

bool isUpdated(const Graph &graph, TensorId parameter) {
  for (const Operator &op : graph.operators)
    for (TensorId updated : op.updates)
      if (updated == parameter)
        return true;
  return false;
}

int makerOf(const Plan &plan, BufferId buffer) {
  for (size_t s = 0; s < plan.steps.size(); ++s)
    for (BufferId output : plan.steps[s].outputs)
      if (output == buffer)
        return int(s);
  return -1;
}

int lastReaderOf(const Plan &plan, BufferId buffer) {
  int last = -1;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    for (BufferId input : plan.steps[s].inputs)
      if (input == buffer)
        last = int(s);
  return last;
}

TensorId copied(const RandomPlan &made, const Step &step) {
  BufferId buffer =
      step.kind == Kind::offload ? step.inputs[0] : step.outputs[0];
  return made.graph.storageOf(made.plan.buffers[buffer].tensor);
}

/// Adds bytes at the arena's end.
int64_t grow(Plan &plan, int64_t bytes) {
  plan.arenaBytes += bytes;
  return plan.arenaBytes - bytes;
}

const std::map<std::string, Mutation> mutations = {
    {"a buffer lies where another does",
     [](RandomPlan &made, std::mt19937 &random) {
       auto &buffers = made.plan.buffers;
       int a = int(random() % buffers.size());
       int b = pickWhere(random, buffers.size(), [&](int other) {
         return buffers[a].offset != buffers[other].offset &&
                buffers[a].first <= buffers[other].last &&
                buffers[other].first <= buffers[a].last;
       });
       if (b < 0)
         return false;
       buffers[a].offset = buffers[b].offset;
       made.plan.arenaBytes = 0;
       for (const Buffer &buffer : buffers)
         made.plan.arenaBytes =
             std::max(made.plan.arenaBytes, buffer.offset + buffer.bytes);
       for (const Step &step : made.plan.steps)
         if (step.workspaceBytes > 0)
           made.plan.arenaBytes =
               std::max(made.plan.arenaBytes,
                        step.workspaceOffset + step.workspaceBytes);
       return true;
     }},
    {"a buffer is freed before it is read",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int b = pickWhere(random, plan.buffers.size(), [&](int buffer) {
         return lastReaderOf(plan, buffer) > plan.buffers[buffer].first;
       });
       if (b < 0)
         return false;
       plan.buffers[b].last = lastReaderOf(plan, b) - 1;
       return true;
     }},
    {"a buffer is freed before it is made",
     [](RandomPlan &made, std::mt19937 &random) {
       int b = int(random() % made.plan.buffers.size());
       made.plan.buffers[b].last = made.plan.buffers[b].first - 1;
       return true;
     }},
    {"a buffer begins late",
     [](RandomPlan &made, std::mt19937 &random) {
       int b = pickWhere(random, made.plan.buffers.size(), [&](int buffer) {
         return made.plan.buffers[buffer].first <
                made.plan.buffers[buffer].last;
       });
       if (b < 0)
         return false;
       ++made.plan.buffers[b].first;
       return true;
     }},
    {"a buffer ends after the plan",
     [](RandomPlan &made, std::mt19937 &random) {
       int b = int(random() % made.plan.buffers.size());
       made.plan.buffers[b].last = int(made.plan.steps.size());
       return true;
     }},
    {"a buffer is too small",
     [](RandomPlan &made, std::mt19937 &random) {
       int b = int(random() % made.plan.buffers.size());
       made.plan.buffers[b].bytes =
           made.graph.tensors[made.plan.buffers[b].tensor].bytes - 1;
       return true;
     }},
    {"a buffer has no offset",
     [](RandomPlan &made, std::mt19937 &random) {
       made.plan.buffers[random() % made.plan.buffers.size()].offset = -1;
       return true;
     }},
    {"what is fetched later is not offloaded",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         if (plan.steps[step].kind != Kind::offload)
           return false;
         TensorId tensor = copied(made, plan.steps[step]);
         for (size_t other = 0; other < plan.steps.size(); ++other)
           if (int(other) != step && plan.steps[other].kind == Kind::offload &&
               copied(made, plan.steps[other]) == tensor)
             return false;
         for (size_t after = step; after < plan.steps.size(); ++after)
           if (plan.steps[after].kind == Kind::prefetch &&
               copied(made, plan.steps[after]) == tensor)
             return true;
         return false;
       });
       if (s < 0)
         return false;
       removeStep(plan, s);
       return true;
     }},
    {"an updated parameter is not brought back",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         if (plan.steps[step].kind != Kind::offload)
           return false;
         TensorId tensor = copied(made, plan.steps[step]);
         OperatorId maker = producersOf(made.graph)[tensor];
         return maker >= 0 && !made.graph.operators[maker].updates.empty();
       });
       if (s < 0)
         return false;
       removeStep(plan, s);
       return true;
     }},
    {"what is offloaded is something else",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return plan.steps[step].kind == Kind::prefetch;
       });
       if (s < 0)
         return false;
       // A temporary that was never offloaded is fetched.
       int t = pickWhere(random, made.graph.tensors.size(), [&](int tensor) {
         if (made.graph.tensors[tensor].kind != TensorKind::temporary ||
             made.graph.tensors[tensor].viewOf >= 0)
           return false;
         for (const Step &step : plan.steps)
           if (step.kind == Kind::offload && copied(made, step) == tensor)
             return false;
         return true;
       });
       if (t < 0)
         return false;
       Step step;
       step.kind = Kind::prefetch;
       insertStep(plan, s, step);
       plan.steps[s].outputs = {BufferId(plan.buffers.size())};
       int64_t bytes = made.graph.tensors[t].bytes;
       plan.buffers.push_back({t, bytes, s, s, grow(plan, bytes), -1});
       return true;
     }},
    {"what is read is not fetched",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return step > 0 && plan.steps[step].kind == Kind::prefetch;
       });
       if (s < 0)
         return false;
       removeStep(plan, s);
       return true;
     }},
    {"what is read is fetched after it",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         if (plan.steps[step].kind != Kind::prefetch ||
             size_t(step) + 1 == plan.steps.size())
           return false;
         const auto &inputs = plan.steps[step + 1].inputs;
         return std::find(inputs.begin(), inputs.end(),
                          plan.steps[step].outputs[0]) != inputs.end();
       });
       if (s < 0)
         return false;
       std::swap(plan.steps[s], plan.steps[s + 1]);
       for (int step : {s, s + 1})
         for (BufferId output : plan.steps[step].outputs) {
           plan.buffers[output].first = step;
           plan.buffers[output].last =
               std::max(plan.buffers[output].last, step);
         }
       return true;
     }},
    {"a step is left out",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return plan.steps[step].kind == Kind::compute;
       });
       if (s < 0)
         return false;
       removeStep(plan, s);
       return true;
     }},
    {"a step runs after one that reads what it makes",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size() - 1, [&](int step) {
         for (BufferId output : plan.steps[step].outputs)
           for (BufferId input : plan.steps[step + 1].inputs)
             if (input == output)
               return true;
         return false;
       });
       if (s < 0)
         return false;
       std::swap(plan.steps[s], plan.steps[s + 1]);
       for (int step : {s, s + 1})
         for (BufferId output : plan.steps[step].outputs)
           plan.buffers[output].first = step;
       return true;
     }},
    {"a step reads another tensor",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return plan.steps[step].kind == Kind::compute;
       });
       int i = int(random() % plan.steps[s].inputs.size());
       TensorId tensor = plan.buffers[plan.steps[s].inputs[i]].tensor;
       int b = pickWhere(random, plan.buffers.size(), [&](int buffer) {
         return plan.buffers[buffer].tensor != tensor;
       });
       if (b < 0)
         return false;
       plan.steps[s].inputs[i] = b;
       return true;
     }},
    {"a step reads an earlier stay of its tensor",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       for (int tries = 0; tries < 50; ++tries) {
         int s = int(random() % plan.steps.size());
         if (plan.steps[s].inputs.empty())
           continue;
         int i = int(random() % plan.steps[s].inputs.size());
         const Buffer &now = plan.buffers[plan.steps[s].inputs[i]];
         int b = pickWhere(random, plan.buffers.size(), [&](int buffer) {
           return plan.buffers[buffer].tensor == now.tensor &&
                  plan.buffers[buffer].last < s;
         });
         if (b < 0)
           continue;
         plan.steps[s].inputs[i] = b;
         return true;
       }
       return false;
     }},
    {"an earlier stay of a tensor seems longer",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int b = pickWhere(random, plan.buffers.size(), [&](int buffer) {
         // What took its memory over is in the way.
         for (size_t other = 0; other < plan.buffers.size(); ++other)
           if (plan.buffers[other].sharesWith == buffer &&
               made.graph.tensors[plan.buffers[other].tensor].viewOf < 0 &&
               plan.buffers[other].first == plan.buffers[buffer].last &&
               !isUpdated(made.graph, plan.buffers[buffer].tensor))
             return size_t(plan.buffers[buffer].last) + 1 < plan.steps.size();
         return false;
       });
       if (b < 0)
         return false;
       // An update of an update is over the same parameter.
       OperatorId maker = producersOf(
           made.graph)[made.graph.storageOf(plan.buffers[b].tensor)];
       if (maker >= 0 && !made.graph.operators[maker].updates.empty())
         return false;
       ++plan.buffers[b].last;
       return true;
     }},
    {"another operator runs",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return plan.steps[step].kind == Kind::compute;
       });
       int count = int(made.graph.operators.size());
       plan.steps[s].op =
           (plan.steps[s].op + 1 + int(random() % unsigned(count - 1))) % count;
       return true;
     }},
    {"an algorithm that there is not",
     [](RandomPlan &made, std::mt19937 &random) {
       int s = pickWhere(random, made.plan.steps.size(), [&](int step) {
         return made.plan.steps[step].kind == Kind::compute;
       });
       made.plan.steps[s].algorithm += 2;
       return true;
     }},
    {"what may not run again does",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return plan.steps[step].kind == Kind::compute &&
                !made.graph.operators[plan.steps[step].op].recomputable &&
                made.graph.operators[plan.steps[step].op].updates.empty();
       });
       if (s < 0)
         return false;
       // At once, with inputs that are there and outputs that disturb nobody.
       Step again = plan.steps[s];
       insertStep(plan, s, again);
       for (BufferId &output : plan.steps[s].outputs) {
         int64_t bytes = plan.buffers[output].bytes;
         plan.buffers.push_back(
             {plan.buffers[output].tensor, bytes, s, s, grow(plan, bytes), -1});
         output = BufferId(plan.buffers.size() - 1);
       }
       return true;
     }},
    {"a parameter is updated twice",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return plan.steps[step].kind == Kind::compute &&
                !made.graph.operators[plan.steps[step].op].updates.empty();
       });
       if (s < 0)
         return false;
       Step again = plan.steps[s];
       insertStep(plan, s, again);
       BufferId &output = plan.steps[s].outputs[0];
       Buffer copy = plan.buffers[output];
       copy.first = copy.last = s;
       output = BufferId(plan.buffers.size());
       plan.buffers.push_back(copy);
       return true;
     }},
    {"a parameter is not updated",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int s = pickWhere(random, plan.steps.size(), [&](int step) {
         return plan.steps[step].kind == Kind::compute &&
                !made.graph.operators[plan.steps[step].op].updates.empty();
       });
       if (s < 0)
         return false;
       // Nothing is left of it but its offload.
       BufferId output = plan.steps[s].outputs[0];
       for (const Step &step : plan.steps)
         if (step.kind == Kind::compute)
           for (BufferId input : step.inputs)
             if (input == output)
               return false;
       if (plan.buffers[output].sharesWith < 0)
         return false;
       for (Step &step : plan.steps)
         for (BufferId &input : step.inputs)
           if (input == output)
             input = plan.buffers[output].sharesWith;
       Buffer &shared = plan.buffers[plan.buffers[output].sharesWith];
       shared.last = std::max(shared.last, plan.buffers[output].last);
       plan.buffers[output] = shared;
       plan.steps[s].outputs.clear();
       removeStep(plan, s);
       return true;
     }},
    {"an update is not where the parameter is",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int b = pickWhere(random, plan.buffers.size(), [&](int buffer) {
         int maker = makerOf(plan, buffer);
         return maker >= 0 && plan.steps[maker].kind == Kind::compute &&
                !made.graph.operators[plan.steps[maker].op].updates.empty() &&
                plan.buffers[buffer].sharesWith >= 0;
       });
       if (b < 0)
         return false;
       plan.buffers[b].sharesWith = -1;
       plan.buffers[b].offset = grow(plan, plan.buffers[b].bytes);
       return true;
     }},
    {"the operator does not allow in place",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int b = pickWhere(random, plan.buffers.size(), [&](int buffer) {
         int maker = makerOf(plan, buffer);
         return maker >= 0 && plan.buffers[buffer].sharesWith >= 0 &&
                made.graph.tensors[plan.buffers[buffer].tensor].viewOf < 0 &&
                made.graph.operators[plan.steps[maker].op].updates.empty();
       });
       if (b < 0)
         return false;
       made.graph.operators[plan.steps[makerOf(plan, b)].op].inPlace.clear();
       return true;
     }},
    {"what is shared is not said to be",
     [](RandomPlan &made, std::mt19937 &random) {
       int b = pickWhere(random, made.plan.buffers.size(), [&](int buffer) {
         return made.plan.buffers[buffer].sharesWith >= 0;
       });
       if (b < 0)
         return false;
       made.plan.buffers[b].sharesWith = -1;
       return true;
     }},
    {"what shares memory lies elsewhere",
     [](RandomPlan &made, std::mt19937 &random) {
       int b = pickWhere(random, made.plan.buffers.size(), [&](int buffer) {
         return made.plan.buffers[buffer].sharesWith >= 0;
       });
       if (b < 0)
         return false;
       made.plan.buffers[b].offset =
           grow(made.plan, made.plan.buffers[b].bytes);
       return true;
     }},
    {"a workspace is too small",
     [](RandomPlan &made, std::mt19937 &random) {
       int s = pickWhere(random, made.plan.steps.size(), [&](int step) {
         return made.plan.steps[step].workspaceBytes > 0;
       });
       if (s < 0)
         return false;
       --made.plan.steps[s].workspaceBytes;
       return true;
     }},
    {"a workspace lies where a buffer does",
     [](RandomPlan &made, std::mt19937 &random) {
       int s = pickWhere(random, made.plan.steps.size(), [&](int step) {
         return made.plan.steps[step].workspaceBytes > 0;
       });
       if (s < 0)
         return false;
       Step &step = made.plan.steps[s];
       const auto &near = random() % 2 ? step.inputs : step.outputs;
       const Buffer &buffer = made.plan.buffers[near[random() % near.size()]];
       step.workspaceOffset = buffer.offset + buffer.bytes - 1;
       made.plan.arenaBytes = std::max(
           made.plan.arenaBytes, step.workspaceOffset + step.workspaceBytes);
       return true;
     }},
    {"an output is gone at the end",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       int last = int(plan.steps.size()) - 1;
       int b = pickWhere(random, plan.buffers.size(), [&](int buffer) {
         const Buffer &at = plan.buffers[buffer];
         if (made.graph.tensors[at.tensor].kind != TensorKind::output ||
             at.last != last || at.first == last)
           return false;
         for (const Step &step : plan.steps)
           if (step.kind == Kind::offload &&
               copied(made, step) == made.graph.storageOf(at.tensor))
             return false;
         // Nor by another name.
         for (size_t other = 0; other < plan.buffers.size(); ++other)
           if (int(other) != buffer && plan.buffers[other].last == last &&
               made.graph.storageOf(plan.buffers[other].tensor) ==
                   made.graph.storageOf(at.tensor))
             return false;
         return true;
       });
       if (b < 0)
         return false;
       --plan.buffers[b].last;
       return true;
     }},
    {"the arena is said to be larger",
     [](RandomPlan &made, std::mt19937 &) {
       ++made.plan.arenaBytes;
       return true;
     }},
    {"the arena is said to be smaller",
     [](RandomPlan &made, std::mt19937 &) {
       --made.plan.arenaBytes;
       return true;
     }},
    {"the host is said to hold more",
     [](RandomPlan &made, std::mt19937 &) {
       ++made.plan.hostBytes;
       return true;
     }},
    {"the host is said to hold less",
     [](RandomPlan &made, std::mt19937 &) {
       --made.plan.hostBytes;
       return true;
     }},
    {"numbers that there are not",
     [](RandomPlan &made, std::mt19937 &random) {
       Plan &plan = made.plan;
       Step &step = plan.steps[random() % plan.steps.size()];
       Buffer &buffer = plan.buffers[random() % plan.buffers.size()];
       switch (random() % 5) {
       case 0:
         buffer.tensor = int(made.graph.tensors.size());
         break;
       case 1:
         buffer.sharesWith = int(plan.buffers.size());
         break;
       case 2:
         step.inputs.push_back(BufferId(plan.buffers.size()));
         break;
       case 3:
         step.outputs.push_back(-1);
         break;
       case 4:
         step.kind = Step::Kind(7);
         break;
       }
       return true;
     }},
};

TEST(CheckPlan, EveryKindOfMistakeIsFound) {
  std::vector<RandomPlan> plans;
  for (unsigned seed = 0; seed < 1000; ++seed)
    plans.push_back(makeRandomPlan(seed));
  for (const auto &[name, mutate] : mutations) {
    int spoiled = 0;
    for (unsigned seed = 0; seed < plans.size(); ++seed) {
      RandomPlan made = plans[seed];
      std::mt19937 random(seed);
      if (!mutate(made, random))
        continue;
      ++spoiled;
      EXPECT_NE(checked(made), "") << name << ", seed " << seed;
    }
    EXPECT_GT(spoiled, 50) << name;
  }
}

} // namespace
