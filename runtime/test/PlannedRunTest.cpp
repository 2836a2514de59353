//===- PlannedRunTest.cpp - Memory plans, executed ------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Session.h"

#include "LayeredModel.h"
#include "PlanModel.h"
#include "device/sim/MachineFile.h"
#include "support/Error.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace espalier;

namespace {

/// A machine's file for a test, and sessions on it.
struct Machines {
  /// 1 flop or byte a second, unless said otherwise.
  static std::string write(const std::string &memory, double link = 1,
                           const char *duplex = "full",
                           const std::string &host = "1GiB",
                           double launch = 0) {
    std::string path = testing::TempDir() + "machine" +
                       std::to_string((size_t)getpid()) + ".json";
    std::ofstream(path) << "{\"name\": \"test\", \"devices\": [{\"memory\": \""
                        << memory
                        << "\", \"flops_per_second\": 1, "
                           "\"bytes_per_second\": 1, \"launch_seconds\": "
                        << launch
                        << "}], \"links\": [{\"bytes_per_second\": " << link
                        << ", \"duplex\": \"" << duplex
                        << "\"}], \"host\": {\"memory\": \"" << host << "\"}}";
    return path;
  }
};

SessionOptions onSim(const std::string &machine, bool dry = false) {
  SessionOptions options;
  options.device.kind = "sim";
  options.device.machineFile = machine;
  options.device.dry = dry;
  return options;
}

Tensor tensorOf(const std::vector<float> &values) {
  Tensor tensor = Tensor::zeros(ESPALIER_F32, {(int64_t)values.size()});
  std::memcpy(tensor.mutableData(), values.data(),
              values.size() * sizeof(float));
  return tensor;
}

std::vector<float> valuesOf(const Tensor &tensor) {
  const float *data = tensor.as<float>();
  return {data, data + tensor.elements()};
}

const Tensor &named(const Results &results, const std::string &name) {
  for (const NamedTensor &result : results)
    if (result.name == name)
      return result.tensor;
  throw std::runtime_error("no result " + name);
}

std::vector<float> ramp(int64_t elements, float start) {
  std::vector<float> values(elements);
  for (int64_t i = 0; i < elements; ++i)
    values[i] = start + 0.37f * (float)i;
  return values;
}

/// Bit for bit.
void expectSame(const std::vector<float> &found,
                const std::vector<float> &expected, const char *what) {
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(0, std::memcmp(found.data(), expected.data(),
                           found.size() * sizeof(float)))
      << what << ": " << found[0] << ", expected " << expected[0];
}

std::string messageOf(const std::function<void()> &body, espalier_status code) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

} // namespace

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Three runs, each with the parameter that the one before it has left.
static void runThrice(RandomPlan &plan, const SessionOptions &options) {
  Module module(&plan.model.model);
  const espalier_entry &entry = module.entry(nullptr);
  std::vector<float> w = ramp(plan.model.elements, 2);
  Session session(module, entry, Weights{{"w", tensorOf(w)}}, options);
  for (int run = 0; run < 3; ++run) {
    std::vector<float> x = ramp(plan.model.elements, (float)run);
    Results results = session.run(Forest(), {{"x", tensorOf(x)}});
    RandomPlan::Values expected = plan.run(x, w);
    expectSame(valuesOf(named(results, "last")), expected.last, "last");
    expectSame(valuesOf(named(results, "early")), expected.early, "early");
  }
  espalier_stats stats = session.stats();
  EXPECT_EQ(stats.offloaded_bytes, 3 * plan.offloaded);
  EXPECT_EQ(stats.prefetched_bytes, 3 * plan.prefetched);
  EXPECT_LE(stats.device_peak_bytes, plan.model.plan.device_bytes);
  EXPECT_GT(stats.device_peak_bytes, 0);
  EXPECT_LE(stats.host_peak_bytes, plan.model.plan.host_bytes);
}

TEST(PlannedRun, RandomPlansOnCpu) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomPlan plan(seed, 16 + seed % 7);
    runThrice(plan, {});
    if (HasFailure())
      return;
  }
}

