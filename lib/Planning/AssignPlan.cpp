//===- AssignPlan.cpp - Offsets of a plan's buffers -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers that share memory are one range of bytes, from the first step of any
// to the last step of any, as large as the largest. A workspace is a range for
// its step alone.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/AssignBuffers.h"

#include <algorithm>
#include <utility>

using namespace espalier::planning;

namespace {
class PlanAssigner {
public:
  PlanAssigner(Plan &plan, std::string &error) : plan(plan), error(error) {}

  bool assign(const AssignBuffersOptions &options, int64_t alignment) {
    if (!check() || !findRoots())
      return false;
    // The ranges of buffers, then those of workspaces.
    std::vector<BufferInterval> ranges(plan.buffers.size());
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer &buffer = plan.buffers[i];
      BufferInterval &range = ranges[roots[i]];
      BufferInterval own{buffer.first, int64_t(buffer.last) + 1, buffer.bytes,
                         alignment};
      if (range.upper == 0) {
        range = own;
        continue;
      }
      range.lower = std::min(range.lower, own.lower);
      range.upper = std::max(range.upper, own.upper);
      range.size = std::max(range.size, own.size);
    }
    for (size_t s = 0; s < plan.steps.size(); ++s)
      ranges.push_back({int64_t(s), int64_t(s) + 1,
                        plan.steps[s].workspaceBytes, alignment});
    error = checkIntervals(ranges);
    if (!error.empty())
      return false;

    BufferAssignment assignment = assignBuffers(ranges, options);
    plan.arenaBytes = 0;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      Buffer &buffer = plan.buffers[i];
      buffer.offset = assignment.offsets[roots[i]];
      plan.arenaBytes = std::max(plan.arenaBytes, buffer.offset + buffer.bytes);
    }
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      Step &step = plan.steps[s];
      step.workspaceOffset = assignment.offsets[plan.buffers.size() + s];
      plan.arenaBytes =
          std::max(plan.arenaBytes, step.workspaceOffset + step.workspaceBytes);
    }
    return true;
  }

private:
  bool fail(std::string problem) {
    error = std::move(problem);
    return false;
  }

  bool check() {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const Buffer &buffer = plan.buffers[i];
      std::string name = "buffer " + std::to_string(i);
      if (buffer.bytes < 0)
        return fail(name + " has " + std::to_string(buffer.bytes) + " bytes");
      if (buffer.first < 0 || buffer.last < buffer.first ||
          size_t(buffer.last) >= std::max<size_t>(plan.steps.size(), 1))
        return fail(name + " stays from step " + std::to_string(buffer.first) +
                    " to step " + std::to_string(buffer.last) +
                    "; the plan has " + std::to_string(plan.steps.size()) +
                    " steps");
      if (buffer.sharesWith < -1 ||
          buffer.sharesWith >= int64_t(plan.buffers.size()))
        return fail(name + " shares memory with buffer " +
                    std::to_string(buffer.sharesWith) + ", which there is not");
    }
    for (size_t s = 0; s < plan.steps.size(); ++s)
      if (plan.steps[s].workspaceBytes < 0)
        return fail("step " + std::to_string(s) + " has a workspace of " +
                    std::to_string(plan.steps[s].workspaceBytes) + " bytes");
    return true;
  }

  /// Follows sharesWith to its end, each link once.
  bool findRoots() {
    roots.assign(plan.buffers.size(), -1);
    std::vector<bool> onPath(plan.buffers.size(), false);
    std::vector<BufferId> path;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      path.clear();
      auto at = BufferId(i);
      while (roots[at] < 0) {
        if (onPath[at])
          return fail("buffer " + std::to_string(at) +
                      " shares memory with itself, by way of others");
        onPath[at] = true;
        path.push_back(at);
        if (plan.buffers[at].sharesWith < 0)
          roots[at] = at;
        else
          at = plan.buffers[at].sharesWith;
      }
      for (BufferId buffer : path) {
        roots[buffer] = roots[at];
        onPath[buffer] = false;
      }
    }
    return true;
  }

  Plan &plan;
  std::string &error;
  /// By buffer: the one at the end of its chain of sharesWith.
  std::vector<BufferId> roots;
};
} // namespace

bool espalier::planning::assignBuffers(Plan &plan, std::string &error,
                                       const AssignBuffersOptions &options,
                                       int64_t alignment) {
  return PlanAssigner(plan, error).assign(options, alignment);
}
