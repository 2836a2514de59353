//===- StreamQueue.h - What of a stream can run next ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hands out the work of a stream (module/Streams.h) to threads: blocks of rows
// of the phases before the loop, tasks, and blocks of rows of the phases after
// it. Tasks come first, as everything else can run beside them: the next one
// is handed out as soon as the last is done and the rows it needs are there.
//
// Rows are counted in the direction of the loop: from the first if children
// come before parents, from the last otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_STREAMQUEUE_H
#define ESPALIER_DEVICE_CPU_STREAMQUEUE_H

#include "schedule/Schedule.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace espalier {

class StreamQueue {
public:
  struct Item {
    enum Kind { Before, Task, After, None } kind;
    RowRange rows;
    /// In the order of the phases, and of rows: of failures the least counts.
    int64_t number;
  };

  /// The tasks of `schedule` in the order of the loop, from the first with
  /// children if it is over `inner` vertices, and blocks of `blockRows` rows
  /// of what is `before` and `after` it. Keeps its memory from one stream to
  /// the next.
  struct Shape {
    bool inner;
    bool reversed;
    bool before;
    bool after;
  };
  void start(const Schedule &schedule, Shape shape, int64_t blockRows);

  /// Waits until something can run. None: nothing is left to hand out.
  Item next();
  /// To be called when an item has run. After one that has `failed` neither
  /// tasks nor what comes after them are handed out.
  void finish(const Item &item, bool failed);

private:
  bool tryNext(Item &item);
  RowRange block(int64_t number) const;
  /// How far rows up to and with `rows` reach in the direction of the loop.
  int64_t reach(RowRange rows) const {
    return reversed ? vertices - rows.begin : rows.end;
  }

  std::mutex mutex;
  const Schedule *schedule = nullptr;
  bool reversed = false;
  int64_t vertices = 0;
  int64_t blockRows = 0;
  int64_t blocks = 0;
  int64_t firstTask = 0;
  int64_t tasks = 0;

  int64_t nextBefore = 0;
  int64_t nextTask = 0;
  int64_t nextAfter = 0;
  bool inTask = false;
  bool stopped = false;
  /// Blocks before the loop that are done, and how far all of them reach.
  std::vector<char> done;
  int64_t doneBlocks = 0;
  int64_t doneBefore = 0;
  int64_t doneTasks = 0;
  /// Grows with every item that is done, for those who wait.
  std::atomic<int64_t> finished{0};
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_STREAMQUEUE_H
