//===- StreamQueue.cpp ----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/StreamQueue.h"

#include <algorithm>
#include <thread>

namespace espalier {

void StreamQueue::start(const Schedule &newSchedule, Shape shape,
                        int64_t newBlockRows) {
  schedule = &newSchedule;
  reversed = shape.reversed;
  vertices = newSchedule.vertices();
  blockRows = newBlockRows;
  blocks = (vertices + blockRows - 1) / blockRows;
  firstTask = shape.inner ? newSchedule.firstInnerTask() : 0;
  tasks = newSchedule.tasks() - firstTask;
  nextBefore = doneBlocks = shape.before ? 0 : blocks;
  doneBefore = shape.before ? 0 : vertices;
  done.assign(blocks, 0);
  nextTask = 0;
  nextAfter = shape.after ? 0 : blocks;
  inTask = stopped = false;
  // The loop has nothing to do at leaves that it does not run over.
  doneTasks = tasks == 0 ? vertices
              : reversed ? 0
                         : newSchedule.taskBegin(firstTask);
}

RowRange StreamQueue::block(int64_t number) const {
  int64_t begin = number * blockRows;
  int64_t end = std::min(vertices, begin + blockRows);
  if (reversed)
    return {vertices - end, vertices - begin};
  return {begin, end};
}

bool StreamQueue::tryNext(Item &item) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!stopped && !inTask && nextTask < tasks) {
    int64_t t =
        reversed ? schedule->tasks() - 1 - nextTask : firstTask + nextTask;
    RowRange rows{schedule->taskBegin(t), schedule->taskEnd(t)};
    if (doneBefore >= reach(rows)) {
      item = {Item::Task, rows, blocks + nextTask++};
      inTask = true;
      return true;
    }
  }
  if (nextBefore < blocks) {
    item = {Item::Before, block(nextBefore), nextBefore};
    ++nextBefore;
    return true;
  }
  if (!stopped && nextAfter < blocks) {
    RowRange rows = block(nextAfter);
    if (std::min(doneTasks, doneBefore) >= reach(rows)) {
      item = {Item::After, rows, blocks + tasks + nextAfter++};
      return true;
    }
  }
  item = {Item::None, {0, 0}, 0};
  return stopped || nextAfter == blocks;
}

StreamQueue::Item StreamQueue::next() {
  Item item;
  for (;;) {
    int64_t seen = finished;
    if (tryNext(item))
      return item;
    while (finished == seen)
      std::this_thread::yield();
  }
}

void StreamQueue::finish(const Item &item, bool failed) {
  std::lock_guard<std::mutex> lock(mutex);
  stopped |= failed;
  switch (item.kind) {
  case Item::Before:
    done[item.number] = 1;
    while (doneBlocks < blocks && done[doneBlocks])
      doneBefore = reach(block(doneBlocks++));
    break;
  case Item::Task:
    inTask = false;
    doneTasks = nextTask == tasks ? vertices : reach(item.rows);
    break;
  case Item::After:
  case Item::None:
    break;
  }
  ++finished;
}

} // namespace espalier
