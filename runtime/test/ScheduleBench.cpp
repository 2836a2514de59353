//===- ScheduleBench.cpp - How long scheduling takes ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Usage: espalier_schedule_bench [TREES.txt]
//
// Prints nanoseconds a vertex of Schedule::build for the trees of a file in PTB
// format, or else for random binary trees of 5 to 50 leaves, in batches of
// several sizes: the median of many runs after warming up.
//
//===----------------------------------------------------------------------===//
#include "graph/Forest.h"
#include "io/Readers.h"
#include "schedule/Schedule.h"
#include "support/Error.h"
#include "trace/Trace.h"

#include <algorithm>
#include <cstdio>
#include <random>

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

static void measure(const Forest &forest, int64_t structures) {
  Forest batch = forest.slice(0, std::min(structures, forest.structures()));
  Schedule schedule;
  std::vector<double> times;
  int64_t repetitions =
      std::max<int64_t>(20, 20 * 1000 * 1000 / (batch.vertices() + 1) / 20);
  for (int64_t i = 0; i < repetitions; ++i) {
    int64_t start = now();
    schedule.build(batch, 2, ESPALIER_POLICY_BATCHED, false);
    times.push_back((double)(now() - start) / batch.vertices());
  }
  std::sort(times.begin(), times.end());
  std::printf("%6lld structures %8lld vertices %4lld tasks %6.1f ns/vertex\n",
              (long long)batch.structures(), (long long)batch.vertices(),
              (long long)schedule.tasks(), times[times.size() / 2]);
}

int main(int argc, char **argv) {
  Forest forest;
  try {
    if (argc > 1) {
      Vocabulary vocabulary;
      forest = readStructures(argv[1], "ptb", vocabulary, ESPALIER_UNSEEN_ADD);
    } else {
      std::mt19937 random(1);
      for (int k = 0; k < 1000; ++k)
        forest.append(randomTree(random));
    }
    for (int64_t structures : {1, 16, 64, 256, 1000})
      measure(forest, structures);
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
