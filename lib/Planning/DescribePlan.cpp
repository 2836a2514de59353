//===- DescribePlan.cpp - Offsets and what a plan costs -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlaceCopies.h"

#include "espalier/Planning/AssignBuffers.h"
#include "espalier/Planning/PlanMemory.h"

#include <algorithm>

using namespace espalier::planning;

/// Offsets and the arena's bytes, of a plan that makes sense.
void espalier::planning::packPlan(Plan &plan, int64_t capacity,
                                  int64_t alignment) {
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
  options.searchSteps = intervals.size() > 20000 ? 0 : 40000;
  BufferAssignment assignment = assignBuffers(intervals, options);
  plan.arenaBytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    Buffer &buffer = plan.buffers[i];
    buffer.offset = assignment.offsets[owner[i]];
    if (buffer.bytes > 0)
      plan.arenaBytes = std::max(plan.arenaBytes, buffer.offset + buffer.bytes);
  }
  for (size_t i = 0; i < workspaceOf.size(); ++i) {
    Step &step = plan.steps[workspaceOf[i]];
    step.workspaceOffset = assignment.offsets[plan.buffers.size() + i];
    plan.arenaBytes =
        std::max(plan.arenaBytes, step.workspaceOffset + step.workspaceBytes);
  }
}

/// The busiest step's bytes.
int64_t espalier::planning::loadOf(const Plan &plan, int64_t alignment,
                                   int32_t *busiest) {
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
    int64_t bytes = load + rounded(plan.steps[s].workspaceBytes);
    if (bytes > most && busiest)
      *busiest = int32_t(s);
    most = std::max(most, bytes);
  }
  return most;
}

void espalier::planning::describePlan(const WalkInput &input, const Plan &plan,
                                      int64_t alignment,
                                      PlanMemoryReport &report) {
  const Graph &graph = input.graph;
  int32_t busiest = 0;
  report.lowerBoundBytes = loadOf(plan, alignment, &busiest);
  report.peakOperator.clear();
  // A copy is named by what runs beside it.
  for (int32_t s = busiest;
       s >= 0 && report.peakOperator.empty() && s < int32_t(plan.steps.size());
       --s)
    if (plan.steps[s].op >= 0)
      report.peakOperator = graph.operators[plan.steps[s].op].name;
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
    bool isView =
        !op.outputs.empty() && graph.tensors[op.outputs.front()].viewOf >= 0;
    if (ran[step.op] && !isView) {
      ++report.recomputedOperators;
      report.recomputedFlops += op.flops;
    }
    ran[step.op] = true;
  }
}
