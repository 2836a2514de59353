//===- Pages.cpp ----------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/Pages.h"

#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace espalier {

[[noreturn]] static void failFor(int64_t bytes, const char *what) {
  fail(ESPALIER_OUT_OF_MEMORY, "no memory for %lld bytes of %s",
       (long long)bytes, what);
}

Pages::Pages(int64_t bytes, Access access, const char *what) {
  int64_t wanted = std::max<int64_t>(bytes, 1);
  int protection = access == Access::None ? PROT_NONE : PROT_READ | PROT_WRITE;
  int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (access == Access::Shared) {
    kind = MAP_SHARED | MAP_NORESERVE;
    file = memfd_create("espalier", MFD_CLOEXEC);
    if (file < 0)
      failFor(bytes, what);
    if (ftruncate(file, wanted) != 0) {
      close(file);
      failFor(bytes, what);
    }
  }
  void *pages = mmap(nullptr, (size_t)wanted, protection, kind, file, 0);
  if (pages == MAP_FAILED) {
    if (file >= 0)
      close(file);
    failFor(bytes, what);
  }
  block = static_cast<char *>(pages);
  size = wanted;
}

Pages::~Pages() {
  if (block)
    munmap(block, (size_t)size);
  if (file >= 0)
    close(file);
}

Pages::Pages(Pages &&other) noexcept
    : block(std::exchange(other.block, nullptr)),
      size(std::exchange(other.size, 0)), file(std::exchange(other.file, -1)) {}

Pages &Pages::operator=(Pages &&other) noexcept {
  std::swap(block, other.block);
  std::swap(size, other.size);
  std::swap(file, other.file);
  return *this;
}

int64_t Pages::pageBytes() { return sysconf(_SC_PAGESIZE); }

/// Has what `file` has at `offset` at addresses that are there already.
static void mapOver(char *address, int64_t bytes, int protection, int kind,
                    int file, int64_t offset) {
  if (mmap(address, (size_t)bytes, protection, kind | MAP_FIXED, file,
           offset) == MAP_FAILED)
    fail(ESPALIER_OUT_OF_MEMORY,
         "the operating system maps no more pages: error %d", errno);
}

void Pages::showAt(char *address, int64_t offset, int64_t bytes) const {
  mapOver(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
}

void Pages::hide(char *address, int64_t bytes) {
  mapOver(address, bytes, PROT_NONE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

} // namespace espalier
