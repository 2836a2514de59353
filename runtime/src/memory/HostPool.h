//===- HostPool.h - The host's memory for what is offloaded -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block, allocated before the first step and never after, so that a run
// that begins has what it needs to end. A card copies to and from pinned memory
// only, which nothing else can have: so the pool is bounded, and counts.
//
// A plan has offsets in the block of its own (`note` counts them); tensors that
// nobody planned are allocated.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_HOSTPOOL_H
#define ESPALIER_MEMORY_HOSTPOOL_H

#include "memory/MemoryPool.h"
#include "memory/Pages.h"

#include <algorithm>

namespace espalier {

class HostPool {
public:
  /// OUT_OF_MEMORY if `bytes` are more than `limit` (0: there is none), or than
  /// there are. With Access::None nobody may touch the block.
  HostPool(int64_t bytes, int64_t limit, Pages::Access access);

  char *data() const { return pages.data(); }
  int64_t capacity() const { return size; }
  /// The most that was in use at a time.
  int64_t peakBytes() const { return std::max(peak, pool.peakBytes()); }
  void note(int64_t usedBytes) { peak = std::max(peak, usedBytes); }

  MemoryPool::Id allocate(int64_t bytes) { return pool.allocate(bytes); }
  bool release(MemoryPool::Id id) { return pool.release(id); }
  char *address(MemoryPool::Id id) const {
    return pages.data() + pool.offsetOf(id);
  }
  const MemoryPool &nodes() const { return pool; }

private:
  int64_t size;
  MemoryPool pool;
  Pages pages;
  int64_t peak = 0;
};

} // namespace espalier

#endif // ESPALIER_MEMORY_HOSTPOOL_H
