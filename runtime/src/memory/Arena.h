//===- Arena.h - One block of memory for dynamic tensors --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic tensors of a run lie in one block, at offsets computed from their
// sizes and lifetimes. The block stays from run to run and is only replaced
// when a batch needs more.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_ARENA_H
#define ESPALIER_MEMORY_ARENA_H

#include <cstdint>
#include <vector>

namespace espalier {

/// Every range starts at a multiple of this, which is a cache line.
constexpr int64_t kAlignment = 64;

inline int64_t alignUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A tensor to place: `bytes` at steps [first, last].
struct Placement {
  int64_t bytes;
  uint32_t first;
  uint32_t last;
  int64_t offset; // the answer
};

/// Gives every placement an offset such that none that live at the same step
/// overlap, and returns the bytes needed. Largest first, each at the lowest
/// offset where it fits.
class OffsetAssigner {
public:
  int64_t assign(std::vector<Placement> &placements);

private:
  std::vector<uint32_t> order;
  std::vector<uint32_t> placed; // by offset
};

class Arena {
public:
  Arena() = default;
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  /// Makes room for `bytes`; what was in the block is lost. OUT_OF_MEMORY if
  /// there is none.
  void reserve(int64_t bytes);
  char *data() const { return block; }
  int64_t capacity() const { return size; }

private:
  char *block = nullptr;
  int64_t size = 0;
};

} // namespace espalier

#endif // ESPALIER_MEMORY_ARENA_H
