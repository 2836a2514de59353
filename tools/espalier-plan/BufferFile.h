//===- BufferFile.h - Buffers as a table in a file --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MiniMalloc's format: comma-separated, a header, then a buffer a line. The
// columns id, lower, upper and size are required, in any order; [lower, upper)
// are the times at which the buffer is needed. `alignment` and `offset` are
// read if they are there; other columns are kept and mean nothing here.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLAN_BUFFERFILE_H
#define ESPALIER_PLAN_BUFFERFILE_H

#include "espalier/Planning/AssignBuffers.h"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::plan {

struct BufferFile {
  std::vector<std::string> names;
  std::vector<planning::BufferInterval> buffers;
  /// Empty if the file has none.
  std::vector<int64_t> offsets;

  /// Throws an Error that says in which line what is wrong.
  static BufferFile read(const std::string &path);
  /// The same table with `offsets`, in the column that they are in already or
  /// in one behind the others. The file is written as a whole or not at all.
  void write(const std::string &path,
             const std::vector<int64_t> &offsets) const;

private:
  /// As in the file, the header first.
  std::vector<std::vector<std::string>> lines;
  size_t offsetColumn = 0;
};

} // namespace espalier::plan

#endif // ESPALIER_PLAN_BUFFERFILE_H
