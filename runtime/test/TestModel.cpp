//===- TestModel.cpp ------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include <algorithm>
#include <cstdlib>

/// The model is so small that tests need no other backend, unless they ask.
static const int builtinGemm = setenv("ESPALIER_GEMM", "builtin", 0);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static const float *readRow(const espalier_kernel_operand &operand,
                            int64_t row) {
  int64_t r = operand.index ? operand.index[row] : row;
  return reinterpret_cast<const float *>(
      r < 0 ? operand.zeros : operand.base + r * operand.row_stride);
}

static float *writeRow(const espalier_kernel_operand &operand, int64_t row) {
  return const_cast<float *>(readRow(operand, row));
}

/// projection, sum, left, right, b, limit -> h
static void cellKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float limit = readRow(operands[5], r)[0];
    float *out = writeRow(operands[6], r);
    for (int64_t i = 0; i < kHidden; ++i) {
      float sum = readRow(operands[0], r)[i] + readRow(operands[1], r)[i] +
                  readRow(operands[2], r)[i] - readRow(operands[3], r)[i] +
                  readRow(operands[4], r)[i];
      out[i] = std::min(std::max(sum, -limit), limit);
    }
  }
}

/// projection, product of left, of right, left, right, b, limit -> h
static void twoProductsKernel(const espalier_kernel_operand *operands,
                              int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float limit = readRow(operands[6], r)[0];
    float *out = writeRow(operands[7], r);
    for (int64_t i = 0; i < kHidden; ++i) {
      float sum = readRow(operands[0], r)[i] + readRow(operands[1], r)[i] +
                  readRow(operands[2], r)[i] + readRow(operands[3], r)[i] -
                  readRow(operands[4], r)[i] + readRow(operands[5], r)[i];
      out[i] = std::min(std::max(sum, -limit), limit);
    }
  }
}

/// projection, b, limit -> h
static void leafKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float limit = readRow(operands[2], r)[0];
    for (int64_t i = 0; i < kHidden; ++i) {
      float sum = readRow(operands[0], r)[i] + readRow(operands[1], r)[i];
      writeRow(operands[3], r)[i] = std::min(std::max(sum, -limit), limit);
    }
  }
}

/// root, scale, bias -> scale * root + bias
static void readoutKernel(const espalier_kernel_operand *operands,
                          int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kHidden; ++i)
      writeRow(operands[3], r)[i] =
          readRow(operands[1], r)[0] * readRow(operands[0], r)[i] +
          readRow(operands[2], r)[i];
}

/// b -> 2 b
static void twiceKernel(const espalier_kernel_operand *operands, int64_t begin,
                        int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < kHidden; ++i)
      writeRow(operands[1], r)[i] = 2 * readRow(operands[0], r)[i];
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static const float limit[] = {8};
static const espalier_columns allOfW[] = {{0, 3}};
static const espalier_columns someOfU[] = {{0, 1}, {2, 2}};

uint32_t TestModel::Entry::buffer(const char *name, uint32_t kind,
                                  uint32_t dtype, uint32_t rows,
                                  std::vector<int64_t> shape,
                                  uint32_t firstPhase, uint32_t lastPhase) {
  espalier_buffer_desc desc{};
  desc.name = name;
  desc.kind = kind;
  desc.dtype = dtype;
  desc.rows = rows;
  desc.rank = (uint32_t)shape.size();
  desc.first_phase = firstPhase;
  desc.last_phase = lastPhase;
  desc.row_elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    desc.shape[d] = shape[d];
    desc.row_elements *= shape[d];
  }
  if (kind == ESPALIER_BUFFER_CONSTANT)
    desc.data = limit;
  buffers.push_back(desc);
  return (uint32_t)buffers.size() - 1;
}

void TestModel::Entry::phase(const char *name, uint32_t rows) {
  phases.push_back({name, rows, 0, 0, 0, nullptr});
  steps.emplace_back();
}

void TestModel::Entry::step(uint32_t kind, const char *name, Operands list,
                            uint32_t weight, espalier_kernel kernel) {
  operands.push_back(std::move(list));
  steps.back().push_back({kind, (uint32_t)operands.back().size(),
                          operands.back().data(), name, kernel, weight, 1,
                          /*over_edges=*/0, 0,
                          /*flops_per_row=*/10, /*bytes_per_row=*/100,
                          /*layer=*/nullptr});
}

