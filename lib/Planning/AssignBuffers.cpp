//===- AssignBuffers.cpp - Where buffers lie in one arena -----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Leaves out what takes no room, numbers the times, splits the buffers where no
// buffer is needed, and gives each part to the packers, cheapest first, until
// one reaches the bound or the capacity.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/AssignBuffers.h"

#include "Packing.h"

#include <algorithm>
#include <numeric>

using namespace espalier::planning;

std::string
espalier::planning::checkIntervals(const std::vector<BufferInterval> &buffers) {
  constexpr int64_t most = int64_t(1) << 62;
  int64_t sum = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const BufferInterval &buffer = buffers[i];
    std::string name = "buffer " + std::to_string(i);
    if (buffer.size < 0)
      return name + " has " + std::to_string(buffer.size) + " bytes";
    if (buffer.upper < buffer.lower)
      return name + " ends at time " + std::to_string(buffer.upper) +
             ", before its start at " + std::to_string(buffer.lower);
    if (buffer.alignment < 1 || buffer.alignment > most)
      return name + " has the alignment " + std::to_string(buffer.alignment);
    if (buffer.size > most - sum || buffer.alignment > most - sum - buffer.size)
      return "the buffers have more than 2^62 bytes in all, with what their "
             "alignment may take";
    sum += buffer.size + (buffer.alignment - 1);
  }
  return "";
}

namespace {
class Assigner {
public:
  Assigner(const std::vector<BufferInterval> &buffers,
           const AssignBuffersOptions &options)
      : buffers(buffers), options(options),
        budget(options.searchSteps, options.secondsLimit) {}

  BufferAssignment assign() {
    result.offsets.assign(buffers.size(), 0);
    collect();
    if (used.empty())
      return std::move(result);
    findBound();
    goal = std::max(result.lowerBound, options.capacity);
    for (size_t first = 0; first < used.size();)
      first = assignPart(first);
    result.searchSteps = budget.stepsTaken();
    result.timedOut = budget.hasTimedOut();
    return std::move(result);
  }

private:
  int64_t roundedSize(size_t buffer) const {
    return alignUp(buffers[buffer].size, grain);
  }

  /// The buffers that take room, by when they start.
  void collect() {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].size > 0 && buffers[i].lower < buffers[i].upper) {
        used.push_back(i);
        grain = std::gcd(grain, buffers[i].alignment);
      }
    std::stable_sort(used.begin(), used.end(), [&](size_t a, size_t b) {
      return buffers[a].lower < buffers[b].lower;
    });
  }

  void findBound() {
    std::vector<size_t> ends = used;
    std::stable_sort(ends.begin(), ends.end(), [&](size_t a, size_t b) {
      return buffers[a].upper < buffers[b].upper;
    });
    int64_t load = 0;
    auto end = ends.begin();
    for (size_t i : used) {
      for (; buffers[*end].upper <= buffers[i].lower; ++end)
        load -= roundedSize(*end);
      load += roundedSize(i);
      if (load > result.lowerBound) {
        result.lowerBound = load;
        result.busiestTime = buffers[i].lower;
      }
    }
  }

  /// Of used[first .. last), whose ends are `ends`: the ends at which something
  /// has started since the end before. Just before those the most buffers are
  /// needed; all other times need only some of the same, and no more care.
  std::vector<int64_t> fullTimes(size_t first, size_t last,
                                 const std::vector<int64_t> &ends) const {
    std::vector<int64_t> times;
    for (int64_t end : ends) {
      size_t started = first;
      while (first < last && buffers[used[first]].lower < end)
        ++first;
      if (first != started)
        times.push_back(end);
    }
    return times;
  }

  /// The part that starts with used[first]: up to a time at which no buffer is
  /// needed. Where the next part starts.
  size_t assignPart(size_t first) {
    size_t last = first;
    int64_t end = buffers[used[first]].upper;
    std::vector<int64_t> ends;
    for (; last < used.size() && buffers[used[last]].lower < end; ++last) {
      end = std::max(end, buffers[used[last]].upper);
      ends.push_back(buffers[used[last]].upper);
    }
    std::sort(ends.begin(), ends.end());
    std::vector<int64_t> times = fullTimes(first, last, ends);
    // The number of the first of `times` that is after `time`.
    auto numberAfter = [&](int64_t time) {
      return int32_t(std::upper_bound(times.begin(), times.end(), time) -
                     times.begin());
    };

    PackingProblem problem;
    problem.times = int32_t(times.size());
    for (size_t at = first; at < last; ++at) {
      const BufferInterval &buffer = buffers[used[at]];
      problem.items.push_back({numberAfter(buffer.lower),
                               numberAfter(buffer.upper), roundedSize(used[at]),
                               buffer.alignment});
    }
    Packing packing = pack(problem);
    for (size_t at = first; at < last; ++at)
      result.offsets[used[at]] = packing.offsets[at - first];
    result.peak = std::max(result.peak, packing.peak);
    return last;
  }

  Packing pack(const PackingProblem &problem);
  void search(const PackingProblem &problem, Packing &best);

  const std::vector<BufferInterval> &buffers;
  const AssignBuffersOptions &options;
  SearchBudget budget;
  std::vector<size_t> used;
  /// All offsets are multiples of it.
  int64_t grain = 0;
  int64_t goal = 0;
  BufferAssignment result;
};

