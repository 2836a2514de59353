//===- RandomForest.h - Structures for tests --------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_RANDOMFOREST_H
#define ESPALIER_TEST_RANDOMFOREST_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

/// The same seed gives the same structures.
class RandomForest {
public:
  explicit RandomForest(uint32_t seed) : random(seed) {}

  /// In [0, n); 0 for n = 0.
  int below(int n) { return n ? (int)(random() % (unsigned)n) : 0; }

  /// A DAG of `vertices` vertices with at most `arity` children each, some of
  /// them absent, some shared. Children come before their parents unless
  /// `shuffled`.
  std::vector<std::vector<int32_t>> structure(int vertices, int arity,
                                              bool shuffled) {
    std::vector<int32_t> number(vertices);
    std::iota(number.begin(), number.end(), 0);
    if (shuffled)
      std::shuffle(number.begin(), number.end(), random);
    std::vector<std::vector<int32_t>> lists(vertices);
    for (int v = 0; v < vertices; ++v)
      for (int slot = below(arity + 1); slot > 0; --slot)
        lists[number[v]].push_back(v == 0 || below(6) == 0 ? -1
                                                           : number[near(v)]);
    return lists;
  }

private:
  /// An earlier vertex, mostly a close one, so that structures get deep.
  int near(int v) {
    return below(3) ? v - 1 - below(std::min(v, 4)) : below(v);
  }

  std::mt19937 random;
};

#endif // ESPALIER_TEST_RANDOMFOREST_H
