//===- TypedTasksTest.cpp -------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/TypedTasks.h"

#include "RandomForest.h"
#include "schedule/Schedule.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace espalier;

using Lists = std::vector<std::vector<int32_t>>;

namespace {
/// Structures with a type for each vertex.
struct Batch {
  Forest forest;
  std::vector<int32_t> types;
  uint32_t count;

  VertexTypes vertexTypes() const { return {types.data(), count}; }
  template <typename Visit> void forEachChild(int64_t v, Visit visit) const {
    for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
         ++e)
      if (forest.children[e] >= 0)
        visit(forest.children[e]);
  }
  bool isLeaf(int64_t v) const {
    bool leaf = true;
    forEachChild(v, [&](int32_t) { leaf = false; });
    return leaf;
  }
};
} // namespace

static Batch randomBatch(uint32_t seed, uint32_t types) {
  RandomForest random(seed);
  Batch batch;
  batch.count = types;
  int structures = random.below(12);
  for (int k = 0; k < structures; ++k)
    batch.forest.append(random.structure(random.below(40), 3, seed % 2));
  for (int64_t v = 0; v < batch.forest.vertices(); ++v)
    batch.types.push_back(random.below((int)types));
  return batch;
}

/// Sentences as in a lattice of characters (type 0) and words (type 1): a
/// character follows the one before it and the words that end at it; a word
/// follows the character before its first one.
static Batch lattices(uint32_t seed, int sentences) {
  RandomForest random(seed);
  Batch batch;
  batch.count = 2;
  for (int k = 0; k < sentences; ++k) {
    Lists lists{{}};
    std::vector<int32_t> characters{0};
    batch.types.push_back(0);
    int length = 5 + random.below(60);
    for (int i = 1; i < length; ++i) {
      std::vector<int32_t> children{characters.back()};
      for (int words = std::max(0, random.below(4) - 1); words > 0; --words) {
        int from = std::max(0, i - 2 - random.below(3));
        children.push_back((int32_t)lists.size());
        lists.push_back({characters[from]});
        batch.types.push_back(1);
      }
      characters.push_back((int32_t)lists.size());
      lists.push_back(children);
      batch.types.push_back(0);
    }
    batch.forest.append(lists);
  }
  return batch;
}

/// Vertices, children before parents.
static std::vector<int64_t> byTask(const std::vector<int32_t> &tasks) {
  std::vector<int64_t> order(tasks.size());
  for (size_t v = 0; v < order.size(); ++v)
    order[v] = (int64_t)v;
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return tasks[a] < tasks[b]; });
  return order;
}

/// The sum over types of the most inner vertices of it on any way, and the
/// types that leaves have.
static int64_t boundOf(const Batch &batch, const std::vector<int64_t> &order) {
  std::set<int32_t> leafTypes;
  int64_t bound = 0;
  for (int32_t type = 0; type < (int32_t)batch.count; ++type) {
    std::vector<int64_t> deep(order.size(), 0);
    int64_t deepest = 0;
    for (int64_t v : order) {
      batch.forEachChild(
          v, [&](int32_t child) { deep[v] = std::max(deep[v], deep[child]); });
      if (batch.isLeaf(v))
        leafTypes.insert(batch.types[v]);
      else
        deep[v] += batch.types[v] == type;
      deepest = std::max(deepest, deep[v]);
    }
    bound += deepest;
  }
  return bound + (int64_t)leafTypes.size();
}

/// Tasks if vertices of equal level and type were one.
static int64_t tasksByLevel(const Batch &batch,
                            const std::vector<int64_t> &order) {
  std::vector<int64_t> level(order.size(), 0);
  std::set<std::pair<int64_t, int32_t>> tasks;
  for (int64_t v : order) {
    batch.forEachChild(v, [&](int32_t child) {
      level[v] = std::max(level[v], level[child] + 1);
    });
    tasks.insert({level[v], batch.types[v]});
  }
  return (int64_t)tasks.size();
}

static void expectTasks(const TypedTasks &typed, const Batch &batch) {
  const std::vector<int32_t> &tasks = typed.taskOfVertex();
  int64_t count = (int64_t)typed.typeOfTask().size();
  ASSERT_EQ((int64_t)tasks.size(), batch.forest.vertices());
  std::vector<int> sizes(count, 0);
  for (int64_t v = 0; v < batch.forest.vertices(); ++v) {
    ASSERT_TRUE(tasks[v] >= 0 && tasks[v] < count);
    ++sizes[tasks[v]];
    ASSERT_EQ(typed.typeOfTask()[tasks[v]], batch.types[v]);
    ASSERT_EQ(tasks[v] < typed.leafTasks(), batch.isLeaf(v));
    batch.forEachChild(
        v, [&](int32_t child) { ASSERT_LT(tasks[child], tasks[v]); });
  }
  ASSERT_EQ(std::count(sizes.begin(), sizes.end(), 0), 0);
  ASSERT_EQ(typed.lowerBound(), boundOf(batch, byTask(tasks)));
  ASSERT_GE(count, typed.lowerBound());
}

