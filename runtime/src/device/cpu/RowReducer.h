//===- RowReducer.h - Sums, maxima and means of rows ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are taken one after another, in the order in which they are given, so
// that equal inputs give equal bits. Nothing reduces to zeros. A maximum with a
// NaN in it is NaN.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_ROWREDUCER_H
#define ESPALIER_DEVICE_CPU_ROWREDUCER_H

#include <cstdint>

namespace espalier {

enum class Reduction { Sum, Max, Mean };

/// Reduces rows of `base`, `stride` bytes apart, each to `bytes` bytes of
/// elements of `dtype`, which is f32 or f64.
class RowReducer {
public:
  RowReducer(Reduction reduction, uint32_t dtype, const char *base,
             int64_t stride, int64_t bytes)
      : reduction(reduction), dtype(dtype), base(base), stride(stride),
        bytes(bytes) {}

  /// Rows [begin, end) to `out`.
  void reduceRange(int64_t begin, int64_t end, char *out) const {
    reduce(nullptr, begin, end - begin, out);
  }
  /// Rows index[0 .. count) to `out`.
  void reduceListed(const int32_t *index, int64_t count, char *out) const {
    reduce(index, 0, count, out);
  }

private:
  void reduce(const int32_t *index, int64_t begin, int64_t count,
              char *out) const;
  template <typename T>
  void reduceAs(const int32_t *index, int64_t begin, int64_t count,
                T *out) const;

  Reduction reduction;
  uint32_t dtype;
  const char *base;
  int64_t stride;
  int64_t bytes;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_ROWREDUCER_H
