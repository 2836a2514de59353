//===- MemoryPoolTest.cpp -------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/MemoryPool.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace espalier;

namespace {
constexpr int64_t kUnit = MemoryPool::kUnit;

/// The same pool as a map of one byte a unit.
struct UnitMap {
  std::vector<bool> used;

  explicit UnitMap(int64_t units) : used(units) {}
  /// Runs of empty units: begin and length.
  std::vector<std::pair<int64_t, int64_t>> holes() const {
    std::vector<std::pair<int64_t, int64_t>> result;
    for (int64_t u = 0; u < (int64_t)used.size(); ++u) {
      if (used[u])
        continue;
      if (u > 0 && !used[u - 1])
        ++result.back().second;
      else
        result.emplace_back(u, 1);
    }
    return result;
  }
  /// Where a pool puts `units`; -1 if there is no room.
  int64_t find(int64_t units, MemoryPool::Fit fit) const {
    int64_t begin = -1, length = INT64_MAX;
    for (auto [b, l] : holes())
      if (l >= units &&
          (fit == MemoryPool::Fit::First ? begin < 0 : l < length))
        begin = b, length = l;
    return begin;
  }
};
} // namespace

TEST(MemoryPool, UnitsSplitAndJoin) {
  MemoryPool pool(10 * kUnit + 500);
  EXPECT_EQ(pool.capacity(), 10 * kUnit);
  EXPECT_EQ(pool.largestFree(), 10 * kUnit);
  MemoryPool::Id a = pool.allocate(1), b = pool.allocate(kUnit + 1),
                 c = pool.allocate(0);
  EXPECT_EQ(pool.offsetOf(a), 0);
  EXPECT_EQ(pool.offsetOf(b), kUnit);
  EXPECT_EQ(pool.bytesOf(b), 2 * kUnit);
  EXPECT_EQ(pool.offsetOf(c), 3 * kUnit);
  EXPECT_EQ(pool.usedBytes(), 4 * kUnit);
  EXPECT_EQ(pool.freeBytes(), 6 * kUnit);
  EXPECT_TRUE(pool.release(a));
  EXPECT_FALSE(pool.release(a));
  EXPECT_FALSE(pool.release(-1));
  EXPECT_FALSE(pool.release(99));
  EXPECT_EQ(pool.largestFree(), 6 * kUnit);
  EXPECT_DOUBLE_EQ(pool.fragmentation(), 1.0 / 7);
  EXPECT_TRUE(pool.release(c)); // joins what is after it
  EXPECT_EQ(pool.largestFree(), 7 * kUnit);
  EXPECT_TRUE(pool.release(b)); // and both sides
  EXPECT_EQ(pool.largestFree(), 10 * kUnit);
  EXPECT_EQ(pool.fragmentation(), 0);
  EXPECT_EQ(pool.peakBytes(), 4 * kUnit);
  EXPECT_EQ(pool.peakEnd(), 4 * kUnit);
  EXPECT_EQ(pool.allocate(10 * kUnit + 1), MemoryPool::kNone);
  EXPECT_EQ(pool.allocate(-1), MemoryPool::kNone);
  EXPECT_EQ(pool.allocate(INT64_MAX), MemoryPool::kNone);
  EXPECT_NE(pool.allocate(10 * kUnit), MemoryPool::kNone);
  EXPECT_EQ(pool.allocate(0), MemoryPool::kNone);
}

TEST(MemoryPool, NothingAtAll) {
  MemoryPool pool(1023);
  EXPECT_EQ(pool.capacity(), 0);
  EXPECT_EQ(pool.allocate(0), MemoryPool::kNone);
  EXPECT_EQ(pool.largestFree(), 0);
  EXPECT_EQ(pool.fragmentation(), 0);
}

TEST(MemoryPool, BestFitKeepsLargeNodesWhole) {
  for (MemoryPool::Fit fit : {MemoryPool::Fit::First, MemoryPool::Fit::Best}) {
    MemoryPool pool(100 * kUnit, fit);
    MemoryPool::Id large = pool.allocate(50 * kUnit);
    pool.allocate(kUnit);
    MemoryPool::Id small = pool.allocate(10 * kUnit);
    pool.allocate(39 * kUnit);
    pool.release(large);
    pool.release(small);
    MemoryPool::Id found = pool.allocate(9 * kUnit);
    bool best = fit == MemoryPool::Fit::Best;
    EXPECT_EQ(pool.offsetOf(found), best ? 51 * kUnit : 0);
    EXPECT_EQ(pool.allocate(50 * kUnit) != MemoryPool::kNone, best);
  }
}

TEST(MemoryPool, AgreesWithAMapOfUnits) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    MemoryPool::Fit fit =
        round % 2 ? MemoryPool::Fit::Best : MemoryPool::Fit::First;
    int64_t units = 1 + random() % (round % 4 < 2 ? 60 : 2000);
    MemoryPool pool(units * kUnit, fit);
    UnitMap map(units);
    std::map<MemoryPool::Id, std::pair<int64_t, int64_t>> live;
    int64_t used = 0, peak = 0, end = 0;
    for (int step = 0; step < 300; ++step) {
      if (random() % 2 && !live.empty()) {
        auto at = std::next(live.begin(), random() % live.size());
        auto [begin, length] = at->second;
        EXPECT_TRUE(pool.release(at->first));
        EXPECT_FALSE(pool.release(at->first));
        std::fill_n(map.used.begin() + begin, length, false);
        used -= length;
        live.erase(at);
      } else {
        int64_t bytes = (int64_t)(random() % (units * kUnit / 4 + 2));
        int64_t length = std::max<int64_t>((bytes + kUnit - 1) / kUnit, 1);
        int64_t expected = map.find(length, fit);
        MemoryPool::Id id = pool.allocate(bytes);
        ASSERT_EQ(id != MemoryPool::kNone, expected >= 0);
        if (id == MemoryPool::kNone)
          continue;
        ASSERT_EQ(pool.offsetOf(id), expected * kUnit);
        ASSERT_EQ(pool.bytesOf(id), length * kUnit);
        ASSERT_TRUE(live.emplace(id, std::pair{expected, length}).second);
        std::fill_n(map.used.begin() + expected, length, true);
        used += length;
        peak = std::max(peak, used);
        end = std::max(end, expected + length);
      }
      int64_t largest = 0;
      for (auto [b, l] : map.holes())
        largest = std::max(largest, l);
      ASSERT_EQ(pool.largestFree(), largest * kUnit);
      ASSERT_EQ(pool.usedBytes(), used * kUnit);
      ASSERT_EQ(pool.freeBytes(), (units - used) * kUnit);
      ASSERT_EQ(pool.peakBytes(), peak * kUnit);
      ASSERT_EQ(pool.peakEnd(), end * kUnit);
    }
    for (const auto &[id, node] : live)
      EXPECT_TRUE(pool.release(id));
    EXPECT_EQ(pool.largestFree(), pool.capacity());
  }
}
