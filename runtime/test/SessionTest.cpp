//===- SessionTest.cpp - Running the hand-written model -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Session.h"

#include "RandomForest.h"
#include "TestModel.h"
#include "support/Error.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace espalier;

using Lists = std::vector<std::vector<int32_t>>;

static Tensor floats(std::vector<int64_t> shape,
                     const std::vector<float> &values) {
  Tensor tensor = Tensor::zeros(ESPALIER_F32, std::move(shape));
  std::copy(values.begin(), values.end(),
            reinterpret_cast<float *>(tensor.mutableData()));
  return tensor;
}

static Weights testWeights() {
  TestParameters parameters;
  return {{"embedding", floats({kWords, kEmbedding}, parameters.E)},
          {"W", floats({kEmbedding, kHidden}, parameters.W)},
          {"U", floats({2 * kHidden, 4}, parameters.U)},
          {"b", floats({kHidden}, parameters.b)}};
}

namespace {

/// A batch with its words and the arguments of "classify".
struct Batch {
  Forest forest;
  std::vector<Lists> structures;
  std::vector<int32_t> words;

  void append(Lists lists, RandomForest &random) {
    forest.append(lists);
    for (size_t v = 0; v < lists.size(); ++v)
      words.push_back(random.below((int)kWords + 1) - 1);
    structures.push_back(std::move(lists));
  }
  void setField() {
    Tensor field = Tensor::zeros(ESPALIER_I32, {(int64_t)words.size()});
    std::copy(words.begin(), words.end(),
              reinterpret_cast<int32_t *>(field.mutableData()));
    forest.fields["word"] = field;
  }
  Inputs inputs() const {
    std::vector<float> scale;
    for (int64_t k = 0; k < forest.structures(); ++k)
      scale.push_back((float)(k % 5));
    return {{"scale", floats({forest.structures(), 1}, scale)},
            {"bias", floats({kHidden}, {1, -2, 3})}};
  }
};

class SessionTest : public ::testing::Test {
protected:
  std::unique_ptr<Session> create(const char *entry, SessionOptions options) {
    return std::make_unique<Session>(module, module.entry(entry), testWeights(),
                                     options);
  }

  TestModel tables;
  Module module{&tables.model};
};

} // namespace

static Batch randomBatch(uint32_t seed, int structures, int vertices,
                         bool shuffled) {
  RandomForest random(seed);
  Batch batch;
  for (int k = 0; k < structures; ++k)
    batch.append(random.structure(random.below(vertices + 1), 2, shuffled),
                 random);
  batch.setField();
  return batch;
}

static std::vector<float> valuesOf(const Results &results, const char *name) {
  for (const NamedTensor &result : results)
    if (result.name == name)
      return {result.tensor.as<float>(),
              result.tensor.as<float>() + result.tensor.elements()};
  ADD_FAILURE() << "no result " << name;
  return {};
}

static std::vector<float> expectedHidden(const Batch &batch) {
  std::vector<float> hidden;
  TestParameters parameters;
  size_t first = 0;
  for (const Lists &lists : batch.structures) {
    std::vector<int32_t> words(batch.words.begin() + first,
                               batch.words.begin() + first + lists.size());
    std::vector<float> h = referenceHidden(lists, words, parameters);
    hidden.insert(hidden.end(), h.begin(), h.end());
    first += lists.size();
  }
  return hidden;
}

static void expectClassify(const Results &results, const Batch &batch) {
  std::vector<float> hidden = expectedHidden(batch);
  ASSERT_EQ(valuesOf(results, "hidden"), hidden);
  std::vector<float> root, top;
  for (int64_t k = 0; k < batch.forest.structures(); ++k)
    for (int64_t i = 0; i < kHidden; ++i) {
      static const float bias[] = {1, -2, 3};
      int64_t last = batch.forest.structureOffsets[k + 1] - 1;
      bool empty = last < batch.forest.structureOffsets[k];
      float h = empty ? 0 : hidden[last * kHidden + i];
      top.push_back(h);
      root.push_back((float)(k % 5) * h + bias[i]);
    }
  ASSERT_EQ(valuesOf(results, "root"), root);
  ASSERT_EQ(valuesOf(results, "top"), top);
}

