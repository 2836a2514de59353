//===- LayersSessionTest.cpp - Layered networks in sessions ---------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LayeredModel.h"
#include "LayersTesting.h"
#include "module/Session.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace espalier;

namespace {

Tensor tensorOf(const Values &values) {
  Tensor tensor = Tensor::zeros(ESPALIER_F32, values.shape);
  std::copy(values.data.begin(), values.data.end(),
            reinterpret_cast<float *>(tensor.mutableData()));
  return tensor;
}

/// "sums" by hand, of whole numbers.
std::vector<float> expectedSums(int64_t images, Values x, Values w, Values b,
                                double floor) {
  std::vector<float> sums(6);
  for (int64_t n = 0; n < images; ++n)
    for (int64_t o = 0; o < 3; ++o)
      for (int64_t py = 0; py < 2; ++py)
        for (int64_t px = 0; px < 3; ++px) {
          double best = -1e9;
          for (int64_t y = 2 * py; y < 2 * py + 2; ++y)
            for (int64_t z = 2 * px; z < 2 * px + 2; ++z) {
              double sum = b.at(o);
              for (int64_t i = 0; i < 2; ++i)
                for (int64_t u = 0; u < 3; ++u)
                  for (int64_t v = 0; v < 3; ++v)
                    if (y + u >= 1 && y + u < 6 && z + v >= 1 && z + v < 7)
                      sum +=
                          w.at(o, i, u, v) * x.at(n, i, y + u - 1, z + v - 1);
              best = std::max({best, sum, floor});
            }
          sums[o] += (float)best;
          sums[o + 3] += (float)best;
        }
  return sums;
}

void expectRuns(int64_t images, const char *backend, unsigned threads) {
  SCOPED_TRACE(std::string(backend) + ", " + std::to_string(threads) +
               " threads, " + std::to_string(images) + " images");
  ScopedVariable variable("ESPALIER_GEMM", backend);
  LayeredModel tables(images);
  Module module(&tables.model);
  Values x = wholeValues({images, 2, 5, 6}), w = wholeValues({3, 2, 3, 3}, 2);
  Values b = wholeValues({3}, 3);
  Weights weights = {{"W", tensorOf(w)},
                     {"b", tensorOf(b)},
                     {"floor", tensorOf(Values({1}, 2))}};
  SessionOptions options;
  options.threads = threads;
  options.profile = true;
  auto shared = std::make_shared<SharedWeights>(weights);
  Session session(module, module.entry("step"), shared, options);
  // l r = [8 1 2; 3 4 5] [8 1; 2 3; 4 5]
  const float product[] = {74, 21, 52, 40};
  for (int run = 1; run <= 3; ++run) {
    Results results = session.run(Forests(), {{"x", tensorOf(x)}});
    ASSERT_EQ(results.size(), 1u);
    std::vector<float> expected = expectedSums(images, x, w, b, 2);
    const float *sums = results[0].tensor.as<float>();
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(sums[i], expected[i]) << "sum " << i;
    const float *total = shared->tensors.at("total").tensor.as<float>();
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(total[i], (float)run * product[i]) << "total " << i;
  }
  espalier_stats stats = session.stats();
  EXPECT_EQ(stats.runs, 3);
  EXPECT_GT(stats.layer_seconds, 0);
  EXPECT_GT(stats.kernel_seconds, 0);
  EXPECT_GE(stats.layer_scratch_bytes, 0);
  // A step a run, under its name.
  for (const char *name : {"convolution", "relu", "pool", "matmul"}) {
    int events = 0;
    for (const TraceEvent &event : session.timeline().all())
      events += !std::strcmp(event.name, name);
    EXPECT_EQ(events, 3) << name;
  }
  // What is planned: tensors that live together, and the workspace beside them.
  int64_t convolved = images * 3 * 5 * 6 * 4;
  EXPECT_GE(stats.peak_bytes, convolved + 192 * 128);
  EXPECT_LE(stats.peak_bytes, 2 * convolved + 192 * 128 + 4096);
}

} // namespace

TEST(LayersSession, RunsByHand) {
  for (int64_t images : {1, 7})
    for (unsigned threads : {1u, 2u}) {
      expectRuns(images, "builtin", threads);
#ifdef ESPALIER_HAVE_ONEDNN
      expectRuns(images, "onednn", threads);
#endif
    }
}