Packing Assigner::pack(const PackingProblem &problem) {
  auto rankBy = [&](auto rank) {
    std::vector<double> ranks;
    for (const PackedItem &item : problem.items)
      ranks.push_back(rank(double(item.end - item.begin), double(item.size)));
    return ranks;
  };
  std::vector<double> byTimes =
      rankBy([](double times, double) { return times; });
  std::vector<double> byArea =
      rankBy([](double times, double size) { return times * size; });
  std::vector<double> bySize = rankBy([](double, double size) { return size; });

  Packing best = packFromBelow(problem, byTimes);
  for (const std::vector<double> *rank : {&byArea, &bySize}) {
    if (best.peak <= goal)
      break;
    Packing packing = packFromBelow(problem, *rank);
    if (packing.peak < best.peak)
      best = std::move(packing);
  }
  constexpr int rounds = 16;
  for (std::vector<double> *rank : {&byTimes, &byArea})
    packAgain(problem, std::move(*rank), goal, rounds, budget, best);
  if (best.peak > goal)
    search(problem, best);
  return best;
}

/// Looks for the goal, with half of the steps if there is a second choice:
/// then, without a capacity, for what is best between the two.
void Assigner::search(const PackingProblem &problem, Packing &best) {
  int64_t unit = 0;
  for (const PackedItem &item : problem.items) {
    unit = std::gcd(unit, item.size);
    if (item.alignment != 1)
      unit = std::gcd(unit, item.alignment);
  }
  // Pushed down, all packings have heights that are multiples of `unit`.
  int64_t least = goal / unit;
  auto look = [&](int64_t height, int64_t steps) {
    Packing packing;
    SearchOutcome outcome =
        searchPacking(problem, height * unit, steps, budget, packing);
    if (outcome == SearchOutcome::found)
      best = std::move(packing);
    return outcome;
  };
  if (options.capacity >= result.lowerBound) {
    look(least, budget.stepsLeft());
    return;
  }
  if (look(least, budget.stepsLeft() / 2) == SearchOutcome::found)
    return;
  for (int64_t low = least + 1; low * unit < best.peak && budget.left();) {
    int64_t middle = low + (best.peak / unit - low) / 2;
    if (middle * unit >= best.peak)
      break;
    if (look(middle, budget.stepsLeft() / 4) != SearchOutcome::found)
      low = middle + 1;
  }
}
} // namespace

BufferAssignment
espalier::planning::assignBuffers(const std::vector<BufferInterval> &buffers,
                                  const AssignBuffersOptions &options) {
  return Assigner(buffers, options).assign();
}