espalier_entry TestModel::Entry::tables(const char *name) {
  for (size_t p = 0; p < phases.size(); ++p) {
    phases[p].step_count = (uint32_t)steps[p].size();
    phases[p].steps = steps[p].data();
  }
  return {name,
          (uint32_t)graphs.size(),
          (uint32_t)buffers.size(),
          (uint32_t)weights.size(),
          (uint32_t)phases.size(),
          graphs.data(),
          buffers.data(),
          weights.data(),
          phases.data(),
          /*plan=*/nullptr};
}

static espalier_step_operand row(uint32_t buffer, int64_t elements,
                                 int64_t column = 0) {
  return {buffer, ESPALIER_ACCESS_ROW, 0, 0, column, elements};
}
static espalier_step_operand shared(uint32_t buffer, int64_t elements) {
  return {buffer, ESPALIER_ACCESS_SHARED, 0, 0, 0, elements};
}
static espalier_step_operand child(uint32_t buffer, uint32_t slot,
                                   int64_t elements, int64_t column = 0) {
  return {buffer, ESPALIER_ACCESS_CHILD, slot, 0, column, elements};
}
static espalier_step_operand through(uint32_t access, uint32_t buffer,
                                     int64_t elements) {
  return {buffer, access, 0, 0, 0, elements};
}

namespace {
/// The parameters and constants of both entries.
struct Common {
  uint32_t E, W, U, b, limit, word;

  explicit Common(TestModel::Entry &entry) {
    entry.graphs = {{"trees", 2, 0, 0, 0, nullptr}};
    E = entry.buffer("embedding", ESPALIER_BUFFER_PARAMETER, ESPALIER_F32,
                     ESPALIER_ROWS_ONE, {kWords, kEmbedding});
    W = entry.buffer("W", ESPALIER_BUFFER_PARAMETER, ESPALIER_F32,
                     ESPALIER_ROWS_ONE, {kEmbedding, kHidden});
    U = entry.buffer("U", ESPALIER_BUFFER_PARAMETER, ESPALIER_F32,
                     ESPALIER_ROWS_ONE, {2 * kHidden, 4});
    b = entry.buffer("b", ESPALIER_BUFFER_PARAMETER, ESPALIER_F32,
                     ESPALIER_ROWS_ONE, {kHidden});
    limit = entry.buffer("limit", ESPALIER_BUFFER_CONSTANT, ESPALIER_F32,
                         ESPALIER_ROWS_ONE, {1});
    word = entry.buffer("word", ESPALIER_BUFFER_INPUT, ESPALIER_I32,
                        ESPALIER_ROWS_CALLER, {});
    entry.weights = {{W, 1, allOfW, 0, kEmbedding, kHidden, 0, 0},
                     {U, 2, someOfU, 0, 2 * kHidden, kHidden, 0, 0}};
  }
};
} // namespace

/// Steps that compute `state` of every row from `projection`.
static void addCell(TestModel::Entry &entry, const Common &common,
                    uint32_t projection, uint32_t state) {
  uint32_t children =
      entry.buffer("children", ESPALIER_BUFFER_SCRATCH, ESPALIER_F32,
                   ESPALIER_ROWS_VERTICES, {2 * kHidden});
  uint32_t sum = entry.buffer("sum", ESPALIER_BUFFER_SCRATCH, ESPALIER_F32,
                              ESPALIER_ROWS_VERTICES, {kHidden});
  uint32_t left = entry.buffer("left", ESPALIER_BUFFER_SCRATCH, ESPALIER_F32,
                               ESPALIER_ROWS_VERTICES, {kHidden});
  entry.step(ESPALIER_STEP_COPY, "gather left",
             {child(state, 0, kHidden), row(children, kHidden)});
  entry.step(ESPALIER_STEP_COPY, "gather right",
             {child(state, 1, kHidden), row(children, kHidden, kHidden)});
  entry.step(ESPALIER_STEP_COPY, "gather left again",
             {child(state, 0, kHidden), row(left, kHidden)});
  entry.step(ESPALIER_STEP_MATMUL, "children * U",
             {row(children, 2 * kHidden), row(sum, kHidden)}, 1);
  entry.step(ESPALIER_STEP_KERNEL, "cell",
             {row(projection, kHidden), row(sum, kHidden), row(left, kHidden),
              child(state, 1, kHidden), shared(common.b, kHidden),
              shared(common.limit, 1), row(state, kHidden)},
             0, cellKernel);
}

