//===- Scalars.h - Arguments that are one number ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of a training step that the program gives itself, such as the
// learning rate. A compiled entry has only those that it uses.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_SCALARS_H
#define ESPALIER_RUN_SCALARS_H

#include "espalier/runtime.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace espalier::run {

using namespace runtime;

class Scalars {
public:
  explicit Scalars(const espalier_entry &entry) : entry(entry) {}

  /// Whether the entry has such an argument, of rank 0 and not batched.
  bool has(const char *name) const { return find(name) != nullptr; }
  /// Sets it, in the type that the entry wants; nothing if it has none.
  void set(const char *name, double value);
  /// All that have been set; the views live as long as this object, and see
  /// what is set later.
  std::vector<NamedView> views() const;

private:
  struct Scalar {
    const espalier_buffer_desc *buffer;
    union {
      float f32;
      double f64;
      int32_t i32;
    };
  };
  const espalier_buffer_desc *find(const char *name) const;

  const espalier_entry &entry;
  std::deque<Scalar> scalars; // never moves its elements
};

} // namespace espalier::run

#endif // ESPALIER_RUN_SCALARS_H
