//===- ScheduleTest.cpp ---------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/Schedule.h"

#include "RandomForest.h"
#include "graph/Forest.h"
#include "support/Error.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace espalier;

/// Levels by their definition, over and over until nothing changes.
static std::vector<int> naiveLevels(const Forest &forest) {
  std::vector<int> levels(forest.vertices(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int64_t v = 0; v < forest.vertices(); ++v)
      for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
           ++e)
        if (forest.children[e] >= 0 &&
            levels[v] < levels[forest.children[e]] + 1) {
          levels[v] = levels[forest.children[e]] + 1;
          changed = true;
        }
  }
  return levels;
}

static void expectTables(const Schedule &schedule, const Forest &forest,
                         uint32_t arity, int64_t firstTableRow) {
  int64_t vertices = forest.vertices();
  ASSERT_EQ(schedule.vertices(), vertices);
  ASSERT_EQ(schedule.structures(), forest.structures());
  std::vector<int> seen(vertices, 0);
  for (int64_t r = 0; r < vertices; ++r) {
    int32_t v = schedule.vertexOfRow()[r];
    ASSERT_TRUE(v >= 0 && v < vertices);
    ++seen[v];
    ASSERT_EQ(schedule.rowOfVertex()[v], r);
    if (r < firstTableRow)
      continue;
    int64_t begin = forest.childOffsets[v];
    int64_t found = forest.childOffsets[v + 1] - begin;
    for (uint32_t slot = 0; slot < arity; ++slot) {
      int32_t child =
          (int64_t)slot < found ? forest.children[begin + slot] : -1;
      ASSERT_EQ(*schedule.childRows(slot, r),
                child < 0 ? -1 : schedule.rowOfVertex()[child]);
    }
  }
  ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), vertices);
  for (int64_t k = 0; k < forest.structures(); ++k) {
    int64_t last = forest.structureOffsets[k + 1] - 1;
    bool empty = last < forest.structureOffsets[k];
    ASSERT_EQ(schedule.rootVertex()[k], empty ? -1 : last);
    ASSERT_EQ(schedule.rootRow()[k], empty ? -1 : schedule.rowOfVertex()[last]);
  }
}

static void expectBatched(const Schedule &schedule, const Forest &forest) {
  std::vector<int> levels = naiveLevels(forest);
  int highest = -1;
  for (int level : levels)
    highest = std::max(highest, level);
  ASSERT_EQ(schedule.tasks(), highest + 1);
  if (schedule.tasks() > 0) {
    ASSERT_EQ(schedule.taskBegin(0), 0);
    ASSERT_EQ(schedule.taskEnd(schedule.tasks() - 1), schedule.vertices());
  }
  for (int64_t t = 0; t < schedule.tasks(); ++t) {
    ASSERT_LT(schedule.taskBegin(t), schedule.taskEnd(t));
    for (int64_t r = schedule.taskBegin(t); r < schedule.taskEnd(t); ++r) {
      ASSERT_EQ(levels[schedule.vertexOfRow()[r]], t);
      if (r > schedule.taskBegin(t)) {
        ASSERT_LT(schedule.vertexOfRow()[r - 1], schedule.vertexOfRow()[r]);
      }
    }
  }
  ASSERT_EQ(schedule.leaves(), std::count(levels.begin(), levels.end(), 0));
  if (schedule.firstInnerTask() < schedule.tasks()) {
    ASSERT_EQ(schedule.taskBegin(schedule.firstInnerTask()), schedule.leaves());
  }
}

static void expectSerial(const Schedule &schedule, const Forest &forest) {
  ASSERT_EQ(schedule.tasks(), forest.vertices());
  for (int64_t t = 0; t < schedule.tasks(); ++t) {
    ASSERT_EQ(schedule.taskBegin(t), t);
    ASSERT_EQ(schedule.taskEnd(t), t + 1);
  }
  ASSERT_EQ(schedule.firstInnerTask(), schedule.leaves());
  for (int64_t r = 0; r < schedule.vertices(); ++r) {
    int32_t v = schedule.vertexOfRow()[r];
    bool leaf = true;
    for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
         ++e)
      if (forest.children[e] >= 0) {
        leaf = false;
        ASSERT_LT(schedule.rowOfVertex()[forest.children[e]], r);
      }
    ASSERT_EQ(leaf, r < schedule.leaves());
  }
}