/// The same with gathers that fill a scratch buffer each, so that they can be
/// the children themselves, and with h from column 1 of the state on.
static void addCellOfParts(TestModel::Entry &entry, const Common &common,
                           uint32_t projection, uint32_t state) {
  entry.weights.push_back({common.U, 2, someOfU, 0, kHidden, kHidden, 0, 0});
  entry.weights.push_back(
      {common.U, 2, someOfU, kHidden, kHidden, kHidden, 0, 0});
  uint32_t parts[2], products[2];
  for (uint32_t slot = 0; slot < 2; ++slot) {
    parts[slot] = entry.buffer("part", ESPALIER_BUFFER_SCRATCH, ESPALIER_F32,
                               ESPALIER_ROWS_VERTICES, {kHidden});
    products[slot] =
        entry.buffer("product", ESPALIER_BUFFER_SCRATCH, ESPALIER_F32,
                     ESPALIER_ROWS_VERTICES, {kHidden});
    entry.step(ESPALIER_STEP_COPY, "gather",
               {child(state, slot, kHidden, 1), row(parts[slot], kHidden)});
    entry.step(ESPALIER_STEP_MATMUL, "child * U",
               {row(parts[slot], kHidden), row(products[slot], kHidden)},
               2 + slot);
  }
  entry.step(ESPALIER_STEP_KERNEL, "cell",
             {row(projection, kHidden), row(products[0], kHidden),
              row(products[1], kHidden), row(parts[0], kHidden),
              row(parts[1], kHidden), shared(common.b, kHidden),
              shared(common.limit, 1), row(state, kHidden, 1)},
             0, twoProductsKernel);
}

/// Steps that compute `projection` of every row from its word.
static void addProjection(TestModel::Entry &entry, const Common &common,
                          uint32_t projection) {
  uint32_t x = entry.buffer("x", ESPALIER_BUFFER_SCRATCH, ESPALIER_F32,
                            ESPALIER_ROWS_VERTICES, {kEmbedding});
  entry.step(ESPALIER_STEP_EMBED, "embedding[word]",
             {through(ESPALIER_ACCESS_CALLER, common.word, 1),
              shared(common.E, kWords * kEmbedding), row(x, kEmbedding)});
  entry.step(ESPALIER_STEP_MATMUL, "x * W",
             {row(x, kEmbedding), row(projection, kHidden)}, 0);
}

static void buildClassify(TestModel::Entry &entry) {
  Common common(entry);
  uint32_t scale = entry.buffer("scale", ESPALIER_BUFFER_INPUT, ESPALIER_F32,
                                ESPALIER_ROWS_STRUCTURES, {1});
  uint32_t bias = entry.buffer("bias", ESPALIER_BUFFER_INPUT, ESPALIER_F32,
                               ESPALIER_ROWS_ONE, {kHidden});
  uint32_t hidden = entry.buffer("hidden", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32,
                                 ESPALIER_ROWS_CALLER, {kHidden});
  uint32_t root = entry.buffer("root", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32,
                               ESPALIER_ROWS_STRUCTURES, {kHidden});
  uint32_t top = entry.buffer("top", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32,
                              ESPALIER_ROWS_STRUCTURES, {kHidden});
  uint32_t projection =
      entry.buffer("projection", ESPALIER_BUFFER_DYNAMIC, ESPALIER_F32,
                   ESPALIER_ROWS_VERTICES, {kHidden}, 0, 1);
  uint32_t state = entry.buffer("state", ESPALIER_BUFFER_DYNAMIC, ESPALIER_F32,
                                ESPALIER_ROWS_VERTICES, {kHidden}, 1, 3);

  entry.phase("eager", ESPALIER_ROWS_VERTICES);
  addProjection(entry, common, projection);
  entry.phase("path", ESPALIER_ROWS_TASKS);
  addCell(entry, common, projection, state);
  entry.phase("push", ESPALIER_ROWS_VERTICES);
  entry.step(
      ESPALIER_STEP_COPY, "push hidden",
      {row(state, kHidden), through(ESPALIER_ACCESS_CALLER, hidden, kHidden)});
  entry.phase("readout", ESPALIER_ROWS_STRUCTURES);
  entry.step(ESPALIER_STEP_KERNEL, "readout",
             {through(ESPALIER_ACCESS_ROOT, state, kHidden), row(scale, 1),
              shared(bias, kHidden), row(root, kHidden)},
             0, readoutKernel);
  entry.step(ESPALIER_STEP_COPY, "top",
             {through(ESPALIER_ACCESS_CALLER_ROOT, hidden, kHidden),
              row(top, kHidden)});
}