TEST(LayersSession, BytesNeeded) {
  LayeredModel tables(100);
  Module module(&tables.model);
  Session session(module, module.entry("step"),
                  randomWeights(module.entry("step"), 1), {});
  // convolved beside the patches that it is made from.
  EXPECT_EQ(session.bytesNeeded(Forests()),
            alignUp(100 * 3 * 5 * 6 * 4) + 192 * 128 + 6 * 4);
}

/// Layers that are alike share a kernel.
TEST(LayersSession, ScratchIsCounted) {
  ScopedVariable variable("ESPALIER_GEMM", "builtin");
  LayeredModel tables(4);
  Module module(&tables.model);
  const espalier_entry &entry = module.entry("step");
  BoundWeights weights(
      module, entry, std::make_shared<SharedWeights>(randomWeights(entry, 1)));
  Program one(entry, weights.packed(), 1), two(entry, weights.packed(), 2);
  EXPECT_GT(one.layerScratchBytes, 0);
  EXPECT_EQ(two.layerScratchBytes, 2 * one.layerScratchBytes);
  ASSERT_EQ(one.workspaces.size(), 1u);
  EXPECT_EQ(one.workspaces[0].bytes, 192 * 128);
  EXPECT_EQ(one.workspaces[0].phase, 0u);
}

//===----------------------------------------------------------------------===//
// Damaged tables
//===----------------------------------------------------------------------===//

namespace {
struct Damage {
  const char *message;
  std::function<void(LayeredModel &)> apply;
};
using M = LayeredModel;
} // namespace

TEST(LayersSession, TheModelIsValid) {
  LayeredModel tables(2);
  Module module(&tables.model);
}