// Copies of a slow link are under way for many steps, and what their memory is
// needed for has to wait; those of a fast one are over at once.
TEST(PlannedRun, RandomPlansOnSim) {
  int64_t moved = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomPlan plan(seed, 16 + seed % 7);
    double rates[] = {1e9, 5, 0.8, 0.1};
    runThrice(plan, onSim(Machines::write("1MiB", rates[seed % 4],
                                          seed % 8 < 4 ? "full" : "half")));
    moved += plan.prefetched;
    if (HasFailure())
      return;
  }
  EXPECT_GT(moved, 0);
}

TEST(PlannedRun, DryRunsReckonTheSame) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    RandomPlan plan(seed, 16);
    std::string machine = Machines::write("1MiB", 0.5);
    Module module(&plan.model.model);
    const espalier_entry &entry = module.entry(nullptr);
    Session wet(module, entry, Weights{{"w", tensorOf(ramp(16, 2))}},
                onSim(machine));
    wet.run(Forest(), {{"x", tensorOf(ramp(16, 1))}});
    Session dry(module, entry, Weights{}, onSim(machine, true));
    dry.run(Forest(), {});
    espalier_stats expected = wet.stats(), stats = dry.stats();
    EXPECT_EQ(stats.simulated_seconds, expected.simulated_seconds);
    EXPECT_EQ(stats.stall_seconds, expected.stall_seconds);
    EXPECT_EQ(stats.offloaded_bytes, expected.offloaded_bytes);
    EXPECT_EQ(stats.prefetched_bytes, expected.prefetched_bytes);
    EXPECT_EQ(stats.device_peak_bytes, expected.device_peak_bytes);
    EXPECT_EQ(stats.host_peak_bytes, expected.host_peak_bytes);
  }
}

/// x -> a -> b -> out, where a is offloaded after b is made, and fetched again
/// before it is used with b.
static void buildLine(PlanModel &model, int64_t bytes) {
  int64_t slot = (bytes + 63) / 64 * 64;
  uint32_t x = model.buffer("x", ESPALIER_BUFFER_INPUT, 0);
  uint32_t out = model.buffer("out", ESPALIER_BUFFER_OUTPUT, slot);
  uint32_t a = model.buffer("a", ESPALIER_BUFFER_DYNAMIC, 2 * slot, 0, 1);
  uint32_t host = model.buffer("host", ESPALIER_BUFFER_HOST, 0, 1, 4);
  uint32_t b = model.buffer("b", ESPALIER_BUFFER_DYNAMIC, 3 * slot, 2, 5);
  uint32_t c = model.buffer("c", ESPALIER_BUFFER_DYNAMIC, 2 * slot, 3, 3);
  uint32_t again =
      model.buffer("again", ESPALIER_BUFFER_DYNAMIC, 2 * slot, 4, 5);
  model.combine(x, x, a);       // 0
  model.offload(a, host);       // 1
  model.combine(x, x, b);       // 2
  model.combine(b, x, c);       // 3: where a was
  model.prefetch(host, again);  // 4: where c was
  model.combine(again, b, out); // 5
  for (uint32_t p : {0, 2, 3, 5}) {
    model.step(p).flops_per_row = 10;
    model.step(p).bytes_per_row = 0;
  }
  model.finish(4 * slot, slot);
}

static std::vector<float> lineOf(const std::vector<float> &x) {
  std::vector<float> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    float a = x[i] / 2 - x[i] / 4 + 1;
    out[i] = a / 2 - a / 4 + 1; // b is a
  }
  return out;
}

