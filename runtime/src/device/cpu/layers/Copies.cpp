//===- Copies.cpp - Pad, concat and slice ---------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor is rows of elements that lie one after another; threads share them.
// Of concat and slice only the size of an element matters.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstring>

namespace espalier {

namespace {

template <typename T> class Pad final : public LayerKernel {
public:
  explicit Pad(const LayerProblem &problem)
      : planes(problem.operands[0].shape[0] * problem.operands[0].shape[1]),
        height(problem.operands[0].shape[2]),
        width(problem.operands[0].shape[3]),
        resultHeight(problem.operands[1].shape[2]),
        resultWidth(problem.operands[1].shape[3]),
        top(problem.layer.padding[0]), left(problem.layer.padding[1]),
        value(T(problem.layer.value)) {}

  void run(const LayerCall &call) const override {
    forEachIndex(call.pool, planes, [&](unsigned, int64_t plane) {
      const T *image = operandOf<T>(call, 0) + plane * height * width;
      T *out = operandOf<T>(call, 1) + plane * resultHeight * resultWidth;
      std::fill_n(out, top * resultWidth, value);
      for (int64_t y = 0; y < height; ++y) {
        T *row = out + (top + y) * resultWidth;
        std::fill_n(row, left, value);
        std::copy_n(image + y * width, width, row + left);
        std::fill_n(row + left + width, resultWidth - left - width, value);
      }
      std::fill_n(out + (top + height) * resultWidth,
                  (resultHeight - top - height) * resultWidth, value);
    });
  }

private:
  int64_t planes, height, width, resultHeight, resultWidth, top, left;
  T value;
};

int64_t elementBytes(const LayerTensor &tensor) {
  return (int64_t)dtypeSize(tensor.dtype);
}

class Concat final : public LayerKernel {
public:
  explicit Concat(const LayerProblem &problem)
      : rows(1), rowBytes(elementBytes(problem.operands.back())) {
    const LayerTensor &out = problem.operands.back();
    const uint32_t axis = problem.layer.axis;
    for (uint32_t i = 0; i < axis; ++i)
      rows *= out.shape[i];
    int64_t inner = rowBytes;
    for (uint32_t i = axis + 1; i < out.rank; ++i)
      inner *= out.shape[i];
    for (size_t o = 0; o + 1 < problem.operands.size(); ++o)
      partBytes.push_back(problem.operands[o].shape[axis] * inner);
    rowBytes = out.shape[axis] * inner;
  }

  void run(const LayerCall &call) const override {
    forEachIndex(call.pool, rows, [&](unsigned, int64_t row) {
      char *to = call.operands[partBytes.size()] + row * rowBytes;
      for (size_t part = 0; part < partBytes.size(); ++part) {
        if (partBytes[part] > 0)
          std::memcpy(to, call.operands[part] + row * partBytes[part],
                      partBytes[part]);
        to += partBytes[part];
      }
    });
  }

private:
  int64_t rows, rowBytes;
  std::vector<int64_t> partBytes; // in a row, of each input
};

class Slice final : public LayerKernel {
public:
  explicit Slice(const LayerProblem &problem)
      : elementBytes(espalier::elementBytes(problem.operands[0])) {
    // Rows in two shapes are the same bytes.
    if (problem.operands[0].rank != problem.operands[1].rank) {
      const LayerTensor &out = problem.operands[1];
      int64_t row = 1;
      for (uint32_t i = 1; i < out.rank; ++i)
        row *= out.shape[i];
      for (uint32_t i = 0; i < ESPALIER_MAX_RANK; ++i)
        from[i] = to[i] = i + 1 == ESPALIER_MAX_RANK ? row : 1;
      from[0] = problem.operands[0].shape[0];
      to[0] = out.shape[0];
      std::fill_n(offset, ESPALIER_MAX_RANK, 0);
      offset[0] = problem.layer.offsets[0];
      return;
    }
    // Dimensions of 1 before the first make all tensors alike.
    uint32_t missing = ESPALIER_MAX_RANK - problem.operands[0].rank;
    for (uint32_t i = 0; i < ESPALIER_MAX_RANK; ++i) {
      bool there = i >= missing;
      from[i] = there ? problem.operands[0].shape[i - missing] : 1;
      to[i] = there ? problem.operands[1].shape[i - missing] : 1;
      offset[i] = there ? problem.layer.offsets[i - missing] : 0;
    }
  }

  void run(const LayerCall &call) const override {
    if (to[3] == 0)
      return;
    forEachIndex(call.pool, to[0] * to[1], [&](unsigned, int64_t plane) {
      const int64_t i = plane / to[1] + offset[0];
      const int64_t j = plane % to[1] + offset[1];
      for (int64_t y = 0; y < to[2]; ++y) {
        const int64_t row = (i * from[1] + j) * from[2] + y + offset[2];
        std::memcpy(
            call.operands[1] + (plane * to[2] + y) * to[3] * elementBytes,
            call.operands[0] + (row * from[3] + offset[3]) * elementBytes,
            to[3] * elementBytes);
      }
    });
  }

private:
  int64_t elementBytes;
  int64_t from[ESPALIER_MAX_RANK], to[ESPALIER_MAX_RANK];
  int64_t offset[ESPALIER_MAX_RANK];
};

} // namespace

LayerKernelPointer makeCopies(const LayerProblem &problem) {
  switch (problem.layer.kind) {
  case ESPALIER_LAYER_PAD:
    return makeByDtype<Pad>(problem);
  case ESPALIER_LAYER_CONCAT:
    return std::make_unique<Concat>(problem);
  case ESPALIER_LAYER_SLICE:
    return std::make_unique<Slice>(problem);
  default:
    return nullptr;
  }
}

} // namespace espalier
