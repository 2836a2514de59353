//===- StreamsTest.cpp - What runs beside a loop --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Streams.h"
#include "device/cpu/StreamQueue.h"

#include "RandomForest.h"
#include "TestModel.h"
#include "graph/Forest.h"

#include <deque>
#include <gtest/gtest.h>

using namespace espalier;

//===----------------------------------------------------------------------===//
// Which phases
//===----------------------------------------------------------------------===//

/// "first..loop..last" of each stream.
static std::string streamsOf(TestModel::Entry &entry) {
  std::string text;
  for (const Stream &stream : findStreams(entry.tables("entry")))
    text += std::to_string(stream.first) + ".." + std::to_string(stream.loop) +
            ".." + std::to_string(stream.last) + " ";
  return text;
}

TEST(Streams, LoopWithWhatIsBeforeAndAfter) {
  TestModel model;
  // eager, path, push; the readout is over structures.
  EXPECT_EQ(streamsOf(model.classify), "0..1..2 ");
  // Not the constants.
  EXPECT_EQ(streamsOf(model.encode), "1..3..4 ");
}

/// The operand of step `s` of phase `p`.
static espalier_step_operand &operandOf(TestModel::Entry &entry, uint32_t p,
                                        uint32_t s, uint32_t operand) {
  return const_cast<espalier_step_operand &>(
      entry.steps[p][s].operands[operand]);
}

TEST(Streams, OnlyRowsThatAreThere) {
  {
    TestModel model; // What is pushed is that of a child, which is done.
    operandOf(model.classify, 2, 0, 0).access = ESPALIER_ACCESS_CHILD;
    EXPECT_EQ(streamsOf(model.classify), "0..1..2 ");
  }
  {
    TestModel model; // That of a root may not be.
    operandOf(model.classify, 2, 0, 0).access = ESPALIER_ACCESS_ROOT;
    EXPECT_EQ(streamsOf(model.classify), "0..1..1 ");
  }
  {
    TestModel model; // The loop reads any row of what is before it.
    operandOf(model.classify, 1, 4, 0).access = ESPALIER_ACCESS_CALLER;
    EXPECT_EQ(streamsOf(model.classify), "1..1..2 ");
  }
  {
    TestModel model; // From the roots down, children are not done.
    model.classify.phases[1].rows = ESPALIER_ROWS_TASKS_REVERSED;
    operandOf(model.classify, 2, 0, 0).access = ESPALIER_ACCESS_CHILD;
    EXPECT_EQ(streamsOf(model.classify), "0..1..1 ");
  }
  {
    TestModel model; // What comes after the loop writes what children had.
    operandOf(model.classify, 2, 0, 1) = operandOf(model.classify, 1, 4, 6);
    EXPECT_EQ(streamsOf(model.classify), "0..1..1 ");
  }
}

TEST(Streams, OnlyPhasesThatWorkRowByRow) {
  {
    TestModel model;
    model.classify.steps[2][0].over_edges = 1;
    EXPECT_EQ(streamsOf(model.classify), "0..1..1 ");
  }
  {
    TestModel model;
    model.classify.steps[0][0].kind = ESPALIER_STEP_SUM_ROWS;
    EXPECT_EQ(streamsOf(model.classify), "1..1..2 ");
  }
  {
    TestModel model;
    model.classify.steps[1][0].over_edges = 1;
    EXPECT_EQ(streamsOf(model.classify), "");
  }
  {
    TestModel model;
    model.classify.phases[1].type = 1;
    EXPECT_EQ(streamsOf(model.classify), "");
  }
  {
    TestModel model; // Of all types, but rows are in their order.
    model.classify.graphs[0].types = 2;
    EXPECT_EQ(streamsOf(model.classify), "");
  }
}

//===----------------------------------------------------------------------===//
// In which order
//===----------------------------------------------------------------------===//

namespace {
/// Hands out a stream to as many threads as there are items under way at a
/// time, and checks that everything is handed out once, when it may be.
class QueueChecker {
public:
  QueueChecker(const Schedule &schedule, StreamQueue::Shape shape)
      : schedule(schedule), shape(shape), before(schedule.vertices(), 0),
        loop(before), after(before) {
    if (shape.inner)
      std::fill_n(loop.begin(), schedule.leaves(), 1);
  }

