//===- StructureModel.cpp -------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "StructureModel.h"

#include <algorithm>
#include <cmath>

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

template <typename T>
static T *rowOf(const espalier_kernel_operand &operand, int64_t row) {
  int64_t r = operand.index ? operand.index[row] : row;
  return reinterpret_cast<T *>(r < 0 ? operand.zeros
                                     : operand.base + r * operand.row_stride);
}

/// x -> gate
static void gateKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kWidth; ++i) {
      float x = rowOf<float>(operands[0], r)[i];
      rowOf<float>(operands[1], r)[i] = x / (1 + std::fabs(x));
    }
}

/// gate, product -> message
static void messageKernel(const espalier_kernel_operand *operands,
                          int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kWidth; ++i)
      rowOf<float>(operands[2], r)[i] =
          rowOf<float>(operands[0], r)[i] * rowOf<float>(operands[1], r)[i];
}

/// x, sum, max, mean -> h
static void cellKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kWidth; ++i) {
      float h = rowOf<float>(operands[0], r)[i] +
                rowOf<float>(operands[1], r)[i] +
                rowOf<float>(operands[2], r)[i] / 2 -
                rowOf<float>(operands[3], r)[i] / 4;
      rowOf<float>(operands[4], r)[i] = std::min(std::max(h, -4.0f), 4.0f);
    }
}

/// x -> h, where there are no children
static void leafKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kWidth; ++i)
      rowOf<float>(operands[1], r)[i] =
          std::min(std::max(rowOf<float>(operands[0], r)[i], -4.0f), 4.0f);
}

/// d of a parent -> what it sends to each child
static void halfKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kWidth; ++i)
      rowOf<float>(operands[1], r)[i] = rowOf<float>(operands[0], r)[i] / 2;
}

/// x, sum over parents -> d
static void downKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kWidth; ++i) {
      float d =
          rowOf<float>(operands[0], r)[i] + rowOf<float>(operands[1], r)[i];
      rowOf<float>(operands[2], r)[i] = std::min(std::max(d, -4.0f), 4.0f);
    }
}

/// x, children... -> s
static void sumKernel(const espalier_kernel_operand *operands, int64_t begin,
                      int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    double sum = *rowOf<double>(operands[0], r);
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      sum += *rowOf<double>(operands[1 + slot], r) / (slot + 2);
    *rowOf<double>(operands[1 + kSlots], r) = sum;
  }
}

/// y -> y + 1
static void nextKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    *rowOf<double>(operands[1], r) = *rowOf<double>(operands[0], r) + 1;
}

/// x -> x
static void sameKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    *rowOf<double>(operands[1], r) = *rowOf<double>(operands[0], r);
}

/// x -> x^2
static void squareKernel(const espalier_kernel_operand *operands, int64_t begin,
                         int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    double x = *rowOf<double>(operands[0], r);
    *rowOf<double>(operands[1], r) = x * x;
  }
}

/// x -> 3 x
static void thriceKernel(const espalier_kernel_operand *operands, int64_t begin,
                         int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    *rowOf<double>(operands[1], r) = 3 * *rowOf<double>(operands[0], r);
}

/// e, children... -> s
template <int sign>
static void typedKernel(const espalier_kernel_operand *operands, int64_t begin,
                        int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    double sum = 0;
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      sum += *rowOf<double>(operands[1 + slot], r) / (slot + 2);
    *rowOf<double>(operands[1 + kSlots], r) =
        *rowOf<double>(operands[0], r) + sign * sum;
  }
}

/// sum over parents -> d, what children get
template <int sign>
static void typedDownKernel(const espalier_kernel_operand *operands,
                            int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    double d = 1 + sign * *rowOf<double>(operands[0], r);
    *rowOf<double>(operands[1], r) = d;
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      rowOf<double>(operands[2], r)[slot] = d / (slot + 2);
  }
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static const espalier_columns allOfU[] = {{0, kWidth}};

static espalier_step_operand at(uint32_t access, uint32_t buffer,
                                int64_t elements = kWidth, uint32_t slot = 0) {
  return {buffer, access, slot, 0, 0, elements};
}
static espalier_step_operand row(uint32_t buffer, int64_t elements = kWidth) {
  return at(ESPALIER_ACCESS_ROW, buffer, elements);
}