// 16 bytes over a link of 2 bytes a second take 8 s, a step 10 s.
//   compute    0-10 a   10-20 b   20-30 c               38-48 out
//   to host             10-18
//   to device                               30-38
TEST(PlannedRun, TheClockIsThatOfThePlan) {
  PlanModel model(4);
  buildLine(model, 16);
  Module module(&model.model);
  Session session(module, module.entry(nullptr), Weights{},
                  onSim(Machines::write("256B", 2)));
  Results results = session.run(Forest(), {{"x", tensorOf(ramp(4, 1))}});
  expectSame(valuesOf(results[0].tensor), lineOf(ramp(4, 1)), "out");
  espalier_stats stats = session.stats();
  EXPECT_DOUBLE_EQ(stats.simulated_seconds, 48);
  EXPECT_DOUBLE_EQ(stats.stall_seconds, 8);
  EXPECT_EQ(stats.device_peak_bytes, 3 * 64 + 16);
  EXPECT_EQ(stats.host_peak_bytes, 16);
}

// At half a byte a second a copy takes 32 s.
//   compute    0-10 a   10-20 b           42-52 c             84-94 out
//   to host             10-------------42
//   to device                                     52-------84
TEST(PlannedRun, MemoryWaitsForTheCopyThatReadsIt) {
  PlanModel model(4);
  buildLine(model, 16);
  Module module(&model.model);
  Session session(module, module.entry(nullptr), Weights{},
                  onSim(Machines::write("256B", 0.5)));
  Results results = session.run(Forest(), {{"x", tensorOf(ramp(4, 1))}});
  expectSame(valuesOf(results[0].tensor), lineOf(ramp(4, 1)), "out");
  EXPECT_DOUBLE_EQ(session.stats().simulated_seconds, 94);
  EXPECT_DOUBLE_EQ(session.stats().stall_seconds, 54);
  // A launch costs, too; a reset starts to count anew.
  session.resetStats();
  session.run(Forest(), {{"x", tensorOf(ramp(4, 1))}});
  EXPECT_DOUBLE_EQ(session.stats().simulated_seconds, 94);
  Session launches(module, module.entry(nullptr), Weights{},
                   onSim(Machines::write("256B", 0.5, "full", "1GiB", 3)));
  launches.run(Forest(), {{"x", tensorOf(ramp(4, 1))}});
  EXPECT_DOUBLE_EQ(launches.stats().simulated_seconds, 94 + 12 - 3);
}

// Runs of one session take turns on its device.
TEST(PlannedRun, ThreadsTakeTurns) {
  PlanModel model(64);
  buildLine(model, 256);
  Module module(&model.model);
  SessionOptions options = onSim(Machines::write("1KiB", 100));
  options.profile = true;
  Session session(module, module.entry(nullptr), Weights{}, options);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> found(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int run = 0; run < 20; ++run)
        found[t] = valuesOf(
            session.run(Forest(), {{"x", tensorOf(ramp(64, (float)t))}})[0]
                .tensor);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int t = 0; t < 4; ++t)
    expectSame(found[t], lineOf(ramp(64, (float)t)), "out");
  EXPECT_EQ(session.stats().runs, 80);
  EXPECT_EQ(session.stats().offloaded_bytes, 80 * 256);
}

// Hundreds of gigabytes, of which no byte is touched.
TEST(PlannedRun, DryRunsNeedNoMemory) {
  // More than any machine here has, and less than what ThreadSanitizer leaves
  // of the addresses.
  int64_t elements = int64_t(1) << 34;
  PlanModel model(elements);
  buildLine(model, elements * 4);
  Module module(&model.model);
  Session session(
      module, module.entry(nullptr), Weights{},
      onSim(Machines::write("2TiB", 1e9, "full", "2TiB"), /*dry=*/true));
  session.run(Forest(), {});
  EXPECT_EQ(session.stats().device_peak_bytes, elements * 16);
  EXPECT_EQ(session.stats().host_peak_bytes, elements * 4);
  EXPECT_EQ(session.stats().offloaded_bytes, elements * 4);
}

//===----------------------------------------------------------------------===//
// In place, and what is not there
//===----------------------------------------------------------------------===//

