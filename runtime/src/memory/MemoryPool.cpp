//===- MemoryPool.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/MemoryPool.h"

#include <algorithm>

namespace espalier {

MemoryPool::MemoryPool(int64_t bytes, Fit fit)
    : fit(fit), totalUnits(std::max<int64_t>(bytes, 0) / kUnit) {
  classes.fill(kNone);
  if (totalUnits == 0)
    return;
  lowest = newNode();
  nodes[lowest].units = totalUnits;
  file(lowest);
}

//===----------------------------------------------------------------------===//
// Size classes
//===----------------------------------------------------------------------===//

int MemoryPool::classOf(int64_t units) {
  if (units < kExact)
    return (int)units;
  int log = 63 - __builtin_clzll((uint64_t)units);
  return kExact + (log - 4) * 8 + (int)((units >> (log - 3)) & 7);
}

/// The first class from `from` on that has nodes; kClasses if none has.
int MemoryPool::nextClass(int from) const {
  for (size_t word = (size_t)from / 64; word < occupied.size(); ++word) {
    uint64_t bits = occupied[word];
    if (word == (size_t)from / 64)
      bits &= ~uint64_t(0) << (from % 64);
    if (bits)
      return (int)(word * 64) + __builtin_ctzll(bits);
  }
  return kClasses;
}

void MemoryPool::file(Id id) {
  Node &node = nodes[id];
  node.state = State::Empty;
  int sizeClass = classOf(node.units);
  node.previous = kNone;
  node.next = classes[sizeClass];
  if (node.next != kNone)
    nodes[node.next].previous = id;
  classes[sizeClass] = id;
  occupied[sizeClass / 64] |= uint64_t(1) << (sizeClass % 64);
}

void MemoryPool::unfile(Id id) {
  Node &node = nodes[id];
  int sizeClass = classOf(node.units);
  if (node.next != kNone)
    nodes[node.next].previous = node.previous;
  if (node.previous != kNone)
    nodes[node.previous].next = node.next;
  else
    classes[sizeClass] = node.next;
  if (classes[sizeClass] == kNone)
    occupied[sizeClass / 64] &= ~(uint64_t(1) << (sizeClass % 64));
}

//===----------------------------------------------------------------------===//
// Finding a node
//===----------------------------------------------------------------------===//

MemoryPool::Id MemoryPool::firstFit(int64_t units) const {
  Id id = lowest;
  while (id != kNone &&
         (nodes[id].state != State::Empty || nodes[id].units < units))
    id = nodes[id].after;
  return id;
}

/// The smallest node of a class with at least `units`; of equal ones that at
/// the lowest address.
MemoryPool::Id MemoryPool::smallestIn(int sizeClass, int64_t units) const {
  Id best = kNone;
  for (Id id = classes[sizeClass]; id != kNone; id = nodes[id].next) {
    const Node &node = nodes[id];
    if (node.units < units)
      continue;
    if (best == kNone || node.units < nodes[best].units ||
        (node.units == nodes[best].units && node.begin < nodes[best].begin))
      best = id;
  }
  return best;
}

MemoryPool::Id MemoryPool::bestFit(int64_t units) const {
  // Nodes of its own class may be smaller; those of later ones are not.
  int sizeClass = classOf(units);
  Id id = smallestIn(sizeClass, units);
  if (id != kNone)
    return id;
  sizeClass = nextClass(sizeClass + 1);
  return sizeClass == kClasses ? kNone : smallestIn(sizeClass, units);
}

int64_t MemoryPool::largestFree() const {
  int64_t most = 0;
  for (size_t word = occupied.size(); word-- > 0;) {
    if (!occupied[word])
      continue;
    int sizeClass = (int)(word * 64) + 63 - __builtin_clzll(occupied[word]);
    for (Id id = classes[sizeClass]; id != kNone; id = nodes[id].next)
      most = std::max(most, nodes[id].units);
    break;
  }
  return most * kUnit;
}

double MemoryPool::fragmentation() const {
  int64_t free = freeBytes();
  return free ? 1 - (double)largestFree() / (double)free : 0;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

MemoryPool::Id MemoryPool::newNode() {
  if (unused == kNone) {
    nodes.emplace_back();
    return (Id)nodes.size() - 1;
  }
  Id id = unused;
  unused = nodes[id].next;
  nodes[id] = Node{};
  return id;
}

void MemoryPool::dropNode(Id id) {
  nodes[id].state = State::Unused;
  nodes[id].next = unused;
  unused = id;
}

MemoryPool::Id MemoryPool::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > capacity())
    return kNone;
  int64_t units = std::max<int64_t>((bytes + kUnit - 1) / kUnit, 1);
  Id id = fit == Fit::First ? firstFit(units) : bestFit(units);
  if (id == kNone)
    return kNone;
  unfile(id);
  if (nodes[id].units > units) {
    Id rest = newNode(); // may move the table
    Node &node = nodes[id], &tail = nodes[rest];
    tail.begin = node.begin + units;
    tail.units = node.units - units;
    tail.before = id;
    tail.after = node.after;
    if (tail.after != kNone)
      nodes[tail.after].before = rest;
    node.after = rest;
    node.units = units;
    file(rest);
  }
  Node &node = nodes[id];
  node.state = State::Allocated;
  usedUnits += units;
  peakUnits = std::max(peakUnits, usedUnits);
  highestEnd = std::max(highestEnd, node.begin + units);
  return id;
}

/// Joins an empty node, which is not filed, with the empty one after it.
void MemoryPool::joinNext(Id id) {
  Id other = nodes[id].after;
  if (other == kNone || nodes[other].state != State::Empty)
    return;
  unfile(other);
  nodes[id].units += nodes[other].units;
  nodes[id].after = nodes[other].after;
  if (nodes[id].after != kNone)
    nodes[nodes[id].after].before = id;
  dropNode(other);
}

bool MemoryPool::release(Id id) {
  if (id < 0 || id >= (Id)nodes.size() || nodes[id].state != State::Allocated)
    return false;
  usedUnits -= nodes[id].units;
  joinNext(id);
  Id before = nodes[id].before;
  if (before != kNone && nodes[before].state == State::Empty) {
    unfile(before);
    nodes[id].state = State::Empty;
    nodes[before].units += nodes[id].units;
    nodes[before].after = nodes[id].after;
    if (nodes[before].after != kNone)
      nodes[nodes[before].after].before = before;
    dropNode(id);
    id = before;
  }
  file(id);
  return true;
}

} // namespace espalier