static void edgeStep(TestModel::Entry &entry, uint32_t kind, const char *name,
                     TestModel::Operands operands,
                     espalier_kernel kernel = nullptr) {
  entry.step(kind, name, std::move(operands), 0, kernel);
  entry.steps.back().back().over_edges = 1;
}

static uint32_t vector(TestModel::Entry &entry, const char *name, uint32_t kind,
                       uint32_t rows, uint32_t first = 0, uint32_t last = 0) {
  return entry.buffer(name, kind, ESPALIER_F32, rows, {kWidth}, first, last);
}

namespace {
/// The buffers of "whole" and "parts".
struct Messages {
  uint32_t U, x, hidden, up, total, highest, down, state, child, product,
      message;

  Messages(TestModel::Entry &entry, uint32_t lastPhase) {
    entry.graphs = {{"graphs", 0, 0, 0, 0, nullptr}};
    U = entry.buffer("U", ESPALIER_BUFFER_PARAMETER, ESPALIER_F32,
                     ESPALIER_ROWS_ONE, {kWidth, kWidth});
    entry.weights = {{U, 1, allOfU, 0, kWidth, kWidth, 0, 0}};
    x = vector(entry, "x", ESPALIER_BUFFER_INPUT, ESPALIER_ROWS_CALLER);
    hidden =
        vector(entry, "hidden", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_CALLER);
    up = vector(entry, "up", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_CALLER);
    total = vector(entry, "total", ESPALIER_BUFFER_OUTPUT,
                   ESPALIER_ROWS_STRUCTURES);
    highest = vector(entry, "highest", ESPALIER_BUFFER_OUTPUT,
                     ESPALIER_ROWS_STRUCTURES);
    state = vector(entry, "state", ESPALIER_BUFFER_DYNAMIC,
                   ESPALIER_ROWS_VERTICES, 0, lastPhase);
    child = vector(entry, "child", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_EDGES,
                   0, lastPhase);
    product = vector(entry, "product", ESPALIER_BUFFER_DYNAMIC,
                     ESPALIER_ROWS_EDGES, 0, lastPhase);
    message = vector(entry, "message", ESPALIER_BUFFER_DYNAMIC,
                     ESPALIER_ROWS_EDGES, 0, lastPhase);
    down = vector(entry, "down", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_CALLER);
  }
};
} // namespace

/// Steps over tasks: from the gates of parents to their states.
static void addMessages(TestModel::Entry &entry, const Messages &buffers,
                        uint32_t gate) {
  edgeStep(entry, ESPALIER_STEP_COPY, "children",
           {at(ESPALIER_ACCESS_EDGE_CHILD, buffers.state), row(buffers.child)});
  edgeStep(entry, ESPALIER_STEP_MATMUL, "child * U",
           {row(buffers.child), row(buffers.product)});
  edgeStep(entry, ESPALIER_STEP_KERNEL, "message",
           {at(ESPALIER_ACCESS_EDGE_PARENT, gate), row(buffers.product),
            row(buffers.message)},
           messageKernel);
  uint32_t reduced[3];
  const uint32_t kinds[] = {ESPALIER_STEP_SUM_CHILDREN,
                            ESPALIER_STEP_MAX_CHILDREN,
                            ESPALIER_STEP_MEAN_CHILDREN};
  for (int i = 0; i < 3; ++i) {
    reduced[i] = vector(entry, "reduced", ESPALIER_BUFFER_SCRATCH,
                        ESPALIER_ROWS_VERTICES);
    entry.step(kinds[i], "reduce", {row(buffers.message), row(reduced[i])});
  }
  entry.step(ESPALIER_STEP_KERNEL, "cell",
             {at(ESPALIER_ACCESS_CALLER, buffers.x), row(reduced[0]),
              row(reduced[1]), row(reduced[2]), row(buffers.state)},
             0, cellKernel);
}