TEST(PlannedRun, InPlaceAndViews) {
  PlanModel model(8);
  uint32_t x = model.buffer("x", ESPALIER_BUFFER_INPUT, 0);
  uint32_t out = model.buffer("out", ESPALIER_BUFFER_OUTPUT, 64);
  uint32_t a = model.buffer("a", ESPALIER_BUFFER_DYNAMIC, 128, 0, 3);
  uint32_t view = model.buffer("view", ESPALIER_BUFFER_DYNAMIC, 128, 1, 3);
  uint32_t b = model.buffer("b", ESPALIER_BUFFER_DYNAMIC, 128, 3, 4);
  model.combine(x, x, a);
  model.entry.phase("view", ESPALIER_ROWS_ONE);
  model.entry.step(ESPALIER_STEP_COPY, "view",
                   {{a, ESPALIER_ACCESS_ROW, 0, 0, 0, 8},
                    {view, ESPALIER_ACCESS_ROW, 0, 0, 0, 8}});
  model.combine(a, view, out);
  model.combine(a, view, b); // in place of both
  model.combine(b, out, out);
  model.finish(192, 0);
  for (bool sim : {false, true}) {
    Module module(&model.model);
    Session session(module, module.entry(nullptr), Weights{},
                    sim ? onSim(Machines::write("192B")) : SessionOptions{});
    std::vector<float> in = ramp(8, 1), expected(8);
    for (int i = 0; i < 8; ++i) {
      float first = in[i] / 2 - in[i] / 4 + 1;
      float second = first / 2 - first / 4 + 1;
      expected[i] = second / 2 - second / 4 + 1;
    }
    Results results = session.run(Forest(), {{"x", tensorOf(in)}});
    expectSame(valuesOf(results[0].tensor), expected, "out");
    EXPECT_EQ(session.stats().device_peak_bytes, 160);
  }
}

namespace {
/// A convolution with a workspace, and a normalisation in its place.
struct LayerPlan : PlanModel {
  /// 3 * 3 * 3 * 4 bytes, rounded up, for each of 192 points.
  static constexpr int64_t kWorkspaceBytes = 192 * 128;
  espalier_layer convolution{}, normalisation{};

  explicit LayerPlan(int64_t workspaceOffset = 2 * 2048)
      : PlanModel(2 * 4 * 8 * 8) {
    auto add = [&](const char *name, uint32_t kind, std::vector<int64_t> shape,
                   int64_t offset, uint32_t first = 0, uint32_t last = 0) {
      uint32_t b = entry.buffer(name, kind, ESPALIER_F32, ESPALIER_ROWS_ONE,
                                std::move(shape), first, last);
      desc(b).offset = offset;
      return b;
    };
    uint32_t y = add("y", ESPALIER_BUFFER_DYNAMIC, {2, 4, 8, 8}, 0, 0, 1);
    uint32_t z = add("z", ESPALIER_BUFFER_DYNAMIC, {2, 4, 8, 8}, 0, 1, 2);
    uint32_t out = add("out", ESPALIER_BUFFER_OUTPUT, {2, 4, 8, 8}, 2048);
    int64_t end = 2 * 2048 + kWorkspaceBytes;
    auto next = [&](const char *name, uint32_t kind,
                    std::vector<int64_t> shape) {
      uint32_t b = add(name, kind, std::move(shape), end);
      end += (desc(b).row_elements * 4 + 63) / 64 * 64;
      return b;
    };
    uint32_t x = next("x", ESPALIER_BUFFER_INPUT, {2, 3, 8, 8});
    uint32_t w = next("w", ESPALIER_BUFFER_PARAMETER, {4, 3, 3, 3});
    uint32_t scale = next("scale", ESPALIER_BUFFER_PARAMETER, {4});
    uint32_t shift = next("shift", ESPALIER_BUFFER_PARAMETER, {4});
    uint32_t mean = next("mean", ESPALIER_BUFFER_OUTPUT, {4});
    uint32_t variance = next("variance", ESPALIER_BUFFER_OUTPUT, {4});

    convolution.kind = ESPALIER_LAYER_CONV2D;
    convolution.algorithm = ESPALIER_ALGORITHM_PATCHES;
    for (int d : {0, 1})
      convolution.strides[d] = convolution.dilations[d] = 1;
    std::fill_n(convolution.padding, 4, 1);
    convolution.groups = 1;
    convolution.workspace_bytes = kWorkspaceBytes;
    convolution.workspace_offset = workspaceOffset;
    layer("convolution", convolution, {x, w, y}, 1);
    normalisation.kind = ESPALIER_LAYER_BATCH_NORM;
    normalisation.groups = 1;
    normalisation.epsilon = 1e-5;
    normalisation.workspace_offset = -1;
    layer("normalisation", normalisation, {y, scale, shift, z, mean, variance},
          3);
    combine(z, z, out);
    finish(end, 0);
  }

