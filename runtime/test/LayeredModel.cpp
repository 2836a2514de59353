//===- LayeredModel.cpp ---------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "LayeredModel.h"

#include <algorithm>
#include <cstring>

/// images, floor -> images
static void reluKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    auto *from = reinterpret_cast<const float *>(operands[0].base +
                                                 r * operands[0].row_stride);
    auto *floor = reinterpret_cast<const float *>(operands[1].base);
    auto *to = reinterpret_cast<float *>(operands[2].base +
                                         r * operands[2].row_stride);
    for (int64_t i = 0; i < 3 * 5 * 6; ++i)
      to[i] = std::max(from[i], floor[0]);
  }
}

static const float lines[] = {8, 1, 2, 3, 4, 5, 6};

espalier_buffer_desc &LayeredModel::buffer(const char *name) {
  for (espalier_buffer_desc &buffer : entry.buffers)
    if (!std::strcmp(buffer.name, name))
      return buffer;
  return entry.buffers.at(entry.buffers.size());
}

void LayeredModel::addLayer(const char *name, uint32_t kind,
                            std::vector<uint32_t> buffers) {
  espalier_layer layer{};
  layer.kind = kind;
  layer.window[0] = layer.window[1] = 1;
  layer.strides[0] = layer.strides[1] = 1;
  layer.dilations[0] = layer.dilations[1] = 1;
  layer.groups = 1;
  layer.workspace_offset = -1;
  layers.push_back(layer);
  TestModel::Operands operands;
  for (uint32_t b : buffers)
    operands.push_back(
        {b, ESPALIER_ACCESS_SHARED, 0, 0, 0, entry.buffers[b].row_elements});
  entry.phase(name, ESPALIER_ROWS_ONE);
  entry.step(ESPALIER_STEP_LAYER, name, std::move(operands));
  entry.steps.back().back().layer = &layers.back();
}

LayeredModel::LayeredModel(int64_t images) {
  auto add = [&](const char *name, uint32_t kind, std::vector<int64_t> shape,
                 uint32_t first = 0, uint32_t last = 0) {
    uint32_t b = entry.buffer(name, kind, ESPALIER_F32, ESPALIER_ROWS_ONE,
                              std::move(shape), first, last);
    entry.buffers[b].offset = -1;
    return b;
  };
  uint32_t x = add("x", ESPALIER_BUFFER_INPUT, {images, 2, 5, 6});
  uint32_t w = add("W", ESPALIER_BUFFER_PARAMETER, {3, 2, 3, 3});
  uint32_t b = add("b", ESPALIER_BUFFER_PARAMETER, {3});
  uint32_t floor = add("floor", ESPALIER_BUFFER_PARAMETER, {1});
  uint32_t l = add("l", ESPALIER_BUFFER_CONSTANT, {2, 3});
  uint32_t r = add("r", ESPALIER_BUFFER_CONSTANT, {3, 2});
  entry.buffers[l].data = entry.buffers[r].data = lines;
  uint32_t total = add("total", ESPALIER_BUFFER_STATE, {2, 2});
  uint32_t convolved = add("convolved", ESPALIER_BUFFER_DYNAMIC,
                           {images, 3, 5, 6}, Convolution, Pool);
  uint32_t pooled =
      add("pooled", ESPALIER_BUFFER_DYNAMIC, {images, 3, 2, 3}, Pool, Concat);
  uint32_t joined =
      add("joined", ESPALIER_BUFFER_DYNAMIC, {images, 6, 2, 3}, Concat, Sum);
  uint32_t sums = add("sums", ESPALIER_BUFFER_OUTPUT, {6});

  addLayer("convolution", ESPALIER_LAYER_CONV2D, {x, w, b, convolved});
  layers.back().algorithm = ESPALIER_ALGORITHM_PATCHES;
  layers.back().workspace_bytes = 192 * 128; // of 2 * 3 * 3 * 4 bytes
  std::fill_n(layers.back().padding, 4, 1);

  entry.phase("relu", ESPALIER_ROWS_ONE);
  entry.step(ESPALIER_STEP_KERNEL, "relu",
             {{convolved, ESPALIER_ACCESS_ROW, 0, 0, 0, 3 * 5 * 6},
              {floor, ESPALIER_ACCESS_SHARED, 0, 0, 0, 1},
              {convolved, ESPALIER_ACCESS_ROW, 0, 0, 0, 3 * 5 * 6}},
             0, reluKernel);
  entry.steps.back().back().batch_rows = (uint32_t)images;
  // Enough for threads to share it.
  entry.steps.back().back().flops_per_row = 100 * 1000 * 1000;

  addLayer("pool", ESPALIER_LAYER_MAX_POOL2D, {convolved, pooled});
  std::fill_n(layers.back().window, 2, 2);
  std::fill_n(layers.back().strides, 2, 2);

  addLayer("concat", ESPALIER_LAYER_CONCAT, {pooled, pooled, joined});
  layers.back().axis = 1;
  addLayer("sum", ESPALIER_LAYER_SUM_CHANNELS, {joined, sums});
  addLayer("matmul", ESPALIER_LAYER_MATMUL, {l, r, total});
  layers.back().flags = ESPALIER_LAYER_ACCUMULATE;

  tables = entry.tables("step");
  model = {ESPALIER_ABI_MAGIC,
           ESPALIER_ABI_MAJOR,
           ESPALIER_ABI_MINOR,
           sizeof(espalier_model),
           "layers_test",
           "0.0.0",
           "generic",
           "",
           1,
           0,
           &tables};
}
