//===- CppApiTest.cpp - The C++ interface ---------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "espalier/runtime.hpp"

#include "TestModel.h"

#include <gtest/gtest.h>

static espalier::runtime::Weights testWeights() {
  TestParameters p;
  return espalier::runtime::Weights(
      {{"embedding", {{kWords, kEmbedding}, p.E.data()}},
       {"W", {{kEmbedding, kHidden}, p.W.data()}},
       {"U", {{2 * kHidden, 4}, p.U.data()}},
       {"b", {{kHidden}, p.b.data()}}});
}

TEST(CppApi, FromLibraryToResult) {
  espalier::runtime::Module module(ESPALIER_TEST_MODEL);
  espalier::runtime::SessionOptions options;
  options.entry = "classify";
  options.threads = 2;
  espalier::runtime::Session session(module, testWeights(), options);

  espalier::runtime::Structures trees;
  trees.append({{}, {}, {0, 1}});
  trees.append({{}, {0, -1}});
  std::vector<int32_t> words = {1, 2, -1, 3, 4};
  trees.set("word", words);
  EXPECT_EQ(trees.count(), 2);
  EXPECT_EQ(trees.slice(1, 2).vertices(), 2);
  EXPECT_EQ(trees.select({1, 0, 1}).vertices(), 7);

  const float scale[] = {2, 1}, bias[] = {0, 0, 5};
  EXPECT_GT(session.bytesNeeded(trees), 0);
  espalier::runtime::Result result = session.run(
      trees, {{"scale", {{2, 1}, scale}}, {"bias", {{kHidden}, bias}}});
  std::vector<float> h =
      referenceHidden({{}, {}, {0, 1}}, {1, 2, -1}, TestParameters());
  espalier::runtime::TensorView root = result["root"];
  EXPECT_EQ(root.shape(), (std::vector<int64_t>{2, kHidden}));
  for (int64_t i = 0; i < kHidden; ++i)
    EXPECT_EQ(root.data<float>()[i], 2 * h[2 * kHidden + i] + bias[i]);
  EXPECT_STREQ(result.at(0).name, "hidden");
  EXPECT_EQ(result.count(), 3u);
  EXPECT_THROW(root.data<double>(), espalier::runtime::Exception);
  EXPECT_EQ(session.stats().runs, 1);

  // The same with the graph by name.
  EXPECT_EQ(session.bytesNeeded({{"trees", trees}}),
            session.bytesNeeded(trees));
  espalier::runtime::Result named =
      session.run({{"trees", trees}},
                  {{"scale", {{2, 1}, scale}}, {"bias", {{kHidden}, bias}}});
  for (int64_t i = 0; i < 2 * kHidden; ++i)
    EXPECT_EQ(named["root"].data<float>()[i], root.data<float>()[i]);
}

TEST(CppApi, FailuresAreExceptions) {
  espalier::runtime::Module module(ESPALIER_TEST_MODEL);
  try {
    espalier::runtime::SessionOptions options;
    options.entry = "decode";
    espalier::runtime::Session session(module, testWeights(), options);
    FAIL() << "accepted";
  } catch (const espalier::runtime::Exception &exception) {
    EXPECT_EQ(exception.status(), ESPALIER_NOT_FOUND);
    EXPECT_NE(std::string(exception.what()).find("'classify', 'encode'"),
              std::string::npos);
  }
  EXPECT_THROW(espalier::runtime::Module("/nowhere.so"),
               espalier::runtime::Exception);
}

TEST(CppApi, RandomWeightsAndMoves) {
  TestModel tables;
  espalier::runtime::Module module(&tables.model);
  espalier::runtime::Weights weights =
      espalier::runtime::Weights::random(module, 3, "encode");
  espalier::runtime::SessionOptions options;
  options.entry = "encode";
  espalier::runtime::Session session(module, weights, options);
  espalier::runtime::Session moved = std::move(session);
  espalier::runtime::Structures none;
  none.set("word", std::vector<int32_t>{});
  EXPECT_EQ(moved.run(none)["hidden"].shape(),
            (std::vector<int64_t>{0, kHidden}));
}
