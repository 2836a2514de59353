//===- SharingTest.cpp - Runs in which equal vertices share a row ---------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Training with equal vertices is compared with its reference in
// TrainingTest.cpp.
//
//===----------------------------------------------------------------------===//
#include "RandomForest.h"
#include "StructureModel.h"
#include "TestModel.h"
#include "module/Session.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace espalier;

using Lists = std::vector<std::vector<int32_t>>;

static Tensor integers(const std::vector<int32_t> &values) {
  Tensor tensor = Tensor::zeros(ESPALIER_I32, {(int64_t)values.size()});
  std::copy(values.begin(), values.end(),
            reinterpret_cast<int32_t *>(tensor.mutableData()));
  return tensor;
}

static Tensor floats(std::vector<int64_t> shape,
                     const std::vector<float> &values) {
  Tensor tensor = Tensor::zeros(ESPALIER_F32, std::move(shape));
  std::copy(values.begin(), values.end(),
            reinterpret_cast<float *>(tensor.mutableData()));
  return tensor;
}

static std::vector<float> valuesOf(const Results &results, const char *name) {
  for (const NamedTensor &result : results)
    if (result.name == name)
      return {result.tensor.as<float>(),
              result.tensor.as<float>() + result.tensor.elements()};
  ADD_FAILURE() << "no result " << name;
  return {};
}

static SessionOptions withSharing(bool sharing, unsigned threads = 1) {
  SessionOptions options;
  options.threads = threads;
  options.ablate = sharing ? 0 : ESPALIER_SHARING;
  return options;
}

//===----------------------------------------------------------------------===//
// The tree network
//===----------------------------------------------------------------------===//

namespace {
class SharingTest : public ::testing::Test {
protected:
  SharingTest() {
    tables.classify.graphs[0].shared = 1;
    tables.encode.graphs[0].shared = 1;
  }
  std::unique_ptr<Session> create(const char *entry, SessionOptions options) {
    return std::make_unique<Session>(
        module, module.entry(entry),
        Weights{{"embedding", floats({kWords, kEmbedding}, parameters.E)},
                {"W", floats({kEmbedding, kHidden}, parameters.W)},
                {"U", floats({2 * kHidden, 4}, parameters.U)},
                {"b", floats({kHidden}, parameters.b)}},
        options);
  }

  TestParameters parameters;
  TestModel tables;
  Module module{&tables.model};
};
} // namespace

/// Structures of up to `vertices` vertices, all of them twice.
static Forest doubledForest(uint32_t seed, int structures, int vertices) {
  RandomForest random(seed);
  std::vector<Lists> all;
  std::vector<int32_t> words;
  Forest forest;
  for (int k = 0; k < structures; ++k)
    all.push_back(random.structure(random.below(vertices), 2, seed % 2));
  for (int copy = 0; copy < 2; ++copy)
    for (const Lists &lists : all)
      forest.append(lists);
  for (int64_t v = 0; v < forest.vertices() / 2; ++v)
    words.push_back(random.below((int)kWords + 1) - 1);
  words.insert(words.end(), words.begin(), words.end());
  forest.fields["word"] = integers(words);
  return forest;
}

TEST_F(SharingTest, ResultsAreTheSameBits) {
  auto apart = create("encode", withSharing(false));
  for (unsigned threads = 1; threads <= 4; ++threads) {
    auto shared = create("encode", withSharing(true, threads));
    int64_t vertices = 0;
    for (uint32_t seed = 0; seed < 20; ++seed) {
      Forest forest = doubledForest(seed, seed % 8, seed % 3 ? 15 : 300);
      vertices += forest.vertices();
      // One vertex stands for both copies, in results of the caller's order.
      ASSERT_EQ(valuesOf(shared->run(forest, {}), "hidden"),
                valuesOf(apart->run(forest, {}), "hidden"));
    }
    espalier_stats stats = shared->stats();
    EXPECT_EQ(stats.vertices, vertices);
    EXPECT_LE(stats.evaluated_vertices, vertices / 2);
    EXPECT_GT(stats.evaluated_vertices, 0);
  }
  EXPECT_EQ(apart->stats().evaluated_vertices, apart->stats().vertices);
}