  void layer(const char *name, const espalier_layer &which,
             const std::vector<uint32_t> &buffers, uint32_t results) {
    entry.phase(name, ESPALIER_ROWS_ONE);
    TestModel::Operands operands;
    for (uint32_t b : buffers)
      operands.push_back(
          {b, ESPALIER_ACCESS_SHARED, 0, 0, 0, desc(b).row_elements});
    entry.step(ESPALIER_STEP_LAYER, name, operands);
    step(phases() - 1).layer = &which;
    step(phases() - 1).result_count = results;
  }
};
} // namespace

TEST(PlannedRun, LayersWithWorkspaces) {
  Results expected;
  for (int how = 0; how < 3; ++how) {
    LayerPlan plan;
    if (how == 0) {
      plan.entries[0].plan = nullptr;
      messageOf([&] { Module module(&plan.model); }, ESPALIER_MALFORMED);
      plan.convolution.workspace_offset = -1;
    }
    Module module(&plan.model);
    auto values = [](std::vector<int64_t> shape, float start) {
      Tensor tensor = Tensor::zeros(ESPALIER_F32, shape);
      for (int64_t i = 0; i < tensor.elements(); ++i)
        reinterpret_cast<float *>(tensor.mutableData())[i] =
            start + (float)(i * 7 % 11);
      return tensor;
    };
    Session session(module, module.entry(nullptr),
                    Weights{{"w", values({4, 3, 3, 3}, -5)},
                            {"scale", values({4}, 1)},
                            {"shift", values({4}, 2)}},
                    how == 2 ? onSim(Machines::write("1MiB"))
                             : SessionOptions{});
    Results results = session.run(Forest(), {{"x", values({2, 3, 8, 8}, 1)}});
    if (how == 0)
      expected = results;
    ASSERT_EQ(results.size(), 3u);
    for (size_t r = 0; r < 3; ++r) {
      EXPECT_FALSE(std::isnan(results[r].tensor.as<float>()[0]));
      expectSame(valuesOf(results[r].tensor), valuesOf(expected[r].tensor),
                 results[r].name.c_str());
    }
    if (how > 0) {
      EXPECT_EQ(session.stats().device_peak_bytes, plan.plan.device_bytes - 48);
    }
  }
  LayerPlan overlapping(0);
  std::string message =
      messageOf([&] { Module module(&overlapping.model); }, ESPALIER_MALFORMED);
  EXPECT_NE(message.find("the workspace of step 'convolution', 24576 bytes at "
                         "0, shares bytes with buffer 0 'y' of 2048 bytes"),
            std::string::npos)
      << message;
}

