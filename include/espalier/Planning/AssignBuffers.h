//===- AssignBuffers.h - Where buffers lie in one arena ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers that are needed at the same time lie apart; others may share bytes.
// Which offsets make the arena smallest is known as dynamic storage allocation,
// and is NP-hard. No arena is smaller than the bytes needed at the busiest time
// (the load), which is a bound that real networks nearly always reach.
//
// Fast packers answer first, in near-linear time. A search goes on where they
// miss the bound, or the capacity that is asked for. It counts the steps that
// it takes, not seconds, so that the same buffers get the same offsets on any
// computer; a limit in seconds may be set besides.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_ASSIGNBUFFERS_H
#define ESPALIER_PLANNING_ASSIGNBUFFERS_H

#include "espalier/Planning/Plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::planning {

/// A range of bytes that is needed at the times [lower, upper).
struct BufferInterval {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t size = 0;
  /// Its offset is a multiple of this.
  int64_t alignment = 1;
};

struct AssignBuffersOptions {
  /// Done as soon as the peak is no higher than this; -1: the lower the better.
  int64_t capacity = -1;
  /// How many steps the search may take. 0: only the fast packers.
  int64_t searchSteps = 500000000;
  /// 0: none. The search ends early if it strikes, and what it had by then
  /// depends on the computer.
  double secondsLimit = 0;
};

struct BufferAssignment {
  /// By buffer. A buffer without bytes or without times is at 0.
  std::vector<int64_t> offsets;
  /// The highest end of a buffer.
  int64_t peak = 0;
  /// The load at the busiest time, sizes rounded up to what all offsets are
  /// multiples of: no assignment has a lower peak.
  int64_t lowerBound = 0;
  /// That time, the first if there are several.
  int64_t busiestTime = 0;
  /// How many steps the search took.
  int64_t searchSteps = 0;
  /// Whether the limit in seconds struck.
  bool timedOut = false;
};

/// What is wrong with the buffers, by number; empty if nothing is: sizes below
/// 0, times that end before they start, alignments below 1, bytes beyond 2^62
/// in all.
std::string checkIntervals(const std::vector<BufferInterval> &buffers);

/// Offsets of buffers that checkIntervals() has nothing against. Whether the
/// peak is within the options' capacity is for the caller to see.
BufferAssignment assignBuffers(const std::vector<BufferInterval> &buffers,
                               const AssignBuffersOptions &options = {});

/// Assigns the offsets of a plan's buffers and of its steps' workspaces, all
/// multiples of `alignment`, and sets its arenaBytes. Buffers that share memory
/// have one offset. False, and why, if the plan makes no sense: steps or
/// buffers out of range, negative sizes. `capacity` is no reason to fail.
bool assignBuffers(Plan &plan, std::string &error,
                   const AssignBuffersOptions &options = {},
                   int64_t alignment = 64);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_ASSIGNBUFFERS_H
