//===- Pages.h - A large block that takes no memory before use --*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages from the operating system, which gives each its memory when it is first
// touched. Or only the addresses: whoever touches these is stopped.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_PAGES_H
#define ESPALIER_MEMORY_PAGES_H

#include <cstdint>

namespace espalier {

class Pages {
public:
  enum class Access { None, ReadWrite };

  Pages() = default;
  /// OUT_OF_MEMORY, naming `what` the bytes are for, if there are not as many.
  Pages(int64_t bytes, Access access, const char *what);
  ~Pages();
  Pages(Pages &&other) noexcept;
  Pages &operator=(Pages &&other) noexcept;

  char *data() const { return block; }
  int64_t bytes() const { return size; }

private:
  char *block = nullptr;
  int64_t size = 0;
};

} // namespace espalier

#endif // ESPALIER_MEMORY_PAGES_H