TEST_F(SessionTest, EveryPolicyAndThreadCountAgainstTheReference) {
  std::vector<std::unique_ptr<Session>> classify, encode;
  for (unsigned threads = 1; threads <= 4; ++threads) {
    classify.push_back(
        create("classify", {ESPALIER_POLICY_BATCHED, threads, threads == 2}));
    encode.push_back(
        create("encode", {ESPALIER_POLICY_BATCHED, threads, threads == 3}));
  }
  classify.push_back(create("classify", {ESPALIER_POLICY_SERIAL, 1, false}));
  encode.push_back(create("encode", {ESPALIER_POLICY_SERIAL, 2, true}));

  for (uint32_t seed = 0; seed < 60; ++seed) {
    Batch batch =
        randomBatch(seed, (int)seed % 13, seed % 7 ? 30 : 2000, seed % 2);
    for (auto &session : classify)
      expectClassify(session->run(batch.forest, batch.inputs()), batch);
    for (auto &session : encode) {
      Results results = session->run(batch.forest, {});
      ASSERT_EQ(valuesOf(results, "hidden"), expectedHidden(batch));
      std::vector<float> twice = TestParameters().b;
      for (float &value : twice)
        value *= 2;
      ASSERT_EQ(valuesOf(results, "twice"), twice);
    }
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

TEST_F(SessionTest, RowsAreSharedBetweenThreads) {
  // Enough rows to be worth it, in few and in many tasks.
  for (unsigned threads : {1u, 2u, 3u, 4u}) {
    auto session = create("classify", {ESPALIER_POLICY_BATCHED, threads, true});
    RandomForest random(threads);
    Batch batch;
    for (int k = 0; k < 3000; ++k)
      batch.append({{}, {}, {0, 1}, {}, {2, 3}}, random);
    batch.setField();
    expectClassify(session->run(batch.forest, batch.inputs()), batch);
  }
}

TEST_F(SessionTest, Shapes) {
  auto session = create("classify", {});
  RandomForest random(3);
  std::vector<Lists> shapes = {
      {},                     // no vertex
      {{}},                   // one vertex
      {{-1, -1}},             // no present child
      {{}, {0, -1}, {-1, 1}}, // unary, left and right
      {{}, {0, 0}},           // the same child twice
      {{}, {0}, {0}, {1, 2}}, // shared
      {{}, {}, {}},           // several roots
      {{1, 2}, {2}, {}},      // parents first
  };
  Batch all;
  for (const Lists &lists : shapes) {
    Batch one;
    one.append(lists, random);
    one.setField();
    expectClassify(session->run(one.forest, one.inputs()), one);
    all.append(lists, random);
  }
  all.setField();
  expectClassify(session->run(all.forest, all.inputs()), all);
  Batch none;
  none.setField();
  expectClassify(session->run(none.forest, none.inputs()), none);
}

TEST_F(SessionTest, ChainOfAMillion) {
  const int length = 1000000;
  Lists lists(length);
  for (int32_t v = 1; v < length; ++v)
    lists[v].push_back(v - 1);
  Batch batch;
  RandomForest random(5);
  batch.append(std::move(lists), random);
  batch.setField();
  auto session = create("encode", {});
  Results results = session->run(batch.forest, {});
  ASSERT_EQ(valuesOf(results, "hidden"), expectedHidden(batch));
  EXPECT_EQ(session->stats().tasks, length);
}

TEST_F(SessionTest, LoopsRunAsStreams) {
  RandomForest random(8);
  for (int length : {700, 5000}) {
    // So deep that no task is worth sharing.
    Batch batch;
    for (int k = 0; k < 4; ++k) {
      Lists lists(length + k);
      for (int32_t v = 1; v < length + k; ++v)
        lists[v] = {v - 1, random.below(3) ? -1 : random.below(v)};
      batch.append(std::move(lists), random);
    }
    batch.setField();
    for (unsigned threads = 2; threads <= 4; ++threads)
      for (uint32_t ablate : {0, (int)ESPALIER_STREAMING}) {
        SessionOptions options{ESPALIER_POLICY_BATCHED, threads, true, ablate};
        auto classify = create("classify", options);
        auto encode = create("encode", options);
        for (int repetition = 0; repetition < 3; ++repetition) {
          expectClassify(classify->run(batch.forest, batch.inputs()), batch);
          ASSERT_EQ(valuesOf(encode->run(batch.forest, {}), "hidden"),
                    expectedHidden(batch));
        }
      }
    batch.words[length + 3] = (int32_t)kWords; // the table's size
    batch.words[length + 300] = (int32_t)kWords;
    batch.setField();
    auto session = create("classify", {ESPALIER_POLICY_BATCHED, 2, false, 0});
    try {
      session->run(batch.forest, batch.inputs());
      FAIL() << "nothing was thrown";
    } catch (const Error &error) {
      EXPECT_NE(error.message().find("structure 1, vertex 3: id 7"),
                std::string::npos)
          << error.message();
    }
  }
}

TEST_F(SessionTest, WhatRunsBesideAnotherSharesNoMemory) {
  Batch batch;
  RandomForest random(9);
  Lists chain(20000);
  for (int32_t v = 1; v < 20000; ++v)
    chain[v] = {v - 1};
  batch.append(std::move(chain), random);
  batch.setField();
  auto one =
      create("encode", {ESPALIER_POLICY_BATCHED, 2, false, ESPALIER_STREAMING});
  auto stream = create("encode", {ESPALIER_POLICY_BATCHED, 2, false, 0});
  EXPECT_GT(stream->bytesNeeded(batch.forest), one->bytesNeeded(batch.forest));
}

TEST_F(SessionTest, NothingChangesWithoutElisionOrSubBatches) {
  Batch batch = randomBatch(6, 300, 80, false);
  for (uint32_t ablate : {ESPALIER_ELISION, ESPALIER_SUB_BATCHES}) {
    SessionOptions options{ESPALIER_POLICY_BATCHED, 3, false, ablate};
    expectClassify(
        create("classify", options)->run(batch.forest, batch.inputs()), batch);
    ASSERT_EQ(
        valuesOf(create("encode", options)->run(batch.forest, {}), "hidden"),
        expectedHidden(batch));
  }
}

TEST_F(SessionTest, MemoryIsPlannedAndReused) {
  auto session = create("classify", {});
  Batch big = randomBatch(1, 10, 500, false), small = randomBatch(2, 2, 20, 0);
  int64_t needed = session->bytesNeeded(big.forest);
  // Results, and state beside projection.
  int64_t vertices = big.forest.vertices();
  EXPECT_GE(needed, vertices * kHidden * 4 * 3 + 10 * kHidden * 4 * 2);
  EXPECT_LE(needed, vertices * kHidden * 4 * 3 + 10 * kHidden * 4 * 2 + 128);
  session->run(big.forest, big.inputs());
  espalier_stats first = session->stats();
  EXPECT_EQ(first.peak_bytes, needed);
  for (int i = 0; i < 100; ++i) {
    session->run(small.forest, small.inputs());
    session->run(big.forest, big.inputs());
  }
  espalier_stats last = session->stats();
  EXPECT_EQ(last.peak_bytes, needed);
  EXPECT_EQ(last.allocated_bytes, first.allocated_bytes);
  EXPECT_EQ(last.runs, 201);
  EXPECT_EQ(last.structures, 101 * 10 + 100 * 2);
  EXPECT_EQ(last.vertices, 101 * vertices + 100 * small.forest.vertices());
  EXPECT_EQ(last.matmul_flops,
            (double)last.vertices * 2 * kHidden * (kEmbedding + 2 * kHidden));
  session->resetStats();
  EXPECT_EQ(session->stats().runs, 0);
}

TEST_F(SessionTest, SixteenThreadsOneSession) {
  for (unsigned threads : {1u, 3u}) {
    auto session = create("classify", {ESPALIER_POLICY_BATCHED, threads, true});
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (uint32_t caller = 0; caller < 16; ++caller)
      callers.emplace_back([&, caller] {
        Batch batch = randomBatch(caller, 6, 200, caller % 2);
        std::vector<float> hidden = expectedHidden(batch);
        for (int i = 0; i < 20; ++i) {
          Results results = session->run(batch.forest, batch.inputs());
          wrong += valuesOf(results, "hidden") != hidden;
        }
      });
    for (std::thread &caller : callers)
      caller.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(session->stats().runs, 16 * 20);
  }
}

TEST_F(SessionTest, ResultsOutliveTheSession) {
  Batch batch = randomBatch(9, 4, 30, false);
  Results results;
  {
    auto session = create("classify", {});
    results = session->run(batch.forest, batch.inputs());
    session->run(randomBatch(10, 4, 30, false).forest.slice(0, 0),
                 Batch().inputs());
  }
  expectClassify(results, batch);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

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

TEST_F(SessionTest, IdOutsideTheTable) {
  for (unsigned threads : {1u, 4u}) {
    auto session =
        create("classify", {ESPALIER_POLICY_BATCHED, threads, false});
    RandomForest random(3);
    Batch batch;
    for (int k = 0; k < 3000; ++k)
      batch.append({{}, {}, {0, 1}}, random);
    batch.words[3 * 1000 + 1] = (int32_t)kWords; // the table's size
    batch.setField();
    EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT,
                        [&] { session->run(batch.forest, batch.inputs()); }),
              "structure 1000, vertex 1: id 7 of 'word' is outside the table "
              "'embedding', which has 7 rows; ids and weights must come from "
              "the same vocabulary");
    batch.words[3 * 1000 + 1] = -5; // absent
    batch.setField();
    batch.words[3 * 1000 + 1] = -1;
    expectClassify(session->run(batch.forest, batch.inputs()), batch);
  }
}

TEST_F(SessionTest, Arguments) {
  auto session = create("classify", {});
  Batch batch = randomBatch(1, 3, 10, false);
  Inputs inputs = batch.inputs();
  auto run = [&] { session->run(batch.forest, inputs); };

  inputs.pop_back();
  EXPECT_EQ(failureOf(ESPALIER_NOT_FOUND, run),
            "entry 'classify' needs 'bias', which is neither among the "
            "arguments nor a field of the structures");
  inputs.push_back({"bias", floats({kHidden + 1}, {1, 2, 3, 4})});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "argument 'bias' is 4xf32, expected 3xf32 (not batched)");
  inputs.back().tensor = Tensor::zeros(ESPALIER_F64, {kHidden});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "argument 'bias' is 3xf64, expected 3xf32 (not batched)");
  inputs = batch.inputs();
  inputs[0].tensor.shape = {2, 1};
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "argument 'scale' is 2x1xf32, expected 3x1xf32 (one row a "
            "structure)");
  inputs = batch.inputs();
  inputs.push_back({"bais", floats({1}, {1})});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "entry 'classify' has no argument 'bais'; it has 'word', 'scale', "
            "'bias'");
  inputs.back().name = "bias";
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "argument 'bias' is given twice");
  inputs = batch.inputs();
  inputs[1].tensor.data += 1;
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "the data of argument 'bias' is not aligned to its 4-byte "
            "elements");

  inputs = batch.inputs();
  batch.forest.append({{}});
  inputs[0] = {"scale", floats({4, 1}, {1, 2, 3, 4})};
  std::string message = failureOf(ESPALIER_INVALID_ARGUMENT, run);
  EXPECT_NE(message.find("field 'word' is "), std::string::npos) << message;
  EXPECT_NE(message.find("(one row a vertex)"), std::string::npos) << message;
}

