//===- PackAgain.cpp - Packing again, what was too high earlier -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ends above the goal was placed too late, when only the top was left. It
// is ranked higher, and all is packed again. A few rounds of that repair most
// packings of real networks ("squeaky wheel" optimisation; Joslin and Clements,
// 1999).
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

#include <utility>

using namespace espalier::planning;

void espalier::planning::packAgain(const PackingProblem &problem,
                                   std::vector<double> rank, int64_t goal,
                                   int rounds, SearchBudget &budget,
                                   Packing &best) {
  // About what an item takes, in the steps of the search.
  constexpr int64_t stepsPerItem = 64;
  auto steps = int64_t(problem.items.size()) * stepsPerItem;
  while (best.peak > goal && rounds-- > 0 && budget.take(steps)) {
    Packing packing = packFromBelow(problem, rank);
    for (size_t i = 0; i < rank.size(); ++i)
      if (packing.offsets[i] + problem.items[i].size > goal)
        rank[i] *= 10;
    if (packing.peak < best.peak)
      best = std::move(packing);
  }
}