TEST_F(SharingTest, MemoryIsThatOfTheVerticesEvaluated) {
  auto shared = create("encode", withSharing(true));
  Forest forest = doubledForest(3, 40, 200);
  shared->run(forest, {});
  // Results have all of the caller's vertices.
  int64_t results = forest.vertices() * kHidden * (int64_t)sizeof(float);
  int64_t needed = shared->bytesNeeded(forest) - results;
  int64_t used = shared->stats().peak_bytes - results;
  EXPECT_GT(used, 0);
  EXPECT_LT(used, needed * 6 / 10);
}

TEST_F(SharingTest, TheReferencePolicyEvaluatesEveryVertex) {
  SessionOptions options = withSharing(true);
  options.policy = ESPALIER_POLICY_SERIAL;
  auto serial = create("encode", options);
  Forest forest = doubledForest(1, 5, 50);
  EXPECT_EQ(
      valuesOf(serial->run(forest, {}), "hidden"),
      valuesOf(create("encode", withSharing(true))->run(forest, {}), "hidden"));
  EXPECT_EQ(serial->stats().evaluated_vertices, forest.vertices());
}

TEST_F(SharingTest, AnUnmarkedGraphIsNotShared) {
  tables.encode.graphs[0].shared = 0;
  auto session = create("encode", withSharing(true));
  Forest forest = doubledForest(1, 5, 50);
  session->run(forest, {});
  EXPECT_EQ(session->stats().evaluated_vertices, forest.vertices());
}

/// "classify" reads rows of a result where structures find their roots.
TEST_F(SharingTest, AnEntryThatReadsItsResultsIsNotShared) {
  auto session = create("classify", withSharing(true));
  Forest forest = doubledForest(1, 5, 50);
  Inputs inputs = {
      {"scale", Tensor::zeros(ESPALIER_F32, {forest.structures(), 1})},
      {"bias", Tensor::zeros(ESPALIER_F32, {kHidden})}};
  Results results = session->run(forest, inputs);
  EXPECT_EQ(session->stats().evaluated_vertices, forest.vertices());
  std::vector<float> hidden = valuesOf(results, "hidden");
  std::vector<float> top = valuesOf(results, "top");
  for (int64_t k = 0; k < forest.structures(); ++k)
    for (int64_t i = 0; i < kHidden; ++i) {
      int64_t end = forest.structureOffsets[k + 1];
      bool empty = end == forest.structureOffsets[k];
      ASSERT_EQ(top[k * kHidden + i],
                empty ? 0 : hidden[(end - 1) * kHidden + i]);
    }
}

TEST_F(SharingTest, AResultInScheduleOrderIsNotShared) {
  tables.encode.phases.back().step_count = 1;
  espalier_step &push = tables.encode.steps.back()[0];
  const_cast<espalier_step_operand &>(push.operands[1]).access =
      ESPALIER_ACCESS_ROW;
  for (espalier_buffer_desc &buffer : tables.encode.buffers)
    if (!std::strcmp(buffer.name, "hidden"))
      buffer.rows = ESPALIER_ROWS_VERTICES;
  auto session = create("encode", withSharing(true));
  Forest forest = doubledForest(1, 5, 50);
  EXPECT_EQ(valuesOf(session->run(forest, {}), "hidden").size(),
            (size_t)(forest.vertices() * kHidden));
  EXPECT_EQ(session->stats().evaluated_vertices, forest.vertices());
}

TEST_F(SharingTest, MessagesNameVerticesOfTheCaller) {
  auto session = create("encode", withSharing(true));
  auto messageOf = [&](const Forest &forest) {
    try {
      session->run(forest, {});
    } catch (const Error &error) {
      return error.message();
    }
    return std::string("nothing was thrown");
  };
  Forest forest;
  Lists tree = {{}, {}, {0, 1}};
  forest.append(tree);
  forest.append(tree);
  forest.append(tree);
  forest.fields["word"] = integers({1, 1, 2, 1, 1, 2, 1, 7, 2});
  std::string message = messageOf(forest);
  EXPECT_NE(message.find("structure 2, vertex 1: id 7"), std::string::npos)
      << message;
  forest.append({{}, {}, {}, {0, 1, 2}});
  forest.fields["word"] = integers(std::vector<int32_t>(13, 1));
  message = messageOf(forest);
  EXPECT_NE(message.find("structure 3: vertex 3 has 3 children"),
            std::string::npos)
      << message;
}

