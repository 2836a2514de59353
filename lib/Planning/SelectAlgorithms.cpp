//===- SelectAlgorithms.cpp - How operators are computed ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/SelectAlgorithms.h"

#include "StableSort.h"

#include <algorithm>
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
  explicit Occupancy(const Plan &plan)
      : plan(plan), starting(plan.steps.size()), ending(plan.steps.size()) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer &buffer = plan.buffers[i];
      if (buffer.bytes == 0)
        continue;
      starting[buffer.first].push_back(BufferId(i));
      ending[buffer.last].push_back(BufferId(i));
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
    int64_t begin = 0;
    auto look = [&](int64_t end) {
      int64_t from = (begin + alignment - 1) / alignment * alignment;
      if (end - from > largest.bytes)
        largest = {from, end - from};
    };
    for (const auto &[offset, end] : occupied) {
      look(offset);
      begin = std::max(begin, end);
    }
    look(budget);
    return largest;
  }

private:
  const Plan &plan;
  std::vector<std::vector<BufferId>> starting, ending;
  /// Offsets and ends; buffers that share memory overlap.
  std::multiset<std::pair<int64_t, int64_t>> occupied;
};
} // namespace

std::vector<AlgorithmChoice>
espalier::planning::selectAlgorithms(const Graph &graph, const Machine &machine,
                                     Plan &plan, int64_t budget,
                                     int64_t alignment) {
  std::vector<AlgorithmChoice> choices;
  Occupancy occupancy(plan);
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
      std::vector<int32_t> fastest(op.algorithms.size());
      std::iota(fastest.begin(), fastest.end(), 0);
      stableSort(fastest, [&](int32_t a, int32_t b) {
        return machine.secondsOf(op, &op.algorithms[a]) <
               machine.secondsOf(op, &op.algorithms[b]);
      });
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
      if (choice.algorithm < 0)
        choice.algorithm = step.algorithm;
      int64_t bytes = op.algorithms[choice.algorithm].workspaceBytes;
      if (bytes <= gap.bytes)
        step.workspaceOffset = bytes > 0 ? gap.offset : -1;
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
