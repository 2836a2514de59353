//===- EqualVerticesTest.cpp ----------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/EqualVertices.h"

#include "RandomForest.h"
#include "graph/Forest.h"
#include "schedule/EdgeTable.h"

#include <gtest/gtest.h>
#include <map>
#include <tuple>

using namespace espalier;

using Lists = std::vector<std::vector<int32_t>>;
using Ids = std::vector<int32_t>;

namespace {
struct Batch {
  Forest forest;
  Ids words, types;

  void append(const Lists &lists, const Ids &more) {
    ASSERT_EQ(lists.size(), more.size());
    forest.append(lists);
    words.insert(words.end(), more.begin(), more.end());
  }
  VertexInput input(bool atLeaves = true, bool atInner = true) const {
    return {reinterpret_cast<const char *>(words.data()), sizeof(int32_t),
            atLeaves, atInner};
  }
  VertexTypes vertexTypes() const {
    return types.empty() ? VertexTypes{} : VertexTypes{types.data(), 3};
  }
};
} // namespace

static Ids classesOf(const Batch &batch, VertexInput input,
                     bool keepRoots = false, uint64_t hashMask = UINT64_MAX) {
  EqualVertices equal(hashMask);
  equal.find(batch.forest, {input}, batch.vertexTypes(), keepRoots);
  return equal.representatives();
}

/// The same by their definition: children first, in a map.
static Ids naiveClasses(const Batch &batch, VertexInput input, bool keepRoots) {
  const Forest &forest = batch.forest;
  int64_t count = forest.vertices();
  std::vector<bool> isRoot(count, false);
  for (int64_t k = 0; keepRoots && k < forest.structures(); ++k)
    if (forest.structureOffsets[k] < forest.structureOffsets[k + 1])
      isRoot[forest.structureOffsets[k + 1] - 1] = true;
  std::map<std::tuple<int32_t, int32_t, Ids>, int32_t> known;
  Ids classes(count, -1);
  for (bool changed = true; changed;) {
    changed = false;
    for (int64_t v = 0; v < count; ++v) {
      Ids children;
      bool ready = classes[v] < 0, isLeaf = true;
      for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
           ++e) {
        int32_t child = forest.children[e];
        ready = ready && (child < 0 || classes[child] >= 0);
        isLeaf = isLeaf && child < 0;
        children.push_back(child < 0 ? -1 : classes[child]);
      }
      if (!ready)
        continue;
      bool isRead = isLeaf ? input.atLeaves : input.atInner;
      changed = true;
      classes[v] =
          isRoot[v]
              ? (int32_t)v
              : known
                    .try_emplace({batch.types.empty() ? 0 : batch.types[v],
                                  isRead ? batch.words[v] : 0, children},
                                 (int32_t)v)
                    .first->second;
    }
  }
  return classes;
}

/// Whether two labellings are one partition.
static bool isSamePartition(const Ids &left, const Ids &right) {
  std::map<int32_t, int32_t> there, back;
  for (size_t v = 0; v < left.size(); ++v)
    if (there.try_emplace(left[v], right[v]).first->second != right[v] ||
        back.try_emplace(right[v], left[v]).first->second != left[v])
      return false;
  return left.size() == right.size();
}

TEST(EqualVertices, EqualTreesAreOne) {
  Batch batch;
  Lists tree = {{}, {}, {0, 1}};
  batch.append(tree, {4, 5, 0});
  batch.append(tree, {4, 5, 0});
  batch.append(tree, {5, 4, 0}); // the other way round
  batch.append(tree, {4, 5, 1}); // another word at the root
  EXPECT_EQ(classesOf(batch, batch.input()),
            (Ids{0, 1, 2, 0, 1, 2, 1, 0, 8, 0, 1, 11}));
}

TEST(EqualVertices, InputsCountWhereTheyAreRead) {
  Batch batch;
  Lists tree = {{}, {}, {0, 1}};
  batch.append(tree, {4, 4, 0});
  batch.append(tree, {5, 4, 0});
  batch.append(tree, {4, 4, 1});
  EXPECT_EQ(classesOf(batch, batch.input(true, false)),
            (Ids{0, 0, 2, 3, 0, 5, 0, 0, 2}));
  EXPECT_EQ(classesOf(batch, batch.input(false, true)),
            (Ids{0, 0, 2, 0, 0, 2, 0, 0, 8}));
  EXPECT_EQ(classesOf(batch, batch.input(false, false)),
            (Ids{0, 0, 2, 0, 0, 2, 0, 0, 2}));
}

TEST(EqualVertices, WithinAStructureAndAcross) {
  Batch batch;
  // (a b) (a b), then c (a b).
  batch.append({{}, {}, {0, 1}, {}, {}, {3, 4}, {2, 5}}, Ids(7, 0));
  batch.append({{}, {}, {}, {1, 2}, {0, 3}}, Ids{9, 0, 0, 0, 0});
  EXPECT_EQ(classesOf(batch, batch.input()),
            (Ids{0, 0, 2, 0, 0, 2, 6, 7, 0, 0, 2, 11}));
}

