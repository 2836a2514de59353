//===- AssignBuffersTest.cpp - Offsets of buffers and of plans ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/AssignBuffers.h"
#include "espalier/Planning/CheckBuffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace espalier::planning;

namespace {

std::string check(const std::vector<BufferInterval> &buffers,
                  const BufferAssignment &assignment) {
  std::vector<PlacedBuffer> placed;
  for (size_t i = 0; i < buffers.size(); ++i)
    placed.push_back({buffers[i].lower, buffers[i].upper, assignment.offsets[i],
                      buffers[i].size, buffers[i].alignment});
  return checkBuffers(placed, assignment.peak);
}

/// The lowest peak: some order, each buffer as low as those before it let it,
/// gives it. Alignment 1.
int64_t findLowestPeak(const std::vector<BufferInterval> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), 0);
    int64_t peak = 0;
    for (size_t at = 0; at < order.size(); ++at) {
      const BufferInterval &buffer = buffers[order[at]];
      for (size_t before = 0; before < at; ++before) {
        const BufferInterval &other = buffers[order[before]];
        if (other.lower < buffer.upper && buffer.lower < other.upper)
          offsets[at] = std::max(offsets[at], offsets[before] + other.size);
      }
      peak = std::max(peak, offsets[at] + buffer.size);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

std::vector<BufferInterval> makeRandom(std::mt19937 &random, int count,
                                       int times, int sizes) {
  auto draw = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  std::vector<BufferInterval> buffers;
  for (int i = 0; i < count; ++i) {
    int lower = draw(-times, times - 1);
    buffers.push_back({lower, draw(lower + 1, times), draw(1, sizes), 1});
  }
  return buffers;
}

TEST(AssignBuffers, NothingAndNextToNothing) {
  EXPECT_EQ(assignBuffers(std::vector<BufferInterval>()).peak, 0);
  std::vector<BufferInterval> buffers{
      {0, 10, 0, 1}, {3, 3, 7, 1}, {5, 6, 9, 1}};
  BufferAssignment assignment = assignBuffers(buffers);
  EXPECT_EQ(assignment.offsets, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(assignment.peak, 9);
  EXPECT_EQ(assignment.lowerBound, 9);
  EXPECT_EQ(assignment.busiestTime, 5);
}

TEST(AssignBuffers, OneTime) {
  std::vector<BufferInterval> buffers{{0, 1, 3, 1}, {0, 1, 4, 1}, {0, 1, 5, 1}};
  BufferAssignment assignment = assignBuffers(buffers);
  EXPECT_EQ(assignment.peak, 12);
  EXPECT_EQ(check(buffers, assignment), "");
}

/// Half open: the second starts when the first ends.
TEST(AssignBuffers, OneAfterTheOther) {
  std::vector<BufferInterval> buffers{{0, 4, 8, 1}, {4, 9, 6, 1}};
  EXPECT_EQ(assignBuffers(buffers).peak, 8);
}

/// Five rectangles around the one in the middle fill three times by three
/// bytes; no order by size or times leads there at once.
///
///     D C C      bytes
///     D E B        ^
///     A A B        +-> times
TEST(AssignBuffers, Pinwheel) {
  std::vector<BufferInterval> buffers{
      {0, 2, 1, 1}, {2, 3, 2, 1}, {1, 3, 1, 1}, {0, 1, 2, 1}, {1, 2, 1, 1}};
  BufferAssignment assignment = assignBuffers(buffers);
  EXPECT_EQ(assignment.lowerBound, 3);
  EXPECT_EQ(assignment.peak, 3);
  EXPECT_EQ(check(buffers, assignment), "");
}

TEST(AssignBuffers, Alignment) {
  // 100 and 1 at once: 128 and 64 of an arena in units of 64.
  std::vector<BufferInterval> buffers{{0, 2, 100, 64}, {0, 2, 1, 64}};
  BufferAssignment assignment = assignBuffers(buffers);
  EXPECT_EQ(assignment.lowerBound, 192);
  EXPECT_EQ(assignment.peak, 192);
  EXPECT_EQ(check(buffers, assignment), "");

  // The small ones fit in what the alignment of the large ones leaves.
  buffers = {{0, 2, 6, 8}, {0, 2, 6, 8}, {0, 2, 2, 1}, {0, 2, 2, 2}};
  assignment = assignBuffers(buffers);
  EXPECT_EQ(assignment.peak, 16);
  EXPECT_EQ(check(buffers, assignment), "");
}

TEST(AssignBuffers, PartsOfTimeAreOnTheirOwn) {
  std::vector<BufferInterval> buffers{
      {0, 5, 10, 1}, {2, 5, 5, 1}, {100, 200, 12, 1}, {150, 170, 2, 1}};
  BufferAssignment assignment = assignBuffers(buffers);
  EXPECT_EQ(assignment.peak, 15);
  EXPECT_EQ(assignment.busiestTime, 2);
  EXPECT_EQ(check(buffers, assignment), "");
}

TEST(AssignBuffers, LowestPeakOfSmallOnes) {
  std::mt19937 random(1);
  int aboveBound = 0;
  for (int round = 0; round < 1500; ++round) {
    // Of eight and more, some need more than the load.
    std::vector<BufferInterval> buffers =
        round % 5 == 0 ? makeRandom(random, 8, 4, 5)
                       : makeRandom(random, 1 + round % 7, 4, 9);
    BufferAssignment assignment = assignBuffers(buffers);
    ASSERT_EQ(check(buffers, assignment), "") << "round " << round;
    ASSERT_EQ(assignment.peak, findLowestPeak(buffers)) << "round " << round;
    ASSERT_LE(assignment.lowerBound, assignment.peak);
    aboveBound += assignment.lowerBound < assignment.peak ? 1 : 0;
  }
  // Where the load is not enough, all packings have been tried.
  EXPECT_GT(aboveBound, 0);
}

TEST(AssignBuffers, RandomOnesDoNotOverlap) {
  std::mt19937 random(2);
  AssignBuffersOptions options;
  options.searchSteps = 20000;
  for (int round = 0; round < 10000; ++round) {
    std::vector<BufferInterval> buffers =
        makeRandom(random, round % 40, 1 + round % 30, 1 + round % 200);
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (round % 3 == 0)
        buffers[i].alignment = int64_t(1) << (i * 7 % 5);
      if (round % 5 == 0 && i % 6 == 0)
        buffers[i].size = 0;
    }
    BufferAssignment assignment = assignBuffers(buffers, options);
    ASSERT_EQ(check(buffers, assignment), "") << "round " << round;
    ASSERT_LE(assignment.lowerBound, assignment.peak);
  }
}

/// A rectangle cut into buffers: there is a packing without a gap.
std::vector<BufferInterval> cutRectangle(uint32_t seed, size_t count,
                                         int64_t side) {
  std::mt19937 random(seed);
  struct Piece {
    int64_t lower, upper, bottom, top;
  };
  std::vector<Piece> pieces{{0, side, 0, side}};
  while (pieces.size() < count) {
    Piece &piece = pieces[random() % pieces.size()];
    Piece rest = piece;
    bool acrossTime = random() % 2 == 0;
    int64_t &end = acrossTime ? piece.upper : piece.top;
    int64_t &begin = acrossTime ? rest.lower : rest.bottom;
    if (end - begin < 2)
      continue;
    begin = end = begin + 1 + int64_t(random() % uint64_t(end - begin - 1));
    pieces.push_back(rest);
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  std::vector<BufferInterval> buffers;
  for (const Piece &piece : pieces)
    buffers.push_back({piece.lower, piece.upper, piece.top - piece.bottom, 1});
  return buffers;
}

TEST(AssignBuffers, FindsPackingsWithoutGaps) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::vector<BufferInterval> buffers = cutRectangle(seed, 80, 1000);
    AssignBuffersOptions options;
    options.capacity = 1000;
    BufferAssignment assignment = assignBuffers(buffers, options);
    EXPECT_EQ(assignment.peak, 1000) << "seed " << seed;
    EXPECT_EQ(check(buffers, assignment), "");
  }
}

