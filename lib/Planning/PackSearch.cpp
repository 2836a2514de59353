//===- PackSearch.cpp - Searching for a packing below a capacity ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every packing can be pushed down until each item lies on the ground or on
// another one. The search builds such packings from the ground up, and keeps
// for each time
//
//   top    where what has been placed ends,
//   floor  what no further item starts below, >= top, and
//   rest   the bytes of what is not placed yet,
//
// so that floor + rest > capacity at any time means back. What it knows grows
// by three rules, until none applies:
//
// - An item starts no lower (its base) than the highest floor in its times.
// - If it would lie on nothing there, it lies on an item that is still to come,
//   and starts no lower than the lowest of those can end.
// - A floor is no lower than the lowest base of the items to come at its time.
//
// Then it takes a time at which the items whose base is the floor lie flat,
// with no room below them for others. One of them is there, or none is and the
// floor goes up to the next height at which an item can be. The lowest floor
// always is such a time, but any will do, and the one with the fewest ways to
// go on is taken: where nothing may be wasted that is often one.
//
// Items that are left fall apart into parts without a time in common, which are
// packed one by one, the smallest first. States in which a part could not be
// packed are remembered by a hash. As the order of trials matters, and a bad
// start is hard to undo, the search starts again and again, with more steps and
// other orders each time.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <unordered_set>
#include <utility>

using namespace espalier::planning;

namespace {

constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
/// States that are remembered: 64 MiB or so.
constexpr size_t kMostStates = size_t(1) << 21;
/// Every item placed is a call deeper.
constexpr size_t kMostItems = 4096;

/// SplitMix64, the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    state += 0x9E3779B97F4A7C15u;
    return mix(state);
  }
  /// In [0, 1).
  double nextDouble() { return double(next() >> 11) * 0x1p-53; }

  static uint64_t mix(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
  }

private:
  uint64_t state;
};

/// Items, by when they begin, that have no time in common with the others that
/// are not placed yet.
struct Part {
  std::vector<int32_t> items;
  int32_t begin = 0;
  int32_t end = 0;
  /// Of all items together.
  int64_t times = 0;
};

class Search {
public:
  Search(const PackingProblem &problem, int64_t capacity, SearchBudget &budget)
      : items(problem.items), capacity(capacity), budget(budget),
        offsets(items.size()), base(items.size()), flat(items.size()),
        floors(problem.times), tops(problem.times), rest(problem.times),
        lowestBase(problem.times), lowestEnd(problem.times),
        options(problem.times) {
    Random random(0);
    for (const PackedItem &item : items) {
      hashes.push_back(random.next());
      sameAlignment &= item.alignment == items.front().alignment;
      for (int32_t time = item.begin; time < item.end; ++time)
        rest[time] += item.size;
    }
  }

  SearchOutcome run(int64_t steps, Packing &packing) {
    std::vector<Part> whole = split(everything(), -1);
    int64_t times = 0;
    for (const Part &part : whole)
      times += part.times;
    // What one way down takes if nothing falls apart.
    int64_t dive = int64_t(items.size()) * times / 2 + 1;
    steps = std::min(steps, budget.stepsLeft());
    if (items.size() > kMostItems || dive > steps)
      return SearchOutcome::gaveUp;

    int64_t end = budget.stepsTaken() + steps;
    for (int round = 0; budget.left() && budget.stepsTaken() < end; ++round) {
      double patience = std::exp2(double(round) / 16);
      lastStep =
          std::min(end, budget.stepsTaken() + int64_t(double(dive) * patience));
      rankItems(round);
      outOfSteps = false;
      if (solveAll(whole)) {
        packing.offsets = offsets;
        packing.peak = 0;
        for (size_t i = 0; i < items.size(); ++i)
          packing.peak = std::max(packing.peak, offsets[i] + items[i].size);
        return SearchOutcome::found;
      }
      if (!outOfSteps)
        return SearchOutcome::impossible;
    }
    return SearchOutcome::gaveUp;
  }

private:
  std::vector<int32_t> everything() const {
    std::vector<int32_t> all;
    for (size_t i = 0; i < items.size(); ++i)
      all.push_back(int32_t(i));
    std::stable_sort(all.begin(), all.end(), [&](int32_t a, int32_t b) {
      return items[a].begin < items[b].begin;
    });
    return all;
  }

  /// Which items are tried first: large ones, mostly, with more and more
  /// chance.
  void rankItems(int round) {
    Random random{uint64_t(round)};
    rank.clear();
    for (const PackedItem &item : items) {
      double times = item.end - item.begin;
      double size = double(item.size);
      double value = round % 4 == 1   ? size * times
                     : round % 4 == 3 ? times
                                      : size;
      rank.push_back(round < 2 ? value : value * (1 + random.nextDouble() / 2));
    }
  }

