//===- MemoryTest.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/Arena.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace espalier;

TEST(OffsetAssigner, NothingThatLivesTogetherOverlaps) {
  std::mt19937 random(7);
  OffsetAssigner assigner;
  for (int round = 0; round < 300; ++round) {
    std::vector<Placement> placements(random() % 20);
    for (Placement &p : placements) {
      p.bytes = random() % 4 ? random() % 5000 : 0;
      p.first = random() % 8;
      p.last = p.first + random() % (8 - p.first);
    }
    int64_t total = assigner.assign(placements);
    int64_t sum = 0, lowerBound = 0;
    for (const Placement &p : placements)
      sum += alignUp(p.bytes);
    for (uint32_t step = 0; step < 8; ++step) {
      int64_t live = 0;
      for (const Placement &p : placements)
        live += p.first <= step && step <= p.last ? p.bytes : 0;
      lowerBound = std::max(lowerBound, live);
    }
    EXPECT_GE(total, lowerBound);
    EXPECT_LE(total, sum);
    for (size_t i = 0; i < placements.size(); ++i) {
      const Placement &a = placements[i];
      EXPECT_EQ(a.offset % kAlignment, 0);
      EXPECT_GE(a.offset, 0);
      EXPECT_LE(a.offset + a.bytes, total);
      for (size_t j = 0; j < i; ++j) {
        const Placement &b = placements[j];
        bool together = a.first <= b.last && b.first <= a.last;
        bool apart =
            a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        EXPECT_TRUE(!together || apart || a.bytes == 0 || b.bytes == 0)
            << "round " << round << ": " << i << " and " << j;
      }
    }
  }
}

TEST(OffsetAssigner, ReusesMemoryOfTheDead) {
  std::vector<Placement> placements = {
      {640, 0, 1, 0}, {640, 2, 3, 0}, {64, 1, 2, 0}};
  EXPECT_EQ(OffsetAssigner().assign(placements), 704);
}

TEST(Arena, GrowsAndStays) {
  Arena arena;
  arena.reserve(1000);
  EXPECT_EQ((uintptr_t)arena.data() % kAlignment, 0u);
  const char *block = arena.data();
  int64_t capacity = arena.capacity();
  EXPECT_GE(capacity, 1000);
  arena.reserve(10);
  EXPECT_EQ(arena.data(), block);
  EXPECT_EQ(arena.capacity(), capacity);
  arena.reserve(capacity + 1);
  EXPECT_GE(arena.capacity(), capacity + capacity / 2);
}

TEST(Arena, SaysHowMuchThereIsNoMemoryFor) {
  Arena arena;
  try {
    arena.reserve(int64_t(1) << 55);
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ESPALIER_OUT_OF_MEMORY);
    EXPECT_NE(error.message().find("36028797018963968 bytes"),
              std::string::npos);
  }
  arena.reserve(100); // still usable
  EXPECT_GE(arena.capacity(), 100);
}

TEST(Tensor, Shapes) {
  Tensor tensor = Tensor::zeros(ESPALIER_F64, {3, 0, 5});
  EXPECT_EQ(tensor.elements(), 0);
  EXPECT_NE(tensor.data, nullptr);
  EXPECT_EQ(shapeString({300, 1280}, ESPALIER_F32), "300x1280xf32");
  EXPECT_EQ(shapeString({}, ESPALIER_I32), "i32");
  EXPECT_EQ(Tensor::zeros(ESPALIER_F32, {}).elements(), 1);
  EXPECT_EQ((uintptr_t)Tensor::zeros(ESPALIER_F32, {7}).data % 64, 0u);
  EXPECT_THROW(Tensor::zeros(ESPALIER_F32, {-1}), Error);
  EXPECT_THROW(Tensor::zeros(ESPALIER_F32, {1ll << 40, 1ll << 40}), Error);
  EXPECT_THROW(dtypeSize(9), Error);
}
