//===- Simulate.h - How long a plan takes, and what it needs ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a plan on a machine's description: one compute stream, a copy engine to
// the host and one to the device, or one for both if the link is not full
// duplex. Steps are issued in order. A compute step starts when the one before
// has ended, as have the copies that fill what it reads and those that read
// what it writes over. A copy starts when its engine is free, all compute steps
// before it have ended, and the copies that it has to wait for (Plan.h).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_SIMULATE_H
#define ESPALIER_PLANNING_SIMULATE_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Machine.h"
#include "espalier/Planning/Plan.h"

#include <cstdint>
#include <vector>

namespace espalier::planning {

struct StepTimes {
  double start = 0;
  double end = 0;
  /// Of a compute step: how long the device had nothing to do before it, until
  /// a copy had filled what it reads, and, after that, until a copy had read
  /// what it writes over.
  double fetchStall = 0;
  double memoryStall = 0;
  /// An operator that ran before.
  bool again = false;
};

struct Simulation {
  std::vector<StepTimes> steps;
  /// By step: bytes of the arena that belong to something, and the highest end
  /// of those.
  std::vector<int64_t> liveBytes;
  std::vector<int64_t> highestBytes;
  /// By step: what would be live without copies and recomputation, every
  /// operator run where the plan runs it first, nothing in place, without
  /// workspaces.
  std::vector<int64_t> livenessCurve;
  std::vector<int64_t> hostCurve;

  /// Every tensor has memory of its own for the whole iteration; views and
  /// updates have that of others.
  int64_t baselineBytes = 0;
  /// The peak of livenessCurve.
  int64_t livenessBytes = 0;
  /// The plan's: the arena.
  int64_t peakBytes = 0;
  /// The peak of liveBytes: no arena with these buffers at these steps is
  /// smaller.
  int64_t lowerBoundBytes = 0;
  /// What the inputs and outputs of the largest operator need; a plan goes
  /// below only where something is in place.
  int64_t largestOperatorBytes = 0;
  /// The first step with the most live bytes; -1: there are no steps.
  int32_t peakStep = -1;
  int64_t hostBytes = 0;

  /// Runs of operators after their first ones, views apart.
  int64_t recomputedOperators = 0;
  double recomputedFlops = 0;
  double recomputedSeconds = 0;

  int64_t offloadBytes = 0;
  int64_t prefetchBytes = 0;
  int64_t transferBytes() const { return offloadBytes + prefetchBytes; }

  /// Until everything has ended.
  double seconds = 0;
  /// Every operator of the plan once, by its fastest algorithm, with nothing to
  /// wait for.
  double secondsUnlimited = 0;
  /// The compute stream's time: at work, and waiting for copies; what is left
  /// of `seconds` are copies after the last operator.
  double computeSeconds = 0;
  double fetchStallSeconds = 0;
  double memoryStallSeconds = 0;
  double drainSeconds = 0;
  /// How long the engines were at work.
  double offloadSeconds = 0;
  double prefetchSeconds = 0;
};

/// Of a plan that checkPlan() has nothing against. It takes O(n log n) of the
/// plan's size.
Simulation simulate(const Graph &graph, const Plan &plan,
                    const Machine &machine);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_SIMULATE_H
