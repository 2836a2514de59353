//===- DynamicRunTest.cpp - Batches that a device is too small for --------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the processor computes with all of its memory, the device has to give
// bit by bit within whatever memory lets it run.
//
//===----------------------------------------------------------------------===//
#include "RandomForest.h"
#include "StructureModel.h"
#include "TestModel.h"
#include "TrainingModel.h"
#include "module/Session.h"
#include "support/Error.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>
#include <utility>

using namespace espalier;

namespace {

using Lists = std::vector<std::vector<int32_t>>;

/// An entry, and what it runs over.
struct Case {
  const espalier_model &model;
  const char *entry;
  Weights weights;
  Inputs inputs;
  std::vector<std::pair<std::string, const Forest *>> forests;
  int steps = 2;
};

/// Results of all steps and all weights afterwards, byte by byte.
struct Outcome {
  std::vector<std::string> bytes;
  espalier_stats stats{};
};

Tensor random(uint32_t dtype, std::vector<int64_t> shape, int limit,
              uint32_t seed) {
  RandomForest numbers(seed);
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    int number = numbers.below(2001) - 1000;
    char *data = tensor.mutableData();
    if (dtype == ESPALIER_I32)
      reinterpret_cast<int32_t *>(data)[i] = numbers.below(limit);
    else if (dtype == ESPALIER_F32)
      reinterpret_cast<float *>(data)[i] = (float)number / 1500;
    else
      reinterpret_cast<double *>(data)[i] = number / 1500.0;
  }
  return tensor;
}

class DynamicRun : public testing::Test {
protected:
  DynamicRun() { writeMachine("1GiB", "1e-6"); }
  ~DynamicRun() override { unlink(machine.c_str()); }

  SessionOptions within(int64_t limit, SessionOptions options = {}) {
    options.device.kind = "sim";
    options.device.machineFile = machine;
    options.device.memoryLimit = limit;
    return options;
  }
  static Outcome run(const Case &of, const SessionOptions &options);
  std::string failureWithin(const Case &of, int64_t limit,
                            const SessionOptions &options);
  int64_t smallestFor(const Case &of, const SessionOptions &options);
  void expectTheSame(const Case &of, SessionOptions options = {},
                     int limits = 6);
  void writeMachine(const char *host, const char *latency) const {
    std::ofstream(machine)
        << R"({"name": "small", "devices": [{"memory": "1GiB",
        "flops_per_second": 1e12, "bytes_per_second": "100GB",
        "launch_seconds": 5e-6}], "links": [{"bytes_per_second": "8GB",
        "latency_seconds": )"
        << latency << R"(}], "host": {"memory": ")" << host << "\"}}";
  }

  static Forest forestOf(uint32_t seed, int structures, int vertices,
                         int arity) {
    RandomForest random(seed);
    Forest forest;
    for (int k = 0; k < structures; ++k)
      forest.append(random.structure(random.below(vertices + 1), arity, false));
    return forest;
  }

  std::string machine =
      testing::TempDir() + "dynamic" + std::to_string(getpid()) + ".json";
};

} // namespace

Outcome DynamicRun::run(const Case &of, const SessionOptions &options) {
  Module module(&of.model);
  auto weights = std::make_shared<SharedWeights>(of.weights);
  Session session(module, module.entry(of.entry), weights, options);
  Forests forests;
  for (const auto &[name, forest] : of.forests)
    forests.push_back({name, forest});
  Outcome outcome;
  for (int step = 0; step < of.steps; ++step)
    for (const NamedTensor &result : session.run(forests, of.inputs))
      outcome.bytes.emplace_back(result.tensor.data, result.tensor.bytes());
  for (const auto &[name, weight] : weights->tensors)
    outcome.bytes.emplace_back(weight.tensor.data, weight.tensor.bytes());
  outcome.stats = session.stats();
  return outcome;
}

std::string DynamicRun::failureWithin(const Case &of, int64_t limit,
                                      const SessionOptions &options) {
  try {
    run(of, within(limit, options));
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ESPALIER_OUT_OF_MEMORY);
    return error.message();
  }
  return "";
}

/// The smallest limit, as the failure within less says.
int64_t DynamicRun::smallestFor(const Case &of, const SessionOptions &options) {
  std::string message = failureWithin(of, 1, options);
  size_t at = message.rfind("give the device ");
  if (at == std::string::npos) {
    ADD_FAILURE() << message;
    return 1 << 30;
  }
  int64_t smallest = std::atoll(message.c_str() + at + 16);
  message = failureWithin(of, smallest - 1, options);
  EXPECT_NE(message.find("give the device " + std::to_string(smallest)),
            std::string::npos)
      << message;
  return smallest;
}

