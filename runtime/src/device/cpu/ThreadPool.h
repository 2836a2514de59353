//===- ThreadPool.h - Runs independent blocks on several threads -*- C++ -*-==//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase hands out thousands of short jobs a second, so starting one must cost
// little: idle workers watch a counter for a moment before they sleep, and a
// job never waits for a worker that has not joined it. The thread that calls
// `run` works too.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_THREADPOOL_H
#define ESPALIER_DEVICE_CPU_THREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace espalier {

class ThreadPool {
public:
  /// Calls of one job, by worker (0 is the thread that calls `run`) and index.
  using Function = void (*)(void *context, unsigned worker, int64_t index);

  /// `threads` counts the calling thread; the pool starts the others.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned threads() const { return (unsigned)workers.size() + 1; }

  /// Calls `function` once for every index in [0, count), in any order, and
  /// returns when all are done. It must not throw. One `run` at a time.
  void run(Function function, void *context, int64_t count);

private:
  void workerMain(unsigned worker);
  void workOnJob(unsigned worker);
  void stopWorkers();

  /// The job; only written while the gate is closed.
  Function function = nullptr;
  void *context = nullptr;
  int64_t count = 0;
  alignas(64) std::atomic<int64_t> nextIndex{0};

  /// How many workers are inside the job, minus kClosed while it is closed.
  static constexpr int64_t kClosed = int64_t(1) << 32;
  alignas(64) std::atomic<int64_t> gate{-kClosed};

  /// Grows with every job; workers that have seen the last one sleep.
  alignas(64) std::atomic<uint64_t> jobs{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::thread> workers;
};

/// Calls `body(worker, index)` for every index in [0, count), which must not
/// throw, on the threads of `pool`, or on the calling one if it is null.
template <typename Body>
void forEachIndex(ThreadPool *pool, int64_t count, const Body &body) {
  if (!pool || count <= 1) {
    for (int64_t index = 0; index < count; ++index)
      body(0u, index);
    return;
  }
  pool->run(
      [](void *context, unsigned worker, int64_t index) {
        (*static_cast<const Body *>(context))(worker, index);
      },
      const_cast<Body *>(&body), count);
}

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_THREADPOOL_H
