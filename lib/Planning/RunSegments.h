//===- RunSegments.h - Schedules that compute segments again ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plans that people make by hand: keep what is dear to compute for its
// size, keep what few bytes cross at the borders of segments, let go of all
// else until it is needed again, and then compute the segment once. Two numbers
// make one, and a few dozen such plans are where the search begins. They are
// made in linear time, so that they are found for graphs of any size.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_RUNSEGMENTS_H
#define ESPALIER_LIB_PLANNING_RUNSEGMENTS_H

#include "RunSchedule.h"

#include <vector>

namespace espalier::planning {

class RunSegments {
public:
  explicit RunSegments(const RunProblem &problem);

  /// What takes more than so many seconds per byte is kept; a segment lets go
  /// of at most so many bytes. Nothing, if that takes more than two runs more
  /// of every operator: then there is no such plan.
  std::vector<RunSchedule::Again> make(double secondsPerByte,
                                       int64_t segmentBytes) const;
  /// Limits that make a difference, ascending, at most so many.
  std::vector<double> densities(size_t count) const;
  std::vector<int64_t> segmentSizes(size_t count) const;

private:
  bool isDropped(ValueId value, double secondsPerByte) const;
  void keepBorders(int64_t segmentBytes, std::vector<bool> &dropped) const;

  const RunProblem &problem;
  /// By value: the longest time between a run that makes or reads it and the
  /// next that reads it, by their stages. `gapEnd` -1: no time to speak of;
  /// then `gapStart` is the last that reads it.
  std::vector<RunnerId> gapStart;
  std::vector<RunnerId> gapEnd;
  std::vector<double> density;
};

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_RUNSEGMENTS_H
