//===- LocateRows.h - From operands to rows in memory -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which rows of a buffer an operand means is a matter of its access and the
// schedule's tables; where they are, of the buffer's view.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_LOCATEROWS_H
#define ESPALIER_DEVICE_CPU_LOCATEROWS_H

#include "device/cpu/OperandRows.h"
#include "module/Program.h"

#include <vector>

namespace espalier {

struct BatchGraph;

/// Where the rows of a buffer are: row r is at base + (r - first) * stride.
struct View {
  char *base;
  int64_t stride;
  int64_t first;
};

/// The rows of `operand` from row (or edge) `begin` of a phase over `graph` on;
/// `graphs` has one for each of the entry's, `views` one for each buffer.
OperandRows locateRows(const Program &program,
                       const std::vector<BatchGraph> &graphs,
                       const std::vector<View> &views, const BatchGraph &graph,
                       const Program::Operand &operand, int64_t begin);

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_LOCATEROWS_H
