//===- RowBlocks.h - Rows of a phase, cut into blocks -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the cuts are can change the last bit of a product, and the order of a
// reduction's sums: whoever runs some of the blocks only, and others later,
// cuts all rows first.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_ROWBLOCKS_H
#define ESPALIER_DEVICE_CPU_ROWBLOCKS_H

#include "module/PhaseRows.h"
#include "module/Program.h"
#include "schedule/BatchGraph.h"

#include <algorithm>
#include <vector>

namespace espalier {

struct ExecutorOptions {
  bool serial = false;
  bool profile = false;
  /// Rows that lie one after another are read where they are.
  bool elision = true;
  /// The rows of a phase or task are shared between threads.
  bool subBatches = true;
  /// How many threads rows are cut up for, with or without a pool: where the
  /// cuts are can change the last bit of a product.
  unsigned threads = 1;
};

/// Rows cost at least this much (see Program::Phase::costPerRow) before they
/// are shared between threads: some 10 us of one core at the rate of large
/// products and more for all else, several times what it takes to hand out
/// blocks and to wait for the last.
constexpr int64_t kMinParallelCost = 1000 * 1000;

/// Rows are never cut finer than this: a matmul of fewer rows spends its time
/// reading the weight.
constexpr int64_t kMinBlockRows = 16;

/// Rows [begin, end) of a phase, cut into `count` blocks of about equal weight
/// (a short last one would cost almost as much as a full one). A row weighs 1,
/// or, in a phase with steps over edges, kRowWeight and 1 for each of its
/// edges; there a block may be empty, where a row weighs more than a block.
struct RowBlocks {
  /// What a row weighs in edges where blocks are cut by both: a block has at
  /// most kBlockRows rows, or four times as many edges.
  static constexpr int64_t kRowWeight = 4;

  int64_t begin = 0;
  int64_t end = 0;
  const int64_t *edgeOffsets = nullptr; // null: rows count alone
  int64_t count = 0;
  /// Of a reduction, rows of each block but the last; 0: as above.
  int64_t blockRows = 0;
  /// Of a reduction: blocks are as equal as they can be.
  bool isEven = false;
  /// Threads share the blocks.
  bool isShared = false;

  int64_t weightBefore(int64_t row) const {
    return edgeOffsets ? (row - begin) * kRowWeight + edgeOffsets[row] -
                             edgeOffsets[begin]
                       : row - begin;
  }
  /// The first row of a block; `end` for the one after the last.
  int64_t firstRow(int64_t block) const;
  /// Whether a block has more work than one of `threads` should do alone: then
  /// its edges are shared between them.
  bool isWide(int64_t first, int64_t last, unsigned threads) const {
    return edgeOffsets && edgeOffsets[last] - edgeOffsets[first] > kBlockRows &&
           (weightBefore(last) - weightBefore(first)) * threads >
               weightBefore(end);
  }
};

/// The blocks in which an executor runs rows [begin, end) of a phase that is no
/// reduction.
RowBlocks cutRows(const Program::Phase &phase, const BatchGraph &graph,
                  const ExecutorOptions &options, int64_t begin, int64_t end);

/// Those after which `step`, a reduction over rows [begin, end), can be
/// interrupted.
RowBlocks cutReduction(const Program::Step &step, int64_t begin, int64_t end);

/// Calls visit(phase, begin, end) for the rows of phases [first, last), whole
/// loops, in the order in which they run: one task after another, and what is
/// no loop at a time. Of a reduction there may be none.
template <typename Visit>
void forEachRows(const Program &program, const std::vector<BatchGraph> &graphs,
                 uint32_t first, uint32_t last, const Visit &visit) {
  for (uint32_t p = first; p < last;) {
    const Program::Phase &phase = program.phases[p];
    const Schedule &schedule = graphs[phase.graph].schedule;
    if (isTasks(phase.rows)) {
      bool reversed = isReversedTasks(phase.rows);
      int64_t begin = isInnerRows(phase.rows) ? schedule.firstInnerTask() : 0;
      int64_t count = schedule.tasks() - begin;
      for (int64_t i = 0; i < count; ++i) {
        int64_t t = reversed ? schedule.tasks() - 1 - i : begin + i;
        uint32_t type = (uint32_t)schedule.taskType(t) + 1;
        uint32_t run = p;
        while (phase.type != 0 && program.phases[run].type != type)
          ++run;
        visit(program.phases[run], schedule.taskBegin(t), schedule.taskEnd(t));
      }
    } else {
      PhaseRanges rows = phaseRanges(schedule, phase.rows, phase.type);
      visit(phase, rows.first.begin, rows.first.end);
      // A reduction has one range, which may be empty.
      if (rows.second.begin != rows.second.end)
        visit(phase, rows.second.begin, rows.second.end);
    }
    p = phase.lastOfLoop + 1;
  }
}

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_ROWBLOCKS_H