  void run(RandomForest &random, size_t threads) {
    StreamQueue queue;
    queue.start(schedule, shape, 7);
    std::deque<StreamQueue::Item> running;
    bool more = true;
    while (more || !running.empty()) {
      bool canStart = running.size() < threads && more;
      if (canStart && (running.empty() || (!mayWait() && random.below(2)))) {
        StreamQueue::Item item = queue.next();
        more = item.kind != StreamQueue::Item::None;
        if (more) {
          start(item);
          running.push_back(item);
        }
        continue;
      }
      if (running.empty())
        continue;
      std::swap(running.front(), running[random.below((int)running.size())]);
      finish(running.front());
      queue.finish(running.front(), false);
      running.pop_front();
    }
    for (int64_t r = 0; r < schedule.vertices(); ++r) {
      ASSERT_EQ(loop[r], 1);
      ASSERT_EQ(before[r], shape.before);
      ASSERT_EQ(after[r], shape.after);
    }
  }

private:
  /// Whether there may be nothing that can run now: there is as long as a block
  /// before the loop is left.
  bool mayWait() const {
    return !shape.before || startedBefore == schedule.vertices();
  }

  /// The rows that the loop has to have left behind for `rows`.
  RowRange behind(RowRange rows) const {
    return shape.reversed ? RowRange{rows.begin, schedule.vertices()}
                          : RowRange{0, rows.end};
  }

  void start(const StreamQueue::Item &item) {
    if (item.kind == StreamQueue::Item::Before) {
      startedBefore += item.rows.end - item.rows.begin;
      return;
    }
    RowRange rows = behind(item.rows);
    bool isTask = item.kind == StreamQueue::Item::Task;
    if (isTask)
      rows = shape.reversed ? RowRange{item.rows.end, rows.end}
                            : RowRange{0, item.rows.begin};
    for (int64_t r = rows.begin; r < rows.end; ++r)
      EXPECT_EQ(loop[r], 1) << "row " << r;
    rows = behind(item.rows);
    for (int64_t r = rows.begin; shape.before && r < rows.end; ++r)
      EXPECT_EQ(before[r], 1) << "row " << r;
  }

  void finish(const StreamQueue::Item &item) {
    std::vector<int> &rows = item.kind == StreamQueue::Item::Before ? before
                             : item.kind == StreamQueue::Item::Task ? loop
                                                                    : after;
    for (int64_t r = item.rows.begin; r < item.rows.end; ++r)
      ++rows[r];
  }

  const Schedule &schedule;
  StreamQueue::Shape shape;
  std::vector<int> before, loop, after;
  int64_t startedBefore = 0;
};
} // namespace

TEST(StreamQueue, EverythingOnceWhenItMay) {
  RandomForest random(11);
  for (int round = 0; round < 200; ++round) {
    Forest forest;
    for (int k = random.below(5); k >= 0; --k)
      forest.append(random.structure(random.below(60), 2, false));
    Schedule schedule;
    schedule.build(forest, 2, ESPALIER_POLICY_BATCHED, false);
    StreamQueue::Shape shape{random.below(2) == 0, random.below(2) == 0,
                             random.below(4) != 0, random.below(4) != 0};
    QueueChecker(schedule, shape).run(random, 1 + random.below(4));
  }
}

TEST(StreamQueue, NoTaskAfterAFailure) {
  Forest forest;
  RandomForest random(2);
  forest.append(random.structure(50, 1, false));
  Schedule schedule;
  schedule.build(forest, 1, ESPALIER_POLICY_BATCHED, false);
  StreamQueue queue;
  queue.start(schedule, {false, false, true, true}, 10);
  StreamQueue::Item item = queue.next();
  ASSERT_EQ(item.kind, StreamQueue::Item::Before);
  queue.finish(item, true);
  // All blocks before the loop are tried, so that the first failure is known.
  for (int64_t block = 1; block < 5; ++block) {
    item = queue.next();
    ASSERT_EQ(item.kind, StreamQueue::Item::Before);
    EXPECT_EQ(item.number, block);
    queue.finish(item, false);
  }
  EXPECT_EQ(queue.next().kind, StreamQueue::Item::None);
}
