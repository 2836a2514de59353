//===- JsonLinesTest.cpp - Structures as JSON -----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "IoTesting.h"

using namespace espalier;

namespace {
class JsonLinesTest : public ReaderTest {
protected:
  JsonLinesTest() : ReaderTest("jsonl") {}
};
} // namespace

TEST_F(JsonLinesTest, StructuresAndFields) {
  Forest forest = readText(
      R"({"children": [[], [], [0, 1]], "fields": {"word": ["a", "b", null], "label": [1, 0, 3], "weight": [0.5, 1, -2e3]}})"
      "\n\r\n \n"
      R"({"fields": {"weight": [1], "label": [null], "word": ["b"]}, "children": [[-1, null]]})");
  EXPECT_EQ(forest.structureOffsets, (Offsets{0, 3, 4}));
  EXPECT_EQ(children(forest, 2), (Ints{0, 1}));
  EXPECT_EQ(children(forest, 3), (Ints{-1, -1}));
  EXPECT_EQ(ints(forest, "word"), (Ints{0, 1, -1, 1}));
  EXPECT_EQ(ints(forest, "label"), (Ints{1, 0, 3, -1}));
  const Tensor &weight = forest.fields.at("weight");
  ASSERT_EQ(weight.dtype, (uint32_t)ESPALIER_F32);
  EXPECT_EQ(std::vector<float>(weight.as<float>(), weight.as<float>() + 4),
            (std::vector<float>{0.5f, 1.0f, -2000.0f, 1.0f}));
}

TEST_F(JsonLinesTest, AnyDag) {
  // Shared children, parents before children, a second structure.
  Forest forest = readText("{\"children\": [[1, 2], [2], []]}\n"
                           "{\"children\": [[], [0, 0]]}\n");
  EXPECT_EQ(forest.children, (Ints{1, 2, 2, 3, 3}));
  EXPECT_TRUE(forest.fields.empty());
}

TEST_F(JsonLinesTest, EmptyStructures) {
  Forest forest = readText("{\"children\": [], \"fields\": {\"word\": []}}");
  EXPECT_EQ(forest.structures(), 1);
  EXPECT_EQ(ints(forest, "word"), Ints{});
  EXPECT_EQ(readText("").structures(), 0);
}

TEST_F(JsonLinesTest, MalformedJson) {
  expectMalformed("{\"children\": []}\n{\"children\" []}", "2:13",
                  "syntax error");
  expectMalformed("{\"children\": []} x", "1:18", "syntax error");
  expectMalformed("{\"children\": [", "1:14", "unexpected end");
  expectMalformed("\"\xFF\"", "1:2", "UTF-8");
  expectMalformed("{\"children\": [], \"fields\": {\"x\": [1e999]}}", "1:40",
                  "overflow");
  expectMalformed("{\"children\": [], \"children\": []}", "1:18",
                  "'children' is there twice");
  expectMalformed("{\"children\": [[]], \"fields\": {\"a\": [1], \"a\": [2]}}",
                  "1:41", "'a' is there twice");
  expectMalformed(R"({"children": [], "a\"b\\\\": 1})", "1:18", "unknown key");
  expectMalformed("[]", "1:1", "expected an object");
  expectMalformed("{\"fields\": {}}", "1:1", "\"children\"");
  expectMalformed("{\"children\": [], \"kids\": []}", "1:18", "'kids'");
  // Deep nesting must not overflow the stack.
  expectMalformed(std::string(1000000, '['), "1:1000000", "unexpected end");
  expectMalformed("{\"children\": " + std::string(500000, '[') +
                      std::string(500000, ']') + "}",
                  "1:2", "must be the number of a vertex");
}

TEST_F(JsonLinesTest, MalformedChildren) {
  auto malformed = [&](const std::string &lists, const std::string &what) {
    expectMalformed("\n{\"children\": " + lists + "}", "2:2", what);
  };
  malformed("3", "array of arrays");
  malformed("[0]", "vertex 0 must be an array, found number");
  malformed("[[], [\"0\"]]", "child of vertex 1");
  malformed("[[], [0.0]]", "found fraction");
  malformed("[[], [2]]", "vertex 1 has the child 2, but this structure has 2");
  malformed("[[], [-2]]", "vertex 1 has the child -2");
  malformed("[[], [18446744073709551615]]", "18446744073709551615");
  malformed("[[], [99999999999999999999]]", "found fraction");
  malformed("[[0]]", "0 -> 0");
  malformed("[[], [2, 0], [1]]", "1 -> 2 -> 1");
}

TEST_F(JsonLinesTest, MalformedFields) {
  auto malformed = [&](const std::string &fields, const std::string &what) {
    expectMalformed("{\"children\": [[], []], \"fields\": " + fields + "}",
                    "1:24", what);
  };
  malformed("[]", "must be an object");
  malformed("{\"word\": 3}", "array of 2 values");
  malformed("{\"word\": [1]}", "array of 2 values, one a vertex; found an "
                               "array of 1");
  malformed("{\"word\": [1, true]}", "number, a string or null; found boolean");
  malformed("{\"word\": [1, \"a\"]}", "others are numbers");
  malformed("{\"word\": [\"a\", 1]}", "others are strings");
  malformed("{\"word\": [\"a\", \"\"]}", "empty token");
  malformed("{\"x\": [1, 1e39]}", "beyond f32");
}

TEST_F(JsonLinesTest, FieldsThatDiffer) {
  std::string first = "{\"children\": [[]], \"fields\": {\"a\": [1]}}\n";
  expectMalformed(first + "{\"children\": [[]]}", "2:2",
                  "the field 'a' of the lines before is missing");
  expectMalformed(first + "{\"children\": [[]], \"fields\": {\"b\": [1]}}",
                  "2:20", "'b' is not in the lines before");
  expectMalformed(first + "{\"children\": [[]], \"fields\": {\"a\": [\"x\"]}}",
                  "2:20", "others are numbers");
  expectMalformed("\n" + first +
                      "{\"children\": [[]], \"fields\": {\"a\": "
                      "[3000000000]}}",
                  "3:1", "does not fit i32");
  expectMalformed("{\"children\": [[], []], \"fields\": {\"a\": [null, 1.5]}}",
                  "1:1", "null has no meaning");
}

TEST_F(JsonLinesTest, UnknownTokens) {
  expectMalformed("{\"children\": [[]], \"fields\": {\"word\": [\"q\"]}}",
                  "1:20", "neither 'q' nor '<unk>'", ESPALIER_UNSEEN_FAIL);
  EXPECT_EQ(ints(readText("{\"children\": [[]], \"fields\": {\"word\": "
                          "[\"q\"]}}",
                          ESPALIER_UNSEEN_NONE),
                 "word"),
            (Ints{-1}));
}
