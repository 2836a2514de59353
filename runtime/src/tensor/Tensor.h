//===- Tensor.h - Typed, shaped host data -----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dense row-major tensor on the host. Its bytes are shared: owned memory, a
// memory-mapped file, or memory of the caller, kept alive by `owner`.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TENSOR_TENSOR_H
#define ESPALIER_TENSOR_TENSOR_H

#include "espalier/abi.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace espalier {

/// Bytes of one element of `dtype` (ESPALIER_F32, ...).
size_t dtypeSize(uint32_t dtype);
/// "f32", "f64", "i32".
const char *dtypeName(uint32_t dtype);
/// "300x1280xf32"; "f32" for a scalar.
std::string shapeString(const std::vector<int64_t> &shape, uint32_t dtype);

struct Tensor {
  uint32_t dtype = ESPALIER_F32;
  std::vector<int64_t> shape;
  const char *data = nullptr;
  std::shared_ptr<const void> owner;

  int64_t elements() const;
  size_t bytes() const { return elements() * dtypeSize(dtype); }
  template <typename T> const T *as() const {
    return reinterpret_cast<const T *>(data);
  }

  /// A tensor that owns `elements` zeroed, 64-byte aligned elements.
  static Tensor zeros(uint32_t dtype, std::vector<int64_t> shape);
  /// The same without the zeroing, for data that is about to be written.
  static Tensor uninitialized(uint32_t dtype, std::vector<int64_t> shape);
  /// Writable bytes; only for tensors made by the two functions above.
  char *mutableData() { return const_cast<char *>(data); }
};

/// A tensor with its name, as files hold it.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

} // namespace espalier

#endif // ESPALIER_TENSOR_TENSOR_H
