//===- TestModel.h - A compiled model written by hand -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small binary tree network, as the tables and kernels that a compiler would
// make of it. All numbers in it are small integers, so that every order of
// summation gives the same bits:
//
//   h(v)  = clamp(E[word(v)] * W + [h(left), h(right)] * U' + h(left)
//                 - h(right) + b, -8, 8)
//
// where U' is columns 0, 2 and 3 of U, and what is absent is zero.
//
// Entry "classify" gives "hidden" (h of every vertex, in the caller's order),
// "root" (scale * h(root) + bias) and "top" (h(root)). Entry "encode" computes
// the same "hidden" with leaves and inner vertices apart, with a product for
// each child, and with h in a part of the state; and it gives "twice" (2 b).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_TESTMODEL_H
#define ESPALIER_TEST_TESTMODEL_H

#include "espalier/abi.h"

#include <cstdint>
#include <deque>
#include <vector>

constexpr int64_t kWords = 7, kEmbedding = 2, kHidden = 3;

/// The tables, free to be changed by tests of what is wrong with them.
struct TestModel {
  TestModel();
  TestModel(const TestModel &) = delete;
  TestModel &operator=(const TestModel &) = delete;

  using Operands = std::vector<espalier_step_operand>;
  struct Entry {
    std::vector<espalier_graph_desc> graphs;
    std::vector<espalier_buffer_desc> buffers;
    std::vector<espalier_weight> weights;
    std::vector<espalier_phase> phases;
    std::deque<std::vector<espalier_step>> steps; // by phase
    std::deque<Operands> operands;

    uint32_t buffer(const char *name, uint32_t kind, uint32_t dtype,
                    uint32_t rows, std::vector<int64_t> shape,
                    uint32_t firstPhase = 0, uint32_t lastPhase = 0);
    void phase(const char *name, uint32_t rows);
    void step(uint32_t kind, const char *name, Operands list,
              uint32_t weight = 0, espalier_kernel kernel = nullptr);
    espalier_entry tables(const char *name);
  };
  Entry classify, encode;
  std::vector<espalier_entry> entries;
  espalier_model model;
};

/// The parameters by name, row-major.
struct TestParameters {
  std::vector<float> E, W, U, b;
  TestParameters();
};

/// h of every vertex, one after another. `lists` holds the children of each
/// vertex, -1 for an absent one, in any order without cycles.
std::vector<float>
referenceHidden(const std::vector<std::vector<int32_t>> &lists,
                const std::vector<int32_t> &words,
                const TestParameters &parameters);

#endif // ESPALIER_TEST_TESTMODEL_H
