//===- SelectAlgorithms.cpp - How operators are computed ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/SelectAlgorithms.h"

#include "espalier/Planning/Simulate.h"

#include "StableSort.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <set>

using namespace espalier::planning;

namespace {
/// The largest range that no buffer has.
struct Gap {
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// What lies in the arena, step by step.
class Occupancy {
public:
  Occupancy(const Graph &graph, const Machine &machine, const Plan &plan)
      : plan(plan), starting(plan.steps.size()), ending(plan.steps.size()) {
    std::vector<int32_t> last = lastRead(simulate(graph, plan, machine));
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer &buffer = plan.buffers[i];
      if (buffer.bytes == 0)
        continue;
      starting[buffer.first].push_back(BufferId(i));
      ending[last[i]].push_back(BufferId(i));
    }
  }

  /// Steps in order.
  void enter(int32_t step) {
    for (BufferId id : starting[step])
      occupied.emplace(plan.buffers[id].offset,
                       plan.buffers[id].offset + plan.buffers[id].bytes);
  }

  void leave(int32_t step) {
    for (BufferId id : ending[step])
      occupied.erase(
          occupied.find({plan.buffers[id].offset,
                         plan.buffers[id].offset + plan.buffers[id].bytes}));
  }

  Gap largestGap(int64_t budget, int64_t alignment) const {
    Gap largest;
    forEachGap(budget, alignment, [&](const Gap &gap) {
      if (gap.bytes > largest.bytes)
        largest = gap;
    });
    return largest;
  }

  /// The lowest with room for so many bytes; -1: there is none.
  int64_t lowestPlace(int64_t bytes, int64_t budget, int64_t alignment) const {
    int64_t lowest = -1;
    forEachGap(budget, alignment, [&](const Gap &gap) {
      if (lowest < 0 && gap.bytes >= bytes)
        lowest = gap.offset;
    });
    return lowest;
  }

private:
  template <typename Body>
  void forEachGap(int64_t budget, int64_t alignment, Body body) const {
    int64_t begin = 0;
    auto look = [&](int64_t end) {
      int64_t from = (begin + alignment - 1) / alignment * alignment;
      body(Gap{from, end - from});
    };
    for (const auto &[offset, end] : occupied) {
      look(std::min(offset, budget));
      begin = std::max(begin, end);
    }
    look(budget);
  }

  /// By buffer: the last step that it has its memory at, or at which a copy to
  /// the host still reads it.
  std::vector<int32_t> lastRead(const Simulation &times) const {
    std::vector<int32_t> last;
    for (const Buffer &buffer : plan.buffers)
      last.push_back(buffer.last);
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      if (plan.steps[s].kind != Step::Kind::offload)
        continue;
      int32_t &read = last[plan.steps[s].inputs.front()];
      for (size_t later = size_t(read) + 1; later < plan.steps.size();
           ++later) {
        if (plan.steps[later].kind != Step::Kind::compute)
          continue;
        if (times.steps[later].start >= times.steps[s].end)
          break;
        read = int32_t(later);
      }
    }
    return last;
  }

  const Plan &plan;
  std::vector<std::vector<BufferId>> starting, ending;
  /// Offsets and ends; buffers that share memory overlap.
  std::multiset<std::pair<int64_t, int64_t>> occupied;
};
} // namespace

/// Numbers of the algorithms, in the order in which they are wanted: those that
/// take the same time as they are listed, but the one that needs the least
/// workspace before others that are no faster.
static std::vector<int32_t> fastestFirst(const Operator &op,
                                         const Machine &machine) {
  std::vector<int32_t> order(op.algorithms.size());
  std::iota(order.begin(), order.end(), 0);
  int32_t least = int32_t(op.algorithms.size()) - 1;
  auto key = [&](int32_t algorithm) {
    return std::make_pair(machine.secondsOf(op, &op.algorithms[algorithm]),
                          algorithm != least);
  };
  stableSort(order, [&](int32_t a, int32_t b) { return key(a) < key(b); });
  return order;
}

std::vector<AlgorithmChoice>
espalier::planning::selectAlgorithms(const Graph &graph, const Machine &machine,
                                     Plan &plan, int64_t budget,
                                     int64_t alignment) {
  std::vector<AlgorithmChoice> choices;
  Occupancy occupancy(graph, machine, plan);
  plan.arenaBytes = 0;
  for (const Buffer &buffer : plan.buffers)
    if (buffer.bytes > 0)
      plan.arenaBytes = std::max(plan.arenaBytes, buffer.offset + buffer.bytes);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    Step &step = plan.steps[s];
    occupancy.enter(int32_t(s));
    if (step.kind == Step::Kind::compute &&
        !graph.operators[step.op].algorithms.empty()) {
      const Operator &op = graph.operators[step.op];
      Gap gap = occupancy.largestGap(budget, alignment);
      std::vector<int32_t> fastest = fastestFirst(op, machine);
      AlgorithmChoice choice;
      choice.step = int32_t(s);
      choice.freeBytes = gap.bytes;
      choice.algorithm = -1;
      for (int32_t a : fastest) {
        // What the plan has already fits where it is.
        bool fits = op.algorithms[a].workspaceBytes <= gap.bytes ||
                    op.algorithms[a].workspaceBytes <= step.workspaceBytes;
        if (fits && choice.algorithm < 0)
          choice.algorithm = a;
        else if (fits && choice.runnerUp < 0)
          choice.runnerUp = a;
        else if (!fits && choice.algorithm < 0 &&
                 choice.fastestThatDoesNotFit < 0)
          choice.fastestThatDoesNotFit = a;
      }
      assert(choice.algorithm >= 0 && "the plan's own does not fit");
      int64_t bytes = op.algorithms[choice.algorithm].workspaceBytes;
      if (bytes <= gap.bytes)
        step.workspaceOffset =
            bytes > 0 ? occupancy.lowestPlace(bytes, budget, alignment) : -1;
      step.algorithm = choice.algorithm;
      step.workspaceBytes = bytes;
      choices.push_back(choice);
    }
    if (step.workspaceBytes > 0)
      plan.arenaBytes =
          std::max(plan.arenaBytes, step.workspaceOffset + step.workspaceBytes);
    occupancy.leave(int32_t(s));
  }
  return choices;
}
