//===- TensorTesting.h - Tensors for the tests of files ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes and compares tensors.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_IO_TENSORTESTING_H
#define ESPALIER_TEST_IO_TENSORTESTING_H

#include "IoTesting.h"
#include "tensor/Tensor.h"

#include <cstring>
#include <type_traits>

namespace espalier {

template <typename T>
Tensor makeTensor(std::vector<int64_t> shape, const std::vector<T> &values) {
  uint32_t dtype = std::is_same<T, float>::value    ? ESPALIER_F32
                   : std::is_same<T, double>::value ? ESPALIER_F64
                                                    : ESPALIER_I32;
  Tensor tensor = Tensor::zeros(dtype, std::move(shape));
  EXPECT_EQ((size_t)tensor.elements(), values.size());
  if (!values.empty())
    std::memcpy(tensor.mutableData(), values.data(), tensor.bytes());
  return tensor;
}

template <typename T> std::vector<T> values(const Tensor &tensor) {
  return {tensor.as<T>(), tensor.as<T>() + tensor.elements()};
}

/// Expects the same type, shape and bytes.
inline void expectSame(const Tensor &a, const Tensor &b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  ASSERT_EQ(a.bytes(), b.bytes());
  EXPECT_EQ(std::string_view(a.data, a.bytes()),
            std::string_view(b.data, b.bytes()));
}

/// Bytes of a value in memory order.
template <typename T> std::string bytesOf(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

} // namespace espalier

#endif // ESPALIER_TEST_IO_TENSORTESTING_H
