//===- Values.h - What the interpreter computes with ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays and structures, in plain C++: code that reads files includes this
// without the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_REFERENCE_VALUES_H
#define ESPALIER_REFERENCE_VALUES_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::reference {

/// A dense, row-major array. Floats of any width are held as f64. So are whole
/// numbers: i32 with its sign, i1 as 0 or 1.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> data;

  static Array zeros(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    return {std::move(shape), std::vector<double>(count)};
  }
};

/// A batch of input graphs.
struct Structures {
  /// Structure k has the vertices [offsets[k], offsets[k + 1]).
  std::vector<int64_t> offsets{0};
  /// For each vertex its child slots: vertices, numbered over the whole batch,
  /// or -1 for an absent child.
  std::vector<std::vector<int32_t>> children;
  /// Whole numbers of each vertex, by name: what applies choose functions by.
  std::map<std::string, std::vector<int32_t>> fields = {};

  int64_t count() const { return (int64_t)offsets.size() - 1; }
  int64_t vertices() const { return (int64_t)children.size(); }
};

} // namespace espalier::reference

#endif // ESPALIER_REFERENCE_VALUES_H
