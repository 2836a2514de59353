//===- DynamicUnits.cpp ---------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/DynamicUnits.h"

namespace espalier {

static bool isCombining(const DynamicUnit &unit) {
  return unit.reduction && unit.reduction->kind == ESPALIER_STEP_COMBINE_ROWS &&
         !unit.isFinding;
}

void addTouched(const Batch &batch, const DynamicUnit &unit,
                const int32_t *firsts, TouchedChunks &touched) {
  int64_t begin = unit.beginRow(), end = unit.endRow();
  if (!unit.reduction)
    for (const Program::Step &step : unit.phase->steps)
      touched.addStep(batch, *unit.phase, step, begin, end);
  else if (unit.isFinding)
    touched.addFinding(batch, *unit.phase, *unit.reduction, begin, end);
  else if (isCombining(unit))
    touched.addCombining(batch, *unit.phase, *unit.reduction, unit.blocks.begin,
                         firsts, begin, end);
  else
    touched.addStep(batch, *unit.phase, *unit.reduction, begin, end);
}

namespace {
class Cutter {
public:
  Cutter(const Batch &batch, TouchedChunks &touched, int64_t chunks)
      : batch(batch), touched(touched), limit(chunks) {}

  void addRows(const Program::Phase &phase, int64_t begin, int64_t end);

  DynamicUnits result;

private:
  void add(const DynamicUnit &unit);
  int64_t chunksOf(const DynamicUnit &unit);
  bool halve(const DynamicUnit &unit, DynamicUnit &head,
             DynamicUnit &tail) const;
  RowBlocks cut(const Program::Phase &phase, int64_t begin, int64_t end) const {
    return cutRows(phase, batch.graphs[phase.graph], batch.options, begin, end);
  }

  const Batch &batch;
  TouchedChunks &touched;
  int64_t limit;
};
} // namespace

/// Until ids are known, each row may be added to one that lies anywhere.
int64_t Cutter::chunksOf(const DynamicUnit &unit) {
  touched.clear();
  addTouched(batch, unit, /*firsts=*/nullptr, touched);
  int64_t unknown = 0;
  if (isCombining(unit))
    unknown = (unit.endRow() - unit.beginRow()) *
              touched.chunksOfRow(unit.reduction->operands[3]);
  return touched.size() + unknown;
}

static bool hasProducts(const Program::Phase &phase) {
  return std::any_of(
      phase.steps.begin(), phase.steps.end(),
      [](const Program::Step &step) { return step.weight != nullptr; });
}

bool Cutter::halve(const DynamicUnit &unit, DynamicUnit &head,
                   DynamicUnit &tail) const {
  head = tail = unit;
  if (unit.last - unit.first > 1) {
    head.last = tail.first = unit.first + (unit.last - unit.first) / 2;
    return true;
  }
  int64_t begin = unit.beginRow(), end = unit.endRow();
  if (unit.reduction || end - begin < 2 || hasProducts(*unit.phase))
    return false;
  int64_t middle = begin + (end - begin) / 2;
  head.blocks = cut(*unit.phase, begin, middle);
  tail.blocks = cut(*unit.phase, middle, end);
  head.first = tail.first = 0;
  head.last = head.blocks.count;
  tail.last = tail.blocks.count;
  return true;
}

void Cutter::add(const DynamicUnit &all) {
  std::vector<DynamicUnit> waiting{all};
  while (!waiting.empty()) {
    DynamicUnit unit = waiting.back(), head, tail;
    waiting.pop_back();
    int64_t chunks = chunksOf(unit);
    if (chunks > limit && halve(unit, head, tail)) {
      waiting.push_back(tail);
      waiting.push_back(head);
      continue;
    }
    if (chunks > result.largestChunks) {
      result.largestChunks = chunks;
      result.largest = unit;
    }
    result.units.push_back(unit);
  }
}

void Cutter::addRows(const Program::Phase &phase, int64_t begin, int64_t end) {
  if (!phase.isReduction) {
    if (begin == end)
      return;
    RowBlocks blocks = cut(phase, begin, end);
    return add({&phase, nullptr, false, blocks, 0, blocks.count});
  }
  for (const Program::Step &step : phase.steps) {
    RowBlocks blocks = cutReduction(step, begin, end);
    if (step.kind == ESPALIER_STEP_COMBINE_ROWS) {
      RowBlocks rows = blocks; // none of which can wait
      rows.count = 1;
      rows.blockRows = end - begin;
      add({&phase, &step, true, rows, 0, 1});
    }
    add({&phase, &step, false, blocks, 0, blocks.count});
  }
}

DynamicUnits cutBatch(const Batch &batch, TouchedChunks &touched,
                      int64_t chunks) {
  Cutter cutter(batch, touched, chunks);
  forEachRows(batch.program, batch.graphs, 0,
              (uint32_t)batch.program.phases.size(),
              [&](const Program::Phase &phase, int64_t begin, int64_t end) {
                cutter.addRows(phase, begin, end);
              });
  return std::move(cutter.result);
}

} // namespace espalier
