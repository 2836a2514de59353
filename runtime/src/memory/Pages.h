//===- Pages.h - A large block that takes no memory before use --*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pages from the operating system, which gives each its memory when it is first
// touched. Or only the addresses: whoever touches these is stopped. They can be
// given the memory of pages elsewhere, as a card's page table does it.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_PAGES_H
#define ESPALIER_MEMORY_PAGES_H

#include <cstdint>

namespace espalier {

class Pages {
public:
  /// Shared: to read and write, and other addresses can have the same memory.
  enum class Access { None, ReadWrite, Shared };

  Pages() = default;
  /// OUT_OF_MEMORY, naming `what` the bytes are for, if there are not as many.
  Pages(int64_t bytes, Access access, const char *what);
  ~Pages();
  Pages(Pages &&other) noexcept;
  Pages &operator=(Pages &&other) noexcept;

  char *data() const { return block; }
  int64_t bytes() const { return size; }

  /// What a page has; ranges below are of whole pages.
  static int64_t pageBytes();
  /// Has `address`, of pages with Access::None, stand for the memory of these
  /// pages from `offset` on; they have Access::Shared.
  void showAt(char *address, int64_t offset, int64_t bytes) const;
  /// Nothing is at `address` any more.
  static void hide(char *address, int64_t bytes);

private:
  char *block = nullptr;
  int64_t size = 0;
  int file = -1; // of Access::Shared, with the memory
};

} // namespace espalier

#endif // ESPALIER_MEMORY_PAGES_H