/// From parents to children, over all vertices or with a phase for the leaves.
static void addDown(TestModel::Entry &entry, const Messages &buffers,
                    bool parts) {
  uint32_t phase = (uint32_t)entry.phases.size();
  uint32_t last = phase + 1 + parts;
  uint32_t d = vector(entry, "d", ESPALIER_BUFFER_DYNAMIC,
                      ESPALIER_ROWS_VERTICES, phase, last);
  uint32_t half = vector(entry, "half", ESPALIER_BUFFER_DYNAMIC,
                         ESPALIER_ROWS_EDGES, phase, last);
  uint32_t sum =
      vector(entry, "sum", ESPALIER_BUFFER_SCRATCH, ESPALIER_ROWS_VERTICES);
  auto addCell = [&] {
    entry.step(ESPALIER_STEP_SUM_PARENTS, "sum", {row(half), row(sum)});
    entry.step(ESPALIER_STEP_KERNEL, "down",
               {at(ESPALIER_ACCESS_CALLER, buffers.x), row(sum), row(d)}, 0,
               downKernel);
  };
  entry.phase("down", parts ? ESPALIER_ROWS_INNER_TASKS_REVERSED
                            : ESPALIER_ROWS_TASKS_REVERSED);
  addCell();
  edgeStep(entry, ESPALIER_STEP_KERNEL, "half",
           {at(ESPALIER_ACCESS_EDGE_PARENT, d), row(half)}, halfKernel);
  if (parts) {
    entry.phase("down to leaves", ESPALIER_ROWS_LEAVES);
    addCell();
  }
  entry.phase("push down", ESPALIER_ROWS_VERTICES);
  entry.step(ESPALIER_STEP_COPY, "down",
             {row(d), at(ESPALIER_ACCESS_CALLER, buffers.down)});
}

static void addResults(TestModel::Entry &entry, const Messages &buffers) {
  uint32_t sum =
      vector(entry, "sum", ESPALIER_BUFFER_SCRATCH, ESPALIER_ROWS_VERTICES);
  entry.phase("push", ESPALIER_ROWS_VERTICES);
  entry.step(ESPALIER_STEP_COPY, "hidden",
             {row(buffers.state), at(ESPALIER_ACCESS_CALLER, buffers.hidden)});
  entry.step(ESPALIER_STEP_SUM_PARENTS, "up", {row(buffers.message), row(sum)});
  entry.step(ESPALIER_STEP_COPY, "up",
             {row(sum), at(ESPALIER_ACCESS_CALLER, buffers.up)});
  entry.phase("structures", ESPALIER_ROWS_STRUCTURES);
  entry.step(ESPALIER_STEP_SUM_VERTICES, "total",
             {row(buffers.state), row(buffers.total)});
  entry.step(ESPALIER_STEP_MAX_VERTICES, "highest",
             {row(buffers.hidden), row(buffers.highest)});
}

/// One phase over all tasks, with the gates in its scratch.
static void buildWhole(TestModel::Entry &entry) {
  Messages buffers(entry, 2);
  entry.phase("path", ESPALIER_ROWS_TASKS);
  uint32_t gate =
      vector(entry, "gate", ESPALIER_BUFFER_SCRATCH, ESPALIER_ROWS_VERTICES);
  entry.step(ESPALIER_STEP_KERNEL, "gate",
             {at(ESPALIER_ACCESS_CALLER, buffers.x), row(gate)}, 0, gateKernel);
  addMessages(entry, buffers, gate);
  addResults(entry, buffers);
  addDown(entry, buffers, false);
}

/// Leaves and inner vertices apart, with the gates of all of these before.
static void buildParts(TestModel::Entry &entry) {
  Messages buffers(entry, 4);
  entry.phase("leaves", ESPALIER_ROWS_LEAVES);
  entry.step(ESPALIER_STEP_KERNEL, "leaf",
             {at(ESPALIER_ACCESS_CALLER, buffers.x), row(buffers.state)}, 0,
             leafKernel);
  entry.phase("eager", ESPALIER_ROWS_INNER);
  uint32_t gate =
      vector(entry, "gate", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_INNER, 1, 2);
  entry.step(ESPALIER_STEP_KERNEL, "gate",
             {at(ESPALIER_ACCESS_CALLER, buffers.x), row(gate)}, 0, gateKernel);
  entry.phase("path", ESPALIER_ROWS_INNER_TASKS);
  addMessages(entry, buffers, gate);
  addResults(entry, buffers);
  addDown(entry, buffers, true);
}

