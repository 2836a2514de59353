//===- OperandRows.h - Where the rows of an operand are ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_OPERANDROWS_H
#define ESPALIER_DEVICE_CPU_OPERANDROWS_H

#include <cstdint>

namespace espalier {

/// The rows of a step's operand, counted from the first row that the step runs
/// over.
struct OperandRows {
  char *base;
  int64_t stride; // bytes
  /// If not null, row r is row index[r] from `base`; it reads as zeros, and is
  /// not written, where that is negative.
  const int32_t *index;

  /// Row `r` to be read; `zeros` has at least the bytes of a row.
  const char *read(int64_t r, const char *zeros) const {
    int64_t source = index ? index[r] : r;
    return source < 0 ? zeros : base + source * stride;
  }
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_OPERANDROWS_H