TEST(LayersSession, DamagedTables) {
  const Damage cases[] = {
      {"phase 0 'convolution', step 0 'convolution': it is a layer without "
       "attributes",
       [](M &m) { m.step(M::Convolution).layer = nullptr; }},
      {"unknown layer 0", [](M &m) { m.layer(M::Pool).kind = 0; }},
      {"unknown layer 99", [](M &m) { m.layer(M::Pool).kind = 99; }},
      {"in a phase of 1 steps over rows 5, expected a phase of its own",
       [](M &m) {
         m.entry.graphs = {{"g", 0, 0, 0, 0, nullptr}};
         m.tables.graphs = m.entry.graphs.data();
         m.tables.graph_count = 1;
         m.entry.phases[M::Pool].rows = ESPALIER_ROWS_STRUCTURES;
       }},
      {"max_pool2d: 3 operands, expected 2",
       [](M &m) { m.layer(M::Concat).kind = ESPALIER_LAYER_MAX_POOL2D; }},
      {"conv2d: 2 operands, expected 3 or one more",
       [](M &m) {
         m.step(M::Convolution).operands += 2;
         m.step(M::Convolution).operand_count = 2;
       }},
      {"0 results, expected 1", [](M &m) { m.step(M::Sum).result_count = 0; }},
      {"9 results of 2 operands",
       [](M &m) { m.step(M::Sum).result_count = 9; }},
      {"no operand table", [](M &m) { m.step(M::Sum).operands = nullptr; }},
      {"buffer 99 of 11", [](M &m) { m.operand(M::Pool, 0).buffer = 99; }},
      {"over 4 rows", [](M &m) { m.step(M::Pool).batch_rows = 4; }},
      {"sum_channels: flags 0x10, expected only 0x8",
       [](M &m) { m.layer(M::Sum).flags = 16; }},
      {"max_pool2d: flags 0x1, expected only 0x0",
       [](M &m) { m.layer(M::Pool).flags = ESPALIER_LAYER_COUNT_PADDING; }},
      {"expected the whole buffer",
       [](M &m) { m.operand(M::Pool, 0).elements -= 1; }},
      {"expected the whole buffer",
       [](M &m) { m.operand(M::Pool, 0).access = ESPALIER_ACCESS_ROW; }},
      {"operand 0 is i32 and the result is f32, expected all f32 or all f64",
       [](M &m) { m.buffer("x").dtype = ESPALIER_I32; }},
      {"operand 0 is f64 and the result is f32",
       [](M &m) { m.buffer("x").dtype = ESPALIER_F64; }},
      {"operands 0 and 1 are both buffer 7, expected that what is written has "
       "a buffer of its own",
       [](M &m) { m.operand(M::Pool, 1) = m.operand(M::Pool, 0); }},
      {"stride 1 is 0, expected 1 to 2147483647",
       [](M &m) { m.layer(M::Convolution).strides[1] = 0; }},
      {"stride 0 is -1, expected 1",
       [](M &m) { m.layer(M::Pool).strides[0] = -1; }},
      {"dilation 0 is 0, expected 1",
       [](M &m) { m.layer(M::Convolution).dilations[0] = 0; }},
      {"does not fit into an image of",
       [](M &m) { m.layer(M::Convolution).dilations[0] = INT32_MAX; }},
      {"padding 2 is -1, expected 0",
       [](M &m) { m.layer(M::Convolution).padding[2] = -1; }},
      {"padding 0 is 9223372036854775807, expected 0 to 2147483647",
       [](M &m) { m.layer(M::Convolution).padding[0] = INT64_MAX; }},
      {"groups 0 is 0, expected 1",
       [](M &m) { m.layer(M::Convolution).groups = 0; }},
      {"images of 2 channels with a weight of 3x2 channels in 3 groups",
       [](M &m) { m.layer(M::Convolution).groups = 3; }},
      {"operand 3 is 2x3x5x6xf32, expected 2x3x4x6xf32",
       [](M &m) { m.layer(M::Convolution).padding[0] = 0; }},
      {"operand 2 is 1x3xf32, expected 3xf32",
       [](M &m) {
         m.buffer("b").rank = 2;
         m.buffer("b").shape[0] = 1;
         m.buffer("b").shape[1] = 3;
       }},
      {"operand 1 is 54xf32, expected rank 4",
       [](M &m) {
         m.buffer("W").rank = 1;
         m.buffer("W").shape[0] = 54;
       }},
      {"unknown algorithm 2",
       [](M &m) { m.layer(M::Convolution).algorithm = 2; }},
      {"unknown algorithm 1", [](M &m) { m.layer(M::Pool).algorithm = 1; }},
      {"it costs -1 operations and 100 bytes",
       [](M &m) { m.entry.steps[M::Convolution][0].flops_per_row = -1; }},
      {"a workspace of 24640 bytes, expected a multiple of 24576, the patches "
       "of "
       "192 points",
       [](M &m) { m.layer(M::Convolution).workspace_bytes += 64; }},
      {"a workspace of 0 bytes, expected a multiple of 24576, the patches of "
       "192 "
       "points",
       [](M &m) { m.layer(M::Convolution).workspace_bytes = 0; }},
      {"a workspace of 24576 bytes, expected 0",
       [](M &m) { m.layer(M::Convolution).algorithm = 0; }},
      {"its workspace of 24576 bytes is at -2, expected -1, no place",
       [](M &m) { m.layer(M::Convolution).workspace_offset = -2; }},
      {"its workspace of 24576 bytes is at 64, expected -1, no place",
       [](M &m) { m.layer(M::Convolution).workspace_offset = 64; }},
      {"window 0 is 0, expected 1",
       [](M &m) { m.layer(M::Pool).window[0] = 0; }},
      {"2 windows of 3 at steps of 2 over 5 elements with padding 9 and 0, "
       "expected 6, or 7 rounded up",
       [](M &m) {
         m.layer(M::Pool).window[0] = 3;
         m.layer(M::Pool).padding[0] = 9;
       }},
      {"a window of 1 lies wholly outside of an image of 5 with padding 1",
       [](M &m) {
         m.layer(M::Pool).window[0] = 1;
         m.layer(M::Pool).strides[0] = 4;
         m.layer(M::Pool).padding[0] = 1;
       }},
      {"concat: axis 4 of rank 4", [](M &m) { m.layer(M::Concat).axis = 4; }},
      {"concat: operand 0 is 2x3x2x3xf32, expected 2x6x2x3xf32",
       [](M &m) { m.layer(M::Concat).axis = 0; }},
      {"operand 0 is 2x3x2x3xf32, expected rows as those of 2x36xf32",
       [](M &m) {
         m.layer(M::Concat).axis = 0;
         m.buffer("joined").rank = 2;
         m.buffer("joined").shape[1] = 36;
       }},
      {"concat: 1 operands, expected 2 or more",
       [](M &m) {
         m.step(M::Concat).operands += 2;
         m.step(M::Concat).operand_count = 1;
       }},
      {"operand 1 is 2x3xf32, expected 6xf32",
       [](M &m) {
         m.buffer("sums").rank = 2;
         m.buffer("sums").shape[0] = 2;
         m.buffer("sums").shape[1] = 3;
       }},
      {"matmul: 2x3xf32, transposed, times 3x2xf32, expected equal inner "
       "extents",
       [](M &m) { m.layer(M::Matmul).flags = ESPALIER_LAYER_TRANSPOSE_A; }},
      {"it adds to buffer 10, which no step before it wrote",
       [](M &m) {
         m.buffer("sums").kind = ESPALIER_BUFFER_DYNAMIC;
         m.buffer("sums").last_phase = M::Phases - 1;
         m.layer(M::Sum).flags = ESPALIER_LAYER_ACCUMULATE;
       }},
      {"it reads buffer 7, which no step before it wrote",
       [](M &m) {
         m.tables.phases += 1;
         m.tables.phase_count -= 1;
       }},
      {"which is constant",
       [](M &m) {
         m.buffer("total").kind = ESPALIER_BUFFER_CONSTANT;
         m.buffer("total").data = m.buffer("l").data;
       }},
      {"3 batch rows of 90 elements from column 0 on, of 180",
       [](M &m) { m.step(M::Relu).batch_rows = 3; }},
      {"4294967295 batch rows in a phase",
       [](M &m) { m.step(M::Relu).batch_rows = UINT32_MAX; }},
      {"2 batch rows of 90 elements from column 1 on, of 180",
       [](M &m) { m.operand(M::Relu, 0).column = 1; }},
      {"2 batch rows all write operand 2",
       [](M &m) { m.operand(M::Relu, 2).access = ESPALIER_ACCESS_SHARED; }},
      {"with access 2, slot 0 in a phase over rows 0",
       [](M &m) { m.operand(M::Relu, 1).access = ESPALIER_ACCESS_CHILD; }},
      {"it writes rows of operand 2 that it uses as operand 0",
       [](M &m) { m.operand(M::Relu, 0).elements = 60; }},
      {"it writes rows of operand 2 that it uses as operand 1",
       [](M &m) { m.operand(M::Relu, 1).buffer = 7; }},
  };
  for (const Damage &damage : cases) {
    LayeredModel tables(2);
    damage.apply(tables);
    SCOPED_TRACE(damage.message);
    try {
      Module module(&tables.model);
      ADD_FAILURE() << "accepted";
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ESPALIER_MALFORMED) << error.message();
      EXPECT_NE(error.message().find(damage.message), std::string::npos)
          << error.message();
      EXPECT_NE(error.message().find("entry 'step'"), std::string::npos);
    }
  }
}

