//===- Arena.cpp ----------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/Arena.h"

#include "support/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace espalier {

int64_t OffsetAssigner::assign(std::vector<Placement> &placements) {
  order.resize(placements.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return placements[a].bytes != placements[b].bytes
               ? placements[a].bytes > placements[b].bytes
               : a < b;
  });

  placed.clear();
  placed.reserve(placements.size());
  int64_t total = 0;
  for (uint32_t i : order) {
    Placement &p = placements[i];
    p.offset = 0;
    for (uint32_t j : placed) {
      const Placement &other = placements[j];
      if (other.last < p.first || p.last < other.first)
        continue;
      if (p.offset + p.bytes <= other.offset)
        break;
      p.offset = std::max(p.offset, alignUp(other.offset + other.bytes));
    }
    total = std::max(total, p.offset + p.bytes);
    auto after = std::upper_bound(placed.begin(), placed.end(), p.offset,
                                  [&](int64_t offset, uint32_t j) {
                                    return offset < placements[j].offset;
                                  });
    placed.insert(after, i);
  }
  return total;
}

Arena::~Arena() { std::free(block); }

void Arena::reserve(int64_t bytes) {
  if (bytes > size) {
    // Half as much again, so that slowly growing batches replace it rarely.
    int64_t wanted = alignUp(std::max(bytes, size + size / 2));
    std::free(block);
    block = nullptr;
    size = 0;
    block = static_cast<char *>(std::aligned_alloc(kAlignment, wanted));
    if (!block && alignUp(bytes) < wanted) {
      wanted = alignUp(bytes);
      block = static_cast<char *>(std::aligned_alloc(kAlignment, wanted));
    }
    if (!block)
      fail(ESPALIER_OUT_OF_MEMORY,
           "no memory for %lld bytes of dynamic tensors; run fewer structures "
           "at once",
           (long long)bytes);
    size = wanted;
  }
#ifdef ESPALIER_POISON
  // All bits set is a NaN: whoever reads what was not written shows it.
  std::memset(block, 0xFF, size);
#endif
}

} // namespace espalier
