//===- PlaceCopies.h - When copies start ------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A walk says what leaves the device and comes back; here each copy gets a
// step. To the host, copies start as soon as there is something to copy, those
// first whose memory is needed first. From the host, they start late enough to
// take no memory in vain and early enough to be done in time, the link being
// busy with one at a time, and where there is room for them until they are
// needed. What has room for the whole time that it was to be away stays.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_PLACECOPIES_H
#define ESPALIER_LIB_PLANNING_PLACECOPIES_H

#include "MemoryWalk.h"

#include "espalier/Planning/Plan.h"

namespace espalier::planning {

struct PlaceOptions {
  int64_t budget = 0;
  int64_t alignment = 64;
  /// Copies from the host start where the walk has them.
  bool isFixed = false;
};

/// Without offsets.
Plan placeCopies(const WalkInput &input, Schedule schedule,
                 const PlaceOptions &options);

/// How long a plan takes, whose copies run beside the computation: one at a
/// time in each direction (or in all, if the link is half duplex).
struct Duration {
  double seconds = 0;
  int64_t transferBytes = 0;
  /// By storage: how long computation waited for it to come.
  std::vector<double> stalls;
};
Duration durationOf(const WalkInput &input, const Plan &plan);

struct PlanMemoryReport;
/// Offsets and the arena's bytes. A packing within `capacity` is good enough.
void packPlan(Plan &plan, int64_t capacity, int64_t alignment);
/// The busiest step's bytes, and its number.
int64_t loadOf(const Plan &plan, int64_t alignment, int32_t *busiest = nullptr);
/// Its bytes, time, transfers and recomputation.
void describePlan(const WalkInput &input, const Plan &plan, int64_t alignment,
                  PlanMemoryReport &report);

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_PLACECOPIES_H