TEST(EqualVertices, SlotsAndAbsentChildren) {
  Batch batch;
  batch.append({{}, {0}, {0, -1}, {-1, 0}, {-1}, {-1, -1}, {0, 0}, {-1, 0}},
               Ids(8, 0));
  EXPECT_EQ(classesOf(batch, batch.input()), (Ids{0, 1, 2, 3, 4, 5, 6, 3}));
}

TEST(EqualVertices, SharedChildren) {
  Batch batch;
  // A DAG whose vertex 2 has two parents, and a tree that computes the same.
  batch.append({{}, {}, {0, 1}, {2, 2}}, Ids{1, 2, 0, 0});
  batch.append({{}, {}, {0, 1}, {}, {}, {3, 4}, {2, 5}},
               Ids{1, 2, 0, 1, 2, 0, 0});
  EXPECT_EQ(classesOf(batch, batch.input()),
            (Ids{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3}));
}

TEST(EqualVertices, RootsCanBeKeptApart) {
  Batch batch;
  batch.append({{}}, {3});
  batch.append({{}}, {3});
  batch.append({{}, {0}}, {3, 0});
  batch.append({{}, {0}}, {3, 0});
  EXPECT_EQ(classesOf(batch, batch.input()), (Ids{0, 0, 0, 3, 0, 3}));
  EXPECT_EQ(classesOf(batch, batch.input(), true), (Ids{0, 1, 2, 3, 2, 5}));
}

TEST(EqualVertices, TypesTellApart) {
  Batch batch;
  batch.append({{}, {}, {}, {0, 1}, {0, 2}}, Ids(5, 0));
  batch.types = {0, 1, 0, 2, 2};
  EXPECT_EQ(classesOf(batch, batch.input()), (Ids{0, 1, 0, 3, 4}));
}

TEST(EqualVertices, NoVerticesAndEmptyStructures) {
  EqualVertices equal;
  Batch batch;
  equal.find(batch.forest, {batch.input()}, {}, true);
  EXPECT_TRUE(equal.representatives().empty());
  batch.append({}, {});
  batch.append({{}}, {1});
  batch.append({}, {});
  batch.append({{}}, {1});
  equal.find(batch.forest, {batch.input()}, {}, false);
  EXPECT_EQ(equal.representatives(), (Ids{0, 0}));
  equal.find(batch.forest, {batch.input()}, {}, true);
  EXPECT_EQ(equal.representatives(), (Ids{0, 1}));
}

TEST(EqualVertices, LongRows) {
  // Rows of 11 bytes that differ in the last one only.
  const char rows[] = "abcdefghijK"
                      "abcdefghijL"
                      "abcdefghijK";
  Forest forest;
  forest.append({{}, {}, {}});
  EqualVertices equal;
  equal.find(forest, {{rows, 11, true, true}}, {}, false);
  EXPECT_EQ(equal.representatives(), (Ids{0, 1, 0}));
  EXPECT_EQ(equal.multiplicities(), (Ids{2, 1, 0}));
}

static Batch randomBatch(uint32_t seed, bool shuffled, bool typed) {
  RandomForest random(seed);
  Batch batch;
  for (int k = random.below(9); k >= 0; --k) {
    int vertices = random.below(40);
    Ids words;
    for (int v = 0; v < vertices; ++v)
      words.push_back(random.below(3));
    batch.append(random.structure(vertices, 2, shuffled), words);
  }
  for (size_t v = 0; typed && v < batch.words.size(); ++v)
    batch.types.push_back(random.below(3));
  return batch;
}

TEST(EqualVertices, RandomBatchesAgainstTheDefinition) {
  int64_t merged = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    bool shuffled = seed % 2, keepRoots = seed % 3 == 0;
    Batch batch = randomBatch(seed, shuffled, seed % 5 == 0);
    VertexInput input = batch.input(seed % 7 != 1, seed % 7 != 2);
    Ids expected = naiveClasses(batch, input, keepRoots);
    // With all hashes equal, and with 16 of them.
    for (uint64_t mask : {UINT64_MAX, uint64_t(0), uint64_t(15)}) {
      Ids found = classesOf(batch, input, keepRoots, mask);
      ASSERT_TRUE(isSamePartition(found, expected)) << seed << " " << mask;
      for (size_t v = 0; v < found.size(); ++v) {
        ASSERT_EQ(found[found[v]], found[v]);
        ASSERT_TRUE(shuffled || found[v] <= (int32_t)v);
        merged += found[v] != (int32_t)v;
      }
    }
  }
  EXPECT_GT(merged, 10000);
}

