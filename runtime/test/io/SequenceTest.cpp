//===- SequenceTest.cpp - Lines of tokens ---------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "IoTesting.h"

using namespace espalier;

namespace {
class SequenceTest : public ReaderTest {
protected:
  SequenceTest() : ReaderTest("sequence") {}
};
} // namespace

TEST_F(SequenceTest, EveryLineIsAChain) {
  Forest forest = readText("a b a\nc\n");
  EXPECT_EQ(forest.structureOffsets, (Offsets{0, 3, 4}));
  EXPECT_EQ(forest.childOffsets, (Offsets{0, 0, 1, 2, 2}));
  EXPECT_EQ(forest.children, (Ints{0, 1}));
  EXPECT_EQ(ints(forest, "word"), (Ints{0, 1, 0, 2}));
}

TEST_F(SequenceTest, EmptyLinesAreEmptySequences) {
  Forest forest = readText("\n a\t b \r\n\r\nc");
  EXPECT_EQ(forest.structureOffsets, (Offsets{0, 0, 2, 2, 3}));
  EXPECT_EQ(tokens(forest), (Strings{"a", "b", "c"}));
  EXPECT_EQ(readText("").structures(), 0);
  EXPECT_EQ(readText("\n").structures(), 1);
}

TEST_F(SequenceTest, OnlyAsciiBlanksSeparate) {
  // No-break space, ideographic space.
  Forest forest = readText("\xEF\xBB\xBF"
                           "a\xC2\xA0"
                           "b c\xE3\x80\x80"
                           "d");
  EXPECT_EQ(forest.vertices(), 2);
}

TEST_F(SequenceTest, AMillionTokens) {
  std::string text;
  for (int i = 0; i != 1000000; ++i)
    text += "x ";
  Forest forest = readText(text);
  EXPECT_EQ(forest.vertices(), 1000000);
  EXPECT_EQ(forest.children.size(), 999999u);
}

TEST_F(SequenceTest, UnknownTokens) {
  words.add("a");
  expectMalformed("a\na  b", "2:4", "neither 'b' nor '<unk>'",
                  ESPALIER_UNSEEN_FAIL);
  words.add("<unk>");
  Forest forest = readText("b a <unk>", ESPALIER_UNSEEN_FAIL);
  EXPECT_EQ(ints(forest, "word"), (Ints{1, 0, 1}));
  EXPECT_EQ(forest.unseenTokens, 1);
}

TEST_F(SequenceTest, UnknownTokensThatAreNone) {
  words.add("a");
  Forest forest = readText("b a\nb c", ESPALIER_UNSEEN_NONE);
  EXPECT_EQ(ints(forest, "word"), (Ints{-1, 0, -1, -1}));
  EXPECT_EQ(forest.unseenTokens, 3);
  EXPECT_EQ(words.size(), 1);
  words.add("<unk>");
  EXPECT_EQ(ints(readText("b a", ESPALIER_UNSEEN_NONE), "word"), (Ints{1, 0}));
  EXPECT_EQ(readText("b a").unseenTokens, 0);
}
