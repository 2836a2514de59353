//===- RowReducer.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/RowReducer.h"

#include "espalier/abi.h"

#include <cmath>
#include <cstring>

namespace espalier {

template <typename T>
static void addRow(const T *__restrict row, int64_t elements,
                   T *__restrict out) {
  for (int64_t i = 0; i < elements; ++i)
    out[i] += row[i];
}

template <typename T>
static void maximizeRow(const T *__restrict row, int64_t elements,
                        T *__restrict out) {
  for (int64_t i = 0; i < elements; ++i)
    out[i] = row[i] > out[i] || std::isnan(row[i]) ? row[i] : out[i];
}

template <typename T>
void RowReducer::reduceAs(const int32_t *index, int64_t begin, int64_t count,
                          T *out) const {
  int64_t elements = bytes / (int64_t)sizeof(T);
  for (int64_t i = 0; i < count; ++i) {
    int64_t r = index ? index[i] : begin + i;
    const T *row = reinterpret_cast<const T *>(base + r * stride);
    if (i == 0)
      std::memcpy(out, row, bytes);
    else if (reduction == Reduction::Max)
      maximizeRow(row, elements, out);
    else
      addRow(row, elements, out);
  }
  if (reduction == Reduction::Mean && count > 1)
    for (int64_t i = 0; i < elements; ++i)
      out[i] /= (T)count;
}

void RowReducer::reduce(const int32_t *index, int64_t begin, int64_t count,
                        char *out) const {
  if (count == 0)
    std::memset(out, 0, bytes);
  else if (dtype == ESPALIER_F32)
    reduceAs(index, begin, count, reinterpret_cast<float *>(out));
  else
    reduceAs(index, begin, count, reinterpret_cast<double *>(out));
}

} // namespace espalier
