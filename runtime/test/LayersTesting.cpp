//===- LayersTesting.cpp --------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LayersTesting.h"

#include "device/cpu/ThreadPool.h"
#include "memory/Arena.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <type_traits>

namespace espalier {

static int64_t product(const std::vector<int64_t> &shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

Values::Values(std::vector<int64_t> shape, double value)
    : shape(std::move(shape)), data(product(this->shape), value) {}

static uint32_t nextRandom(uint32_t &state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

Values randomValues(std::vector<int64_t> shape, uint32_t seed) {
  Values values(std::move(shape));
  for (double &value : values.data)
    value = (double)nextRandom(seed) / (1 << 23) - 1;
  return values;
}

Values wholeValues(std::vector<int64_t> shape, uint32_t seed) {
  Values values(std::move(shape));
  for (double &value : values.data)
    value = (double)(nextRandom(seed) >> 8 & 7) - 3;
  return values;
}

espalier_layer layerOf(uint32_t kind) {
  espalier_layer layer{};
  layer.kind = kind;
  layer.window[0] = layer.window[1] = 1;
  layer.strides[0] = layer.strides[1] = 1;
  layer.dilations[0] = layer.dilations[1] = 1;
  layer.groups = 1;
  layer.size = 1;
  layer.workspace_offset = -1;
  return layer;
}

ScopedVariable::ScopedVariable(const char *name, const char *value)
    : name(name) {
  const char *old = std::getenv(name);
  wasSet = old != nullptr;
  before = old ? old : "";
  setenv(name, value, 1);
}

ScopedVariable::~ScopedVariable() {
  if (wasSet)
    setenv(name.c_str(), before.c_str(), 1);
  else
    unsetenv(name.c_str());
}

static int oneDnnRunCount = 0;
int oneDnnRuns() { return oneDnnRunCount; }

namespace {

/// Memory of exactly one tensor, with a margin whose bytes are looked at.
template <typename T> struct Block {
  static constexpr int64_t kMargin = 16;
  static constexpr T kMark = T(-12345);
  std::vector<T> memory;
  int64_t size;

  explicit Block(const Values &values)
      : memory(values.data.size() + 2 * kMargin, kMark),
        size((int64_t)values.data.size()) {
    for (int64_t i = 0; i < size; ++i)
      memory[kMargin + i] = T(values.data[i]);
  }
  T *data() { return memory.data() + kMargin; }
  bool marginIsWhole() const {
    for (int64_t i = 0; i < kMargin; ++i)
      if (memory[i] != kMark || memory[kMargin + size + i] != kMark)
        return false;
    return true;
  }
};

template <typename T>
bool isClose(double there, double expected, double bound) {
  if (std::isnan(expected))
    return std::isnan(there);
  return there == expected || std::fabs(there - expected) <= bound;
}

/// Runs a kernel and compares; the bits of all results go to `bits`.
template <typename T>
void runOnce(const LayerTest &test, const LayerKernel &kernel,
             int64_t workspaceBytes, ThreadPool *pool, std::vector<T> &bits) {
  std::vector<Block<T>> reads, results;
  for (const Values &values : test.reads)
    reads.emplace_back(values);
  for (size_t r = 0; r < test.expected.size(); ++r) {
    bool adds = r == 0 && !test.before.data.empty();
    results.emplace_back(adds ? test.before
                              : Values(test.expected[r].shape, NAN));
  }
  std::vector<char *> operands;
  for (Block<T> &block : reads)
    operands.push_back(reinterpret_cast<char *>(block.data()));
  for (Block<T> &block : results)
    operands.push_back(reinterpret_cast<char *>(block.data()));
  if (test.inPlace >= 0)
    operands[reads.size()] = operands[test.inPlace];

  // Of a multiple of 64 bytes, with a mark behind it.
  Arena workspace;
  constexpr unsigned char kBehind = 0xA5;
  workspace.reserve(workspaceBytes + kAlignment);
  std::memset(workspace.data(), 0xFF, workspaceBytes);
  std::memset(workspace.data() + workspaceBytes, kBehind, kAlignment);
  Arena scratch;
  scratch.reserve(std::max<int64_t>(kernel.scratchBytes(), kAlignment));
  std::memset(scratch.data(), 0xFF, scratch.capacity());
  kernel.run({operands.data(), workspace.data(), scratch.data(), pool});
  for (int64_t i = 0; i < kAlignment; ++i)
    ASSERT_EQ((unsigned char)workspace.data()[workspaceBytes + i], kBehind)
        << "beside the workspace";

  for (size_t o = 0; o < reads.size(); ++o) {
    EXPECT_TRUE(reads[o].marginIsWhole()) << "beside operand " << o;
    if ((int)o == test.inPlace)
      continue;
    for (int64_t i = 0; i < reads[o].size; ++i) {
      T before = T(test.reads[o].data[i]);
      ASSERT_EQ(std::memcmp(reads[o].data() + i, &before, sizeof(T)), 0)
          << "operand " << o << " was written";
    }
  }
  for (size_t r = 0; r < results.size(); ++r) {
    EXPECT_TRUE(results[r].marginIsWhole()) << "beside result " << r;
    const std::vector<double> &expected = test.expected[r].data;
    const T *there = reinterpret_cast<T *>(operands[reads.size() + r]);
    bits.insert(bits.end(), there, there + expected.size());
    double largest = 0;
    for (double value : expected)
      if (std::isfinite(value))
        largest = std::max(largest, std::fabs(value));
    double bound = test.tolerance * largest * std::numeric_limits<T>::epsilon();
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_TRUE(isClose<T>(there[i], expected[i], bound))
          << "result " << r << ", element " << i << " is " << there[i]
          << ", expected " << expected[i] << " within " << bound;
  }
}

/// Even where they are NaN.
template <typename T>
bool haveSameBits(const std::vector<T> &a, const std::vector<T> &b) {
  return a.size() == b.size() &&
         (a.empty() || !std::memcmp(a.data(), b.data(), a.size() * sizeof(T)));
}

template <typename T> void expectOfType(const LayerTest &test) {
  LayerProblem problem{test.layer, {}};
  auto add = [&](const Values &values) {
    LayerTensor tensor{std::is_same_v<T, double> ? (uint32_t)ESPALIER_F64
                                                 : (uint32_t)ESPALIER_F32,
                       (uint32_t)values.shape.size(),
                       {}};
    std::copy(values.shape.begin(), values.shape.end(), tensor.shape);
    problem.operands.push_back(tensor);
  };
  for (const Values &values : test.reads)
    add(values);
  for (const Values &values : test.expected)
    add(values);
  bool isConvolution = test.layer.kind <= ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT;
  // Without a workspace, and with room for few points, and for many.
  std::vector<T> builtinBits;
  for (int64_t points : {0, 1, 2 * ESPALIER_PATCHES_POINTS, 2000}) {
    if (points > 0 && !isConvolution)
      continue;
    problem.layer.algorithm =
        points > 0 ? ESPALIER_ALGORITHM_PATCHES : ESPALIER_ALGORITHM_DIRECT;
    problem.layer.workspace_bytes = layerWorkspaceBytes(problem, points);
    std::vector<std::string> backends = {"builtin"};
#ifdef ESPALIER_HAVE_ONEDNN
    if (std::is_same_v<T, float>)
      backends.push_back("onednn");
#endif
    for (const std::string &backend : backends) {
      ScopedVariable variable("ESPALIER_GEMM", backend.c_str());
      std::vector<T> bits[2];
      for (unsigned threads : {1u, 2u}) {
        SCOPED_TRACE(backend + (sizeof(T) == 8 ? ", f64, " : ", f32, ") +
                     std::to_string(threads) + " threads, room for " +
                     std::to_string(points) + " points");
        auto kernel = makeLayerKernel(problem, threads);
        oneDnnRunCount += kernel->backend() == std::string("onednn");
        ThreadPool pool(threads);
        runOnce<T>(test, *kernel, problem.layer.workspace_bytes,
                   threads > 1 ? &pool : nullptr, bits[threads - 1]);
        // The same kernel gives the same bits again, with and without the
        // pool.
        std::vector<T> again;
        runOnce<T>(test, *kernel, problem.layer.workspace_bytes, nullptr,
                   again);
        EXPECT_TRUE(haveSameBits(again, bits[threads - 1]))
            << "other bits without the pool";
      }
      if (backend == "builtin") {
        EXPECT_TRUE(haveSameBits(bits[0], bits[1]))
            << "other bits with two threads";
        if (points == 0)
          builtinBits = bits[0];
        EXPECT_TRUE(haveSameBits(bits[0], builtinBits))
            << "other bits with a workspace, for " << points << " points";
      }
    }
  }
}

} // namespace

void expectLayer(const LayerTest &test) {
  expectOfType<float>(test);
  expectOfType<double>(test);
}

} // namespace espalier
