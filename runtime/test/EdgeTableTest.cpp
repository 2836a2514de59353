//===- EdgeTableTest.cpp --------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/EdgeTable.h"

#include "RandomForest.h"
#include "graph/Forest.h"
#include "schedule/Schedule.h"

#include <gtest/gtest.h>

using namespace espalier;

/// Parents and children of every edge, by going through rows and slots.
static void expectEdges(const EdgeTable &table, const Schedule &schedule,
                        const Forest &forest) {
  std::vector<int32_t> parents, children;
  std::vector<std::vector<int32_t>> incoming(forest.vertices());
  for (int64_t row = 0; row < forest.vertices(); ++row) {
    ASSERT_EQ(table.offsets()[row], (int64_t)parents.size());
    int32_t v = schedule.vertexOfRow()[row];
    for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
         ++e) {
      if (forest.children[e] == -1)
        continue;
      int32_t child = schedule.rowOfVertex()[forest.children[e]];
      incoming[child].push_back((int32_t)parents.size());
      parents.push_back((int32_t)row);
      children.push_back(child);
    }
  }
  ASSERT_EQ(table.offsets()[forest.vertices()], (int64_t)parents.size());
  ASSERT_EQ(table.edges(), (int64_t)parents.size());
  for (size_t e = 0; e < parents.size(); ++e) {
    ASSERT_EQ(table.parentRow()[e], parents[e]);
    ASSERT_EQ(table.childRow()[e], children[e]);
  }
  for (int64_t row = 0; row < forest.vertices(); ++row) {
    const int64_t *offsets = table.incomingOffsets();
    ASSERT_EQ(std::vector<int32_t>(table.incoming() + offsets[row],
                                   table.incoming() + offsets[row + 1]),
              incoming[row]);
  }
}

TEST(EdgeTable, RandomForestsAgainstTheDefinition) {
  Schedule schedule;
  EdgeTable table; // reused: old contents must not show
  for (uint32_t seed = 0; seed < 200; ++seed) {
    RandomForest random(seed);
    Forest forest;
    int structures = random.below(12);
    for (int k = 0; k < structures; ++k)
      forest.append(random.structure(random.below(40), 4, seed % 2));
    schedule.build(forest, 0,
                   seed % 3 ? ESPALIER_POLICY_BATCHED : ESPALIER_POLICY_SERIAL,
                   false);
    table.build(forest, schedule, true);
    expectEdges(table, schedule, forest);
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

TEST(EdgeTable, EmptyForest) {
  Schedule schedule;
  schedule.build(Forest(), 0, ESPALIER_POLICY_BATCHED, false);
  EdgeTable table;
  table.build(Forest(), schedule, true);
  EXPECT_EQ(table.edges(), 0);
  EXPECT_EQ(table.offsets()[0], 0);
  EXPECT_EQ(table.incomingOffsets()[0], 0);
}

// The same child twice is two edges.
TEST(EdgeTable, SharedAndRepeatedChildren) {
  Forest forest;
  forest.append({{}, {0, -1, 0}, {0, 1}});
  Schedule schedule;
  schedule.build(forest, 0, ESPALIER_POLICY_BATCHED, false);
  EdgeTable table;
  table.build(forest, schedule, true);
  EXPECT_EQ(table.edges(), 4);
  EXPECT_EQ(table.incomingOffsets()[1], 3);
  expectEdges(table, schedule, forest);
}

// Stars whose leaves have no slots of their own: memory and time grow with
// edges, not with vertices times the greatest number of children.
TEST(EdgeTable, ManyStars) {
  std::vector<std::vector<int32_t>> star(10001);
  for (int32_t v = 0; v < 10000; ++v)
    star[10000].push_back(v);
  Forest forest;
  for (int k = 0; k < 50; ++k)
    forest.append(star);
  Schedule schedule;
  schedule.build(forest, 0, ESPALIER_POLICY_BATCHED, true);
  EdgeTable table;
  table.build(forest, schedule, true);
  EXPECT_EQ(table.edges(), 50 * 10000);
  expectEdges(table, schedule, forest);
}
