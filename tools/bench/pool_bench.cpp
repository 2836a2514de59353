//===- pool_bench.cpp - The memory pool on traces of real compilers -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   espalier-pool-bench FILE.csv...
//
// A file has a buffer a line, "id,lower,upper,size": it is allocated at time
// `lower` and released before those of time `upper` are. For each file, the
// nanoseconds of an allocation with its release, beside malloc and free, which
// know nothing of the bytes' addresses; and the smallest block that does, over
// the most bytes that are in use at a time.
//
//===----------------------------------------------------------------------===//
#include "memory/MemoryPool.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

using namespace espalier;

namespace {
struct Buffer {
  int64_t lower, upper, size;
};

/// To allocate a buffer, or to release it.
struct Event {
  size_t buffer;
  bool isAllocation;
};

struct Trace {
  std::vector<Buffer> buffers;
  std::vector<Event> events;
  int64_t load = 0; // the most bytes in use
};
} // namespace

static bool readTrace(const char *path, Trace &trace) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line.compare(0, 19, "id,lower,upper,size"))
    return false;
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    int64_t id;
    Buffer buffer;
    if (!(fields >> id >> buffer.lower >> buffer.upper >> buffer.size))
      return false;
    trace.buffers.push_back(buffer);
  }
  struct At {
    int64_t time;
    Event event;
  };
  std::vector<At> order;
  for (size_t b = 0; b < trace.buffers.size(); ++b) {
    order.push_back({trace.buffers[b].lower, {b, true}});
    order.push_back({trace.buffers[b].upper, {b, false}});
  }
  std::stable_sort(order.begin(), order.end(), [](const At &a, const At &b) {
    return a.time != b.time ? a.time < b.time
                            : a.event.isAllocation < b.event.isAllocation;
  });
  int64_t used = 0;
  for (const At &at : order) {
    int64_t size = trace.buffers[at.event.buffer].size;
    used += at.event.isAllocation ? size : -size;
    trace.load = std::max(trace.load, used);
    trace.events.push_back(at.event);
  }
  return true;
}

/// False if there was no room.
static bool replay(const Trace &trace, MemoryPool &pool,
                   std::vector<MemoryPool::Id> &ids) {
  for (Event event : trace.events) {
    if (!event.isAllocation) {
      pool.release(ids[event.buffer]);
      continue;
    }
    ids[event.buffer] = pool.allocate(trace.buffers[event.buffer].size);
    if (ids[event.buffer] == MemoryPool::kNone)
      return false;
  }
  return true;
}

/// The smallest block that is large enough, to a part in a thousand. A larger
/// one is not always better, so that this is a block that does, not a proof.
static int64_t smallestBlock(const Trace &trace, MemoryPool::Fit fit) {
  std::vector<MemoryPool::Id> ids(trace.buffers.size());
  MemoryPool unlimited(int64_t(1) << 52, fit);
  replay(trace, unlimited, ids);
  int64_t high = unlimited.peakEnd();
  int64_t step = std::max<int64_t>(trace.load / 1000, MemoryPool::kUnit);
  for (int64_t bytes = high - step; bytes >= trace.load; bytes -= step) {
    MemoryPool pool(bytes, fit);
    if (!replay(trace, pool, ids))
      break;
    high = bytes;
  }
  return high;
}

/// Median nanoseconds of an allocation and its release.
static double nanoseconds(const Trace &trace,
                          const std::function<void()> &body) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int pass = 0; pass < 31; ++pass) {
    auto start = Clock::now();
    body();
    std::chrono::duration<double, std::nano> took = Clock::now() - start;
    times.push_back(took.count() / (double)trace.buffers.size());
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  return times[15];
}

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: espalier-pool-bench FILE.csv...\n");
    return 1;
  }
  std::printf("%-28s %8s %14s | %9s %9s %9s | %9s %9s\n", "ns/allocation",
              "buffers", "load", "best fit", "first fit", "malloc", "best/load",
              "first/load");
  for (int i = 1; i < argc; ++i) {
    Trace trace;
    if (!readTrace(argv[i], trace)) {
      std::fprintf(stderr, "%s: not a trace\n", argv[i]);
      return 1;
    }
    std::vector<MemoryPool::Id> ids(trace.buffers.size());
    std::vector<void *> blocks(trace.buffers.size());
    auto pool = [&](MemoryPool::Fit fit) {
      return nanoseconds(trace, [&] {
        MemoryPool pool(trace.load * 4 + (1 << 20), fit);
        replay(trace, pool, ids);
      });
    };
    double best = pool(MemoryPool::Fit::Best);
    double first = pool(MemoryPool::Fit::First);
    double heap = nanoseconds(trace, [&] {
      for (Event event : trace.events) {
        if (event.isAllocation) {
          // The compiler must not see that nobody uses it.
          void *volatile block = std::malloc(trace.buffers[event.buffer].size);
          blocks[event.buffer] = block;
        } else {
          std::free(blocks[event.buffer]);
        }
      }
    });
    double load = (double)trace.load;
    std::string name = argv[i];
    std::printf("%-28s %8zu %14lld | %9.1f %9.1f %9.1f | %9.4f %9.4f\n",
                name.substr(name.rfind('/') + 1).c_str(), trace.buffers.size(),
                (long long)trace.load, best, first, heap,
                (double)smallestBlock(trace, MemoryPool::Fit::Best) / load,
                (double)smallestBlock(trace, MemoryPool::Fit::First) / load);
  }
  return 0;
}