  /// Into parts, the smallest first; `without` is left out.
  std::vector<Part> split(const std::vector<int32_t> &list,
                          int32_t without) const {
    std::vector<Part> parts;
    for (int32_t i : list) {
      if (i == without)
        continue;
      const PackedItem &item = items[i];
      if (parts.empty() || item.begin >= parts.back().end) {
        parts.emplace_back();
        parts.back().begin = item.begin;
      }
      Part &part = parts.back();
      part.end = std::max(part.end, item.end);
      part.times += item.end - item.begin;
      part.items.push_back(i);
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part &a, const Part &b) {
                       return a.items.size() < b.items.size();
                     });
    return parts;
  }

  /// If it fails, what is known of the times is as it was before.
  bool solveAll(const std::vector<Part> &parts) {
    std::vector<size_t> blocks;
    for (const Part &part : parts) {
      blocks.push_back(saved.size());
      if (solve(part))
        continue;
      blocks.pop_back();
      for (size_t i = 0; i < blocks.size(); ++i) {
        restore(parts[i], blocks[i]);
        for (int32_t item : parts[i].items)
          addToRest(item, items[item].size);
      }
      if (!blocks.empty())
        saved.resize(blocks.front());
      return false;
    }
    return true;
  }

  bool solve(const Part &part) {
    if (!budget.take(part.times) || budget.stepsTaken() > lastStep) {
      outOfSteps = true;
      return false;
    }
    size_t block = saved.size();
    for (const std::vector<int64_t> *heights : {&floors, &tops})
      saved.insert(saved.end(), heights->begin() + part.begin,
                   heights->begin() + part.end);
    if (placeAll(part, block))
      return true;
    restore(part, block);
    saved.resize(block);
    return false;
  }

  void restore(const Part &part, size_t block) {
    auto width = part.end - part.begin;
    auto from = saved.begin() + std::ptrdiff_t(block);
    std::copy_n(from, width, floors.begin() + part.begin);
    std::copy_n(from + width, width, tops.begin() + part.begin);
  }

  void addToRest(int32_t item, int64_t size) {
    for (int32_t time = items[item].begin; time < items[item].end; ++time)
      rest[time] += size;
  }

  /// `block` is where solve() saved the floors and tops.
  bool placeAll(const Part &part, size_t block) {
    while (true) {
      if (!raiseFloors(part))
        return false;
      uint64_t state = hashOf(part);
      if (failed.count(state) != 0)
        return false;
      int32_t time = chooseTime(part);
      int64_t height = floors[time];
      int64_t heightWithout = lowestBase[time];
      std::vector<int32_t> candidates = candidatesAt(part, time);
      if (int32_t item = findFoundation(part); item >= 0) {
        height = base[item];
        heightWithout = kHighest;
        candidates = {item};
      }
      for (int32_t item : candidates) {
        place(item, height);
        if (solveAll(split(part.items, item)))
          return true;
        addToRest(item, items[item].size);
        for (int32_t t = items[item].begin; t < items[item].end; ++t) {
          floors[t] = height;
          tops[t] = saved[block + size_t(part.end - 2 * part.begin + t)];
        }
        if (outOfSteps)
          return false;
      }
      if (heightWithout > capacity - rest[time]) {
        if (failed.size() < kMostStates)
          failed.insert(state);
        return false;
      }
      floors[time] = heightWithout;
    }
  }

  void place(int32_t item, int64_t height) {
    offsets[item] = height;
    addToRest(item, -items[item].size);
    std::fill(floors.begin() + items[item].begin,
              floors.begin() + items[item].end, height + items[item].size);
    std::fill(tops.begin() + items[item].begin, tops.begin() + items[item].end,
              height + items[item].size);
  }

  static int64_t highest(const std::vector<int64_t> &heights,
                         const PackedItem &item) {
    int64_t height = 0;
    for (int32_t time = item.begin; time < item.end; ++time)
      height = std::max(height, heights[time]);
    return height;
  }
  static int64_t lowest(const std::vector<int64_t> &heights,
                        const PackedItem &item) {
    int64_t height = kHighest;
    for (int32_t time = item.begin; time < item.end; ++time)
      height = std::min(height, heights[time]);
    return height;
  }
  static void lower(std::vector<int64_t> &heights, const PackedItem &item,
                    int64_t height) {
    for (int32_t time = item.begin; time < item.end; ++time)
      heights[time] = std::min(heights[time], height);
  }
  static void reset(std::vector<int64_t> &heights, const Part &part) {
    std::fill(heights.begin() + part.begin, heights.begin() + part.end,
              kHighest);
  }

  /// Finds bases and floors. False if something is beyond the capacity.
  bool raiseFloors(const Part &part) {
    bool raised = true;
    while (raised) {
      reset(lowestEnd, part);
      for (int32_t i : part.items) {
        base[i] = alignUp(highest(floors, items[i]), items[i].alignment);
        lower(lowestEnd, items[i], base[i] + items[i].size);
      }
      reset(lowestBase, part);
      for (int32_t i : part.items) {
        const PackedItem &item = items[i];
        // Its own end is among the lowest, which does no harm.
        if (alignUp(highest(tops, item), item.alignment) != base[i])
          base[i] = std::max(base[i],
                             alignUp(lowest(lowestEnd, item), item.alignment));
        if (base[i] > capacity - item.size)
          return false;
        lower(lowestBase, item, base[i]);
      }
      raised = false;
      for (int32_t time = part.begin; time < part.end; ++time) {
        // Nothing is to come: rest is 0, and the floor of no use.
        if (lowestBase[time] == kHighest || lowestBase[time] <= floors[time])
          continue;
        floors[time] = lowestBase[time];
        if (floors[time] > capacity - rest[time])
          return false;
        raised = true;
      }
    }
    return true;
  }

  uint64_t hashOf(const Part &part) const {
    uint64_t hash = 0;
    for (int32_t i : part.items)
      hash += hashes[i];
    for (int32_t time = part.begin; time < part.end; ++time)
      if (rest[time] > 0) {
        hash = Random::mix(hash ^ uint64_t(floors[time]));
        hash += uint64_t(floors[time] - tops[time]);
      }
    return hash;
  }

  /// The time with the fewest ways to go on. Leaves in lowestBase where the
  /// floors go up to if nothing is placed on them.
  int32_t chooseTime(const Part &part) {
    constexpr int32_t notYet = std::numeric_limits<int32_t>::max() / 2;
    reset(lowestBase, part);
    std::fill(options.begin() + part.begin, options.begin() + part.end, 0);
    for (int32_t i : part.items) {
      const PackedItem &item = items[i];
      flat[i] = lowest(floors, item) == base[i];
      int64_t next = base[i];
      if (flat[i])
        next = std::max(next, alignUp(lowest(lowestEnd, item), item.alignment));
      lower(lowestBase, item, next);
      for (int32_t time = item.begin; time < item.end; ++time)
        if (floors[time] == base[i])
          options[time] = flat[i] ? options[time] + 1 : notYet;
    }

    int32_t best = -1;
    auto key = [&](int32_t time) {
      int64_t room = capacity - rest[time];
      return std::make_pair(options[time] + int(lowestBase[time] <= room),
                            room - floors[time]);
    };
    for (int32_t time = part.begin; time < part.end; ++time)
      if (rest[time] > 0 && options[time] < notYet / 2 &&
          (best < 0 || key(time) < key(best)))
        best = time;
    return best;
  }

  /// The items that can be on the floor at `time`, in the order of trials.
  std::vector<int32_t> candidatesAt(const Part &part, int32_t time) const {
    std::vector<int32_t> candidates;
    for (int32_t i : part.items) {
      const PackedItem &item = items[i];
      if (item.begin > time || item.end <= time || !flat[i] ||
          base[i] != floors[time])
        continue;
      candidates.push_back(i);
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](int32_t a, int32_t b) { return rank[a] > rank[b]; });
    // One of several that are alike will do.
    auto isLike = [&](int32_t a, int32_t b) {
      return items[a].begin == items[b].begin && items[a].end == items[b].end &&
             items[a].size == items[b].size &&
             items[a].alignment == items[b].alignment;
    };
    size_t kept = 0;
    for (int32_t candidate : candidates)
      if (std::none_of(candidates.begin(),
                       candidates.begin() + std::ptrdiff_t(kept),
                       [&](int32_t other) { return isLike(candidate, other); }))
        candidates[kept++] = candidate;
    candidates.resize(kept);
    return candidates;
  }

  /// An item that is there at all times of the part can as well lie below all
  /// others, if the ground is flat. -1: there is none.
  int32_t findFoundation(const Part &part) const {
    for (int32_t i : part.items)
      if (sameAlignment && flat[i] && items[i].begin == part.begin &&
          items[i].end == part.end)
        return i;
    return -1;
  }

  const std::vector<PackedItem> &items;
  int64_t capacity;
  SearchBudget &budget;
  int64_t lastStep = 0;
  bool outOfSteps = false;
  bool sameAlignment = true;

  // By item.
  std::vector<uint64_t> hashes;
  std::vector<double> rank;
  std::vector<int64_t> offsets;
  std::vector<int64_t> base;
  std::vector<char> flat;
  // By time.
  std::vector<int64_t> floors;
  std::vector<int64_t> tops;
  std::vector<int64_t> rest;
  std::vector<int64_t> lowestBase;
  std::vector<int64_t> lowestEnd;
  std::vector<int32_t> options;

  /// Floors and tops of the parts that are being packed, or are packed.
  std::vector<int64_t> saved;
  std::unordered_set<uint64_t> failed;
};
} // namespace

SearchOutcome espalier::planning::searchPacking(const PackingProblem &problem,
                                                int64_t capacity, int64_t steps,
                                                SearchBudget &budget,
                                                Packing &packing) {
  return Search(problem, capacity, budget).run(steps, packing);
}