// Validation cannot know that a step leaves half of its buffer as it was.
TEST(PlannedRun, WhatNobodyWroteIsNaN) {
  PlanModel model(8);
  uint32_t x = model.buffer("x", ESPALIER_BUFFER_INPUT, 0);
  uint32_t out = model.buffer("out", ESPALIER_BUFFER_OUTPUT, 64);
  uint32_t a = model.buffer("a", ESPALIER_BUFFER_DYNAMIC, 128, 0, 1);
  uint32_t half = model.buffer("half", ESPALIER_BUFFER_DYNAMIC, 128, 2, 3);
  model.combine(x, x, a);
  model.combine(x, a, out);
  model.entry.phase("half", ESPALIER_ROWS_ONE);
  model.entry.step(ESPALIER_STEP_COPY, "half",
                   {{x, ESPALIER_ACCESS_ROW, 0, 0, 0, 4},
                    {half, ESPALIER_ACCESS_ROW, 0, 0, 0, 4}});
  model.combine(half, half, out);
  model.finish(192, 0);
  Module module(&model.model);
  Session session(module, module.entry(nullptr), Weights{},
                  onSim(Machines::write("1KiB")));
  for (int run = 0; run < 2; ++run) {
    Results results = session.run(Forest(), {{"x", tensorOf(ramp(8, 1))}});
    std::vector<float> found = valuesOf(results[0].tensor);
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(std::isnan(found[i]), i >= 4) << i;
  }
}

//===----------------------------------------------------------------------===//
// Devices that are too small, and other wrong options
//===----------------------------------------------------------------------===//

TEST(PlannedRun, MemoryIsLimited) {
  PlanModel model(1024);
  buildLine(model, 4096);
  Module module(&model.model);
  auto create = [&](SessionOptions options) {
    Session(module, module.entry(nullptr), Weights{}, options);
  };
  create(onSim(Machines::write("16KiB")));
  std::string message = messageOf(
      [&] { create(onSim(Machines::write("15KiB"))); }, ESPALIER_OUT_OF_MEMORY);
  EXPECT_EQ(message,
            "the plan of entry 'step' needs 16384 bytes of the device's "
            "memory; of the 15360 bytes of device 'sim' (test) 15360 are "
            "available, the largest free block has 15360; plan for a smaller "
            "budget or take a smaller batch");
  SessionOptions limited = onSim(Machines::write("1MiB"));
  limited.device.memoryLimit = 16 << 10;
  create(limited);
  limited.device.memoryLimit = 16000;
  messageOf([&] { create(limited); }, ESPALIER_OUT_OF_MEMORY);
  SessionOptions cpu;
  cpu.device.memoryLimit = 16000;
  message = messageOf([&] { create(cpu); }, ESPALIER_OUT_OF_MEMORY);
  EXPECT_NE(message.find("16384 bytes"), std::string::npos) << message;
  message = messageOf(
      [&] { create(onSim(Machines::write("1MiB", 1, "full", "4095B"))); },
      ESPALIER_OUT_OF_MEMORY);
  EXPECT_NE(message.find("the host's pool needs 4096 bytes, and the host has "
                         "4095"),
            std::string::npos)
      << message;
}

TEST(PlannedRun, WrongOptions) {
  PlanModel model(4);
  buildLine(model, 16);
  Module module(&model.model);
  auto create = [&](DeviceOptions device) {
    return [&module, device] {
      SessionOptions options;
      options.device = device;
      Session(module, module.entry(nullptr), Weights{}, options);
    };
  };
  DeviceOptions device;
  device.kind = "gpu";
  EXPECT_EQ(messageOf(create(device), ESPALIER_INVALID_ARGUMENT),
            "unknown device 'gpu', expected cpu or sim");
  device.kind = "sim";
  messageOf(create(device), ESPALIER_INVALID_ARGUMENT);
  device.machineFile = "/nowhere/machine.json";
  messageOf(create(device), ESPALIER_NOT_FOUND);
  device = {};
  device.dry = true;
  messageOf(create(device), ESPALIER_INVALID_ARGUMENT);
  device = {};
  device.memoryLimit = -1;
  messageOf(create(device), ESPALIER_INVALID_ARGUMENT);
}

