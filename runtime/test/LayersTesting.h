//===- LayersTesting.h - Layers against naive loops -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test gives the operands that a layer reads and what it has to write, worked
// out in double by a loop of its own. The harness runs every kernel that there
// is, in f32 and f64, with one and with two threads, and looks at what lies
// beside the results, too.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_LAYERSTESTING_H
#define ESPALIER_TEST_LAYERSTESTING_H

#include "device/cpu/layers/Layer.h"

#include <string>
#include <utility>
#include <vector>

namespace espalier {

/// A tensor in double.
struct Values {
  std::vector<int64_t> shape;
  std::vector<double> data;

  Values() = default;
  explicit Values(std::vector<int64_t> shape, double value = 0);
  double &at(int64_t a, int64_t b = 0, int64_t c = 0, int64_t d = 0);
};

/// Numbers in [-1, 1) that f32 holds exactly.
Values randomValues(std::vector<int64_t> shape, uint32_t seed = 1);
/// Small whole numbers, of which sums in any order are exact.
Values wholeValues(std::vector<int64_t> shape, uint32_t seed = 1);

/// Attributes that mean nothing in particular.
espalier_layer layerOf(uint32_t kind);

struct LayerTest {
  espalier_layer layer;
  std::vector<Values> reads;
  std::vector<Values> expected;
  /// How far a result may be off, as a multiple of the largest expected number
  /// of its tensor and of the type's rounding; 0: not at all.
  double tolerance = 0;
  /// Result 0 is written where operand `inPlace` is read; -1: it is not.
  int inPlace = -1;
  /// What is in result 0 before the run, for layers that add to it.
  Values before;

  explicit LayerTest(espalier_layer layer, std::vector<Values> reads = {})
      : layer(layer), reads(std::move(reads)) {}
};

/// Runs all kernels, and all algorithms of a convolution.
void expectLayer(const LayerTest &test);

/// How many kernels of oneDNN's have run so far in this process.
int oneDnnRuns();

/// Sets an environment variable for a scope.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const char *value);
  ~ScopedVariable();

private:
  std::string name, before;
  bool wasSet;
};

} // namespace espalier

#endif // ESPALIER_TEST_LAYERSTESTING_H