TEST(AssignBuffers, SameOffsetsEveryTime) {
  std::vector<BufferInterval> buffers = cutRectangle(7, 120, 5000);
  EXPECT_EQ(assignBuffers(buffers).offsets, assignBuffers(buffers).offsets);
}

TEST(AssignBuffers, LimitsEndTheSearch) {
  std::vector<BufferInterval> buffers = cutRectangle(3, 600, 100000);
  AssignBuffersOptions options;
  options.searchSteps = 0;
  BufferAssignment fast = assignBuffers(buffers, options);
  EXPECT_FALSE(fast.timedOut);
  EXPECT_EQ(check(buffers, fast), "");
  ASSERT_GT(fast.peak, fast.lowerBound) << "chosen so that packers fail";

  options.searchSteps = INT64_MAX;
  options.secondsLimit = 1e-3;
  BufferAssignment limited = assignBuffers(buffers, options);
  EXPECT_TRUE(limited.timedOut || limited.peak == limited.lowerBound);
  EXPECT_LE(limited.peak, fast.peak);
  EXPECT_EQ(check(buffers, limited), "");
}

TEST(AssignBuffers, ManyBuffers) {
  // Activations that wait for their backward step, as a deep network has them.
  std::vector<BufferInterval> buffers;
  int64_t layers = 50000;
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t size = 64 << (layer * 7919 % 5);
    buffers.push_back({layer, 2 * layers - layer, size, 64});
    buffers.push_back(
        {2 * layers - layer - 1, 2 * layers - layer + 1, size, 64});
    buffers.push_back({layer, layer + 1, 640, 64});
  }
  AssignBuffersOptions options;
  options.searchSteps = 0;
  BufferAssignment assignment = assignBuffers(buffers, options);
  EXPECT_EQ(check(buffers, assignment), "");
  EXPECT_LE(double(assignment.peak), 1.01 * double(assignment.lowerBound));
}

