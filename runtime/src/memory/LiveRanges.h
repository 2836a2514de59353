//===- LiveRanges.h - Which bytes of a block are whose ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The buffers that are alive at a step of a plan, by address. Two of them share
// bytes only if they begin at the same one: in place, or views.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_LIVERANGES_H
#define ESPALIER_MEMORY_LIVERANGES_H

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace espalier {

/// Bytes [begin, end) of a block.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool isEmpty() const { return begin >= end; }
  int64_t bytes() const { return isEmpty() ? 0 : end - begin; }
  bool overlaps(const ByteRange &other) const {
    return begin < other.end && other.begin < end;
  }
};

class LiveRanges {
public:
  /// Empty ranges are nobody's.
  void add(uint32_t buffer, ByteRange range) {
    if (!range.isEmpty())
      ranges.emplace(range.begin, Live{buffer, range.end});
  }

  void remove(uint32_t buffer, ByteRange range) {
    auto [from, to] = ranges.equal_range(range.begin);
    for (auto at = from; at != to; ++at)
      if (at->second.buffer == buffer) {
        ranges.erase(at);
        return;
      }
  }

  /// Calls visit(buffer, range) for all that share bytes with `range`, by
  /// address.
  template <typename Visit>
  void overlapping(ByteRange range, const Visit &visit) const {
    if (range.isEmpty())
      return;
    auto at = ranges.lower_bound(range.begin);
    // Of those that begin before, only the last can reach into it.
    if (at != ranges.begin())
      at = ranges.lower_bound(std::prev(at)->first);
    for (; at != ranges.end() && at->first < range.end; ++at)
      if (at->second.end > range.begin)
        visit(at->second.buffer, ByteRange{at->first, at->second.end});
  }

  /// The parts of `range` that are nobody's.
  std::vector<ByteRange> free(ByteRange range) const {
    std::vector<ByteRange> parts;
    int64_t begin = range.begin;
    overlapping(range, [&](uint32_t, ByteRange live) {
      if (live.begin > begin)
        parts.push_back({begin, live.begin});
      begin = std::max(begin, live.end);
    });
    if (begin < range.end)
      parts.push_back({begin, range.end});
    return parts;
  }

private:
  struct Live {
    uint32_t buffer;
    int64_t end;
  };
  std::multimap<int64_t, Live> ranges; // by the first byte
};

} // namespace espalier

#endif // ESPALIER_MEMORY_LIVERANGES_H
