//===- ThreadPoolTest.cpp -------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"

#include <gtest/gtest.h>

using namespace espalier;

namespace {
struct Count {
  std::vector<int> calls; // by index; not atomic: each is called once
  std::atomic<unsigned> highestWorker{0};

  static void call(void *context, unsigned worker, int64_t index) {
    Count &self = *static_cast<Count *>(context);
    ++self.calls[index];
    unsigned highest = self.highestWorker;
    while (worker > highest &&
           !self.highestWorker.compare_exchange_weak(highest, worker)) {
    }
  }
};
} // namespace

TEST(ThreadPool, EveryIndexOnce) {
  for (unsigned threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 2, 3, 7, 1000}) {
      Count job;
      job.calls.assign(count, 0);
      for (int repetition = 1; repetition <= 200; ++repetition)
        pool.run(Count::call, &job, count);
      for (int calls : job.calls)
        ASSERT_EQ(calls, 200);
      EXPECT_LT(job.highestWorker, threads);
    }
  }
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  // Two indices that each wait for the other to start: needs both threads.
  struct Meeting {
    std::atomic<int> arrived{0};
    static void call(void *context, unsigned, int64_t) {
      Meeting &self = *static_cast<Meeting *>(context);
      ++self.arrived;
      while (self.arrived < 2)
        std::this_thread::yield();
    }
  };
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Meeting meeting;
    pool.run(Meeting::call, &meeting, 2);
    EXPECT_EQ(meeting.arrived, 2);
  }
}
