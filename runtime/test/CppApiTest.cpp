//===- CppApiTest.cpp - The C++ interface ---------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "espalier/runtime.hpp"

#include "TestModel.h"
#include "TrainingModel.h"

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

namespace {

using Training = TrainingModel<float, 5, 7, 3, false>;

/// A batch of two trees, to be trained on.
struct TrainingBatch {
  espalier::runtime::Structures trees;
  std::vector<float> targets = {1, 0, -1, 0, 1, 1};
  float rate = 0.1f;

  TrainingBatch() {
    trees.append({{}, {}, {0, 1}});
    trees.append({{}});
    trees.set("word", std::vector<int32_t>{3, 5, -1, 3});
  }
  void train(const espalier::runtime::Session &session) {
    session.run(trees, {{"target",
                         espalier::runtime::TensorView({2, 3}, targets.data())},
                        {"rate", espalier::runtime::TensorView({}, &rate)}});
  }
  std::vector<float> predict(const espalier::runtime::Session &session) {
    espalier::runtime::Result result = session.run(trees);
    return {result["p"].data<float>(), result["p"].data<float>() + 6};
  }
};

espalier::runtime::SessionOptions entryOf(const char *name) {
  espalier::runtime::SessionOptions options;
  options.entry = name;
  return options;
}

/// All of them, as one string.
std::string contentOf(const espalier::runtime::Weights &weights) {
  std::string content;
  for (size_t i = 0; i < weights.count(); ++i) {
    espalier::runtime::NamedView named = weights.at(i);
    content += named.name;
    espalier_tensor tensor = named.tensor.c();
    content.append(static_cast<const char *>(tensor.data),
                   named.tensor.elements() * 4); // f32 and i32
  }
  return content;
}

} // namespace

TEST(CppApi, TrainingIsResumedFromAFile) {
  Training tables;
  espalier::runtime::Module module(&tables.model);
  std::string start = ::testing::TempDir() + "espalier_start.safetensors";
  std::string middle = ::testing::TempDir() + "espalier_middle.safetensors";
  espalier::runtime::Weights::random(module, 7, "train").save(start);

  TrainingBatch batch;
  espalier::runtime::Weights weights(start);
  EXPECT_EQ(weights.count(), 5u);
  espalier::runtime::Session train(module, weights, entryOf("train"));
  EXPECT_EQ(weights.count(), 7u);
  std::string before = contentOf(weights);
  batch.train(train);
  batch.train(train);
  EXPECT_NE(contentOf(weights), before);
  weights.save(middle);
  batch.train(train);
  batch.train(train);

  espalier::runtime::Weights resumed(middle);
  EXPECT_EQ(resumed.count(), 7u);
  espalier::runtime::Session again(module, resumed, entryOf("train"));
  batch.train(again);
  EXPECT_NE(contentOf(resumed), contentOf(weights));
  batch.train(again);
  EXPECT_EQ(contentOf(resumed), contentOf(weights));
  EXPECT_STREQ(resumed.at(6).name, "steps");
  EXPECT_EQ(*resumed.at(6).tensor.data<int32_t>(), 4);

  // The file is as it was, though its tensors were mapped and written.
  espalier::runtime::Weights reread(start);
  espalier::runtime::Session unused(module, reread, entryOf("train"));
  EXPECT_EQ(contentOf(reread), before);
  try {
    reread.at(7);
    FAIL();
  } catch (const espalier::runtime::Exception &error) {
    EXPECT_EQ(error.status(), ESPALIER_NOT_FOUND);
    EXPECT_STREQ(error.what(), "there is no weight 7; there are 7");
  }
}

TEST(CppApi, SessionsShareWeightsThatAreDestroyed) {
  Training tables;
  espalier::runtime::Module module(&tables.model);
  auto weights = std::make_unique<espalier::runtime::Weights>(
      espalier::runtime::Weights::random(module, 7, "train"));
  espalier::runtime::Session predict(module, *weights, entryOf("predict"));
  espalier::runtime::Session train(module, *weights, entryOf("train"));
  weights.reset();
  TrainingBatch batch;
  std::vector<float> before = batch.predict(predict);
  batch.train(train);
  std::vector<float> after = batch.predict(predict);
  EXPECT_NE(after, before);
  for (int i = 0; i < 300; ++i)
    batch.train(train);
  after = batch.predict(predict);
  for (size_t i = 0; i < after.size(); ++i)
    EXPECT_NEAR(after[i], batch.targets[i], 0.05);
}
