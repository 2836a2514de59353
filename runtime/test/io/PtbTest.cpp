//===- PtbTest.cpp - Bracketed trees --------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "IoTesting.h"

using namespace espalier;

namespace {
class PtbTest : public ReaderTest {
protected:
  PtbTest() : ReaderTest("ptb") {}
};
} // namespace

TEST_F(PtbTest, PostOrder) {
  Forest forest = readText("(3 (2 the) (4 (1 red) (0 fox)))\n(1 the)\n");
  EXPECT_EQ(forest.structureOffsets, (Offsets{0, 5, 6}));
  EXPECT_EQ(forest.childOffsets, (Offsets{0, 0, 0, 0, 2, 4, 4}));
  EXPECT_EQ(forest.children, (Ints{1, 2, 0, 3}));
  EXPECT_EQ(tokens(forest), (Strings{"the", "red", "fox", "", "", "the"}));
  EXPECT_EQ(ints(forest, "label"), (Ints{2, 1, 0, 4, 3, 1}));
  EXPECT_EQ(ints(forest, "word"), (Ints{0, 1, 2, -1, -1, 0}));
}

TEST_F(PtbTest, NamedLabelsAreNumberedAsTheyAppear) {
  Forest forest = readText("(S (NP (D the) (N fox)) (V ran))(NP (N it))");
  // S 0, NP 1, D 2, N 3, V 4
  EXPECT_EQ(ints(forest, "label"), (Ints{2, 3, 1, 4, 0, 3, 1}));
}

TEST_F(PtbTest, IntegerLabelsKeepTheirValue) {
  EXPECT_EQ(ints(readText("(-1 (7 a) (007 b) (2147483647 c))"), "label"),
            (Ints{7, 7, 2147483647, -1}));
}

TEST_F(PtbTest, EmptyRootLabel) {
  Forest forest = readText("( (S (N a) (V b)) )");
  EXPECT_EQ(forest.vertices(), 4);
  EXPECT_EQ(children(forest, 3), (Ints{2}));
  EXPECT_EQ(ints(forest, "label"), (Ints{1, 2, 0, -1}));
  EXPECT_EQ(readText("((S (N a)))").vertices(), 3);
}

TEST_F(PtbTest, Layout) {
  // Several trees on a line, a tree over several lines, empty lines, blanks
  // inside brackets, a byte order mark, CRLF, no line end at the end.
  Forest forest = readText("\xEF\xBB\xBF\r\n(S (A a))  (S (A b))\r\n\r\n"
                           "( S\r\n\t(A\r\n c )\r\n)(S(A d)(B e))");
  EXPECT_EQ(forest.structures(), 4);
  EXPECT_EQ(tokens(forest), (Strings{"a", "", "b", "", "c", "", "d", "e", ""}));
}

TEST_F(PtbTest, TokensKeepTheirSpelling) {
  Forest forest = readText("(S (A -LRB-) (A a\xC2\xA0"
                           "b) (A \\/) (A ``) (A <unk>) (A 1\\*2))");
  EXPECT_EQ(tokens(forest), (Strings{"-LRB-",
                                     "a\xC2\xA0"
                                     "b",
                                     "\\/", "``", "<unk>", "1\\*2", ""}));
}

TEST_F(PtbTest, ManyChildrenAndUnaryChains) {
  std::string wide = "(S";
  for (int i = 0; i != 17; ++i)
    wide += " (A x)";
  Forest forest = readText(wide + ")(A (B (C (D x))))");
  EXPECT_EQ(children(forest, 17).size(), 17u);
  EXPECT_EQ(forest.structureOffsets, (Offsets{0, 18, 22}));
  EXPECT_EQ(children(forest, 21), (Ints{20}));
}

TEST_F(PtbTest, Nothing) {
  for (const char *text : {"", "\n", " \r\n\t\n"}) {
    Forest forest = readText(text);
    EXPECT_EQ(forest.structures(), 0);
    EXPECT_EQ(forest.vertices(), 0);
    EXPECT_EQ(ints(forest, "word"), Ints{});
  }
}

TEST_F(PtbTest, AMillionLevels) {
  const int64_t levels = 1000000;
  std::string text;
  for (int64_t i = 0; i != levels; ++i)
    text += "(1 ";
  text += "x";
  text.append(levels, ')');
  Forest forest = readText(text);
  EXPECT_EQ(forest.vertices(), levels);
  EXPECT_EQ(forest.structures(), 1);
  EXPECT_EQ(forest.children.back(), levels - 2);
  text.pop_back();
  expectMalformed(text, "1:1", "does not end");
}

TEST_F(PtbTest, Malformed) {
  expectMalformed("(S (A a)\n\n(S (A b))\n", "1:1", "'(' has no ')'");
  expectMalformed("(S (A a))\n (S (A (B b)", "2:2", "2 '(' have no ')'");
  expectMalformed("(", "1:1", "does not end");
  expectMalformed("(S (A a)))\n", "1:10", "')' without a '('");
  expectMalformed("\n)", "2:1", "')' without a '('");
  expectMalformed("(S (A a))\nword (S (A b))", "2:1",
                  "expected '(', found 'word'");
  expectMalformed("()", "1:1", "neither a token nor children");
  expectMalformed("(S (A a) (B))", "1:10", "neither a token nor children");
  expectMalformed("(S a b)", "1:6", "second token 'b'");
  expectMalformed("(S a (B b))", "1:6", "a token and children");
  expectMalformed("(S (A a) b)", "1:10", "found the token 'b'");
  expectMalformed("((A a) S)", "1:8", "found the token 'S'");
  expectMalformed("(1 (2 a)\n (NP b))", "2:3", "'NP' is a name");
  expectMalformed("(S (2 a))", "1:5", "'2' is an integer");
}

TEST_F(PtbTest, UnknownTokens) {
  words.add("a");
  expectMalformed("(S (A a)\r\n (A b))", "2:5", "neither 'b' nor '<unk>'",
                  ESPALIER_UNSEEN_FAIL);
  // A token that is none is a token still.
  EXPECT_EQ(ints(readText("(S (A b) (A a))", ESPALIER_UNSEEN_NONE), "word"),
            (Ints{-1, 0, -1}));
  expectMalformed("(S b b)", "1:6", "second token 'b'", ESPALIER_UNSEEN_NONE);
  expectMalformed("(S b (A a))", "1:6", "a token and children",
                  ESPALIER_UNSEEN_NONE);
  words.add("<unk>");
  EXPECT_EQ(ints(readText("(S (A a) (A b))", ESPALIER_UNSEEN_FAIL), "word"),
            (Ints{0, 1, -1}));
  EXPECT_EQ(words.size(), 2);
}

TEST_F(PtbTest, FormatsAndPaths) {
  expectError(ESPALIER_INVALID_ARGUMENT, "unknown format 'xml'", [&] {
    readStructures(write("a", ""), "xml", words, ESPALIER_UNSEEN_ADD);
  });
  expectError(ESPALIER_NOT_FOUND, "nowhere", [&] {
    readStructures(path("nowhere"), "ptb", words, ESPALIER_UNSEEN_ADD);
  });
}