TEST_F(SharingTest, ManyThreadsOneSession) {
  auto session = create("encode", withSharing(true, 2));
  std::vector<Forest> forests;
  std::vector<std::vector<float>> expected;
  auto apart = create("encode", withSharing(false));
  for (uint32_t seed = 0; seed < 8; ++seed) {
    forests.push_back(doubledForest(seed, 6, 60));
    expected.push_back(valuesOf(apart->run(forests.back(), {}), "hidden"));
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        wrong[t] += valuesOf(session->run(forests[(t + i) % 8], {}),
                             "hidden") != expected[(t + i) % 8];
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

//===----------------------------------------------------------------------===//
// Multiplicities
//===----------------------------------------------------------------------===//

/// Gives "count" (for each vertex how many share its row) and "vertices" (their
/// number, as a sum over rows).
static TestModel::Entry multiplicityEntry(uint32_t shared) {
  TestModel::Entry entry;
  entry.graphs = {{"trees", 0, 0, 0, shared, nullptr}};
  uint32_t word = entry.buffer("word", ESPALIER_BUFFER_INPUT, ESPALIER_I32,
                               ESPALIER_ROWS_CALLER, {});
  uint32_t many = entry.buffer("many", ESPALIER_BUFFER_MULTIPLICITY,
                               ESPALIER_F32, ESPALIER_ROWS_VERTICES, {});
  uint32_t words = entry.buffer("words", ESPALIER_BUFFER_OUTPUT, ESPALIER_I32,
                                ESPALIER_ROWS_CALLER, {});
  uint32_t count = entry.buffer("count", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32,
                                ESPALIER_ROWS_CALLER, {});
  uint32_t vertices = entry.buffer("vertices", ESPALIER_BUFFER_OUTPUT,
                                   ESPALIER_F32, ESPALIER_ROWS_ONE, {});
  auto at = [](uint32_t access, uint32_t buffer) {
    return espalier_step_operand{buffer, access, 0, 0, 0, 1};
  };
  entry.phase("copies", ESPALIER_ROWS_VERTICES);
  entry.step(
      ESPALIER_STEP_COPY, "words",
      {at(ESPALIER_ACCESS_CALLER, word), at(ESPALIER_ACCESS_CALLER, words)});
  entry.step(
      ESPALIER_STEP_COPY, "count",
      {at(ESPALIER_ACCESS_ROW, many), at(ESPALIER_ACCESS_CALLER, count)});
  entry.phase("sum", ESPALIER_ROWS_VERTICES);
  entry.step(
      ESPALIER_STEP_SUM_ROWS, "vertices",
      {at(ESPALIER_ACCESS_ROW, many), at(ESPALIER_ACCESS_SHARED, vertices)});
  return entry;
}

TEST(Multiplicity, SaysHowManyVerticesHaveARow) {
  Forest forest;
  forest.append({{}, {}, {0, 1}, {}});
  forest.append({});
  forest.append({{}, {}, {0, 1}});
  forest.fields["word"] = integers({5, 6, 0, 5, 5, 6, 0});
  for (bool shared : {true, false}) {
    TestModel tables;
    TestModel::Entry entry = multiplicityEntry(shared);
    tables.entries[1] = entry.tables("count");
    Module module(&tables.model);
    Session session(module, module.entry("count"), Weights{}, {});
    Results results = session.run(forest, {});
    EXPECT_EQ(valuesOf(results, "count"),
              shared ? (std::vector<float>{3, 2, 2, 3, 3, 2, 2})
                     : std::vector<float>(7, 1));
    EXPECT_EQ(valuesOf(results, "vertices"), std::vector<float>{7});
    EXPECT_EQ(session.stats().evaluated_vertices, shared ? 3 : 7);
  }
}

TEST(Multiplicity, IsNotWritten) {
  TestModel tables;
  TestModel::Entry entry = multiplicityEntry(1);
  const_cast<espalier_step_operand &>(entry.steps[0][1].operands[1]) = {
      1, ESPALIER_ACCESS_ROW, 0, 0, 0, 1};
  tables.entries[1] = entry.tables("count");
  try {
    Module module(&tables.model);
    ADD_FAILURE() << "accepted";
  } catch (const Error &error) {
    EXPECT_NE(error.message().find("it writes buffer 1, which is constant"),
              std::string::npos)
        << error.message();
  }
}

//===----------------------------------------------------------------------===//
// Edges, and graphs that are turned round
//===----------------------------------------------------------------------===//

/// Equal numbers in all columns; the second half of the vertices has what the
/// first has.
static void setField(Forest &forest, const char *name, int64_t columns,
                     uint32_t dtype, RandomForest &random) {
  Tensor field = Tensor::zeros(dtype, {forest.vertices(), columns});
  std::vector<double> values;
  for (int64_t v = 0; v < (forest.vertices() + 1) / 2; ++v)
    values.push_back(random.below(9) / 4.0 - 1);
  for (int64_t v = 0; v < forest.vertices(); ++v) {
    double value = values[v % (int64_t)values.size()];
    for (int64_t i = v * columns; i < (v + 1) * columns; ++i)
      if (dtype == ESPALIER_F32)
        reinterpret_cast<float *>(field.mutableData())[i] = (float)value;
      else
        reinterpret_cast<double *>(field.mutableData())[i] = value;
  }
  forest.fields[name] = field;
}

TEST(SharedStructures, EdgesAndSumsOverVertices) {
  StructureModel tables;
  for (TestModel::Entry *entry : {&tables.whole, &tables.parts}) {
    entry->graphs[0].shared = 1;
    // The maximum is of a result; like the sum, it can be of what that copies.
    for (std::vector<espalier_step> &phase : entry->steps)
      for (espalier_step &step : phase)
        if (step.kind == ESPALIER_STEP_MAX_VERTICES)
          const_cast<espalier_step_operand &>(step.operands[0]) =
              phase[0].operands[0];
  }
  Module module(&tables.model);
  Tensor matrix = Tensor::zeros(ESPALIER_F32, {kWidth, kWidth});
  for (int64_t i = 0; i < kWidth * kWidth; ++i)
    reinterpret_cast<float *>(matrix.mutableData())[i] = (i % 7 - 3) / 8.0f;
  RandomForest random(4);
  for (const char *name : {"whole", "parts"}) {
    Session shared(module, module.entry(name), Weights{{"U", matrix}},
                   withSharing(true, 2));
    Session apart(module, module.entry(name), Weights{{"U", matrix}},
                  withSharing(false));
    for (int run = 0; run < 10; ++run) {
      Forest forest;
      std::vector<Lists> all;
      for (int k = 0; k < 6; ++k)
        all.push_back(random.structure(random.below(40), 6, run % 2));
      for (int copy = 0; copy < 2; ++copy)
        for (const Lists &lists : all)
          forest.append(lists);
      setField(forest, "x", kWidth, ESPALIER_F32, random);
      Results one = shared.run(forest, {}), other = apart.run(forest, {});
      // What vertices have of their parents is not shared.
      for (const char *result : {"hidden", "total", "highest"})
        ASSERT_EQ(valuesOf(one, result), valuesOf(other, result)) << result;
    }
    EXPECT_LE(shared.stats().evaluated_vertices, shared.stats().vertices / 2);
  }
}

TEST(SharedStructures, AGraphThatIsTurnedRoundIsNotShared) {
  StructureModel tables;
  for (espalier_graph_desc &graph : tables.pair.graphs)
    graph.shared = 1;
  Module module(&tables.model);
  Session session(module, module.entry("pair"), Weights{}, {});
  RandomForest random(4);
  Forest source, target;
  for (int k = 0; k < 6; ++k) {
    source.append({{}, {}, {0, 1}, {2}});
    target.append(random.structure(20, 2, false));
  }
  setField(source, "x", 1, ESPALIER_F64, random);
  setField(target, "y", 1, ESPALIER_F64, random);
  session.run({{"source", &source}, {"target", &target}}, {});
  espalier_stats stats = session.stats();
  EXPECT_EQ(stats.vertices, source.vertices() + target.vertices());
  // Those of the target are shared.
  EXPECT_GE(stats.evaluated_vertices, source.vertices());
  EXPECT_LT(stats.evaluated_vertices, stats.vertices);
}
