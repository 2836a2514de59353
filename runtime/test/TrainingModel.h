//===- TrainingModel.h - A training entry written by hand -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A binary tree network with D-dimensional words, H hidden units and O outputs,
// as the tables and kernels that a compiler would make of it:
//
//   h(v) = tanh(E[word(v)] W + h(left) U[0:H] + h(right) U[H:2H] + b)
//   p(k) = h(root of k) C
//   loss = sum over k of |p(k) - target(k)|^2 / 2
//
// Entry "predict" gives p, and "spread": p of its structure for every vertex,
// in the caller's order. Entry "train" gives p and loss, and makes a step: of
// gradient descent for W, U, b and C, of AdaGrad for the rows of E whose words
// are in the batch, with the state "E.squares". State "steps" counts them.
//
// Template arguments are the element type, the sizes, and whether the reversed
// phase runs over all tasks or leaves are a phase of their own.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_TRAININGMODEL_H
#define ESPALIER_TEST_TRAININGMODEL_H

#include "TestModel.h"

#include <cmath>
#include <type_traits>

constexpr int64_t kTrainingWords = 11;

template <typename T, int64_t D, int64_t H, int64_t O, bool AllTasks>
struct TrainingModel {
  using Operands = TestModel::Operands;
  static constexpr uint32_t dtype =
      std::is_same_v<T, double> ? ESPALIER_F64 : ESPALIER_F32;

  TestModel::Entry predict, train;
  std::vector<espalier_entry> entries;
  espalier_model model;

  TrainingModel() {
    buildPredict();
    buildTrain();
    entries = {predict.tables("predict"), train.tables("train")};
    model = {ESPALIER_ABI_MAGIC,
             ESPALIER_ABI_MAJOR,
             ESPALIER_ABI_MINOR,
             sizeof(espalier_model),
             "training_test",
             "0.0.0",
             "generic",
             "",
             (uint32_t)entries.size(),
             0,
             entries.data()};
  }
  TrainingModel(const TrainingModel &) = delete;
  TrainingModel &operator=(const TrainingModel &) = delete;

private:
  //===--------------------------------------------------------------------===//
  // Kernels
  //===--------------------------------------------------------------------===//

  using Operand = espalier_kernel_operand;

  static T *row(const Operand &operand, int64_t r) {
    int64_t source = operand.index ? operand.index[r] : r;
    return reinterpret_cast<T *>(source < 0 ? operand.zeros
                                            : operand.base +
                                                  source * operand.row_stride);
  }

