//===- LayeredModel.h - A layered network written by hand -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of one entry, "step", over images x [N, 2, 5, 6]:
//
//   convolved = conv2d(x, W) + b           W [3, 2, 3, 3], padding 1, by
//   patches relu      = max(convolved, floor)      a kernel over the N images,
//   in place pooled    = max_pool2d(relu)           windows of 2x2 joined    =
//   concat(pooled, pooled)     channels sums      = sum_channels(joined) a
//   result total    += matmul(l, r)               total is a state, l and r
//   constants
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_LAYEREDMODEL_H
#define ESPALIER_TEST_LAYEREDMODEL_H

#include "TestModel.h"

#include <cstddef>
#include <deque>

struct LayeredModel {
  explicit LayeredModel(int64_t images);
  LayeredModel(const LayeredModel &) = delete;
  LayeredModel &operator=(const LayeredModel &) = delete;

  espalier_step &step(size_t phase) { return entry.steps[phase][0]; }
  espalier_layer &layer(size_t phase) {
    return const_cast<espalier_layer &>(*step(phase).layer);
  }
  espalier_step_operand &operand(size_t phase, size_t o) {
    return const_cast<espalier_step_operand &>(step(phase).operands[o]);
  }
  espalier_buffer_desc &buffer(const char *name);

  enum Phase { Convolution, Relu, Pool, Concat, Sum, Matmul, Phases };
  TestModel::Entry entry;
  std::deque<espalier_layer> layers;
  espalier_entry tables;
  espalier_model model;

private:
  void addLayer(const char *name, uint32_t kind, std::vector<uint32_t> buffers);
};

#endif // ESPALIER_TEST_LAYEREDMODEL_H
