//===- RecomputationOf.h - Runs again as an answer --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_RECOMPUTATIONOF_H
#define ESPALIER_LIB_PLANNING_RECOMPUTATIONOF_H

#include "RunSchedule.h"

#include <vector>

namespace espalier::planning {

Recomputation recomputationOf(const RunProblem &problem,
                              const std::vector<RunSchedule::Again> &again);

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_RECOMPUTATIONOF_H
