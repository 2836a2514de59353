//===- ForestTest.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "graph/Forest.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace espalier;

/// The message of the Error that `body` throws.
template <typename Body>
static std::string failureOf(espalier_status code, Body body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(Forest, AppendNumbersOverTheWholeForest) {
  Forest forest;
  forest.append({{}, {0, -1}});
  forest.append({{}, {}, {1, 0}});
  EXPECT_EQ(forest.structures(), 2);
  EXPECT_EQ(forest.vertices(), 5);
  EXPECT_EQ(forest.structureOffsets, (std::vector<int64_t>{0, 2, 5}));
  EXPECT_EQ(forest.children, (std::vector<int32_t>{0, -1, 3, 2}));
  forest.validate();
}

TEST(Forest, AppendFromRowsThatDoNotStartAtZero) {
  const int64_t offsets[] = {2, 2, 4};
  const int32_t children[] = {99, 99, 0, -1};
  Forest forest;
  forest.append(2, offsets, children);
  EXPECT_EQ(forest.childOffsets, (std::vector<int64_t>{0, 0, 2}));
  EXPECT_EQ(forest.children, (std::vector<int32_t>{0, -1}));
}

TEST(Forest, StructureOfSkipsEmptyStructures) {
  Forest forest;
  forest.append({});
  forest.append({{}, {}});
  forest.append({});
  forest.append({{}});
  EXPECT_EQ(forest.structureOf(0), 1);
  EXPECT_EQ(forest.structureOf(1), 1);
  EXPECT_EQ(forest.structureOf(2), 3);
}

TEST(Forest, IndicesOutOfRange) {
  Forest forest;
  forest.append({{}});
  EXPECT_EQ(failureOf(ESPALIER_MALFORMED, [&] { forest.append({{}, {0, 2}}); }),
            "structure 1: child 1 of vertex 1 is 2; expected a vertex in "
            "[0, 2) or -1 for an absent child");
  EXPECT_EQ(failureOf(ESPALIER_MALFORMED, [&] { forest.append({{-2}}); }),
            "structure 1: child 0 of vertex 0 is -2; expected a vertex in "
            "[0, 1) or -1 for an absent child");
  const int64_t descending[] = {0, 1, 0};
  const int32_t children[] = {-1};
  EXPECT_EQ(failureOf(ESPALIER_MALFORMED,
                      [&] { forest.append(2, descending, children); }),
            "structure 1: the child offsets of vertex 1 go from 1 to 0; they "
            "must not descend");
  EXPECT_EQ(forest.structures(), 1);
}

TEST(Forest, CyclesAreListed) {
  Forest forest;
  forest.append({{}, {0}});
  EXPECT_EQ(failureOf(ESPALIER_MALFORMED,
                      [&] { forest.append({{}, {0, 3}, {1}, {2}, {3}}); }),
            "structure 1 has a cycle, from parent to child: 1 -> 3 -> 2 -> 1; "
            "only acyclic structures can be evaluated");
  EXPECT_NE(failureOf(ESPALIER_MALFORMED, [&] { forest.append({{0}}); })
                .find("0 -> 0"),
            std::string::npos);
  // The forest is as before, and still takes structures.
  EXPECT_EQ(forest.structures(), 1);
  EXPECT_EQ(forest.vertices(), 2);
  EXPECT_EQ(forest.children.size(), 1u);
  forest.append({{1}, {}});
  forest.validate();
}

TEST(Forest, LongCyclesAreShortened) {
  const int length = 200000;
  std::vector<std::vector<int32_t>> lists(length);
  for (int32_t v = 0; v < length; ++v)
    lists[v].push_back((v + 1) % length);
  Forest forest;
  std::string message =
      failureOf(ESPALIER_MALFORMED, [&] { forest.append(lists); });
  EXPECT_NE(message.find("0 -> 1 -> "), std::string::npos);
  EXPECT_NE(message.find("... -> 199992 -> "), std::string::npos);
  EXPECT_LT(message.size(), 400u);
}

TEST(Forest, ValidateFindsDamage) {
  Forest forest;
  forest.append({{}, {0}});
  forest.append({{}, {0}});
  Forest other = forest;
  other.children[1] = 0; // of the other structure
  EXPECT_NE(failureOf(ESPALIER_MALFORMED, [&] { other.validate(); })
                .find("structure 1: child 0 of vertex 1 is -2"),
            std::string::npos);
  other = forest;
  other.structureOffsets.back() = 3;
  EXPECT_NE(failureOf(ESPALIER_MALFORMED, [&] { other.validate(); })
                .find("3 vertices but 4"),
            std::string::npos);
  other = forest;
  other.childOffsets.back() = 1;
  failureOf(ESPALIER_MALFORMED, [&] { other.validate(); });
}

TEST(Forest, SliceWithFields) {
  Forest forest;
  forest.append({{}, {0}});
  forest.append({});
  forest.append({{}, {}, {0, 1}});
  Tensor field = Tensor::zeros(ESPALIER_I32, {5, 2});
  for (int i = 0; i < 10; ++i)
    reinterpret_cast<int32_t *>(field.mutableData())[i] = i;
  forest.fields["pair"] = field;

  Forest part = forest.slice(1, 3);
  part.validate();
  EXPECT_EQ(part.structureOffsets, (std::vector<int64_t>{0, 0, 3}));
  EXPECT_EQ(part.children, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(part.fields["pair"].shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(part.fields["pair"].as<int32_t>()[0], 4);
  EXPECT_EQ(forest.slice(3, 3).vertices(), 0);
  failureOf(ESPALIER_INVALID_ARGUMENT, [&] { forest.slice(2, 4); });

  forest.append({{}});
  EXPECT_NE(
      failureOf(ESPALIER_INVALID_ARGUMENT, [&] { forest.slice(0, 1); })
          .find("field 'pair' has shape 5x2xi32 but the batch has 6 vertices"),
      std::string::npos);
}

TEST(Forest, SelectWithFields) {
  Forest forest;
  forest.append({{}, {0}});
  forest.append({});
  forest.append({{}, {}, {1, -1, 0}});
  Tensor field = Tensor::zeros(ESPALIER_I32, {5, 2});
  for (int i = 0; i < 10; ++i)
    reinterpret_cast<int32_t *>(field.mutableData())[i] = i;
  forest.fields["pair"] = field;

  const int64_t numbers[] = {2, 1, 0, 2};
  Forest part = forest.select(numbers, 4);
  part.validate();
  EXPECT_EQ(part.structureOffsets, (std::vector<int64_t>{0, 3, 3, 5, 8}));
  EXPECT_EQ(part.childOffsets,
            (std::vector<int64_t>{0, 0, 0, 3, 3, 4, 4, 4, 7}));
  EXPECT_EQ(part.children, (std::vector<int32_t>{1, -1, 0, 3, 6, -1, 5}));
  const Tensor &rows = part.fields["pair"];
  ASSERT_EQ(rows.shape, (std::vector<int64_t>{8, 2}));
  EXPECT_EQ(
      std::vector<int32_t>(rows.as<int32_t>(), rows.as<int32_t>() + 16),
      (std::vector<int32_t>{4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(forest.select(nullptr, 0).fields["pair"].shape,
            (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(forest.select(numbers + 1, 1).vertices(), 0);

  const int64_t outside[] = {0, 3}, negative[] = {-1};
  EXPECT_NE(
      failureOf(ESPALIER_INVALID_ARGUMENT, [&] { forest.select(outside, 2); })
          .find("structure 3 of a batch of 3"),
      std::string::npos);
  failureOf(ESPALIER_INVALID_ARGUMENT, [&] { forest.select(negative, 1); });
  forest.append({{}});
  failureOf(ESPALIER_INVALID_ARGUMENT, [&] { forest.select(numbers, 1); });
}

TEST(Forest, ManyAppendsTakeLinearTime) {
  Forest forest;
  for (int k = 0; k < 300000; ++k)
    forest.append({{}, {}, {0, 1}});
  EXPECT_EQ(forest.vertices(), 900000);
}