TEST_F(SessionTest, WeightsThatDoNotFit) {
  Weights weights = testWeights();
  weights.erase("b");
  EXPECT_EQ(
      failureOf(ESPALIER_NOT_FOUND,
                [&] { Session(module, module.entry("encode"), weights, {}); }),
      "the weights do not fit entry 'encode' of model 'tree_test':\n"
      "  missing: 'b' (3xf32)");
  weights.erase("embedding");
  weights["W"].shape = {kHidden, kEmbedding};
  weights["U"] = Tensor::zeros(ESPALIER_F64, {2 * kHidden, 4});
  weights["V"] = floats({1}, {1});
  EXPECT_EQ(
      failureOf(ESPALIER_INVALID_ARGUMENT,
                [&] { Session(module, module.entry("encode"), weights, {}); }),
      "the weights do not fit entry 'encode' of model 'tree_test':\n"
      "  missing: 'embedding' (7x2xf32)\n"
      "  missing: 'b' (3xf32)\n"
      "  mismatched: 'W' is 3x2xf32, expected 2x3xf32\n"
      "  mismatched: 'U' is 6x4xf64, expected 6x4xf32\n"
      "  extra: 'V' (1xf32)");
}

TEST_F(SessionTest, WeightsMayBeDestroyedAndUnaligned) {
  Weights weights = testWeights();
  // A tensor one byte into its memory, as in a file.
  auto bytes = std::make_shared<std::vector<char>>(1 + kHidden * 4);
  std::memcpy(bytes->data() + 1, weights["b"].data, kHidden * 4);
  weights["b"].data = bytes->data() + 1;
  weights["b"].owner = std::shared_ptr<const void>(bytes, bytes->data());
  Session session(module, module.entry("classify"), weights, {});
  weights.clear();
  bytes.reset();
  Batch batch = randomBatch(4, 5, 20, true);
  expectClassify(session.run(batch.forest, batch.inputs()), batch);
}