TEST(TypedTasks, RandomForestsAgainstTheDefinition) {
  TypedTasks typed; // reused: old contents must not show
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Batch batch = randomBatch(seed, 1 + seed % 5);
    typed.assign(batch.forest, batch.vertexTypes());
    expectTasks(typed, batch);
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

// The layout that Schedule.h promises.
TEST(TypedTasks, Rows) {
  Schedule schedule;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Batch batch = randomBatch(seed, 2 + seed % 3);
    bool serial = seed % 4 == 3;
    schedule.build(batch.forest, 3,
                   serial ? ESPALIER_POLICY_SERIAL : ESPALIER_POLICY_BATCHED,
                   true, batch.vertexTypes());
    int64_t vertices = batch.forest.vertices();
    std::vector<int64_t> taskOf(vertices, -1);
    int64_t row = 0;
    for (uint32_t type = 0; type < batch.count; ++type) {
      RowRange leaves = schedule.leavesOf(type);
      ASSERT_TRUE(leaves.begin == leaves.end || leaves.begin == row);
      for (int64_t r = leaves.begin; r < leaves.end; ++r, ++row) {
        ASSERT_EQ(batch.types[schedule.vertexOfRow()[r]], (int32_t)type);
        ASSERT_TRUE(batch.isLeaf(schedule.vertexOfRow()[r]));
      }
    }
    ASSERT_EQ(row, schedule.leaves());
    for (uint32_t type = 0; type < batch.count; ++type) {
      ASSERT_EQ(schedule.innerOf(type).begin, row);
      for (; row < schedule.innerOf(type).end; ++row) {
        ASSERT_EQ(batch.types[schedule.vertexOfRow()[row]], (int32_t)type);
        ASSERT_FALSE(batch.isLeaf(schedule.vertexOfRow()[row]));
      }
    }
    ASSERT_EQ(row, vertices);
    for (int64_t t = 0; t < schedule.tasks(); ++t) {
      ASSERT_LT(schedule.taskBegin(t), schedule.taskEnd(t));
      ASSERT_EQ(t < schedule.firstInnerTask(),
                schedule.taskBegin(t) < schedule.leaves());
      if (serial) {
        ASSERT_EQ(schedule.taskEnd(t), schedule.taskBegin(t) + 1);
      }
      for (int64_t r = schedule.taskBegin(t); r < schedule.taskEnd(t); ++r) {
        ASSERT_EQ(taskOf[r], -1);
        taskOf[r] = t;
        ASSERT_EQ(batch.types[schedule.vertexOfRow()[r]], schedule.taskType(t));
      }
    }
    for (int64_t r = 0; r < vertices; ++r) {
      int32_t v = schedule.vertexOfRow()[r];
      ASSERT_EQ(schedule.rowOfVertex()[v], r);
      batch.forEachChild(v, [&](int32_t child) {
        ASSERT_LT(taskOf[schedule.rowOfVertex()[child]], taskOf[r]);
      });
    }
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

// Lattices are what levels are bad at.
TEST(TypedTasks, LatticesComeNearTheLowerBound) {
  TypedTasks typed;
  int64_t tasks = 0, bound = 0, levels = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Batch batch = lattices(seed, 32);
    typed.assign(batch.forest, batch.vertexTypes());
    expectTasks(typed, batch);
    tasks += (int64_t)typed.typeOfTask().size();
    bound += typed.lowerBound();
    levels += tasksByLevel(batch, byTask(typed.taskOfVertex()));
  }
  EXPECT_LE((double)tasks, 1.1 * (double)bound);
  EXPECT_LE((double)tasks, 0.8 * (double)levels);
}

// One after another, where nothing can be gained.
TEST(TypedTasks, AChainThatTakesTurns) {
  const int length = 1000000;
  Lists lists(length);
  Batch batch;
  batch.count = 2;
  for (int32_t v = 0; v < length; ++v) {
    if (v + 1 < length)
      lists[v].push_back(v + 1);
    batch.types.push_back(v % 2);
  }
  batch.forest.append(lists);
  TypedTasks typed;
  typed.assign(batch.forest, batch.vertexTypes());
  EXPECT_EQ((int64_t)typed.typeOfTask().size(), length);
  EXPECT_EQ(typed.lowerBound(), length);
  for (int32_t v = 0; v < length; ++v)
    ASSERT_EQ(typed.taskOfVertex()[v], length - 1 - v);
}

// Chains that begin with either type: levels would always have both.
TEST(TypedTasks, ChainsOutOfStep) {
  Batch batch;
  batch.count = 2;
  Lists chain{{}, {0}, {1}, {2}, {3}, {4}, {5}};
  for (int32_t k = 0; k < 2; ++k) {
    batch.forest.append(chain);
    for (int32_t v = 0; v < 7; ++v)
      batch.types.push_back((v + k) % 2);
  }
  TypedTasks typed;
  typed.assign(batch.forest, batch.vertexTypes());
  expectTasks(typed, batch);
  EXPECT_EQ(tasksByLevel(batch, byTask(typed.taskOfVertex())), 14);
  // Two of leaves; then both chains take turns in step.
  EXPECT_EQ(typed.lowerBound(), 2 + 3 + 3);
  EXPECT_EQ((int64_t)typed.typeOfTask().size(), 2 + 7);
}

TEST(TypedTasks, Nothing) {
  TypedTasks typed;
  typed.assign(Forest(), {nullptr, 3});
  EXPECT_EQ(typed.typeOfTask().size(), 0u);
  EXPECT_EQ(typed.lowerBound(), 0);
  Schedule schedule;
  schedule.build(Forest(), 0, ESPALIER_POLICY_BATCHED, false, {nullptr, 3});
  EXPECT_EQ(schedule.tasks(), 0);
  EXPECT_EQ(schedule.innerOf(2).end, 0);
}