/// The tables that are built on demand.
static void expectParentsAndStructures(Schedule &schedule,
                                       const Forest &forest) {
  schedule.buildParents();
  schedule.buildStructures(forest);
  schedule.buildRootStructures();
  ASSERT_EQ(schedule.parentsBegin(0), 0);
  for (int64_t r = 0; r < schedule.vertices(); ++r) {
    int32_t v = schedule.vertexOfRow()[r];
    std::vector<std::pair<int32_t, int32_t>> expected, actual;
    for (int64_t parent = 0; parent < forest.vertices(); ++parent) {
      int64_t begin = forest.childOffsets[parent];
      for (int64_t e = begin; e < forest.childOffsets[parent + 1]; ++e)
        if (forest.children[e] == v)
          expected.push_back({schedule.rowOfVertex()[parent], e - begin});
    }
    std::sort(expected.begin(), expected.end());
    for (int64_t s = schedule.parentsBegin(r); s < schedule.parentsBegin(r + 1);
         ++s)
      actual.push_back(
          {schedule.parentSlots()[s].row, schedule.parentSlots()[s].slot});
    ASSERT_EQ(actual, expected) << "row " << r;

    int64_t k = forest.structureOf(v);
    bool isRoot = v == forest.structureOffsets[k + 1] - 1;
    ASSERT_EQ(schedule.structureOfRow()[r], k);
    ASSERT_EQ(schedule.rootStructureOfRow()[r], isRoot ? k : -1);
  }
}

