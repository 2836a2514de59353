//===- AssignPlan.cpp - Offsets of a plan's buffers and workspaces --------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers that share memory are one interval, from the first step of any to the
// last of any; a workspace is an interval of one step.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/AssignBuffers.h"

#include <algorithm>

using namespace espalier::planning;

/// What is wrong with the plan's numbers; empty if nothing is.
static std::string checkNumbers(const Plan &plan) {
  auto number = [](size_t value) { return std::to_string(value); };
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer &buffer = plan.buffers[b];
    if (buffer.bytes < 0)
      return "buffer " + number(b) + " has " + std::to_string(buffer.bytes) +
             " bytes";
    if (buffer.first < 0 || buffer.last < buffer.first ||
        (!plan.steps.empty() && buffer.last >= int64_t(plan.steps.size())))
      return "buffer " + number(b) + " lives from step " +
             std::to_string(buffer.first) + " to step " +
             std::to_string(buffer.last) + " of " + number(plan.steps.size());
    if (buffer.sharesWith < -1 || buffer.sharesWith == BufferId(b) ||
        buffer.sharesWith >= BufferId(plan.buffers.size()))
      return "buffer " + number(b) + " shares the memory of buffer " +
             std::to_string(buffer.sharesWith);
  }
  for (size_t s = 0; s < plan.steps.size(); ++s)
    if (plan.steps[s].workspaceBytes < 0)
      return "step " + number(s) + " has a workspace of " +
             std::to_string(plan.steps[s].workspaceBytes) + " bytes";
  return "";
}

bool espalier::planning::assignBuffers(Plan &plan, std::string &error,
                                       const AssignBuffersOptions &options,
                                       int64_t alignment) {
  error = checkNumbers(plan);
  if (!error.empty())
    return false;
  // The buffer at the end of each chain of sharing.
  std::vector<BufferId> owner(plan.buffers.size());
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    BufferId at = BufferId(b);
    for (size_t steps = 0; plan.buffers[at].sharesWith >= 0; ++steps) {
      if (steps == plan.buffers.size()) {
        error = "buffer " + std::to_string(b) + " shares its own memory";
        return false;
      }
      at = plan.buffers[at].sharesWith;
    }
    owner[b] = at;
  }

  std::vector<BufferInterval> intervals(plan.buffers.size());
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    if (owner[b] == BufferId(b))
      intervals[b] = {plan.buffers[b].first, int64_t(plan.buffers[b].last) + 1,
                      plan.buffers[b].bytes, alignment};
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    BufferInterval &interval = intervals[owner[b]];
    interval.lower = std::min<int64_t>(interval.lower, plan.buffers[b].first);
    interval.upper =
        std::max<int64_t>(interval.upper, int64_t(plan.buffers[b].last) + 1);
    interval.size = std::max(interval.size, plan.buffers[b].bytes);
  }
  std::vector<size_t> workspaces;
  for (size_t s = 0; s < plan.steps.size(); ++s)
    if (plan.steps[s].workspaceBytes > 0) {
      workspaces.push_back(s);
      intervals.push_back({int64_t(s), int64_t(s) + 1,
                           plan.steps[s].workspaceBytes, alignment});
    }
  error = checkIntervals(intervals);
  if (!error.empty())
    return false;

  BufferAssignment assignment = assignBuffers(intervals, options);
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    plan.buffers[b].offset = assignment.offsets[owner[b]];
  for (size_t w = 0; w < workspaces.size(); ++w)
    plan.steps[workspaces[w]].workspaceOffset =
        assignment.offsets[plan.buffers.size() + w];
  plan.arenaBytes = assignment.peak;
  return true;
}