TEST(AssignBuffers, FindsWhatIsWrong) {
  EXPECT_EQ(checkIntervals({{0, 1, 1, 1}}), "");
  EXPECT_EQ(checkIntervals({{0, 1, 1, 1}, {0, 1, -5, 1}}),
            "buffer 1 has -5 bytes");
  EXPECT_EQ(checkIntervals({{3, 2, 1, 1}}),
            "buffer 0 ends at time 2, before its start at 3");
  EXPECT_EQ(checkIntervals({{0, 1, 1, 0}}), "buffer 0 has the alignment 0");
  EXPECT_EQ(
      checkIntervals({{0, 1, INT64_MAX / 3, 1}, {0, 1, INT64_MAX / 3, 1}}),
      "the buffers have more than 2^62 bytes in all, with what their "
      "alignment may take");
}

TEST(CheckBuffers, FindsWhatIsWrong) {
  auto isFine = [](std::vector<PlacedBuffer> buffers) {
    return checkBuffers(buffers, 100).empty();
  };
  EXPECT_TRUE(isFine({}));
  EXPECT_TRUE(isFine({{0, 5, 0, 50}, {0, 5, 50, 50}}));
  EXPECT_TRUE(isFine({{0, 5, 0, 100}, {5, 6, 0, 100}}));
  EXPECT_TRUE(isFine({{0, 5, 10, 20}, {0, 5, 15, 0}, {2, 2, 15, 5}}));
  // From below, from above, inside, around, the same.
  EXPECT_FALSE(isFine({{0, 5, 0, 51}, {0, 5, 50, 50}}));
  EXPECT_FALSE(isFine({{0, 5, 50, 50}, {1, 2, 0, 51}}));
  EXPECT_FALSE(isFine({{0, 5, 0, 50}, {1, 2, 10, 5}}));
  EXPECT_FALSE(isFine({{0, 5, 10, 5}, {4, 9, 0, 50}}));
  EXPECT_FALSE(isFine({{0, 5, 10, 5}, {0, 5, 10, 5}}));
  // Not beside its neighbours in the list.
  EXPECT_FALSE(
      isFine({{0, 9, 0, 10}, {0, 3, 20, 10}, {3, 9, 30, 10}, {4, 5, 5, 10}}));

  EXPECT_EQ(checkBuffers({{0, 5, 60, 50}}, 100),
            "buffer 0 of 50 bytes at offset 60 ends beyond the capacity of 100 "
            "bytes");
  EXPECT_EQ(checkBuffers({{0, 5, -4, 8}}, 100, {"x"}),
            "buffer 'x' is at offset -4");
  EXPECT_EQ(checkBuffers({{0, 5, 12, 8, 8}}),
            "buffer 0 is at offset 12, no multiple of 8");
  EXPECT_EQ(checkBuffers({{0, 5, 0, 8}, {4, 6, 4, 8}}, 100, {"a", "b"}),
            "buffer 'b' (bytes 4 to 12, times 4 to 6) overlaps buffer 'a' "
            "(bytes 0 to 8, times 0 to 5)");
  EXPECT_EQ(checkBuffers({{5, 4, 0, 1}}),
            "buffer 0 ends at time 4, before its start at 5");
  EXPECT_EQ(checkBuffers({{4, 5, 0, -1}}), "buffer 0 has -1 bytes");
}