static void buildEncode(TestModel::Entry &entry) {
  Common common(entry);
  uint32_t hidden = entry.buffer("hidden", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32,
                                 ESPALIER_ROWS_CALLER, {kHidden});
  uint32_t twice = entry.buffer("twice", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32,
                                ESPALIER_ROWS_ONE, {kHidden});
  uint32_t leaf =
      entry.buffer("leaf projection", ESPALIER_BUFFER_DYNAMIC, ESPALIER_F32,
                   ESPALIER_ROWS_LEAVES, {kHidden}, 1, 1);
  uint32_t inner =
      entry.buffer("inner projection", ESPALIER_BUFFER_DYNAMIC, ESPALIER_F32,
                   ESPALIER_ROWS_INNER, {kHidden}, 2, 3);
  uint32_t state = entry.buffer("state", ESPALIER_BUFFER_DYNAMIC, ESPALIER_F32,
                                ESPALIER_ROWS_VERTICES, {1 + kHidden}, 1, 4);

  entry.phase("constants", ESPALIER_ROWS_ONE);
  entry.step(ESPALIER_STEP_KERNEL, "twice",
             {shared(common.b, kHidden), row(twice, kHidden)}, 0, twiceKernel);
  entry.phase("leaves", ESPALIER_ROWS_LEAVES);
  addProjection(entry, common, leaf);
  entry.step(ESPALIER_STEP_KERNEL, "leaf cell",
             {row(leaf, kHidden), shared(common.b, kHidden),
              shared(common.limit, 1), row(state, kHidden, 1)},
             0, leafKernel);
  entry.phase("eager", ESPALIER_ROWS_INNER);
  addProjection(entry, common, inner);
  entry.phase("path", ESPALIER_ROWS_INNER_TASKS);
  addCellOfParts(entry, common, inner, state);
  entry.phase("push", ESPALIER_ROWS_VERTICES);
  entry.step(ESPALIER_STEP_COPY, "push hidden",
             {row(state, kHidden, 1),
              through(ESPALIER_ACCESS_CALLER, hidden, kHidden)});
}

TestModel::TestModel() {
  (void)builtinGemm;
  buildClassify(classify);
  buildEncode(encode);
  entries = {classify.tables("classify"), encode.tables("encode")};
  model = {ESPALIER_ABI_MAGIC,
           ESPALIER_ABI_MAJOR,
           ESPALIER_ABI_MINOR,
           sizeof(espalier_model),
           "tree_test",
           "0.0.0",
           "generic",
           "",
           (uint32_t)entries.size(),
           0,
           entries.data()};
}

//===----------------------------------------------------------------------===//
// The same by hand
//===----------------------------------------------------------------------===//

/// Small integers that depend on nothing but `salt`.
static std::vector<float> integers(size_t count, uint32_t salt, int range) {
  std::vector<float> values(count);
  uint32_t state = salt * 2654435761u + 1;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = (float)((int)(state >> 20) % (2 * range + 1) - range);
  }
  return values;
}

TestParameters::TestParameters()
    : E(integers(kWords * kEmbedding, 1, 3)),
      W(integers(kEmbedding * kHidden, 2, 2)),
      U(integers(2 * kHidden * 4, 3, 1)), b(integers(kHidden, 4, 2)) {}

std::vector<float>
referenceHidden(const std::vector<std::vector<int32_t>> &lists,
                const std::vector<int32_t> &words,
                const TestParameters &parameters) {
  static const int64_t columns[kHidden] = {0, 2, 3};
  std::vector<float> h(lists.size() * kHidden, 0);
  std::vector<bool> done(lists.size(), false);
  auto stateOf = [&](size_t v, size_t slot, int64_t i) {
    if (slot >= lists[v].size() || lists[v][slot] < 0)
      return 0.0f;
    return h[lists[v][slot] * kHidden + i];
  };
  size_t left = lists.size();
  while (left > 0)
    for (size_t v = 0; v < lists.size(); ++v) {
      bool ready = !done[v];
      for (int32_t c : lists[v])
        ready = ready && (c < 0 || done[c]);
      if (!ready)
        continue;
      for (int64_t i = 0; i < kHidden; ++i) {
        float sum = parameters.b[i];
        for (int64_t d = 0; words[v] >= 0 && d < kEmbedding; ++d)
          sum += parameters.E[words[v] * kEmbedding + d] *
                 parameters.W[d * kHidden + i];
        for (size_t slot = 0; slot < 2; ++slot)
          for (int64_t j = 0; j < kHidden; ++j)
            sum += stateOf(v, slot, j) *
                   parameters.U[(slot * kHidden + j) * 4 + columns[i]];
        sum += stateOf(v, 0, i) - stateOf(v, 1, i);
        h[v * kHidden + i] = std::min(std::max(sum, -8.0f), 8.0f);
      }
      done[v] = true;
      --left;
    }
  return h;
}
