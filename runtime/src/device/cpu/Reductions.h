//===- Reductions.h - Sums over the rows of a phase -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction is cut into parts, each a range of columns of its result, which
// threads may run at the same time. No sum is cut, so its bits do not depend on
// the number of parts. Elements are f32 or f64. The product of two matrices of
// rows has a file of its own, OuterSum.h.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_REDUCTIONS_H
#define ESPALIER_DEVICE_CPU_REDUCTIONS_H

#include "device/cpu/OperandRows.h"

#include <cstdint>
#include <vector>

namespace espalier {

/// out[n] = the sum of n elements of each row, zeros if there are none. Blocks
/// of rows are summed in order, and these sums in pairs, so that the error
/// grows with the logarithm of the number of rows.
class SumRows {
public:
  static constexpr int64_t kBlockRows = 32;

  /// `zeros` stands for rows with a negative index. A sum over all rows of a
  /// list can be made in turns, of whole blocks but for the last, with
  /// `blocksBefore` of those before and what they left in `state`, as large as
  /// stateDoubles() doubles; after each turn `out` has the sum so far.
  SumRows(uint32_t dtype, OperandRows in, int64_t rows, int64_t n, char *out,
          const char *zeros, int64_t blocksBefore = 0, void *state = nullptr)
      : dtype(dtype), in(in), rows(rows), n(n), out(out), zeros(zeros),
        blocksBefore((uint32_t)blocksBefore), state(state) {}

  int64_t parts() const { return (n + kColumns - 1) / kColumns; }
  void run(int64_t part) const;

  static int64_t stateDoubles(uint32_t dtype, int64_t n);

private:
  static constexpr int64_t kColumns = 64;
  /// 2^31 rows have 2^26 blocks.
  static constexpr int kLevels = 28;
  template <typename T> void runAs(int64_t column, int64_t width) const;

  uint32_t dtype;
  OperandRows in;
  int64_t rows, n;
  char *out;
  const char *zeros;
  uint32_t blocksBefore;
  void *state;
};

/// The first row of every id: a hash table that is emptied by counting up its
/// epoch, and keeps its memory from one list of ids to the next.
class FirstRows {
public:
  /// Finds the first row with the same id for each of `rows` rows; -1 where the
  /// id is negative. The answer lives until the next call.
  const int32_t *find(OperandRows ids, int64_t rows, const char *zeros);

private:
  struct Slot {
    int32_t id;
    int32_t row;
    uint32_t epoch;
  };
  std::vector<Slot> slots; // 2^k of them
  std::vector<int32_t> firsts;
  uint32_t epoch = 0;
};

/// Adds rows of equal ids to the first of them, in order; all others become
/// zeros.
class CombineRows {
public:
  /// `first` has for each row the one that it is added to, itself if it is the
  /// first, -1 if it is left out. The result is cut into at most `maxParts`.
  CombineRows(uint32_t dtype, const int32_t *first, OperandRows in,
              OperandRows out, int64_t n, const char *zeros, int64_t maxParts);

  int64_t parts() const { return partCount; }
  /// Rows [begin, end), after all rows before.
  void run(int64_t part, int64_t begin, int64_t end) const;

private:
  template <typename T>
  void runAs(int64_t column, int64_t width, int64_t begin, int64_t end) const;

  uint32_t dtype;
  const int32_t *first;
  OperandRows in, out;
  int64_t n;
  const char *zeros;
  int64_t partCount;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_REDUCTIONS_H
