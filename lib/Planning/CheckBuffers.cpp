//===- CheckBuffers.cpp - Do buffers overlap? -----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes through time with the set of ranges in use, in order of their offsets:
// those do not overlap, so a range that starts need only be compared with the
// ones beside it.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/CheckBuffers.h"

#include <algorithm>
#include <map>

using namespace espalier::planning;

namespace {
class BufferChecker {
public:
  BufferChecker(const std::vector<PlacedBuffer> &buffers, int64_t capacity,
                const std::vector<std::string> &names)
      : buffers(buffers), capacity(capacity), names(names) {}

  std::string check() const {
    for (size_t i = 0; i < buffers.size(); ++i) {
      std::string problem = checkAlone(i);
      if (!problem.empty())
        return problem;
    }
    return checkOverlaps();
  }

private:
  static bool takesRoom(const PlacedBuffer &buffer) {
    return buffer.size > 0 && buffer.lower < buffer.upper;
  }

  std::string nameOf(size_t i) const {
    return i < names.size() ? "buffer '" + names[i] + "'"
                            : "buffer " + std::to_string(i);
  }
  std::string describe(size_t i) const {
    const PlacedBuffer &buffer = buffers[i];
    return nameOf(i) + " (bytes " + std::to_string(buffer.offset) + " to " +
           std::to_string(buffer.offset + buffer.size) + ", times " +
           std::to_string(buffer.lower) + " to " +
           std::to_string(buffer.upper) + ")";
  }

  std::string checkAlone(size_t i) const {
    const PlacedBuffer &buffer = buffers[i];
    if (buffer.size < 0)
      return nameOf(i) + " has " + std::to_string(buffer.size) + " bytes";
    if (buffer.upper < buffer.lower)
      return nameOf(i) + " ends at time " + std::to_string(buffer.upper) +
             ", before its start at " + std::to_string(buffer.lower);
    if (!takesRoom(buffer))
      return "";
    if (buffer.offset < 0)
      return nameOf(i) + " is at offset " + std::to_string(buffer.offset);
    if (buffer.alignment > 1 && buffer.offset % buffer.alignment != 0)
      return nameOf(i) + " is at offset " + std::to_string(buffer.offset) +
             ", no multiple of " + std::to_string(buffer.alignment);
    if (buffer.size > capacity || buffer.offset > capacity - buffer.size)
      return nameOf(i) + " of " + std::to_string(buffer.size) +
             " bytes at offset " + std::to_string(buffer.offset) +
             " ends beyond the capacity of " + std::to_string(capacity) +
             " bytes";
    return "";
  }

  std::string checkOverlaps() const {
    std::vector<size_t> starts;
    for (size_t i = 0; i < buffers.size(); ++i)
      if (takesRoom(buffers[i]))
        starts.push_back(i);
    std::vector<size_t> ends = starts;
    std::stable_sort(starts.begin(), starts.end(), [&](size_t a, size_t b) {
      return buffers[a].lower < buffers[b].lower;
    });
    std::stable_sort(ends.begin(), ends.end(), [&](size_t a, size_t b) {
      return buffers[a].upper < buffers[b].upper;
    });

    std::map<int64_t, size_t> used; // by offset
    size_t end = 0;
    for (size_t i : starts) {
      const PlacedBuffer &buffer = buffers[i];
      for (; buffers[ends[end]].upper <= buffer.lower; ++end)
        used.erase(buffers[ends[end]].offset);
      auto above = used.lower_bound(buffer.offset);
      if (above != used.end() && above->first - buffer.offset < buffer.size)
        return describe(i) + " overlaps " + describe(above->second);
      if (above != used.begin()) {
        auto below = std::prev(above);
        if (buffer.offset - below->first < buffers[below->second].size)
          return describe(i) + " overlaps " + describe(below->second);
      }
      used.emplace(buffer.offset, i);
    }
    return "";
  }

  const std::vector<PlacedBuffer> &buffers;
  int64_t capacity;
  const std::vector<std::string> &names;
};
} // namespace

std::string
espalier::planning::checkBuffers(const std::vector<PlacedBuffer> &buffers,
                                 int64_t capacity,
                                 const std::vector<std::string> &names) {
  return BufferChecker(buffers, capacity, names).check();
}
