//===- RandomPlan.h - Graphs and plans that nobody planned ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plays an iteration of a random graph on a device of endless memory, drops and
// offloads tensors at random, and writes down what it did: a plan that is
// right, has all that plans may have, and is no good.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_UNIT_PLANNING_RANDOMPLAN_H
#define ESPALIER_TEST_UNIT_PLANNING_RANDOMPLAN_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Plan.h"

namespace espalier::planning {

struct RandomPlan {
  Graph graph;
  Plan plan;
};

RandomPlan makeRandomPlan(unsigned seed);

} // namespace espalier::planning

#endif // ESPALIER_TEST_UNIT_PLANNING_RANDOMPLAN_H