TEST(EqualVertices, MemoryIsUsedAgain) {
  EqualVertices equal;
  for (uint32_t seed = 0; seed < 50; ++seed) {
    Batch batch = randomBatch(seed, seed % 2, false);
    equal.find(batch.forest, {batch.input()}, {}, false);
    ASSERT_EQ(equal.representatives(), classesOf(batch, batch.input()));
    int64_t sum = 0;
    for (int32_t count : equal.multiplicities())
      sum += count;
    ASSERT_EQ(sum, batch.forest.vertices());
  }
}

static Batch chainBatch(int32_t length, int copies, bool parentsFirst) {
  Lists chain(length);
  Ids words(length);
  for (int32_t v = 0; v < length; ++v) {
    int32_t other = parentsFirst ? v + 1 : v - 1;
    if (other >= 0 && other < length)
      chain[v] = {other};
    words[v] = v % 7;
  }
  Batch batch;
  for (int k = 0; k < copies; ++k)
    batch.append(chain, words);
  return batch;
}

TEST(EqualVertices, ChainsOfAMillion) {
  constexpr int32_t kLength = 1000 * 1000;
  for (bool parentsFirst : {false, true}) {
    Batch batch = chainBatch(kLength, 2, parentsFirst);
    Ids found = classesOf(batch, batch.input());
    for (int32_t v = 0; v < kLength; ++v)
      ASSERT_EQ(found[v], found[v + kLength]);
    EXPECT_NE(found[0], found[7]);
  }
}

//===----------------------------------------------------------------------===//
// Schedules of them
//===----------------------------------------------------------------------===//

/// Rows of representatives, tasks before those of parents, and children found.
static void expectSchedule(const Batch &batch, espalier_policy policy) {
  EqualVertices equal;
  equal.find(batch.forest, {batch.input()}, batch.vertexTypes(), false);
  const Ids &first = equal.representatives();
  Schedule schedule;
  schedule.build(batch.forest, 2, policy, true, batch.vertexTypes(),
                 first.data());
  int64_t distinct = 0;
  for (int64_t v = 0; v < batch.forest.vertices(); ++v)
    distinct += first[v] == v;
  ASSERT_EQ(schedule.vertices(), distinct);

  std::vector<int64_t> taskOf(distinct, -1);
  for (int64_t t = 0; t < schedule.tasks(); ++t)
    for (int64_t r = schedule.taskBegin(t); r < schedule.taskEnd(t); ++r) {
      ASSERT_EQ(taskOf[r], -1);
      taskOf[r] = t;
    }
  for (int64_t v = 0; v < batch.forest.vertices(); ++v) {
    int32_t row = schedule.rowOfVertex()[v];
    ASSERT_TRUE(row >= 0 && row < distinct);
    ASSERT_EQ(schedule.vertexOfRow()[row], first[v]);
    int64_t begin = batch.forest.childOffsets[v];
    int64_t found = batch.forest.childOffsets[v + 1] - begin;
    bool isLeaf = true;
    for (int64_t slot = 0; slot < 2; ++slot) {
      int32_t child = slot < found ? batch.forest.children[begin + slot] : -1;
      int32_t childRow = child < 0 ? -1 : schedule.rowOfVertex()[child];
      ASSERT_EQ(*schedule.childRows((uint32_t)slot, row), childRow);
      if (child >= 0) {
        ASSERT_LT(taskOf[childRow], taskOf[row]);
        isLeaf = false;
      }
    }
    ASSERT_EQ(row < schedule.leaves(), isLeaf);
    if (!batch.types.empty()) {
      ASSERT_EQ(schedule.taskType(taskOf[row]), batch.types[v]);
    }
  }
  for (int64_t k = 0; k < batch.forest.structures(); ++k) {
    int64_t begin = batch.forest.structureOffsets[k];
    int64_t end = batch.forest.structureOffsets[k + 1];
    ASSERT_EQ(schedule.rootRow()[k],
              begin == end ? -1 : schedule.rowOfVertex()[end - 1]);
    ASSERT_EQ(schedule.rootVertex()[k], begin == end ? -1 : end - 1);
  }

  // Every row has the edges of its representative.
  EdgeTable edges;
  edges.build(batch.forest, schedule, true);
  schedule.buildParents();
  ASSERT_EQ(edges.edges(), schedule.parentsBegin(distinct));
  for (int64_t row = 0; row < distinct; ++row) {
    int64_t incoming = edges.incomingOffsets()[row + 1];
    ASSERT_EQ(incoming, schedule.parentsBegin(row + 1));
    for (int64_t i = edges.incomingOffsets()[row]; i < incoming; ++i)
      ASSERT_EQ(edges.parentRow()[edges.incoming()[i]],
                schedule.parentSlots()[i].row);
  }
}

TEST(EqualVertices, Schedules) {
  for (uint32_t seed = 0; seed < 200; ++seed)
    for (espalier_policy policy :
         {ESPALIER_POLICY_BATCHED, ESPALIER_POLICY_SERIAL})
      expectSchedule(randomBatch(seed, seed % 2, seed % 3 == 0), policy);
}