/// The same results and weights as on the processor, from as much memory as is
/// asked for down to the least that will do.
void DynamicRun::expectTheSame(const Case &of, SessionOptions options,
                               int limits) {
  // Products are cut as a stream cuts them only in a stream.
  options.ablate |= ESPALIER_STREAMING;
  Outcome expected = run(of, options), all = run(of, within(0, options));
  ASSERT_EQ(all.bytes, expected.bytes);
  EXPECT_EQ(all.stats.evictions, 0);
  EXPECT_EQ(all.stats.evaluated_vertices, expected.stats.evaluated_vertices);
  int64_t most = all.stats.device_peak_bytes, peak = most;
  int64_t smallest = smallestFor(of, options);
  ASSERT_LT(smallest, most);
  for (int i = 0; i <= limits; ++i) {
    int64_t limit = most - (most - smallest) * i / limits;
    SCOPED_TRACE(testing::Message() << "limit " << limit << " of " << most);
    Outcome outcome = run(of, within(limit, options));
    ASSERT_EQ(outcome.bytes, expected.bytes);
    EXPECT_LE(outcome.stats.device_peak_bytes, limit);
    EXPECT_LE(outcome.stats.device_peak_bytes, peak);
    peak = outcome.stats.device_peak_bytes;
    if (i == 0)
      continue;
    EXPECT_GT(outcome.stats.evictions, 0);
    EXPECT_GT(outcome.stats.offloaded_bytes, all.stats.offloaded_bytes);
    EXPECT_GE(outcome.stats.prefetched_bytes, all.stats.prefetched_bytes);
    EXPECT_GT(outcome.stats.simulated_seconds, all.stats.simulated_seconds);
    EXPECT_GT(outcome.stats.host_peak_bytes, 0);
  }
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static Weights treeWeights() {
  return {{"embedding", random(ESPALIER_F32, {kWords, kEmbedding}, 0, 1)},
          {"W", random(ESPALIER_F32, {kEmbedding, kHidden}, 0, 2)},
          {"U", random(ESPALIER_F32, {2 * kHidden, 4}, 0, 3)},
          {"b", random(ESPALIER_F32, {kHidden}, 0, 4)}};
}

TEST_F(DynamicRun, Trees) {
  TestModel tables;
  Forest forest = forestOf(1, 400, 60, 2);
  forest.fields["word"] =
      random(ESPALIER_I32, {forest.vertices()}, (int)kWords, 5);
  Inputs inputs{{"scale", random(ESPALIER_F32, {400, 1}, 0, 6)},
                {"bias", random(ESPALIER_F32, {kHidden}, 0, 7)}};
  Case classify{
      tables.model, "classify", treeWeights(), inputs, {{"trees", &forest}}};
  Case encode{tables.model, "encode", treeWeights(), {}, {{"trees", &forest}}};
  SessionOptions serial, threads;
  serial.policy = ESPALIER_POLICY_SERIAL;
  threads.threads = 3;
  for (const Case &of : {classify, encode}) {
    expectTheSame(of);
    expectTheSame(of, serial, 2);
    expectTheSame(of, threads, 2);
  }
}

TEST_F(DynamicRun, EqualVerticesShareRows) {
  TestModel tables;
  tables.classify.graphs[0].shared = 1;
  tables.encode.graphs[0].shared = 1;
  Forest forest = forestOf(2, 800, 30, 2);
  forest.fields["word"] =
      random(ESPALIER_I32, {forest.vertices()}, (int)kWords, 5);
  expectTheSame(
      {tables.model, "encode", treeWeights(), {}, {{"trees", &forest}}}, {}, 3);
}

TEST_F(DynamicRun, EdgesAndStructures) {
  StructureModel tables;
  Forest forest = forestOf(3, 90, 60, 5);
  forest.fields["x"] = random(ESPALIER_F32, {forest.vertices(), kWidth}, 0, 8);
  Weights weights{{"U", random(ESPALIER_F32, {kWidth, kWidth}, 0, 9)}};
  for (const char *entry : {"whole", "parts"})
    expectTheSame({tables.model, entry, weights, {}, {{"graphs", &forest}}});
}

TEST_F(DynamicRun, SeveralGraphsAndTypes) {
  StructureModel tables;
  Weights weights{{"U", random(ESPALIER_F32, {kWidth, kWidth}, 0, 9)}};
  // No vertex has more than kSlots children or parents.
  Forest chains, stars;
  for (int k = 0; k < 60; ++k) {
    Lists chain(70 + k), star(40 + k);
    for (int v = 1; v < 70 + k; ++v)
      chain[v] = {-1, v - 1};
    for (int v = 0; v < 39 + k; ++v)
      star.back().push_back(v);
    chains.append(chain);
    stars.append(star);
  }
  chains.fields["x"] = random(ESPALIER_F64, {chains.vertices(), 1}, 0, 10);
  chains.fields["kind"] = random(ESPALIER_I32, {chains.vertices()}, 2, 11);
  stars.fields["y"] = random(ESPALIER_F64, {stars.vertices(), 1}, 0, 12);
  expectTheSame({tables.model,
                 "pair",
                 weights,
                 {},
                 {{"source", &chains}, {"target", &stars}}});
  expectTheSame({tables.model, "typed", weights, {}, {{"typed", &chains}}});
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// Steps of training, whose weights have to be the same afterwards, too.
template <typename Model, int64_t D, int64_t H, int64_t O>
static Case trainingOf(const Model &tables, uint32_t dtype,
                       const Forest &forest) {
  auto make = [&](std::vector<int64_t> shape, uint32_t seed) {
    return random(dtype, std::move(shape), 0, seed);
  };
  Weights weights{{"E", make({kTrainingWords, D}, 1)},
                  {"W", make({D, H}, 2)},
                  {"U", make({2 * H, H}, 3)},
                  {"b", make({H}, 4)},
                  {"C", make({H, O}, 5)}};
  Inputs inputs{{"target", make({forest.structures(), O}, 6)},
                {"rate", make({}, 7)}};
  return {tables.model, "train", weights, inputs, {{"trees", &forest}}};
}

TEST_F(DynamicRun, Training) {
  Forest forest = forestOf(4, 120, 40, 2);
  forest.fields["word"] =
      random(ESPALIER_I32, {forest.vertices()}, (int)kTrainingWords, 13);
  TrainingModel<float, 24, 136, 5, true> wide;
  Case of = trainingOf<decltype(wide), 24, 136, 5>(wide, ESPALIER_F32, forest);
  expectTheSame(of);
  SessionOptions threads;
  threads.threads = 2;
  expectTheSame(of, threads, 2);
  of.entry = "predict";
  of.inputs = {};
  expectTheSame(of, {}, 3);

  TrainingModel<double, 16, 40, 2, false> inner;
  expectTheSame(
      trainingOf<decltype(inner), 16, 40, 2>(inner, ESPALIER_F64, forest), {},
      3);
}

//===----------------------------------------------------------------------===//
// Edges of it all
//===----------------------------------------------------------------------===//

TEST_F(DynamicRun, NothingAtAll) {
  TrainingModel<double, 16, 40, 2, false> tables;
  for (int structures : {0, 2}) {
    Forest empty;
    for (int k = 0; k < structures; ++k)
      empty.append(Lists{});
    empty.fields["word"] = Tensor::zeros(ESPALIER_I32, {0});
    Case of =
        trainingOf<decltype(tables), 16, 40, 2>(tables, ESPALIER_F64, empty);
    EXPECT_EQ(run(of, within(0)).bytes, run(of, {}).bytes);
    std::string message = failureWithin(of, 1 << 10, {});
    EXPECT_NE(message.find(structures ? "give the device "
                                      : "which stay on device 'sim'"),
              std::string::npos)
        << message;
  }
}

TEST_F(DynamicRun, SaysWhatDoesNotFit) {
  TrainingModel<float, 24, 136, 5, true> tables;
  Forest forest = forestOf(4, 120, 40, 2);
  forest.fields["word"] =
      random(ESPALIER_I32, {forest.vertices()}, (int)kTrainingWords, 13);
  Case of =
      trainingOf<decltype(tables), 24, 136, 5>(tables, ESPALIER_F32, forest);
  std::string message = failureWithin(of, 300 << 10, {});
  for (const char *part :
       {"phase '", "of entry 'train' touches ", " rows, beside ",
        " bytes of weights", "device 'sim', which has 307200 bytes",
        "run fewer structures"})
    EXPECT_NE(message.find(part), std::string::npos) << message;

  // Before anything has run; and the session can be used again.
  Module module(&tables.model);
  auto weights = std::make_shared<SharedWeights>(of.weights);
  Session session(module, module.entry("train"), weights,
                  within(smallestFor(of, {})));
  Forest twice;
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 400; ++i)
      twice.append(Lists{{}, {}, {0, 1}});
  EXPECT_GT(session.bytesNeeded(twice), 0);
  session.run({{"trees", &forest}}, of.inputs);
  espalier_stats stats = session.stats();
  EXPECT_GT(stats.evictions, 0);
  session.resetStats();
  EXPECT_EQ(session.stats().evictions, 0);
  session.run({{"trees", &forest}}, of.inputs);
  EXPECT_EQ(session.stats().evictions, stats.evictions);
  EXPECT_EQ(session.stats().offloaded_bytes, stats.offloaded_bytes);
}

TEST_F(DynamicRun, AFailureLeavesTheDeviceFree) {
  TestModel tables;
  Forest forest = forestOf(1, 400, 60, 2);
  Tensor words = random(ESPALIER_I32, {forest.vertices()}, (int)kWords, 5);
  forest.fields["word"] = words;
  Case of{tables.model, "encode", treeWeights(), {}, {{"trees", &forest}}};
  Module module(&tables.model);
  Session session(module, module.entry("encode"), of.weights,
                  within(smallestFor(of, {})));
  Results good = session.run(forest, {});
  int32_t *last =
      reinterpret_cast<int32_t *>(words.mutableData()) + forest.vertices() - 1;
  int32_t kept = std::exchange(*last, 1000);
  EXPECT_THROW(session.run(forest, {}), Error);
  *last = kept;
  Results again = session.run(forest, {});
  for (size_t i = 0; i < good.size(); ++i)
    EXPECT_EQ(0, std::memcmp(good[i].tensor.data, again[i].tensor.data,
                             good[i].tensor.bytes()));
}

TEST_F(DynamicRun, TheHostCanBeTooSmall) {
  writeMachine("80KiB", "0");
  TestModel tables;
  Forest forest = forestOf(1, 400, 60, 2);
  forest.fields["word"] =
      random(ESPALIER_I32, {forest.vertices()}, (int)kWords, 5);
  Case of{tables.model, "encode", treeWeights(), {}, {{"trees", &forest}}};
  std::string message = failureWithin(of, 110 << 10, {});
  EXPECT_NE(message.find("the host's pool has no room"), std::string::npos)
      << message;
}

TEST_F(DynamicRun, DryRunsReckonTheSame) {
  TrainingModel<float, 24, 136, 5, true> tables;
  Forest forest = forestOf(4, 120, 40, 2);
  Tensor words =
      random(ESPALIER_I32, {forest.vertices()}, (int)kTrainingWords, 13);
  forest.fields["word"] = words;
  Case of =
      trainingOf<decltype(tables), 24, 136, 5>(tables, ESPALIER_F32, forest);
  // All but COMBINE_ROWS, for which ids are needed.
  of.entry = "predict";
  of.inputs = {};
  SessionOptions options = within(smallestFor(of, {}));
  espalier_stats stats = run(of, options).stats;
  forest.fields.clear();
  options.device.dry = true;
  espalier_stats dry = run(of, options).stats;
  EXPECT_EQ(dry.evictions, stats.evictions);
  EXPECT_EQ(dry.device_peak_bytes, stats.device_peak_bytes);
  EXPECT_EQ(dry.prefetched_bytes, stats.prefetched_bytes);
  EXPECT_EQ(dry.simulated_seconds, stats.simulated_seconds);
}

TEST_F(DynamicRun, CopiesRunBesideUnits) {
  TrainingModel<float, 24, 136, 5, true> tables;
  Forest forest = forestOf(4, 120, 40, 2);
  forest.fields["word"] =
      random(ESPALIER_I32, {forest.vertices()}, (int)kTrainingWords, 13);
  Case of =
      trainingOf<decltype(tables), 24, 136, 5>(tables, ESPALIER_F32, forest);
  writeMachine("1GiB", "0");
  SessionOptions options;
  options.profile = true;
  espalier_stats all = run(of, within(0)).stats;
  espalier_stats stats =
      run(of, within(all.device_peak_bytes * 3 / 4, options)).stats;
  EXPECT_GT(stats.evictions, 0);
  double copied =
      (double)(stats.offloaded_bytes + stats.prefetched_bytes) / 8e9;
  EXPECT_LT(stats.stall_seconds, copied);
}