  /// projection, product, b -> h
  static void cell(const Operand *o, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t i = 0; i < H; ++i)
        row(o[3], r)[i] =
            std::tanh(row(o[0], r)[i] + row(o[1], r)[i] + row(o[2], r)[i]);
  }
  /// p, target -> dp, loss
  static void loss(const Operand *o, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T sum = 0;
      for (int64_t i = 0; i < O; ++i) {
        T difference = row(o[0], r)[i] - row(o[1], r)[i];
        row(o[2], r)[i] = difference;
        sum += difference * difference;
      }
      row(o[3], r)[0] = sum / 2;
    }
  }
  /// dh of parents, dh of the root, h -> dz
  static void cellAdjoint(const Operand *o, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t i = 0; i < H; ++i) {
        T h = row(o[2], r)[i];
        row(o[3], r)[i] = (row(o[0], r)[i] + row(o[1], r)[i]) * (1 - h * h);
      }
  }
  /// gradient, rate, parameter -> parameter
  template <int64_t N>
  static void descend(const Operand *o, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t i = 0; i < N; ++i)
        row(o[3], r)[i] = row(o[2], r)[i] - row(o[1], r)[0] * row(o[0], r)[i];
  }
  /// gradient, rate, squares, parameter -> squares, parameter
  static void adagrad(const Operand *o, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      for (int64_t i = 0; i < D; ++i) {
        T gradient = row(o[0], r)[i];
        T squares = row(o[2], r)[i] + gradient * gradient;
        row(o[5], r)[i] = row(o[3], r)[i] - row(o[1], r)[0] * gradient /
                                                std::sqrt(squares + T(1e-3));
        row(o[4], r)[i] = squares;
      }
  }
  /// steps -> steps
  static void count(const Operand *o, int64_t, int64_t) {
    ++*reinterpret_cast<int32_t *>(o[1].base);
  }

  //===--------------------------------------------------------------------===//
  // Tables
  //===--------------------------------------------------------------------===//

  static espalier_step_operand with(uint32_t access, uint32_t buffer,
                                    int64_t elements, uint32_t slot = 0,
                                    int64_t column = 0, uint32_t stride = 0) {
    return {buffer, access, slot, stride, column, elements};
  }
  static espalier_step_operand rowOf(uint32_t buffer, int64_t elements,
                                     int64_t column = 0) {
    return with(ESPALIER_ACCESS_ROW, buffer, elements, 0, column);
  }
  static espalier_step_operand shared(uint32_t buffer, int64_t elements,
                                      int64_t column = 0, uint32_t stride = 0) {
    return with(ESPALIER_ACCESS_SHARED, buffer, elements, 0, column, stride);
  }

  /// What the forward part of both entries has.
  struct Forward {
    uint32_t E, W, U, b, C, word, x, h, p, rootH;
  };

  static uint32_t parameter(TestModel::Entry &entry, const char *name,
                            std::vector<int64_t> shape) {
    return entry.buffer(name, ESPALIER_BUFFER_PARAMETER, dtype,
                        ESPALIER_ROWS_ONE, std::move(shape));
  }
  static uint32_t dynamic(TestModel::Entry &entry, const char *name,
                          uint32_t rows, std::vector<int64_t> shape,
                          uint32_t first, uint32_t last) {
    return entry.buffer(name, ESPALIER_BUFFER_DYNAMIC, dtype, rows,
                        std::move(shape), first, last);
  }
  static uint32_t scratch(TestModel::Entry &entry, const char *name,
                          std::vector<int64_t> shape) {
    return entry.buffer(name, ESPALIER_BUFFER_SCRATCH, dtype,
                        ESPALIER_ROWS_VERTICES, std::move(shape));
  }

  static const espalier_columns *allOf(int64_t columns) {
    static const espalier_columns h = {0, H}, o = {0, O};
    return columns == H ? &h : &o;
  }
  static uint32_t weight(TestModel::Entry &entry, uint32_t buffer, int64_t k,
                         int64_t n, bool transposed = false) {
    entry.weights.push_back(
        {buffer, 1, allOf(transposed ? k : n), 0, k, n, transposed, 0});
    return (uint32_t)entry.weights.size() - 1;
  }

  /// Phases 0 to 2, of an entry of `phases` phases.
  static Forward addForward(TestModel::Entry &entry, uint32_t phases) {
    entry.graphs = {{"trees", 2, 0, 0, 0, nullptr}};
    Forward f;
    f.E = parameter(entry, "E", {kTrainingWords, D});
    f.W = parameter(entry, "W", {D, H});
    f.U = parameter(entry, "U", {2 * H, H});
    f.b = parameter(entry, "b", {H});
    f.C = parameter(entry, "C", {H, O});
    f.word = entry.buffer("word", ESPALIER_BUFFER_INPUT, ESPALIER_I32,
                          ESPALIER_ROWS_CALLER, {});
    f.x = dynamic(entry, "x", ESPALIER_ROWS_VERTICES, {D}, 0, phases - 1);
    f.h = dynamic(entry, "h", ESPALIER_ROWS_VERTICES, {H}, 1, phases - 1);
    f.rootH =
        dynamic(entry, "root h", ESPALIER_ROWS_STRUCTURES, {H}, 2, phases - 1);
    f.p = entry.buffer("p", ESPALIER_BUFFER_OUTPUT, dtype,
                       ESPALIER_ROWS_STRUCTURES, {O});
    uint32_t projection =
        dynamic(entry, "projection", ESPALIER_ROWS_VERTICES, {H}, 0, 1);
    uint32_t children = scratch(entry, "children", {2 * H});
    uint32_t product = scratch(entry, "product", {H});

    entry.phase("eager", ESPALIER_ROWS_VERTICES);
    entry.step(ESPALIER_STEP_EMBED, "E[word]",
               {with(ESPALIER_ACCESS_CALLER, f.word, 1),
                shared(f.E, kTrainingWords * D), rowOf(f.x, D)});
    entry.step(ESPALIER_STEP_MATMUL, "x W",
               {rowOf(f.x, D), rowOf(projection, H)}, weight(entry, f.W, D, H));
    entry.phase("path", ESPALIER_ROWS_TASKS);
    for (uint32_t slot : {0, 1})
      entry.step(ESPALIER_STEP_COPY, "gather",
                 {with(ESPALIER_ACCESS_CHILD, f.h, H, slot),
                  rowOf(children, H, slot * H)});
    entry.step(ESPALIER_STEP_MATMUL, "children U",
               {rowOf(children, 2 * H), rowOf(product, H)},
               weight(entry, f.U, 2 * H, H));
    entry.step(ESPALIER_STEP_KERNEL, "cell",
               {rowOf(projection, H), rowOf(product, H), shared(f.b, H),
                rowOf(f.h, H)},
               0, cell);
    entry.phase("readout", ESPALIER_ROWS_STRUCTURES);
    entry.step(ESPALIER_STEP_COPY, "roots",
               {with(ESPALIER_ACCESS_ROOT, f.h, H), rowOf(f.rootH, H)});
    entry.step(ESPALIER_STEP_MATMUL, "root C",
               {rowOf(f.rootH, H), rowOf(f.p, O)}, weight(entry, f.C, H, O));
    return f;
  }

  void buildPredict() {
    Forward f = addForward(predict, 4);
    uint32_t spread = predict.buffer("spread", ESPALIER_BUFFER_OUTPUT, dtype,
                                     ESPALIER_ROWS_CALLER, {O});
    predict.phase("spread", ESPALIER_ROWS_VERTICES);
    predict.step(ESPALIER_STEP_COPY, "spread",
                 {with(ESPALIER_ACCESS_STRUCTURE, f.p, O),
                  with(ESPALIER_ACCESS_CALLER, spread, O)});
  }

  void buildTrain() {
    TestModel::Entry &entry = train;
    const uint32_t last = 11;
    Forward f = addForward(entry, last + 1);
    uint32_t target = entry.buffer("target", ESPALIER_BUFFER_INPUT, dtype,
                                   ESPALIER_ROWS_STRUCTURES, {O});
    uint32_t rate = entry.buffer("rate", ESPALIER_BUFFER_INPUT, dtype,
                                 ESPALIER_ROWS_ONE, {});
    uint32_t lossSum = entry.buffer("loss", ESPALIER_BUFFER_OUTPUT, dtype,
                                    ESPALIER_ROWS_ONE, {});
    uint32_t squares = entry.buffer("E.squares", ESPALIER_BUFFER_STATE, dtype,
                                    ESPALIER_ROWS_ONE, {kTrainingWords, D});
    uint32_t steps = entry.buffer("steps", ESPALIER_BUFFER_STATE, ESPALIER_I32,
                                  ESPALIER_ROWS_ONE, {});
    uint32_t losses =
        dynamic(entry, "losses", ESPALIER_ROWS_STRUCTURES, {}, 2, last);
    uint32_t dp = dynamic(entry, "dp", ESPALIER_ROWS_STRUCTURES, {O}, 2, last);
    uint32_t dRoot =
        dynamic(entry, "d root", ESPALIER_ROWS_STRUCTURES, {H}, 2, last);
    uint32_t dz = dynamic(entry, "dz", ESPALIER_ROWS_VERTICES, {H}, 4, last);
    // One element is in front, so that rows are not where they would be alone.
    uint32_t dChildren =
        dynamic(entry, "d children",
                AllTasks ? ESPALIER_ROWS_VERTICES : ESPALIER_ROWS_INNER,
                {1 + 2 * H}, 4, 5);
    uint32_t dx = dynamic(entry, "dx", ESPALIER_ROWS_VERTICES, {D}, 8, last);
    uint32_t dE = dynamic(entry, "dE", ESPALIER_ROWS_VERTICES, {D}, 9, last);
    uint32_t ids = entry.buffer("ids", ESPALIER_BUFFER_DYNAMIC, ESPALIER_I32,
                                ESPALIER_ROWS_VERTICES, {}, 9, last);
    uint32_t dW = dynamic(entry, "dW", ESPALIER_ROWS_ONE, {D, H}, 6, last);
    uint32_t dU = dynamic(entry, "dU", ESPALIER_ROWS_ONE, {2 * H, H}, 7, last);
    uint32_t db = dynamic(entry, "db", ESPALIER_ROWS_ONE, {H}, 6, last);
    uint32_t dC = dynamic(entry, "dC", ESPALIER_ROWS_ONE, {H, O}, 3, last);
    uint32_t fromParents = scratch(entry, "from parents", {H});

    // Still in phase 2.
    entry.step(
        ESPALIER_STEP_KERNEL, "loss",
        {rowOf(f.p, O), rowOf(target, O), rowOf(dp, O), rowOf(losses, 1)}, 0,
        loss);
    entry.steps.back().back().result_count = 2;
    entry.step(ESPALIER_STEP_MATMUL, "dp C^T", {rowOf(dp, O), rowOf(dRoot, H)},
               weight(entry, f.C, O, H, true));

    entry.phase("readout gradients", ESPALIER_ROWS_STRUCTURES);
    entry.step(ESPALIER_STEP_SUM_ROWS, "loss",
               {rowOf(losses, 1), shared(lossSum, 1)});
    entry.step(ESPALIER_STEP_OUTER_SUM, "dC",
               {rowOf(f.rootH, H), rowOf(dp, O), shared(dC, H * O, 0, O)});

    uint32_t backward = weight(entry, f.U, H, 2 * H, true);
    auto addAdjoint = [&](bool inner) {
      entry.step(ESPALIER_STEP_SUM_PARENTS, "from parents",
                 {rowOf(dChildren, 2 * H, 1), rowOf(fromParents, H)});
      entry.step(ESPALIER_STEP_KERNEL, "cell adjoint",
                 {rowOf(fromParents, H),
                  with(ESPALIER_ACCESS_ROOT_STRUCTURE, dRoot, H), rowOf(f.h, H),
                  rowOf(dz, H)},
                 0, cellAdjoint);
      if (inner)
        entry.step(ESPALIER_STEP_MATMUL, "dz U^T",
                   {rowOf(dz, H), rowOf(dChildren, 2 * H, 1)}, backward);
    };
    entry.phase("path adjoint", AllTasks ? ESPALIER_ROWS_TASKS_REVERSED
                                         : ESPALIER_ROWS_INNER_TASKS_REVERSED);
    addAdjoint(true);
    entry.phase("leaves adjoint", ESPALIER_ROWS_LEAVES);
    if (!AllTasks)
      addAdjoint(false);

    entry.phase("gradients", ESPALIER_ROWS_VERTICES);
    entry.step(ESPALIER_STEP_OUTER_SUM, "dW",
               {rowOf(f.x, D), rowOf(dz, H), shared(dW, D * H, 0, H)});
    entry.step(ESPALIER_STEP_SUM_ROWS, "db", {rowOf(dz, H), shared(db, H)});
    entry.phase("inner gradients", ESPALIER_ROWS_INNER);
    for (uint32_t slot : {0, 1})
      entry.step(ESPALIER_STEP_OUTER_SUM, "dU",
                 {with(ESPALIER_ACCESS_CHILD, f.h, H, slot), rowOf(dz, H),
                  shared(dU, H * H, slot * H * H, H)});
    entry.phase("lazy adjoint", ESPALIER_ROWS_VERTICES);
    entry.step(ESPALIER_STEP_MATMUL, "dz W^T", {rowOf(dz, H), rowOf(dx, D)},
               weight(entry, f.W, H, D, true));
    entry.phase("sparse gradients", ESPALIER_ROWS_VERTICES);
    entry.step(ESPALIER_STEP_COMBINE_ROWS, "dE",
               {with(ESPALIER_ACCESS_CALLER, f.word, 1), rowOf(dx, D),
                rowOf(ids, 1), rowOf(dE, D)});
    entry.steps.back().back().result_count = 2;

    entry.phase("sparse update", ESPALIER_ROWS_VERTICES);
    entry.step(ESPALIER_STEP_KERNEL, "adagrad",
               {rowOf(dE, D), shared(rate, 1),
                with(ESPALIER_ACCESS_ID, squares, D, ids),
                with(ESPALIER_ACCESS_ID, f.E, D, ids),
                with(ESPALIER_ACCESS_ID, squares, D, ids),
                with(ESPALIER_ACCESS_ID, f.E, D, ids)},
               0, adagrad);
    entry.steps.back().back().result_count = 2;
    entry.phase("update", ESPALIER_ROWS_ONE);
    addDescent<D * H>(dW, rate, f.W);
    addDescent<2 * H * H>(dU, rate, f.U);
    addDescent<H>(db, rate, f.b);
    addDescent<H * O>(dC, rate, f.C);
    entry.step(ESPALIER_STEP_KERNEL, "count",
               {shared(steps, 1), shared(steps, 1)}, 0, count);
  }

  template <int64_t N>
  void addDescent(uint32_t gradient, uint32_t rate, uint32_t parameter) {
    train.step(ESPALIER_STEP_KERNEL, "descend",
               {shared(gradient, N), shared(rate, 1), shared(parameter, N),
                shared(parameter, N)},
               0, descend<N>);
  }
};

#endif // ESPALIER_TEST_TRAININGMODEL_H
