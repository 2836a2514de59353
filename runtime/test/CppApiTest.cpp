//===- CppApiTest.cpp - The C++ interface ---------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "espalier/runtime.hpp"

#include "TestModel.h"

#include <gtest/gtest.h>

static espalier::Weights testWeights() {
  TestParameters p;
  return espalier::Weights({{"embedding", {{kWords, kEmbedding}, p.E.data()}},
                            {"W", {{kEmbedding, kHidden}, p.W.data()}},
                            {"U", {{2 * kHidden, 4}, p.U.data()}},
                            {"b", {{kHidden}, p.b.data()}}});
}

TEST(CppApi, FromLibraryToResult) {
  espalier::Module module(ESPALIER_TEST_MODEL);
  espalier::SessionOptions options;
  options.entry = "classify";
  options.threads = 2;
  espalier::Session session(module, testWeights(), options);

  espalier::Structures trees;
  trees.append({{}, {}, {0, 1}});
  trees.append({{}, {0, -1}});
  std::vector<int32_t> words = {1, 2, -1, 3, 4};
  trees.set("word", words);
  EXPECT_EQ(trees.count(), 2);
  EXPECT_EQ(trees.slice(1, 2).vertices(), 2);

  const float scale[] = {2, 1}, bias[] = {0, 0, 5};
  EXPECT_GT(session.bytesNeeded(trees), 0);
  espalier::Result result = session.run(
      trees, {{"scale", {{2, 1}, scale}}, {"bias", {{kHidden}, bias}}});
  std::vector<float> h =
      referenceHidden({{}, {}, {0, 1}}, {1, 2, -1}, TestParameters());
  espalier::TensorView root = result["root"];
  EXPECT_EQ(root.shape(), (std::vector<int64_t>{2, kHidden}));
  for (int64_t i = 0; i < kHidden; ++i)
    EXPECT_EQ(root.data<float>()[i], 2 * h[2 * kHidden + i] + bias[i]);
  EXPECT_STREQ(result.at(0).name, "hidden");
  EXPECT_EQ(result.count(), 3u);
  EXPECT_THROW(root.data<double>(), espalier::Exception);
  EXPECT_EQ(session.stats().runs, 1);
}

TEST(CppApi, FailuresAreExceptions) {
  espalier::Module module(ESPALIER_TEST_MODEL);
  try {
    espalier::Session session(module, testWeights());
    FAIL() << "accepted";
  } catch (const espalier::Exception &exception) {
    EXPECT_EQ(exception.status(), ESPALIER_INVALID_ARGUMENT);
    EXPECT_NE(std::string(exception.what()).find("'classify', 'encode'"),
              std::string::npos);
  }
  EXPECT_THROW(espalier::Module("/nowhere.so"), espalier::Exception);
}

TEST(CppApi, RandomWeightsAndMoves) {
  TestModel tables;
  espalier::Module module(&tables.model);
  espalier::Weights weights = espalier::Weights::random(module, 3, "encode");
  espalier::SessionOptions options;
  options.entry = "encode";
  espalier::Session session(module, weights, options);
  espalier::Session moved = std::move(session);
  espalier::Structures none;
  none.set("word", std::vector<int32_t>{});
  EXPECT_EQ(moved.run(none)["hidden"].shape(),
            (std::vector<int64_t>{0, kHidden}));
}
