//===- OrderOperators.h - In which order operators run ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order decides how long tensors wait for their readers. The paper's route
// (SuperNeurons, Alg. 1) follows one branch to its end before it takes up the
// next. Gradients of weights are large and have one reader, the update, so that
// an order in which updates come directly after their gradients needs far less;
// among operators that can run, one that frees more than it makes goes first.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_ORDEROPERATORS_H
#define ESPALIER_PLANNING_ORDEROPERATORS_H

#include "espalier/Planning/Graph.h"

#include <vector>

namespace espalier::planning {

/// Depth first with join counters: an operator runs as soon as the last of its
/// inputs is made, before the other readers of that one. Updates run after all
/// who read the old value.
std::vector<OperatorId> routeOf(const Graph &graph);

/// The given order, with updates moved to where they can run first.
std::vector<OperatorId> updatesFirst(const Graph &graph);

/// List scheduling: of the operators that can run, the one that lowers the live
/// bytes the most, or raises them the least; ties by the given order.
std::vector<OperatorId> freeingFirst(const Graph &graph);

/// Whichever of these and the given one has the lowest peak.
std::vector<OperatorId> bestOrder(const Graph &graph);

/// Whether every operator runs once, after what it reads is made, and no
/// parameter is read after its update.
bool isOrder(const Graph &graph, const std::vector<OperatorId> &order);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_ORDEROPERATORS_H
