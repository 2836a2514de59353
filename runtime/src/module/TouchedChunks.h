//===- TouchedChunks.h - What memory a step reads and writes ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A range of addresses is cut into chunks of equal size. Which of them some
// rows of a step touch, the schedule's tables say before it runs: those of its
// rows, of their children or parents, wherever these lie.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_TOUCHEDCHUNKS_H
#define ESPALIER_MODULE_TOUCHEDCHUNKS_H

#include "device/cpu/LocateRows.h"
#include "device/cpu/RowBlocks.h"
#include "module/Program.h"
#include "schedule/BatchGraph.h"

#include <cstdint>
#include <vector>

namespace espalier {

/// A program, what it runs over, and where.
struct Batch {
  const Program &program;
  const std::vector<BatchGraph> &graphs;
  const std::vector<View> &views;
  const ExecutorOptions &options;
};

class TouchedChunks {
public:
  struct Chunk {
    int32_t number;
    bool isWritten;
  };

  /// Of `count` chunks of 2^k bytes from `begin` on.
  void reset(const char *begin, int64_t count, int64_t chunkBytes);
  void clear();
  /// Addresses outside of the range are left out.
  void add(const char *address, int64_t size, bool isWritten);
  const std::vector<Chunk> &chunks() const { return touched; }
  int64_t size() const { return (int64_t)touched.size(); }

  /// All that `step` touches over rows [begin, end) of its phase, but for
  /// COMBINE_ROWS.
  void addStep(const Batch &batch, const Program::Phase &phase,
               const Program::Step &step, int64_t begin, int64_t end);
  /// Of the two parts of a COMBINE_ROWS over rows from `begin` on: finding the
  /// first rows of rows up to `end`, and adding rows [from, to) up, where
  /// `firsts` is null if it is not known yet.
  void addFinding(const Batch &batch, const Program::Phase &phase,
                  const Program::Step &step, int64_t begin, int64_t end);
  void addCombining(const Batch &batch, const Program::Phase &phase,
                    const Program::Step &step, int64_t begin,
                    const int32_t *firsts, int64_t from, int64_t to);
  /// The most chunks that one row of `operand` can touch.
  int64_t chunksOfRow(const Program::Operand &operand) const {
    return (operand.rowBytes + (int64_t(1) << shift) - 2) /
               (int64_t(1) << shift) +
           1;
  }

private:
  void addRows(OperandRows rows, int64_t count, int64_t rowBytes,
               bool isWritten);
  void addOperand(const Batch &batch, const BatchGraph &graph,
                  const Program::Operand &operand, int64_t begin, int64_t end,
                  bool isWritten);
  bool addSumOperand(const Batch &batch, const BatchGraph &graph,
                     const Program::Step &step, int64_t begin, int64_t end);

  const char *first = nullptr;
  int64_t bytes = 0;
  int shift = 0;
  std::vector<Chunk> touched;
  /// By chunk, one more than its place in `touched`; 0: it is not there.
  std::vector<int32_t> places;
};

} // namespace espalier

#endif // ESPALIER_MODULE_TOUCHEDCHUNKS_H