Buffer makeBuffer(int64_t bytes, int32_t first, int32_t last,
                  BufferId sharesWith = -1) {
  Buffer buffer;
  buffer.tensor = 0;
  buffer.bytes = bytes;
  buffer.first = first;
  buffer.last = last;
  buffer.sharesWith = sharesWith;
  return buffer;
}

/// Four steps; in place from step 1 to 2, with a view of the second, and a
/// workspace in step 2.
///
///   step   0    1    2    3
///   a      100  100
///   b           100  100  100     in place of a
///   view                  100     of b
///   c           60   60
///   work             200
///   d                     60
TEST(AssignPlan, SharesMemory) {
  Plan plan;
  plan.steps.resize(4);
  plan.steps[2].workspaceBytes = 200;
  plan.buffers = {makeBuffer(100, 0, 1), makeBuffer(100, 1, 3, 0),
                  makeBuffer(100, 3, 3, 1), makeBuffer(60, 1, 2),
                  makeBuffer(60, 3, 3)};
  std::string error;
  ASSERT_TRUE(assignBuffers(plan, error)) << error;
  EXPECT_EQ(plan.buffers[1].offset, plan.buffers[0].offset);
  EXPECT_EQ(plan.buffers[2].offset, plan.buffers[0].offset);
  std::vector<PlacedBuffer> placed{
      {0, 4, plan.buffers[0].offset, 100, 64},
      {1, 3, plan.buffers[3].offset, 60, 64},
      {2, 3, plan.steps[2].workspaceOffset, 200, 64},
      {3, 4, plan.buffers[4].offset, 60, 64}};
  EXPECT_EQ(checkBuffers(placed, plan.arenaBytes), "");
  // 128 + 64 + 256 in units of 64 bytes at step 2; the last need not be full.
  EXPECT_LE(plan.arenaBytes, 448);
  EXPECT_GE(plan.arenaBytes, 360);
}

TEST(AssignPlan, FindsWhatIsWrong) {
  auto problem = [](auto spoil) {
    Plan plan;
    plan.steps.resize(2);
    plan.buffers = {makeBuffer(8, 0, 1), makeBuffer(8, 1, 1, 0)};
    spoil(plan);
    std::string error;
    return assignBuffers(plan, error) ? "" : error;
  };
  EXPECT_EQ(problem([](Plan &) {}), "");
  EXPECT_EQ(problem([](Plan &plan) { plan.buffers[0].bytes = -8; }),
            "buffer 0 has -8 bytes");
  EXPECT_EQ(problem([](Plan &plan) { plan.buffers[1].last = 2; }),
            "buffer 1 stays from step 1 to step 2; the plan has 2 steps");
  EXPECT_EQ(problem([](Plan &plan) { plan.buffers[0].sharesWith = 1; }),
            "buffer 0 shares memory with itself, by way of others");
  EXPECT_EQ(problem([](Plan &plan) { plan.buffers[0].sharesWith = 2; }),
            "buffer 0 shares memory with buffer 2, which there is not");
  EXPECT_EQ(problem([](Plan &plan) { plan.steps[1].workspaceBytes = -1; }),
            "step 1 has a workspace of -1 bytes");
}

TEST(AssignPlan, Empty) {
  Plan plan;
  std::string error;
  EXPECT_TRUE(assignBuffers(plan, error)) << error;
  EXPECT_EQ(plan.arenaBytes, 0);
}

} // namespace