TEST_F(SessionTest, RandomWeightsAreTheSameEverywhere) {
  const espalier_entry &entry = module.entry("classify");
  Weights a = randomWeights(entry, 1), b = randomWeights(entry, 1),
          c = randomWeights(entry, 2);
  EXPECT_EQ(a.size(), 4u);
  EXPECT_EQ(std::memcmp(a["U"].data, b["U"].data, a["U"].bytes()), 0);
  EXPECT_NE(std::memcmp(a["U"].data, c["U"].data, a["U"].bytes()), 0);
  float limit = std::sqrt(6.0f / (2 * kHidden + 4));
  for (int64_t i = 0; i < a["U"].elements(); ++i)
    EXPECT_LE(std::abs(a["U"].as<float>()[i]), limit);
  for (int64_t i = 0; i < kHidden; ++i)
    EXPECT_EQ(a["b"].as<float>()[i], 0.0f);
  // By an independent program.
  EXPECT_EQ(a["U"].as<float>()[0], -0x1.ffa9a40000000p-3f);
  EXPECT_EQ(a["U"].as<float>()[23], -0x1.7d6f880000000p-3f);
}

TEST_F(SessionTest, TooManyChildren) {
  auto session = create("encode", {});
  Batch batch;
  RandomForest random(1);
  batch.append({{}, {}, {}, {0, 1, 2}}, random);
  batch.setField();
  EXPECT_NE(failureOf(ESPALIER_INVALID_ARGUMENT,
                      [&] { session->run(batch.forest, {}); })
                .find("structure 0: vertex 3 has 3 children"),
            std::string::npos);
}