TEST(PlannedRun, EntriesWithoutPlans) {
  LayeredModel layers(3);
  Module network(&layers.model);
  const espalier_entry &unplanned = network.entry(nullptr);
  std::string message = messageOf(
      [&] {
        Session(network, unplanned, randomWeights(unplanned, 1),
                onSim(Machines::write("1GiB")));
      },
      ESPALIER_UNSUPPORTED);
  EXPECT_NE(message.find("has no memory plan"), std::string::npos) << message;

  TestModel trees;
  Module module(&trees.model);
  const espalier_entry &entry = module.entry("encode");
  Weights weights = randomWeights(entry, 1);
  SessionOptions limited;
  Forest forest;
  forest.append({{}, {}, {0, 1}});
  Tensor words = Tensor::zeros(ESPALIER_I32, {3});
  forest.fields["word"] = words;
  int64_t needed = 0;
  {
    Session unlimited(module, entry, weights, {});
    needed = unlimited.bytesNeeded(forest);
  }
  limited.device.memoryLimit = needed;
  Session(module, entry, weights, limited).run(forest, {});
  limited.device.memoryLimit = needed - 1;
  Session session(module, entry, weights, limited);
  message = messageOf([&] { session.run(forest, {}); }, ESPALIER_OUT_OF_MEMORY);
  EXPECT_NE(message.find("need " + std::to_string(needed) + " bytes"),
            std::string::npos)
      << message;
}

TEST(MachineFile, SaysWhatIsWrong) {
  Machine machine = readMachine(Machines::write("1.5KiB", 3, "half", "2MB", 4));
  EXPECT_EQ(machine.name, "test");
  EXPECT_EQ(machine.memoryBytes, 1536);
  EXPECT_EQ(machine.hostMemoryBytes, 2000000);
  EXPECT_EQ(machine.linkBytesPerSecond, 3);
  EXPECT_EQ(machine.launchSeconds, 4);
  EXPECT_FALSE(machine.fullDuplex);
  struct Case {
    const char *text, *expected;
  } cases[] = {
      {"{", "m.json: byte "},
      {"[]", "m.json: this is not the description of a machine: it is no "
             "object"},
      {"{\"devices\": []}", "'devices' is not an array of one object"},
      {"{\"devices\": [{}], \"links\": [{}]}",
       "memory of the device is missing"},
      {"{\"devices\": [{\"memory\": \"1 stone\"}], \"links\": [{}]}",
       "memory of the device is not a number of bytes"},
      {"{\"devices\": [{\"memory\": 9223372036854775808}], \"links\": [{}]}",
       "memory of the device is not a number of bytes"},
      {"{\"devices\": [{\"memory\": 1.5}], \"links\": [{}]}",
       "memory of the device is not a number of bytes"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": -1}], \"links\": "
       "[{}]}",
       "flops_per_second of the device is not a number from 0.001 to 1e+24"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": 1e-308}], \"links\": [{}]}",
       "bytes_per_second of the device is not a number from 0.001 to 1e+24"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": \"0GB\"}], \"links\": [{}]}",
       "bytes_per_second of the device is not a number from 0.001 to 1e+24"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": 1, \"launch_seconds\": 1e308}], \"links\": [{}]}",
       "launch_seconds of the device is not a number from 0 to 1e+09"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": 1}], \"links\": [{\"bytes_per_second\": 1, "
       "\"latency_seconds\": \"1GB\"}]}",
       "latency_seconds of the link is not a number from 0 to 1e+09"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": 1, \"algorithms\": 2}], \"links\": [{}]}",
       "algorithms of the device is not an object"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": 1, \"algorithms\": {\"patches\": 0}}], "
       "\"links\": [{}]}",
       "patches of the algorithms is not a number from 1e-06 to 1e+06"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": 1}], \"links\": [{\"bytes_per_second\": 1, "
       "\"duplex\": \"both\"}]}",
       "duplex of the link"},
      {"{\"devices\": [{\"memory\": 1, \"flops_per_second\": 1, "
       "\"bytes_per_second\": 1}], \"links\": [{\"bytes_per_second\": 1}]}",
       "'host' is not an object"},
  };
  for (const Case &wrong : cases) {
    std::string message = messageOf([&] { parseMachine(wrong.text, "m.json"); },
                                    ESPALIER_MALFORMED);
    EXPECT_NE(message.find(wrong.expected), std::string::npos) << message;
  }
}
