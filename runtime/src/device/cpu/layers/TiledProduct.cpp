//===- TiledProduct.cpp ---------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/layers/TiledProduct.h"

#include "device/cpu/PanelKernels.h"
#include "device/cpu/ThreadPool.h"
#include "memory/Arena.h"

#include <algorithm>
#include <cstring>

namespace espalier {

namespace {

/// Tiles are cut no finer than this for the sake of threads.
constexpr int64_t kMinRows = 2 * kPanelXWidth;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Part `part` of `parts` of `size`, cut at multiples of `unit`.
Extent partOf(int64_t size, int64_t unit, int64_t parts, int64_t part) {
  int64_t units = ceilDiv(size, unit);
  int64_t begin = std::min(size, units * part / parts * unit);
  int64_t end = std::min(size, units * (part + 1) / parts * unit);
  return {begin, end - begin};
}

} // namespace

template <typename T> int64_t TiledProduct<T>::scratchBytes(unsigned threads) {
  int64_t elements = kMaxRows * kMaxColumns + (kMaxRows + kMaxColumns) * kDepth;
  return threads * alignUp(elements * (int64_t)sizeof(T));
}

template <typename T> int64_t TiledProduct<T>::panelWidth() {
  return choosePanelKernels<T>(true).yWidth;
}

template <typename T>
void TiledProduct<T>::run(const Sizes &sizes, const Operands &operands,
                          char *scratch, ThreadPool *pool) {
  if (sizes.m == 0 || sizes.n == 0 || sizes.batch == 0)
    return;
  const PanelKernels<T> kernels = choosePanelKernels<T>(true);
  const int64_t width = kernels.yWidth;
  int64_t rowParts = ceilDiv(sizes.m, kMaxRows);
  int64_t columnParts = ceilDiv(sizes.n, kMaxColumns);
  // Enough tiles for all threads; rather narrow ones than low ones, which
  // would have B packed more often.
  int64_t wanted = pool ? 2 * (int64_t)pool->threads() : 1;
  auto missing = [&] {
    return ceilDiv(wanted, sizes.batch * rowParts * columnParts);
  };
  if (missing() > 1)
    columnParts = std::max(
        columnParts, std::min(columnParts * missing(), sizes.n / (2 * width)));
  if (missing() > 1)
    rowParts =
        std::max(rowParts, std::min(rowParts * missing(), sizes.m / kMinRows));

  const int64_t workerBytes = scratchBytes(1);
  auto computeTile = [&](unsigned worker, int64_t index) {
    T *tile = reinterpret_cast<T *>(scratch + worker * workerBytes);
    T *b = tile + kMaxRows * kMaxColumns;
    T *a = b + kMaxColumns * kDepth;
    const int64_t batch = index / (rowParts * columnParts);
    const Extent rows =
        partOf(sizes.m, kPanelXWidth, rowParts, index / columnParts % rowParts);
    const Extent columns =
        partOf(sizes.n, width, columnParts, index % columnParts);
    if (rows.size == 0 || columns.size == 0)
      return;
    const int64_t stride = ceilDiv(columns.size, width) * width;
    if (sizes.continues)
      operands.load(batch, rows, columns, tile, stride);
    else if (sizes.k == 0)
      std::fill_n(tile, rows.size * stride, T(0));
    for (int64_t d = 0; d < sizes.k; d += kDepth) {
      const Extent depths{d, std::min(kDepth, sizes.k - d)};
      operands.packA(batch, rows, depths, kPanelXWidth, a);
      const Panels panels =
          operands.panelsOfB(batch, columns, depths, width, b);
      for (int64_t c = 0; c < columns.size; c += width)
        for (int64_t r = 0; r < rows.size; r += kPanelXWidth)
          kernels.multiply[std::min<int64_t>(kPanelXWidth, rows.size - r) - 1](
              a + r * depths.size, panels.data + c / width * panels.step,
              depths.size, tile + r * stride + c, stride, width,
              d > 0 || sizes.continues);
    }
    operands.store(batch, rows, columns, tile, stride);
  };
  forEachIndex(pool, sizes.batch * rowParts * columnParts, computeTile);
}

template class TiledProduct<float>;
template class TiledProduct<double>;

/// Elements that lie one after another across a panel are copied as they are.
template <typename T>
static void packAcross(const T *from, int64_t count, int64_t depthStep,
                       int64_t depths, int64_t width, T *panel) {
  if (count < width)
    std::fill_n(panel, depths * width, T(0));
  for (int64_t d = 0; d < depths; ++d)
    std::memcpy(panel + d * width, from + d * depthStep, count * sizeof(T));
}

/// Any other order.
template <typename T>
static void packStrided(const T *from, int64_t count, int64_t step,
                        int64_t depthStep, int64_t depths, int64_t width,
                        T *panel) {
  if (count < width)
    std::fill_n(panel, depths * width, T(0));
  // Some depths at a time, so that lines that were read are read again while
  // they are in the cache.
  constexpr int64_t kBlock = 16;
  for (int64_t d = 0; d < depths; d += kBlock) {
    const int64_t block = std::min(kBlock, depths - d);
    for (int64_t i = 0; i < count; ++i) {
      const T *line = from + i * step + d * depthStep;
      T *to = panel + d * width + i;
      for (int64_t j = 0; j < block; ++j)
        to[j * width] = line[j * depthStep];
    }
  }
}

template <typename T>
void StridedMatrix<T>::pack(Extent across, Extent depths, int64_t width,
                            T *panels) const {
  for (int64_t i = 0; i < across.size; i += width) {
    const int64_t count = std::min(width, across.size - i);
    const T *from = data + (across.begin + i) * step + depths.begin * depthStep;
    if (step == 1)
      packAcross(from, count, depthStep, depths.size, width, panels);
    else
      packStrided(from, count, step, depthStep, depths.size, width, panels);
    panels += depths.size * width;
  }
}

template struct StridedMatrix<float>;
template struct StridedMatrix<double>;

} // namespace espalier
