//===- PhaseRows.h - Kinds of rows that a phase runs over -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_PHASEROWS_H
#define ESPALIER_MODULE_PHASEROWS_H

#include "espalier/abi.h"

namespace espalier {

/// Task after task, children before parents.
inline bool isForwardTasks(uint32_t rows) {
  return rows == ESPALIER_ROWS_TASKS || rows == ESPALIER_ROWS_INNER_TASKS;
}

/// Task after task, parents before children.
inline bool isReversedTasks(uint32_t rows) {
  return rows == ESPALIER_ROWS_TASKS_REVERSED ||
         rows == ESPALIER_ROWS_INNER_TASKS_REVERSED;
}

inline bool isTasks(uint32_t rows) {
  return isForwardTasks(rows) || isReversedTasks(rows);
}

/// All vertices with children, and no others.
inline bool isInnerRows(uint32_t rows) {
  return rows == ESPALIER_ROWS_INNER || rows == ESPALIER_ROWS_INNER_TASKS ||
         rows == ESPALIER_ROWS_INNER_TASKS_REVERSED;
}

inline bool isVertexRows(uint32_t rows) {
  return rows == ESPALIER_ROWS_VERTICES || rows == ESPALIER_ROWS_LEAVES ||
         isInnerRows(rows) || isForwardTasks(rows) || isReversedTasks(rows);
}

/// Whether a step makes a row from those of the edges to children.
inline bool isReductionOfChildren(uint32_t stepKind) {
  return stepKind == ESPALIER_STEP_SUM_CHILDREN ||
         stepKind == ESPALIER_STEP_MAX_CHILDREN ||
         stepKind == ESPALIER_STEP_MEAN_CHILDREN;
}

/// Whether a step makes a row from those of a structure's vertices.
inline bool isReductionOfVertices(uint32_t stepKind) {
  return stepKind == ESPALIER_STEP_SUM_VERTICES ||
         stepKind == ESPALIER_STEP_MAX_VERTICES;
}

/// Whether a step makes one value from all rows of its phase.
inline bool isReduction(uint32_t stepKind) {
  return stepKind == ESPALIER_STEP_SUM_ROWS ||
         stepKind == ESPALIER_STEP_OUTER_SUM ||
         stepKind == ESPALIER_STEP_COMBINE_ROWS;
}

} // namespace espalier

#endif // ESPALIER_MODULE_PHASEROWS_H
