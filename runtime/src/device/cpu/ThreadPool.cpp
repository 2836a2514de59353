//===- ThreadPool.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"

namespace espalier {

/// How often an idle worker looks for a job before it sleeps: some 20 us, about
/// what waking a sleeping thread costs.
static constexpr int kSpins = 1000;

static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

ThreadPool::ThreadPool(unsigned threads) {
  try {
    for (unsigned worker = 1; worker < threads; ++worker)
      workers.emplace_back([this, worker] { workerMain(worker); });
  } catch (...) {
    stopWorkers();
    throw;
  }
}

ThreadPool::~ThreadPool() { stopWorkers(); }

void ThreadPool::stopWorkers() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    ++jobs;
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::workOnJob(unsigned worker) {
  for (;;) {
    int64_t index = nextIndex.fetch_add(1, std::memory_order_relaxed);
    if (index >= count)
      return;
    function(context, worker, index);
  }
}

void ThreadPool::run(Function newFunction, void *newContext, int64_t newCount) {
  function = newFunction;
  context = newContext;
  count = newCount;
  nextIndex.store(0, std::memory_order_relaxed);
  gate.fetch_add(kClosed); // opens
  ++jobs;
  // Either this sees a sleeper, or the sleeper sees the new job.
  if (sleepers > 0) {
    {
      std::lock_guard<std::mutex> lock(mutex);
    }
    wake.notify_all();
  }

  workOnJob(0);

  // No index is left. Nobody may join any more; those inside finish theirs.
  int64_t inside = gate.fetch_sub(kClosed);
  for (int spins = 0; inside != 0; ++spins) {
    if (spins < kSpins)
      pause();
    else
      std::this_thread::yield();
    inside = gate.load() + kClosed;
  }
}

void ThreadPool::workerMain(unsigned worker) {
  uint64_t seen = 0;
  for (;;) {
    for (int spins = 0; jobs == seen && spins < kSpins; ++spins)
      pause();
    if (jobs == seen) {
      std::unique_lock<std::mutex> lock(mutex);
      ++sleepers;
      wake.wait(lock, [&] { return jobs != seen; });
      --sleepers;
    }
    seen = jobs;
    if (stopping)
      return;
    if (gate.fetch_add(1) >= 0)
      workOnJob(worker);
    gate.fetch_sub(1);
  }
}

} // namespace espalier