/// Words of the tables set to nonsense, one at a time: refused, or run.
TEST(LayersSession, SpoiledAttributesNeverCrash) {
  ScopedVariable variable("ESPALIER_GEMM", "builtin");
  const int64_t nonsense[] = {-1, 0,       1,         2,         3,
                              5,  1 << 20, INT32_MAX, INT64_MIN, INT64_MAX};
  int refused = 0, ran = 0;
  for (size_t phase = 0; phase < M::Phases; ++phase) {
    if (phase == M::Relu)
      continue;
    for (size_t word = 0; word < sizeof(espalier_layer) / 4; ++word)
      for (int64_t value : nonsense) {
        LayeredModel tables(2);
        uint32_t half = (uint32_t)value;
        std::memcpy(reinterpret_cast<char *>(&tables.layer(phase)) + word * 4,
                    &half, 4);
        if (word % 2 == 0 && word >= 4)
          std::memcpy(reinterpret_cast<char *>(&tables.layer(phase)) + word * 4,
                      &value, 8);
        try {
          Module module(&tables.model);
          const espalier_entry &entry = module.entry("step");
          Session session(module, entry, randomWeights(entry, 1), {});
          session.run(Forests(), {{"x", tensorOf(wholeValues({2, 2, 5, 6}))}});
          ++ran;
        } catch (const Error &error) {
          EXPECT_TRUE(error.code() == ESPALIER_MALFORMED ||
                      error.code() == ESPALIER_UNSUPPORTED)
              << error.message();
          ++refused;
        }
      }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(ran, 100); // words that the layer does not have
}
