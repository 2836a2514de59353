//===- DynamicUnits.h - A batch, cut to what fits a device ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit is what runs while the memory that it touches stays where it is: a
// task, all rows of a phase that has no tasks, a step that is a reduction.
// Where that touches too much, units have fewer of the blocks that an executor
// cuts the rows into, so that no row is computed in another way. A phase
// without products has no row that depends on where blocks end: its units can
// have a single row.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_DYNAMICUNITS_H
#define ESPALIER_MODULE_DYNAMICUNITS_H

#include "device/cpu/RowBlocks.h"
#include "module/TouchedChunks.h"

namespace espalier {

struct DynamicUnit {
  const Program::Phase *phase;
  /// Of a phase of reductions; null: all steps of the phase.
  const Program::Step *reduction;
  /// The part of a COMBINE_ROWS that finds rows of equal ids.
  bool isFinding;
  RowBlocks blocks;
  /// Of the blocks.
  int64_t first;
  int64_t last;

  int64_t beginRow() const { return blocks.firstRow(first); }
  int64_t endRow() const { return blocks.firstRow(last); }
};

struct DynamicUnits {
  std::vector<DynamicUnit> units;
  /// What the unit that touches the most chunks does, and how many these are.
  DynamicUnit largest{};
  int64_t largestChunks = 0;
};

/// Cuts a batch into units that touch no more than `chunks` chunks, where they
/// can be cut that far.
DynamicUnits cutBatch(const Batch &batch, TouchedChunks &touched,
                      int64_t chunks);

/// Adds what `unit` touches. One that combines rows also touches those that
/// `firsts` says, which is null before these are known.
void addTouched(const Batch &batch, const DynamicUnit &unit,
                const int32_t *firsts, TouchedChunks &touched);

} // namespace espalier

#endif // ESPALIER_MODULE_DYNAMICUNITS_H
