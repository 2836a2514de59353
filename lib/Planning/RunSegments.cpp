//===- RunSegments.cpp - Schedules that compute segments again ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunSegments.h"

#include <algorithm>
#include <cmath>

using namespace espalier::planning;

RunSegments::RunSegments(const RunProblem &problem) : problem(problem) {
  RunSchedule plain(problem);
  RunProfile::Run peakRun = plain.getProfile().peakRun();
  RunnerId peak = peakRun.key < 0 ? 0 : plain.stageOf(peakRun.key);
  for (const RunProblem::Value &value : problem.values) {
    RunnerId start = value.maker;
    RunnerId end = -1;
    RunnerId at = value.maker;
    for (RunnerId reader : value.readers) {
      if (end < 0 || reader - at > end - start) {
        start = at;
        end = reader;
      }
      at = reader;
    }
    // To let go of it for a short time is no help, unless that is the peak.
    bool crossesPeak = start < peak && peak < end;
    if (end < start + 2 ||
        (!crossesPeak && end - start <= problem.size() / 64)) {
      start = at;
      end = -1;
    }
    gapStart.push_back(start);
    gapEnd.push_back(end);
    density.push_back(problem.runners[value.maker].seconds /
                      double(std::max<int64_t>(1, value.bytes)));
  }
}

std::vector<double> RunSegments::densities(size_t count) const {
  std::vector<double> all;
  for (size_t value = 0; value < density.size(); ++value)
    if (gapEnd[value] > gapStart[value] + 1)
      all.push_back(density[value]);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() <= count)
    return all;
  std::vector<double> some;
  for (size_t i = 1; i <= count; ++i)
    some.push_back(all[(all.size() - 1) * i / count]);
  return some;
}

std::vector<int64_t> RunSegments::segmentSizes(size_t count) const {
  int64_t total = 0;
  int64_t largest = 1;
  for (size_t value = 0; value < density.size(); ++value)
    if (gapEnd[value] > gapStart[value] + 1) {
      total += problem.values[value].bytes;
      largest = std::max(largest, problem.values[value].bytes);
    }
  std::vector<int64_t> sizes;
  double ratio = double(std::max<int64_t>(total, 1)) / double(largest);
  for (size_t i = 0; i < count; ++i) {
    double part = std::pow(ratio, double(i) / double(count));
    sizes.push_back(int64_t(double(largest) * part));
  }
  sizes.push_back(INT64_MAX);
  return sizes;
}

bool RunSegments::isDropped(ValueId value, double secondsPerByte) const {
  return density[value] <= secondsPerByte &&
         problem.runners[problem.values[value].maker].lastStage >= 0;
}

void RunSegments::keepBorders(int64_t segmentBytes,
                              std::vector<bool> &dropped) const {
  RunnerId count = problem.size();
  // What crosses from one stage to the next and is soon read, and what is let
  // go of there.
  std::vector<int64_t> crossing(count + 1, 0);
  std::vector<int64_t> letGo(count, 0);
  for (size_t number = 0; number < problem.values.size(); ++number) {
    const RunProblem::Value &value = problem.values[number];
    crossing[value.maker] += value.bytes;
    crossing[gapStart[number]] -= value.bytes;
    if (dropped[number] && gapEnd[number] > gapStart[number] + 1)
      letGo[value.maker] += value.bytes;
  }
  for (RunnerId stage = 1; stage < count; ++stage)
    crossing[stage] += crossing[stage - 1];
  std::vector<RunnerId> borders;
  RunnerId from = 0;
  while (from < count) {
    int64_t bytes = 0;
    RunnerId best = -1;
    int64_t least = INT64_MAX;
    RunnerId at = from;
    for (; at < count && bytes <= segmentBytes; ++at) {
      bytes += letGo[at];
      if (bytes > segmentBytes / 2 && crossing[at] <= least) {
        least = crossing[at];
        best = at;
      }
    }
    if (at == count)
      break;
    borders.push_back(best < 0 ? at - 1 : best);
    from = borders.back() + 1;
  }
  // By stage: the first border at or after it.
  for (size_t number = 0; number < problem.values.size(); ++number) {
    auto border = std::lower_bound(borders.begin(), borders.end(),
                                   problem.values[number].maker);
    if (border != borders.end() && *border < gapStart[number])
      dropped[number] = false;
  }
}

std::vector<RunSchedule::Again> RunSegments::make(double secondsPerByte,
                                                  int64_t segmentBytes) const {
  std::vector<bool> dropped;
  for (size_t value = 0; value < problem.values.size(); ++value)
    dropped.push_back(isDropped(ValueId(value), secondsPerByte));
  if (segmentBytes < INT64_MAX)
    keepBorders(segmentBytes, dropped);

  // By value: the last stage in which it is there without another run.
  std::vector<RunnerId> there(problem.values.size(), problem.size());
  for (size_t value = 0; value < problem.values.size(); ++value)
    if (dropped[value])
      there[value] = gapStart[value];
  std::vector<RunSchedule::Again> again;
  size_t limit = 2 * problem.runners.size();
  std::vector<ValueId> open;
  for (RunnerId stage = 0; stage < problem.size(); ++stage) {
    open = problem.runners[stage].reads;
    while (!open.empty()) {
      ValueId value = open.back();
      open.pop_back();
      RunnerId maker = problem.values[value].maker;
      if (stage <= there[value] || stage > problem.runners[maker].lastStage)
        continue;
      again.push_back({maker, stage});
      if (again.size() > limit)
        return {};
      for (ValueId made : problem.runners[maker].makes) {
        const std::vector<RunnerId> &readers = problem.values[made].readers;
        there[made] = std::max(stage, readers.empty() ? stage : readers.back());
      }
      for (ValueId read : problem.runners[maker].reads)
        open.push_back(read);
    }
  }
  return again;
}
