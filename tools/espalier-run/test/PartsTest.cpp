//===- PartsTest.cpp - Parts of espalier-run that stand alone -------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Describe.h"
#include "LayeredModel.h"
#include "Progress.h"
#include "Random.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <sstream>

using namespace espalier::run;

TEST(Random, ShufflesArePermutations) {
  for (int64_t count : {0, 1, 2, 3, 1000}) {
    std::vector<int64_t> order = shuffled(count, 7, 3);
    EXPECT_EQ(order, shuffled(count, 7, 3));
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i != count; ++i)
      EXPECT_EQ(order[i], i);
  }
  EXPECT_NE(shuffled(1000, 7, 3), shuffled(1000, 7, 4));
  EXPECT_NE(shuffled(1000, 7, 3), shuffled(1000, 8, 3));
}

TEST(Random, ShufflesAreUniform) {
  // Each of the 24 orders of 4 is there 1000 times of 24000 in expectation,
  // with a standard deviation of 31.
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch != 24000; ++epoch)
    ++counts[shuffled(4, 1, epoch)];
  EXPECT_EQ(counts.size(), 24u);
  for (const auto &[order, count] : counts)
    EXPECT_NEAR(count, 1000, 160);
}

TEST(Random, SeedsOfSteps) {
  std::set<int32_t> seeds;
  for (int64_t step = 0; step != 1000; ++step) {
    EXPECT_GE(seedOfStep(1, step), 0);
    seeds.insert(seedOfStep(1, step));
  }
  EXPECT_EQ(seeds.size(), 1000u);
  EXPECT_NE(seedOfStep(1, 5), seedOfStep(2, 5));
}

TEST(Progress, Lines) {
  auto line = [](int64_t done, const char *note, double seconds, int width) {
    return progressLine("epoch 1", done, 8, note, seconds, width);
  };
  EXPECT_EQ(line(2, "loss 1", 65, 80),
            "epoch 1 [=======>                      ] 2/8 1:05 left loss 1");
  EXPECT_EQ(line(2, "loss 1", 65, 44),
            "epoch 1 [===>         ] 2/8 1:05 left loss 1");
  EXPECT_EQ(line(2, "loss 1", 65, 36), "epoch 1 [==>       ] 2/8 1:05 left l");
  EXPECT_EQ(line(2, "loss 1", 65, 33), "epoch 1 2/8 1:05 left loss 1");
  EXPECT_EQ(line(2, "", -1, 9), "epoch 1 2");
  EXPECT_EQ(line(0, "", -1, 24), "epoch 1 [>         ] 0/8");
  EXPECT_EQ(line(8, "", 3661.2, 37), "epoch 1 [==========] 8/8 1:01:01 left");
  EXPECT_EQ(progressLine("none", 0, 0, "", -1, 21), "none [==========] 0/0");
}

TEST(Describe, LayersWithShapes) {
  LayeredModel tables(2);
  std::ostringstream out;
  describe(out, tables.model, "");
  for (const char *text :
       {"convolution, once\n      layer   convolution (conv2d 2x2x5x6xf32, "
        "3x2x3x3xf32, 3xf32 -> 2x3x5x6xf32; patches, 24576 bytes of "
        "workspace)\n",
        "kernel  relu, over 2 rows\n",
        "layer   concat (concat 2x3x2x3xf32, 2x3x2x3xf32 -> 2x6x2x3xf32)\n",
        "layer   matmul (matmul 2x3xf32, 3x2xf32 -> 2x2xf32)\n"})
    EXPECT_NE(out.str().find(text), std::string::npos) << text << out.str();
}
