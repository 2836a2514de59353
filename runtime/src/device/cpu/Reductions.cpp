//===- Reductions.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Reductions.h"

#include "tensor/Tensor.h"

#include <algorithm>
#include <cstring>

namespace espalier {

template <typename T>
static void add(T *__restrict to, const T *__restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    to[i] += from[i];
}

//===----------------------------------------------------------------------===//
// SumRows
//===----------------------------------------------------------------------===//

template <typename T> void SumRows::runAs(int64_t column, int64_t width) const {
  // levels[l] is the sum of 2^l blocks; which of them are in use are the bits
  // of the number of blocks summed so far.
  using Level = T[kColumns];
  Level own[kLevels];
  Level *levels =
      state ? static_cast<Level *>(state) + column / kColumns * kLevels : own;
  uint32_t blocks = blocksBefore;
  for (int64_t begin = 0; begin < rows; begin += kBlockRows, ++blocks) {
    T sum[kColumns] = {};
    for (int64_t r = begin, end = std::min(rows, begin + kBlockRows); r < end;
         ++r) {
      auto *row = reinterpret_cast<const T *>(in.read(r, zeros)) + column;
      if (width == kColumns)
        add(sum, row, kColumns);
      else
        add(sum, row, width);
    }
    int level = 0;
    for (; blocks >> level & 1; ++level)
      add(sum, levels[level], kColumns);
    std::copy_n(sum, kColumns, levels[level]);
  }
  T sum[kColumns] = {};
  for (int level = 0; level < kLevels; ++level)
    if (blocks >> level & 1)
      add(sum, levels[level], kColumns);
  std::copy_n(sum, width, reinterpret_cast<T *>(out) + column);
}

int64_t SumRows::stateDoubles(uint32_t dtype, int64_t n) {
  int64_t parts = (n + kColumns - 1) / kColumns;
  return parts * kColumns * kLevels * (int64_t)dtypeSize(dtype) /
         (int64_t)sizeof(double);
}

void SumRows::run(int64_t part) const {
  int64_t column = part * kColumns, width = std::min(kColumns, n - column);
  dtype == ESPALIER_F32 ? runAs<float>(column, width)
                        : runAs<double>(column, width);
}

//===----------------------------------------------------------------------===//
// CombineRows
//===----------------------------------------------------------------------===//

const int32_t *FirstRows::find(OperandRows ids, int64_t rows,
                               const char *zeros) {
  size_t wanted = 16;
  while (wanted < 2 * (size_t)rows)
    wanted *= 2;
  if (slots.size() < wanted) {
    slots.assign(wanted, Slot{0, 0, 0});
    epoch = 0;
  }
  if (++epoch == 0) { // all numbers were used
    std::fill(slots.begin(), slots.end(), Slot{0, 0, 0});
    epoch = 1;
  }
  firsts.resize(rows);
  size_t mask = slots.size() - 1;
  for (int64_t r = 0; r < rows; ++r) {
    int32_t id;
    std::memcpy(&id, ids.read(r, zeros), sizeof(id));
    if (id < 0) {
      firsts[r] = -1;
      continue;
    }
    // Multiplicative hashing: neighbouring ids come to lie far apart.
    size_t s = ((uint64_t)id * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (slots[s].epoch == epoch && slots[s].id != id)
      s = (s + 1) & mask;
    if (slots[s].epoch != epoch)
      slots[s] = {id, (int32_t)r, epoch};
    firsts[r] = slots[s].row;
  }
  return firsts.data();
}

/// Parts are whole cache lines wide, at least.
static constexpr int64_t kMinPartColumns = 16;

CombineRows::CombineRows(uint32_t dtype, const int32_t *first, OperandRows in,
                         OperandRows out, int64_t n, const char *zeros,
                         int64_t maxParts)
    : dtype(dtype), first(first), in(in), out(out), n(n), zeros(zeros),
      partCount(std::clamp<int64_t>(n / kMinPartColumns, 1, maxParts)) {}

template <typename T>
void CombineRows::runAs(int64_t column, int64_t width, int64_t begin,
                        int64_t end) const {
  for (int64_t r = begin; r < end; ++r) {
    auto *from = reinterpret_cast<const T *>(in.read(r, zeros)) + column;
    auto *to = reinterpret_cast<T *>(out.base + r * out.stride) + column;
    if (first[r] == r) {
      std::copy_n(from, width, to);
      continue;
    }
    std::fill_n(to, width, T(0));
    if (first[r] >= 0)
      add(reinterpret_cast<T *>(out.base + first[r] * out.stride) + column,
          from, width);
  }
}

void CombineRows::run(int64_t part, int64_t begin, int64_t end) const {
  int64_t column = n * part / partCount;
  int64_t width = n * (part + 1) / partCount - column;
  dtype == ESPALIER_F32 ? runAs<float>(column, width, begin, end)
                        : runAs<double>(column, width, begin, end);
}

} // namespace espalier