static void buildPair(TestModel::Entry &entry) {
  enum : uint32_t { Source, Reversed, Target };
  entry.graphs = {{"source", kSlots, 0, 0, 0, nullptr},
                  {"reversed", kSlots, Source + 1, 0, 0, nullptr},
                  {"target", 0, 0, 0, 0, nullptr}};
  auto buffer = [&](const char *name, uint32_t kind, uint32_t rows,
                    uint32_t graph, int64_t elements, uint32_t first = 0,
                    uint32_t last = 0) {
    uint32_t b =
        entry.buffer(name, kind, ESPALIER_F64, rows, {elements}, first, last);
    entry.buffers[b].graph = graph;
    return b;
  };
  auto phase = [&](const char *name, uint32_t rows, uint32_t graph) {
    entry.phase(name, rows);
    entry.phases.back().graph = graph;
  };
  uint32_t x =
      buffer("x", ESPALIER_BUFFER_INPUT, ESPALIER_ROWS_CALLER, Source, 1);
  uint32_t y =
      buffer("y", ESPALIER_BUFFER_INPUT, ESPALIER_ROWS_CALLER, Target, 1);
  uint32_t both =
      buffer("both", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_CALLER, Source, 2);
  uint32_t joined = buffer("joined", ESPALIER_BUFFER_OUTPUT,
                           ESPALIER_ROWS_STRUCTURES, Target, 3);
  uint32_t first =
      buffer("first", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_CALLER, Target, 1);
  uint32_t states[2];
  for (uint32_t g : {Source, Reversed}) {
    states[g] = buffer("state", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_VERTICES,
                       g, 1, 2 * g, 5);
    phase("path", ESPALIER_ROWS_TASKS, g);
    TestModel::Operands operands = {at(ESPALIER_ACCESS_CALLER, x, 1)};
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      operands.push_back(at(ESPALIER_ACCESS_CHILD, states[g], 1, slot));
    operands.push_back(row(states[g], 1));
    entry.step(ESPALIER_STEP_KERNEL, "sum", operands, 0, sumKernel);
    phase("push", ESPALIER_ROWS_VERTICES, g);
    espalier_step_operand half = at(ESPALIER_ACCESS_CALLER, both, 1);
    half.column = g;
    entry.step(ESPALIER_STEP_COPY, "push", {row(states[g], 1), half});
  }
  uint32_t sum = buffer("sum", ESPALIER_BUFFER_DYNAMIC,
                        ESPALIER_ROWS_STRUCTURES, Target, 1, 4, 5);
  phase("target", ESPALIER_ROWS_STRUCTURES, Target);
  entry.step(ESPALIER_STEP_SUM_VERTICES, "sum", {row(y, 1), row(sum, 1)});
  phase("join", ESPALIER_ROWS_STRUCTURES, Source);
  for (uint32_t part = 0; part < 3; ++part) {
    espalier_step_operand out = row(joined, 1);
    out.column = part;
    entry.step(
        ESPALIER_STEP_COPY, "join",
        {part < 2 ? at(ESPALIER_ACCESS_ROOT, states[part], 1) : row(sum, 1),
         out});
  }
  phase("next", ESPALIER_ROWS_VERTICES, Target);
  entry.step(
      ESPALIER_STEP_KERNEL, "next",
      {at(ESPALIER_ACCESS_CALLER, y, 1), at(ESPALIER_ACCESS_CALLER, first, 1)},
      0, nextKernel);
}

