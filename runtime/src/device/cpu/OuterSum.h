//===- OuterSum.h - x^T y over many rows ------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight: out[k x n] is the sum over rows of the outer
// products of a row of x and a row of y. It is a product of matrices whose
// inner extent, the rows, changes from call to call.
//
// The result is cut into parts, which threads may run at the same time; a part
// packs what it reads of x and y, some hundred rows at a time. Every element is
// summed over these pieces in the same order whatever the parts are, so its
// bits depend on nothing but the rows.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_OUTERSUM_H
#define ESPALIER_DEVICE_CPU_OUTERSUM_H

#include "device/cpu/OperandRows.h"

#include <cstdint>

namespace espalier {

class OuterSum {
public:
  /// Rows of k and of n elements of `dtype` (ESPALIER_F32 or _F64); `zeros`
  /// stands for those with a negative index. Row i of the result is at
  /// out + i * stride elements, and what lies between rows is left alone.
  /// There are enough parts for `threads` threads.
  OuterSum(uint32_t dtype, OperandRows x, int64_t k, OperandRows y, int64_t n,
           int64_t rows, char *out, int64_t stride, const char *zeros,
           int64_t threads, bool widestVectors = true);

  int64_t parts() const { return kParts * nParts; }
  /// Computes one part; `scratch` has scratchBytes() bytes of the calling
  /// thread, aligned to 64.
  void run(int64_t part, char *scratch) const {
    run(part, scratch, 0, pieces(rows), nullptr);
  }
  /// The same in turns: pieces [firstPiece, lastPiece) of the rows, after all
  /// pieces before, which left something in `sums`, of sumCount() numbers.
  /// Piece i begins at row rows * i / pieces(rows).
  void run(int64_t part, char *scratch, int64_t firstPiece, int64_t lastPiece,
           double *sums) const;
  /// In how many pieces rows are packed.
  static int64_t pieces(int64_t rows);
  int64_t sumCount() const { return nParts * k; }

  static int64_t scratchBytes(uint32_t dtype, int64_t k, int64_t n);

private:
  template <typename T>
  void runAs(int64_t part, char *scratch, int64_t firstPiece, int64_t lastPiece,
             double *sums) const;

  uint32_t dtype;
  OperandRows x, y;
  int64_t k, n, rows;
  char *out;
  int64_t stride;
  const char *zeros;
  bool widestVectors;
  int64_t kParts, nParts;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_OUTERSUM_H
