//===- VocabularyTest.cpp - Tokens and their ids --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "io/Vocabulary.h"

#include "IoTesting.h"

using namespace espalier;

namespace {
class VocabularyTest : public IoTest {
protected:
  void expectMalformed(const std::string &text, const std::string &what) {
    std::string file = write("v.txt", text);
    expectError(ESPALIER_MALFORMED, "v.txt:" + what,
                [&] { Vocabulary::open(file); });
  }
};
} // namespace

TEST_F(VocabularyTest, IdsFollowTheOrderOfAdding) {
  Vocabulary words;
  EXPECT_EQ(words.add("b"), 0);
  EXPECT_EQ(words.add("a"), 1);
  EXPECT_EQ(words.add("b"), 0);
  EXPECT_EQ(words.size(), 2);
  EXPECT_EQ(words.find("a"), 1);
  EXPECT_EQ(words.find("c"), -1);
}

TEST_F(VocabularyTest, SavesWhatItOpens) {
  Vocabulary words;
  for (const char *token : {"the", "a b", "caf\xC3\xA9", "-LRB-", "<unk>"})
    words.add(token);
  words.save(path("v.txt"));
  EXPECT_EQ(read("v.txt"), "the\na b\ncaf\xC3\xA9\n-LRB-\n<unk>\n");
  Vocabulary again = Vocabulary::open(path("v.txt"));
  ASSERT_EQ(again.size(), words.size());
  for (int32_t id = 0; id != words.size(); ++id)
    EXPECT_EQ(again.token(id), words.token(id));
}

TEST_F(VocabularyTest, OtherLineEnds) {
  write("v.txt", "\xEF\xBB\xBFone\r\ntwo");
  Vocabulary words = Vocabulary::open(path("v.txt"));
  EXPECT_EQ(words.size(), 2);
  EXPECT_EQ(words.find("one"), 0);
  EXPECT_EQ(words.find("two"), 1);
}

TEST_F(VocabularyTest, Empty) {
  write("v.txt", "");
  EXPECT_EQ(Vocabulary::open(path("v.txt")).size(), 0);
  Vocabulary().save(path("w.txt"));
  EXPECT_EQ(read("w.txt"), "");
}

TEST_F(VocabularyTest, MalformedFiles) {
  expectMalformed("a\nb\na\n", "3:1: 'a' is already the token of line 1");
  expectMalformed("a\n\nb\n", "2:1: empty line");
  expectMalformed("a\nb\n\n", "3:1: empty line");
  expectMalformed("a\rb\n", "1:2: carriage return");
  expectMalformed("\xFF\xFE"
                  "a",
                  "1:1: the text is UTF-16");
  expectError(ESPALIER_NOT_FOUND, "nowhere",
              [&] { Vocabulary::open(path("nowhere")); });
}

TEST_F(VocabularyTest, TokensThatNoLineCanHold) {
  Vocabulary words;
  expectError(ESPALIER_INVALID_ARGUMENT, "empty", [&] { words.add(""); });
  expectError(ESPALIER_INVALID_ARGUMENT, "'a\\x0ab'",
              [&] { words.add("a\nb"); });
  EXPECT_EQ(words.size(), 0);
}

TEST_F(VocabularyTest, TruncateForgetsTheNewest) {
  Vocabulary words;
  for (int i = 0; i != 1000; ++i)
    words.add(std::to_string(i));
  Vocabulary moved = std::move(words);
  moved.truncate(10);
  EXPECT_EQ(moved.size(), 10);
  EXPECT_EQ(moved.find("9"), 9);
  EXPECT_EQ(moved.find("10"), -1);
  EXPECT_EQ(moved.add("999"), 10);
}
