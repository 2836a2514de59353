//===- Packing.h - What packers of buffers share ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers as rectangles in a plane: their times, numbered without holes,
// across, and their bytes upwards. Only the heights are free.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_PACKING_H
#define ESPALIER_LIB_PLANNING_PACKING_H

#include <chrono>
#include <cstdint>
#include <vector>

namespace espalier::planning {

/// Takes room: begin < end, and size > 0.
struct PackedItem {
  int32_t begin = 0;
  int32_t end = 0;
  int64_t size = 0;
  int64_t alignment = 1;
};

struct PackingProblem {
  std::vector<PackedItem> items;
  /// Times are 0 <= time < times.
  int32_t times = 0;
};

struct Packing {
  /// By item.
  std::vector<int64_t> offsets;
  int64_t peak = 0;
};

/// What a search may still do. Counted in steps; the clock is looked at now and
/// then if there is a limit.
class SearchBudget {
public:
  using Clock = std::chrono::steady_clock;

  SearchBudget(int64_t steps, double seconds)
      : steps(steps), limited(seconds > 0),
        deadline(Clock::now() +
                 std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>(limited ? seconds : 0))) {}

  /// Takes `count` steps. False if nothing is left.
  bool take(int64_t count = 1) {
    taken += count;
    if (limited && taken >= nextLook) {
      nextLook = taken + 4096;
      if (Clock::now() >= deadline)
        timedOut = true;
    }
    return taken < steps && !timedOut;
  }
  bool left() { return take(0); }
  int64_t stepsTaken() const { return taken; }
  int64_t stepsLeft() const { return taken < steps ? steps - taken : 0; }
  bool hasTimedOut() const { return timedOut; }

private:
  int64_t steps;
  bool limited;
  Clock::time_point deadline;
  int64_t taken = 0;
  int64_t nextLook = 0;
  bool timedOut = false;
};

inline int64_t alignUp(int64_t offset, int64_t alignment) {
  int64_t rest = offset % alignment;
  return rest == 0 ? offset : offset + (alignment - rest);
}

/// Fills from below: the lowest stretch of the surface gets what fits into its
/// times and is greatest by `rank` (by item), or is given up if nothing fits.
/// O(n log n) on what networks look like.
Packing packFromBelow(const PackingProblem &problem,
                      const std::vector<double> &rank);

/// Packs from below again, up to `rounds` times, with what was above `goal`
/// ranked higher each time. Keeps the best.
void packAgain(const PackingProblem &problem, std::vector<double> rank,
               int64_t goal, int rounds, SearchBudget &budget, Packing &best);

enum class SearchOutcome : uint8_t { found, impossible, gaveUp };

/// Looks for a packing no higher than `capacity`. It gives up after `steps`, or
/// when the budget is used up, or at once if that could not be enough.
SearchOutcome searchPacking(const PackingProblem &problem, int64_t capacity,
                            int64_t steps, SearchBudget &budget,
                            Packing &packing);

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_PACKING_H