TEST(Schedule, ParentsAndStructuresAgainstTheDefinition) {
  Schedule schedule; // reused: old contents must not show
  for (uint32_t seed = 0; seed < 100; ++seed) {
    RandomForest random(seed);
    Forest forest;
    for (int k = random.below(8); k > 0; --k)
      forest.append(random.structure(random.below(30), 3, seed % 2));
    for (bool leafChildren : {false, true}) {
      schedule.build(forest, 3,
                     seed % 3 ? ESPALIER_POLICY_BATCHED
                              : ESPALIER_POLICY_SERIAL,
                     leafChildren);
      expectParentsAndStructures(schedule, forest);
    }
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

TEST(Schedule, RandomForestsAgainstTheDefinition) {
  Schedule schedule; // reused: old contents must not show
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomForest random(seed);
    Forest forest;
    int structures = random.below(12);
    for (int k = 0; k < structures; ++k)
      forest.append(random.structure(random.below(40), 3, seed % 2));
    schedule.build(forest, 3, ESPALIER_POLICY_BATCHED, true);
    expectTables(schedule, forest, 3, 0);
    expectBatched(schedule, forest);
    schedule.build(forest, 4, ESPALIER_POLICY_BATCHED, false);
    expectTables(schedule, forest, 4, schedule.leaves());
    schedule.build(forest, 3, ESPALIER_POLICY_SERIAL, true);
    expectTables(schedule, forest, 3, 0);
    expectSerial(schedule, forest);
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

TEST(Schedule, EmptyForest) {
  Schedule schedule;
  schedule.build(Forest(), 2, ESPALIER_POLICY_BATCHED, true);
  EXPECT_EQ(schedule.vertices(), 0);
  EXPECT_EQ(schedule.structures(), 0);
  EXPECT_EQ(schedule.tasks(), 0);
  EXPECT_EQ(schedule.leaves(), 0);
  EXPECT_EQ(schedule.firstInnerTask(), 0);
  schedule.build(Forest(), 2, ESPALIER_POLICY_SERIAL, false);
  EXPECT_EQ(schedule.tasks(), 0);
}

TEST(Schedule, EmptyStructuresHaveNoRoot) {
  Forest forest;
  forest.append({});
  forest.append({{}});
  forest.append({});
  Schedule schedule;
  schedule.build(forest, 2, ESPALIER_POLICY_BATCHED, true);
  EXPECT_EQ(schedule.rootRow()[0], -1);
  EXPECT_EQ(schedule.rootVertex()[1], 0);
  EXPECT_EQ(schedule.rootRow()[2], -1);
}

TEST(Schedule, OnlyAbsentChildrenIsALeaf) {
  Forest forest;
  forest.append({{-1, -1}, {-1, 0}});
  Schedule schedule;
  schedule.build(forest, 2, ESPALIER_POLICY_BATCHED, false);
  EXPECT_EQ(schedule.leaves(), 1);
  EXPECT_EQ(*schedule.childRows(0, 1), -1);
  EXPECT_EQ(*schedule.childRows(1, 1), 0);
}

TEST(Schedule, LongChainsInBothDirections) {
  const int length = 1000000;
  for (bool reversed : {false, true}) {
    std::vector<std::vector<int32_t>> lists(length);
    for (int v = 1; v < length; ++v)
      reversed ? lists[v - 1].push_back(v) : lists[v].push_back(v - 1);
    Forest forest;
    forest.append(lists);
    Schedule schedule;
    schedule.build(forest, 1, ESPALIER_POLICY_BATCHED, false);
    EXPECT_EQ(schedule.tasks(), length);
    EXPECT_EQ(schedule.vertexOfRow()[0], reversed ? length - 1 : 0);
    EXPECT_TRUE(schedule.contiguousChildren(0, 1, length));
  }
}

TEST(Schedule, StarBesideAChain) {
  std::vector<std::vector<int32_t>> star(10001), chain(100);
  for (int32_t v = 0; v < 10000; ++v)
    star[10000].push_back(v);
  for (int32_t v = 1; v < 100; ++v)
    chain[v].push_back(v - 1);
  Forest forest;
  forest.append(star);
  forest.append(chain);
  Schedule schedule;
  schedule.build(forest, 10000, ESPALIER_POLICY_BATCHED, false);
  EXPECT_EQ(schedule.tasks(), 100);
  expectTables(schedule, forest, 10000, schedule.leaves());
}

TEST(Schedule, ContiguousChildren) {
  Forest forest;
  // Three chains of three: the children of a task are the task before.
  for (int k = 0; k < 3; ++k)
    forest.append({{}, {0}, {1}});
  Schedule schedule;
  schedule.build(forest, 2, ESPALIER_POLICY_BATCHED, true);
  EXPECT_TRUE(schedule.contiguousChildren(0, 3, 6));
  EXPECT_TRUE(schedule.contiguousChildren(0, 6, 9));
  EXPECT_TRUE(schedule.contiguousChildren(0, 4, 4));
  EXPECT_FALSE(schedule.contiguousChildren(0, 2, 4)) << "row 2 has no child";
  EXPECT_FALSE(schedule.contiguousChildren(1, 3, 6)) << "slot 1 is absent";
  // Ends that fit and a middle that does not: children 0, 0, 2.
  Forest shared;
  shared.append({{}, {}, {}, {0}, {0}, {2}});
  schedule.build(shared, 1, ESPALIER_POLICY_BATCHED, true);
  EXPECT_FALSE(schedule.contiguousChildren(0, 3, 6));
}

TEST(Schedule, TooManyChildren) {
  Forest forest;
  forest.append({{}});
  forest.append({{}, {}, {0, 1, -1}});
  Schedule schedule;
  try {
    schedule.build(forest, 2, ESPALIER_POLICY_BATCHED, true);
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ESPALIER_INVALID_ARGUMENT);
    EXPECT_EQ(error.message(),
              "structure 1: vertex 2 has 3 children, but the model reads at "
              "most 2; compile it for a larger arity or binarize the "
              "structures");
  }
}

// A function that gathers nothing runs over any structure.
TEST(Schedule, NoSlotsTakeAnyNumberOfChildren) {
  Forest forest;
  forest.append({{}, {}, {}, {0, 1, 2}});
  Schedule schedule;
  schedule.build(forest, 0, ESPALIER_POLICY_BATCHED, false);
  EXPECT_EQ(schedule.vertices(), 4);
  EXPECT_EQ(schedule.leaves(), 3);
  EXPECT_EQ(schedule.rootRow()[0], 3);
}
