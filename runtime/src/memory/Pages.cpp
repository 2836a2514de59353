//===- Pages.cpp ----------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/Pages.h"

#include "support/Error.h"

#include <algorithm>
#include <sys/mman.h>
#include <utility>

namespace espalier {

Pages::Pages(int64_t bytes, Access access, const char *what) {
  int64_t wanted = std::max<int64_t>(bytes, 1);
  int protection = access == Access::None ? PROT_NONE : PROT_READ | PROT_WRITE;
  void *pages = mmap(nullptr, (size_t)wanted, protection,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED)
    fail(ESPALIER_OUT_OF_MEMORY, "no memory for %lld bytes of %s",
         (long long)bytes, what);
  block = static_cast<char *>(pages);
  size = wanted;
}

Pages::~Pages() {
  if (block)
    munmap(block, (size_t)size);
}

Pages::Pages(Pages &&other) noexcept
    : block(std::exchange(other.block, nullptr)),
      size(std::exchange(other.size, 0)) {}

Pages &Pages::operator=(Pages &&other) noexcept {
  std::swap(block, other.block);
  std::swap(size, other.size);
  return *this;
}

} // namespace espalier