static void buildTyped(TestModel::Entry &entry) {
  entry.graphs = {{"typed", kSlots, 0, 2, 0, "kind"}};
  auto buffer = [&](const char *name, uint32_t kind, uint32_t rows,
                    uint32_t first = 0, uint32_t last = 0,
                    int64_t elements = 1) {
    return entry.buffer(name, kind, ESPALIER_F64, rows, {elements}, first,
                        last);
  };
  auto phase = [&](const char *name, uint32_t rows, uint32_t type) {
    entry.phase(name, rows);
    entry.phases.back().type = type;
  };
  espalier_step_operand x =
      at(ESPALIER_ACCESS_CALLER,
         buffer("x", ESPALIER_BUFFER_INPUT, ESPALIER_ROWS_CALLER), 1);
  uint32_t results[] = {
      buffer("s", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_CALLER),
      buffer("d", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_CALLER)};
  uint32_t sums[] = {
      buffer("leaves", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_ONE),
      buffer("inner", ESPALIER_BUFFER_OUTPUT, ESPALIER_ROWS_ONE)};
  uint32_t s =
      buffer("s", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_VERTICES, 1, 10);
  // Phases 4 and 5 take turns, so that the second of `e` is still in use after
  // phase 5 has begun to use `value`.
  uint32_t e[] = {
      buffer("e", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_INNER, 3, 5),
      buffer("e", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_VERTICES, 0, 4)};
  uint32_t value =
      buffer("value", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_VERTICES, 5, 5, 2);
  uint32_t d =
      buffer("d", ESPALIER_BUFFER_DYNAMIC, ESPALIER_ROWS_VERTICES, 6, 10);
  uint32_t down = buffer("down", ESPALIER_BUFFER_DYNAMIC,
                         ESPALIER_ROWS_VERTICES, 6, 7, kSlots);

  phase("eager of type 1", ESPALIER_ROWS_VERTICES, 2);
  entry.step(ESPALIER_STEP_KERNEL, "thrice", {x, row(e[1], 1)}, 0,
             thriceKernel);
  phase("leaves of type 0", ESPALIER_ROWS_LEAVES, 1);
  entry.step(ESPALIER_STEP_KERNEL, "same", {x, row(s, 1)}, 0, sameKernel);
  phase("leaves of type 1", ESPALIER_ROWS_LEAVES, 2);
  entry.step(ESPALIER_STEP_COPY, "same", {row(e[1], 1), row(s, 1)});
  phase("eager of type 0", ESPALIER_ROWS_INNER, 1);
  entry.step(ESPALIER_STEP_KERNEL, "square", {x, row(e[0], 1)}, 0,
             squareKernel);
  for (uint32_t type : {1, 0}) {
    phase("path", ESPALIER_ROWS_INNER_TASKS, type + 1);
    TestModel::Operands operands = {row(e[type], 1)};
    for (uint32_t slot = 0; slot < kSlots; ++slot)
      operands.push_back(at(ESPALIER_ACCESS_CHILD, s, 1, slot));
    operands.push_back(row(type ? s : value, 1));
    entry.step(ESPALIER_STEP_KERNEL, "sum", operands, 0,
               type ? typedKernel<-1> : typedKernel<1>);
    if (type == 0)
      entry.step(ESPALIER_STEP_COPY, "value", {row(value, 1), row(s, 1)});
  }
  for (uint32_t type : {0, 1}) {
    uint32_t sum =
        buffer("sum", ESPALIER_BUFFER_SCRATCH, ESPALIER_ROWS_VERTICES);
    phase("down", ESPALIER_ROWS_TASKS_REVERSED, type + 1);
    entry.step(ESPALIER_STEP_SUM_PARENTS, "sum",
               {row(down, kSlots), row(sum, 1)});
    entry.step(ESPALIER_STEP_KERNEL, "down",
               {row(sum, 1), row(d, 1), row(down, kSlots)}, 0,
               type ? typedDownKernel<-1> : typedDownKernel<1>);
    entry.steps.back().back().result_count = 2;
  }
  phase("sum of leaves", ESPALIER_ROWS_LEAVES, 1);
  entry.step(ESPALIER_STEP_SUM_ROWS, "sum",
             {row(s, 1), at(ESPALIER_ACCESS_SHARED, sums[0], 1)});
  phase("sum of inner vertices", ESPALIER_ROWS_INNER, 2);
  entry.step(ESPALIER_STEP_SUM_ROWS, "sum",
             {row(s, 1), at(ESPALIER_ACCESS_SHARED, sums[1], 1)});
  phase("push", ESPALIER_ROWS_VERTICES, 0);
  entry.step(ESPALIER_STEP_COPY, "s",
             {row(s, 1), at(ESPALIER_ACCESS_CALLER, results[0], 1)});
  entry.step(ESPALIER_STEP_COPY, "d",
             {row(d, 1), at(ESPALIER_ACCESS_CALLER, results[1], 1)});
}

StructureModel::StructureModel() {
  buildWhole(whole);
  buildParts(parts);
  buildPair(pair);
  buildTyped(typed);
  entries = {whole.tables("whole"), parts.tables("parts"), pair.tables("pair"),
             typed.tables("typed")};
  model = {ESPALIER_ABI_MAGIC,
           ESPALIER_ABI_MAJOR,
           ESPALIER_ABI_MINOR,
           sizeof(espalier_model),
           "structure_test",
           "0.0.0",
           "generic",
           "",
           (uint32_t)entries.size(),
           0,
           entries.data()};
}
