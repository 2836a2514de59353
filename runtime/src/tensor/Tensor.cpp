//===- Tensor.cpp ---------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tensor/Tensor.h"

#include "memory/Pages.h"
#include "support/Error.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace espalier {

size_t dtypeSize(uint32_t dtype) {
  switch (dtype) {
  case ESPALIER_F32:
  case ESPALIER_I32:
    return 4;
  case ESPALIER_F64:
    return 8;
  }
  fail(ESPALIER_INVALID_ARGUMENT,
       "unknown element type %u, expected 1 (f32), 2 (f64) or 3 (i32)", dtype);
}

const char *dtypeName(uint32_t dtype) {
  switch (dtype) {
  case ESPALIER_F32:
    return "f32";
  case ESPALIER_F64:
    return "f64";
  case ESPALIER_I32:
    return "i32";
  }
  return "unknown element type";
}

std::string shapeString(const std::vector<int64_t> &shape, uint32_t dtype) {
  std::string text;
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + dtypeName(dtype);
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// The bytes of a tensor, after a look at its shape.
static int64_t bytesOf(uint32_t dtype, const std::vector<int64_t> &shape) {
  int64_t bytes = (int64_t)dtypeSize(dtype);
  // An empty tensor has no bytes, whatever its other extents are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    bytes = 0;
  bool fits = true;
  for (int64_t extent : shape) {
    if (extent < 0)
      fail(ESPALIER_INVALID_ARGUMENT, "a tensor cannot have shape %s",
           shapeString(shape, dtype).c_str());
    fits &= !__builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (!fits)
    fail(ESPALIER_OUT_OF_MEMORY, "no memory for a tensor of shape %s",
         shapeString(shape, dtype).c_str());
  return bytes;
}

Tensor Tensor::uninitialized(uint32_t dtype, std::vector<int64_t> shape) {
  size_t padded = ((size_t)bytesOf(dtype, shape) + 63) / 64 * 64;
  void *block = std::aligned_alloc(64, padded ? padded : 64);
  if (!block)
    fail(ESPALIER_OUT_OF_MEMORY, "no memory for a tensor of shape %s",
         shapeString(shape, dtype).c_str());
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.owner = std::shared_ptr<const void>(
      block, [](const void *data) { std::free(const_cast<void *>(data)); });
  tensor.data = static_cast<const char *>(block);
  return tensor;
}

Tensor Tensor::zeros(uint32_t dtype, std::vector<int64_t> shape) {
  // The system's pages are zeros, and take no memory before they are touched.
  constexpr int64_t kLarge = 1 << 20;
  int64_t bytes = bytesOf(dtype, shape);
  if (bytes < kLarge) {
    Tensor tensor = uninitialized(dtype, std::move(shape));
    std::memset(tensor.mutableData(), 0, tensor.bytes());
    return tensor;
  }
  std::string what = "a tensor of shape " + shapeString(shape, dtype);
  auto pages =
      std::make_shared<Pages>(bytes, Pages::Access::ReadWrite, what.c_str());
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.data = pages->data();
  tensor.owner = std::shared_ptr<const void>(pages, pages->data());
  return tensor;
}

} // namespace espalier
