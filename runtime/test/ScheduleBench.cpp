//===- ScheduleBench.cpp - How long scheduling takes ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Usage: espalier_schedule_bench [FILE [FORMAT [TYPE-FIELD]]]
//
// Prints nanoseconds a vertex of Schedule::build for the structures of a file
// (in PTB format unless said otherwise), or else for random binary trees of 5
// to 50 leaves, in batches of several sizes: the median of many runs after
// warming up. With a field of types, also the tasks of all whole batches of
// that size, what they would be by level, and their lower bound, on average.
// For structures of a file also how many vertices are left if those that are
// equal in their fields and children are one, on average over all whole
// batches, and how long it takes to find them.
//
//===----------------------------------------------------------------------===//
#include "graph/Forest.h"
#include "io/Readers.h"
#include "schedule/EqualVertices.h"
#include "schedule/Schedule.h"
#include "support/Error.h"
#include "trace/Trace.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>

using namespace espalier;

/// A random binary tree in post-order: shift leaves, reduce pairs.
static std::vector<std::vector<int32_t>> randomTree(std::mt19937 &random) {
  int leaves = 5 + random() % 46;
  std::vector<std::vector<int32_t>> lists;
  std::vector<int32_t> stack;
  while (leaves > 0 || stack.size() > 1) {
    if (leaves > 0 && (stack.size() < 2 || random() % 2)) {
      lists.push_back({});
      --leaves;
    } else {
      int32_t right = stack.back();
      stack.pop_back();
      int32_t left = stack.back();
      stack.pop_back();
      lists.push_back({left, right});
    }
    stack.push_back((int32_t)lists.size() - 1);
  }
  return lists;
}

/// The types of a batch, as many as there are in all of them.
static VertexTypes typesOf(const Forest &batch, const std::string &field,
                           uint32_t count) {
  if (field.empty())
    return {};
  return {batch.fields.at(field).as<int32_t>(), count};
}

/// Tasks if vertices of one level and type were a task.
static int64_t tasksByLevel(const Forest &batch, const int32_t *types) {
  Schedule levels;
  levels.build(batch, 0, ESPALIER_POLICY_BATCHED, false);
  int64_t tasks = 0;
  for (int64_t t = 0; t < levels.tasks(); ++t) {
    std::set<int32_t> found;
    for (int64_t r = levels.taskBegin(t); r < levels.taskEnd(t); ++r)
      found.insert(types[levels.vertexOfRow()[r]]);
    tasks += (int64_t)found.size();
  }
  return tasks;
}

static void countTasks(const Forest &forest, int64_t structures,
                       const std::string &field, uint32_t count) {
  TypedTasks typed;
  int64_t batches = 0, tasks = 0, levels = 0, bound = 0;
  for (int64_t k = 0; k + structures <= forest.structures(); k += structures) {
    Forest batch = forest.slice(k, k + structures);
    VertexTypes types = typesOf(batch, field, count);
    typed.assign(batch, types);
    tasks += (int64_t)typed.typeOfTask().size();
    bound += typed.lowerBound();
    levels += tasksByLevel(batch, types.of);
    ++batches;
  }
  if (batches > 0)
    std::printf("%6lld structures %8.1f tasks, %8.1f by level, %8.1f at least, "
                "in each of %lld batches\n",
                (long long)structures, (double)tasks / batches,
                (double)levels / batches, (double)bound / batches,
                (long long)batches);
}

static void measure(const Forest &forest, int64_t structures, uint32_t arity,
                    const std::string &field, uint32_t count) {
  Forest batch = forest.slice(0, std::min(structures, forest.structures()));
  VertexTypes types = typesOf(batch, field, count);
  Schedule schedule;
  std::vector<double> times;
  int64_t repetitions =
      std::max<int64_t>(20, 20 * 1000 * 1000 / (batch.vertices() + 1) / 20);
  for (int64_t i = 0; i < repetitions; ++i) {
    int64_t start = now();
    schedule.build(batch, arity, ESPALIER_POLICY_BATCHED, false, types);
    times.push_back((double)(now() - start) / batch.vertices());
  }
  std::sort(times.begin(), times.end());
  std::printf("%6lld structures %8lld vertices %4lld tasks %6.1f ns/vertex\n",
              (long long)batch.structures(), (long long)batch.vertices(),
              (long long)schedule.tasks(), times[times.size() / 2]);
}

/// Vertices that are equal in `fields`.
static void measureEqual(const Forest &forest, int64_t structures,
                         const std::vector<std::string> &fields) {
  EqualVertices equal;
  std::vector<double> times;
  int64_t vertices = 0, left = 0;
  for (int64_t k = 0; k + structures <= forest.structures(); k += structures) {
    Forest batch = forest.slice(k, k + structures);
    std::vector<VertexInput> inputs;
    for (const std::string &field : fields)
      inputs.push_back(
          {batch.fields.at(field).data, sizeof(int32_t), true, true});
    int64_t start = now();
    equal.find(batch, inputs, {}, false);
    times.push_back((double)(now() - start) /
                    (double)std::max<int64_t>(batch.vertices(), 1));
    vertices += batch.vertices();
    for (int32_t count : equal.multiplicities())
      left += count > 0;
  }
  if (times.empty())
    return;
  std::sort(times.begin(), times.end());
  std::printf("%6lld structures %8lld vertices %8lld left (%4.1f %%), equal in",
              (long long)structures,
              (long long)(vertices / (int64_t)times.size()),
              (long long)(left / (int64_t)times.size()),
              100.0 * (double)left / (double)vertices);
  for (const std::string &field : fields)
    std::printf(" %s", field.c_str());
  std::printf(", %.1f ns/vertex\n", times[times.size() / 2]);
}

int main(int argc, char **argv) {
  Forest forest;
  std::string field = argc > 3 ? argv[3] : "";
  uint32_t arity = 2, types = 0;
  try {
    if (argc > 1) {
      Vocabulary vocabulary;
      forest = readStructures(argv[1], argc > 2 ? argv[2] : "ptb", vocabulary,
                              ESPALIER_UNSEEN_ADD);
      // Any number of children, through the table of edges.
      arity = argc > 2 ? 0 : 2;
    } else {
      std::mt19937 random(1);
      for (int k = 0; k < 1000; ++k)
        forest.append(randomTree(random));
    }
    if (!field.empty() && !forest.fields.count(field))
      fail(ESPALIER_NOT_FOUND, "the structures have no field '%s'",
           field.c_str());
    const int32_t *all = typesOf(forest, field, 0).of;
    for (int64_t v = 0; all && v < forest.vertices(); ++v)
      types = std::max(types, (uint32_t)std::max(all[v], 0) + 1);
    for (int64_t structures : {1, 16, 32, 64, 256, 1000})
      measure(forest, structures, arity, field, types);
    for (int64_t structures : {1, 16, 32, 64, 256})
      if (!field.empty())
        countTasks(forest, structures, field, types);
    // The words of a file alone, then with the labels of training.
    std::vector<std::string> fields;
    for (auto it = forest.fields.rbegin(); it != forest.fields.rend(); ++it) {
      fields.push_back(it->first);
      for (int64_t structures : {1, 16, 64, 256})
        measureEqual(forest, structures, fields);
    }
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
