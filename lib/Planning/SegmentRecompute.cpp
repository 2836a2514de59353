//===- SegmentRecompute.cpp - SuperNeurons' recomputation -----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/SegmentRecompute.h"

#include "RecomputationOf.h"

#include <algorithm>
#include <utility>

using namespace espalier::planning;

namespace {

class Segments {
public:
  Segments(const Graph &graph, const RecomputeOptions &options)
      : problem(graph, options), offloaded(graph, options) {
    findSegments();
    offloadKept();
  }

  SegmentRecomputation plan(SegmentPolicy policy) {
    int64_t largest = largestOperator();
    memoryCentric.assign(count, policy == SegmentPolicy::memoryCentric);
    if (policy == SegmentPolicy::costAware)
      estimate(largest);
    makeRuns();
    if (policy == SegmentPolicy::measured) {
      measure(largest);
      makeRuns();
    }
    SegmentRecomputation result;
    result.runs = recomputationOf(problem, again);
    result.offloadedPeakBytes = RunSchedule(offloaded, again).peak();
    result.largestOperatorBytes = largest;
    result.segmentOf.assign(problem.graph.operators.size(), -1);
    for (RunnerId id = 0; id < problem.size(); ++id)
      result.segmentOf[problem.runners[id].op] = segmentOf[id];
    result.memoryCentric = memoryCentric;
    return result;
  }

private:
  bool isForward(RunnerId id) const {
    return problem.graph.operators[problem.runners[id].op].pass ==
           Pass::forward;
  }

  void findSegments() {
    segmentOf.assign(problem.runners.size(), -1);
    RunnerId lastForward = -1;
    for (RunnerId id = 0; id < problem.size(); ++id) {
      if (!isForward(id))
        continue;
      lastForward = id;
      const RunProblem::Runner &runner = problem.runners[id];
      RunnerId before = -1;
      bool isChain = true;
      for (ValueId value : runner.reads) {
        RunnerId maker = problem.values[value].maker;
        if (!isForward(maker) || maker == before)
          continue;
        isChain &= before < 0;
        before = maker;
      }
      RunnerId after = -1;
      for (ValueId value : runner.makes)
        for (RunnerId reader : problem.values[value].readers)
          if (isForward(reader) && reader != after) {
            isChain &= after < 0;
            after = reader;
          }
      if (!isChain || runner.lastStage < 0 ||
          problem.graph.operators[runner.op].checkpoint)
        continue;
      segmentOf[id] =
          before >= 0 && segmentOf[before] >= 0 ? segmentOf[before] : count++;
    }
    if (lastForward < 0 || segmentOf[lastForward] < 0)
      return;
    int32_t last = segmentOf[lastForward];
    for (int32_t &segment : segmentOf)
      segment = segment == last ? -1 : segment - (segment > last);
    --count;
  }

  /// What the forward pass keeps costs only where it is read or made.
  void offloadKept() {
    for (size_t number = 0; number < offloaded.values.size(); ++number) {
      RunProblem::Value &value = offloaded.values[number];
      if (!isForward(value.maker) || segmentOf[value.maker] >= 0)
        continue;
      offloaded.runners[value.maker].workspaceBytes += value.bytes;
      for (RunnerId reader : value.readers)
        offloaded.runners[reader].workspaceBytes += value.bytes;
      value.bytes = 0;
    }
  }

  int64_t largestOperator() const {
    int64_t largest = 0;
    for (const RunProblem::Runner &runner : problem.runners) {
      int64_t bytes = problem.fixedBytes + runner.workspaceBytes;
      for (ValueId value : runner.reads)
        bytes += problem.values[value].bytes;
      for (ValueId value : runner.makes)
        bytes += problem.values[value].bytes;
      largest = std::max(largest, bytes);
    }
    return largest;
  }

  void estimate(int64_t largest) {
    std::vector<int64_t> bytes(count, problem.fixedBytes);
    for (const RunProblem::Value &value : problem.values)
      if (int32_t segment = segmentOf[value.maker]; segment >= 0)
        bytes[segment] += 2 * value.bytes;
    for (int32_t segment = 0; segment < count; ++segment)
      memoryCentric[segment] = bytes[segment] > largest;
  }

  /// By the runs that make each segment once.
  void measure(int64_t largest) {
    RunSchedule schedule(offloaded, again);
    for (RunnerId stage = 0; stage < problem.size(); ++stage) {
      if (readSegments[stage].empty())
        continue;
      RunSchedule::Key first = schedule.keyOf({0, stage});
      RunSchedule::Key next = schedule.keyOf({0, stage + 1});
      if (schedule.getProfile().peakIn(first, next - 1) > largest)
        for (int32_t segment : readSegments[stage])
          memoryCentric[segment] = true;
    }
  }

  void makeRuns() {
    again.clear();
    kept.assign(problem.values.size(), false);
    readSegments.assign(problem.runners.size(), {});
    for (RunnerId stage = 0; stage < problem.size(); ++stage) {
      if (isForward(stage))
        continue;
      for (ValueId value : problem.runners[stage].reads)
        if (int32_t segment = segmentOf[problem.values[value].maker];
            segment >= 0) {
          readSegments[stage].push_back(segment);
          need(value, stage);
        }
    }
  }

  /// Runs again what leads from the checkpoint to the value, as far as it is
  /// not there.
  void need(ValueId wanted, RunnerId stage) {
    std::vector<ValueId> open = {wanted};
    while (!open.empty()) {
      ValueId value = open.back();
      open.pop_back();
      RunnerId maker = problem.values[value].maker;
      int32_t segment = segmentOf[maker];
      if (segment < 0 || isKept(value, stage) ||
          stage > problem.runners[maker].lastStage)
        continue;
      // What a large segment makes on the way is not for later.
      if (value == wanted || !memoryCentric[segment])
        for (ValueId made : problem.runners[maker].makes)
          kept[made] = true;
      RunSchedule::Again run = {maker, stage};
      bool isThere = false;
      for (size_t i = again.size(); i > 0 && again[i - 1].stage == stage; --i)
        isThere |= again[i - 1] == run;
      if (isThere)
        continue;
      again.push_back(run);
      for (ValueId read : problem.runners[maker].reads)
        open.push_back(read);
    }
  }

  bool isKept(ValueId value, RunnerId stage) const {
    if (!kept[value])
      return false;
    if (!memoryCentric[segmentOf[problem.values[value].maker]])
      return true;
    const std::vector<RunnerId> &readers = problem.values[value].readers;
    return !readers.empty() && readers.back() >= stage;
  }

  RunProblem problem;
  /// The same, but for where what is kept is.
  RunProblem offloaded;
  int32_t count = 0;
  /// By runner; -1: none.
  std::vector<int32_t> segmentOf;
  std::vector<bool> memoryCentric;
  std::vector<RunSchedule::Again> again;
  /// By value: it was computed again, and is there for whoever else reads it.
  std::vector<bool> kept;
  /// By stage: the segments that its operator reads.
  std::vector<std::vector<int32_t>> readSegments;
};

} // namespace

SegmentRecomputation
espalier::planning::recomputeSegments(const Graph &graph, SegmentPolicy policy,
                                      const RecomputeOptions &options) {
  return Segments(graph, options).plan(policy);
}
