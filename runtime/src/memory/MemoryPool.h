//===- MemoryPool.h - A preallocated block, handed out in parts -*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bookkeeping for a block of memory, on whatever device it is: the pool deals
// in offsets and never touches the block. Memory comes in units of 1 KiB. A
// node is a range of units, empty or allocated; nodes are in a table, where a
// number finds them, and linked in the order of addresses, so that a node that
// is released joins the empty ones beside it.
//
// The pool of SuperNeurons takes the first empty node that is large enough.
// That keeps much of a block in pieces: here the smallest node that is large
// enough is taken. Empty nodes are filed by size, eight classes to each power
// of two, so that one is found without looking at the others.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_MEMORYPOOL_H
#define ESPALIER_MEMORY_MEMORYPOOL_H

#include <array>
#include <cstdint>
#include <vector>

namespace espalier {

class MemoryPool {
public:
  static constexpr int64_t kUnit = 1024;

  /// First: the empty node at the lowest address, found by walking over all
  /// that lie before it; to measure the other against.
  enum class Fit { First, Best };

  /// The number of an allocated node.
  using Id = int32_t;
  static constexpr Id kNone = -1;

  /// Of a block of `bytes`, of which whole units are used.
  explicit MemoryPool(int64_t bytes, Fit fit = Fit::Best);

  /// kNone if no empty node has as many bytes. An allocation of none takes a
  /// unit.
  Id allocate(int64_t bytes);
  /// False if `id` is not allocated.
  bool release(Id id);

  /// Of an allocated node: where it begins, and what it takes of the block.
  int64_t offsetOf(Id id) const { return nodes[id].begin * kUnit; }
  int64_t bytesOf(Id id) const { return nodes[id].units * kUnit; }

  int64_t capacity() const { return totalUnits * kUnit; }
  int64_t usedBytes() const { return usedUnits * kUnit; }
  int64_t freeBytes() const { return (totalUnits - usedUnits) * kUnit; }
  int64_t largestFree() const;
  /// The share of what is free that the largest empty node does not have.
  double fragmentation() const;
  /// The most that was used at a time, and the highest end of a node: how large
  /// a block would have done.
  int64_t peakBytes() const { return peakUnits * kUnit; }
  int64_t peakEnd() const { return highestEnd * kUnit; }

private:
  enum class State : uint8_t { Unused, Empty, Allocated };

  struct Node {
    int64_t begin = 0; // in units, as `units`
    int64_t units = 0;
    /// Neighbours by address.
    Id before = kNone;
    Id after = kNone;
    /// Neighbours in a class of empty nodes, or in the list of unused numbers.
    Id previous = kNone;
    Id next = kNone;
    State state = State::Unused;
  };

  /// Sizes below 16 units have a class each.
  static constexpr int kExact = 16;
  static constexpr int kClasses = kExact + 8 * (63 - 4);

  static int classOf(int64_t units);
  Id firstFit(int64_t units) const;
  Id bestFit(int64_t units) const;
  Id smallestIn(int sizeClass, int64_t units) const;
  int nextClass(int from) const;
  Id newNode();
  void dropNode(Id id);
  void file(Id id);
  void unfile(Id id);
  void joinNext(Id id);

  std::vector<Node> nodes;
  Id unused = kNone;
  Id lowest = kNone;
  std::array<Id, kClasses> classes;
  /// A bit for each class that has nodes.
  std::array<uint64_t, (kClasses + 63) / 64> occupied{};
  Fit fit;
  int64_t totalUnits;
  int64_t usedUnits = 0;
  int64_t peakUnits = 0;
  int64_t highestEnd = 0;
};

} // namespace espalier

#endif // ESPALIER_MEMORY_MEMORYPOOL_H
