//===- ConlluTest.cpp - Dependency trees ----------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "IoTesting.h"

using namespace espalier;

namespace {
class ConlluTest : public ReaderTest {
protected:
  ConlluTest() : ReaderTest("conllu") {}

  /// A line with the given id, form, tag and head.
  static std::string word(const std::string &id, const std::string &form,
                          const std::string &tag, const std::string &head) {
    return id + "\t" + form + "\t_\t" + tag + "\t_\t_\t" + head +
           "\tdep\t_\t_\n";
  }
};
} // namespace

TEST_F(ConlluTest, DependentsAreChildrenInPostOrder) {
  // "the fox saw it": saw <- fox <- the, saw <- it.
  Forest forest =
      readText("# text = the fox saw it\n" + word("1", "the", "DET", "2") +
               word("2", "fox", "NOUN", "3") + word("3", "saw", "VERB", "0") +
               word("4", "it", "PRON", "3") + "\n");
  EXPECT_EQ(tokens(forest), (Strings{"the", "fox", "it", "saw"}));
  EXPECT_EQ(ints(forest, "index"), (Ints{0, 1, 3, 2}));
  EXPECT_EQ(ints(forest, "upos"), (Ints{5, 7, 10, 15}));
  EXPECT_EQ(children(forest, 0), Ints{});
  EXPECT_EQ(children(forest, 1), Ints{0});
  EXPECT_EQ(children(forest, 3), (Ints{1, 2}));
  // Ids follow the order of the text, not of the vertices.
  EXPECT_EQ(words.token(2), "saw");
}

TEST_F(ConlluTest, SkipsRangesEmptyNodesAndComments) {
  Forest forest =
      readText("\xEF\xBB\xBF# sent_id = 1\r\n" + word("0.1", "_", "_", "_") +
               word("1-2", "vamonos", "_", "_") +
               word("1", "vamos", "VERB", "0") + word("2", "nos", "PRON", "1") +
               "# odd place\n" + word("2.1", "e", "VERB", "_") + "\r\n \n\n" +
               word("1", "two words", "_", "0"));
  EXPECT_EQ(forest.structureOffsets, (Offsets{0, 2, 3}));
  EXPECT_EQ(tokens(forest), (Strings{"nos", "vamos", "two words"}));
  EXPECT_EQ(ints(forest, "upos"), (Ints{10, 15, -1}));
}

TEST_F(ConlluTest, CarriageReturns) {
  std::string text = word("1", "a", "X", "0") + "\n";
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2)
    text.insert(at, "\r");
  EXPECT_EQ(readText(text + text).structures(), 2);
}

TEST_F(ConlluTest, SeveralRoots) {
  Forest forest = readText(word("1", "a", "X", "0") + word("2", "b", "X", "4") +
                           word("3", "c", "X", "1") + word("4", "d", "X", "0"));
  EXPECT_EQ(forest.structures(), 1);
  EXPECT_EQ(tokens(forest), (Strings{"c", "a", "b", "d"}));
  EXPECT_EQ(children(forest, 1), Ints{0});
  EXPECT_EQ(children(forest, 3), Ints{2});
}

TEST_F(ConlluTest, NothingButComments) {
  EXPECT_EQ(readText("").structures(), 0);
  EXPECT_EQ(readText("# a\n\n\n# b\n").structures(), 0);
}

TEST_F(ConlluTest, LongChains) {
  const int count = 200000;
  std::string text;
  for (int i = 1; i <= count; ++i)
    text += word(std::to_string(i), "x", "X",
                 i == count ? "0" : std::to_string(i + 1));
  Forest forest = readText(text);
  EXPECT_EQ(forest.vertices(), count);
  EXPECT_EQ(children(forest, count - 1), Ints{count - 2});
}

TEST_F(ConlluTest, Malformed) {
  std::string good = word("1", "a", "X", "0");
  expectMalformed(good + "2\tb\t_\n", "2:1",
                  "expected 10 columns with a tab between any two, found 3");
  expectMalformed("1\ta\t_\t_\t_\t_\t0\t_\t_\t_\t_\n", "1:1", "found 11");
  expectMalformed("1 a _ X _ _ 0 _ _ _\n", "1:1", "found 1");
  expectMalformed(good + word("3", "b", "X", "1"), "2:1",
                  "expected the word's number 2");
  expectMalformed(good + word("x", "b", "X", "1"), "2:1", "found 'x'");
  expectMalformed(good + word("2-", "b", "X", "1"), "2:1", "found '2-'");
  expectMalformed(good + word("", "b", "X", "1"), "2:1", "found ''");
  expectMalformed(word("1", "a", "X", "_"), "1:13", "head");
  expectMalformed(word("1", "a", "X", "-1"), "1:13", "head");
  expectMalformed(word("1", "a", "X", "0") + word("2", "b", "X", "3"), "2:13",
                  "the head is word 3, but the sentence has 2");
  expectMalformed(word("1", "", "X", "0"), "1:3", "no form");
  expectMalformed(word("1", "a\rb", "X", "0"), "1:3", "line break");
}

TEST_F(ConlluTest, Cycles) {
  expectMalformed(
      "# c\n" + word("1", "a", "X", "0") + word("2", "b", "X", "3") +
          word("3", "c", "X", "4") + word("4", "d", "X", "3"),
      "4:13", "the heads form a cycle: 3 (line 4) -> 4 (line 5) -> 3");
  expectMalformed(word("1", "a", "X", "1"), "1:13", "1 (line 1) -> 1");
}

TEST_F(ConlluTest, UnknownForms) {
  expectMalformed(word("1", "a", "X", "0"), "1:3", "neither 'a' nor '<unk>'",
                  ESPALIER_UNSEEN_FAIL);
  EXPECT_EQ(
      ints(readText(word("1", "a", "X", "0"), ESPALIER_UNSEEN_NONE), "word"),
      (Ints{-1}));
}
