//===- OuterSum.cpp - x^T y over many rows --------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/OuterSum.h"

#include "device/cpu/PanelKernels.h"
#include "espalier/abi.h"
#include "memory/Arena.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstring>

namespace espalier {

namespace {

constexpr int XWidth = kPanelXWidth;
/// Rows that are packed at a time: a panel of y, which all panels of x read,
/// stays in the first-level cache.
constexpr int64_t DepthRows = 192;
/// Packed, the columns of x in a part stay in the second-level cache while all
/// panels of y pass; those of y pass once.
constexpr int64_t XBytes = 192 << 10;
constexpr int64_t YBytes = 512 << 10;
/// Parts for several threads are cut no finer than this many columns of y, so
/// that packing x again for each costs little.
constexpr int64_t MinPartColumns = 64;
/// Rows whose lines are all in the first-level cache while they are packed.
constexpr int64_t PackRows = 16;

int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// The widest panel of y of any instruction set.
constexpr int64_t MaxYBytes = kPanelMaxYBytes;

/// Columns of x and of y that a part can have.
int64_t maxXColumns(int64_t size) {
  return XBytes / (DepthRows * size) / XWidth * XWidth;
}
int64_t maxYColumns(int64_t size) {
  return YBytes / (DepthRows * size) / (MaxYBytes / size) * (MaxYBytes / size);
}

/// [begin, end) of part `part` of `parts` in `extent`, cut between panels.
struct Range {
  int64_t begin, end;

  Range(int64_t extent, int64_t unit, int64_t parts, int64_t part) {
    int64_t units = (extent + unit - 1) / unit;
    begin = units * part / parts * unit;
    end = std::min(extent, units * (part + 1) / parts * unit);
  }
  int64_t size() const { return end - begin; }
};

} // namespace

int64_t OuterSum::scratchBytes(uint32_t dtype, int64_t k, int64_t n) {
  int64_t size = (int64_t)dtypeSize(dtype);
  int64_t xColumns = std::min(maxXColumns(size), roundUp(k, XWidth));
  int64_t yColumns = std::min(maxYColumns(size), roundUp(n, MaxYBytes / size));
  return (xColumns + yColumns) * DepthRows * size + kAlignment;
}

int64_t OuterSum::pieces(int64_t rows) {
  return (rows + DepthRows - 1) / DepthRows;
}

OuterSum::OuterSum(uint32_t dtype, OperandRows x, int64_t k, OperandRows y,
                   int64_t n, int64_t rows, char *out, int64_t stride,
                   const char *zeros, int64_t threads, bool widestVectors)
    : dtype(dtype), x(x), y(y), k(k), n(n), rows(rows), out(out),
      stride(stride), zeros(zeros), widestVectors(widestVectors) {
  int64_t size = (int64_t)dtypeSize(dtype);
  // A part that is cut between panels may have one more than the average.
  kParts = k <= maxXColumns(size) ? 1 : k / (maxXColumns(size) - XWidth) + 1;
  int64_t fit = maxYColumns(size);
  nParts = n <= fit ? 1 : n / (fit - MaxYBytes / size) + 1;
  if (threads > 1)
    nParts = std::max(nParts, std::min(n / MinPartColumns, 2 * threads));
  if (k == 0 || n == 0)
    kParts = nParts = 0;
}

/// With one y for all rows the sum of the products is the product with the sum,
/// to which rows [begin, end) are added.
template <typename T>
static void multiplyBySum(OperandRows x, OperandRows y, int64_t begin,
                          int64_t end, const char *zeros, const Range &ks,
                          const Range &ns, T *to, int64_t stride,
                          double *sums) {
  if (begin == 0)
    std::fill_n(sums, ks.size(), 0.0);
  for (int64_t r = begin; r < end; ++r) {
    const T *row = reinterpret_cast<const T *>(x.read(r, zeros)) + ks.begin;
    for (int64_t i = 0; i < ks.size(); ++i)
      sums[i] += row[i];
  }
  const T *row = reinterpret_cast<const T *>(y.read(0, zeros)) + ns.begin;
  for (int64_t i = 0; i < ks.size(); ++i)
    for (int64_t j = 0; j < ns.size(); ++j)
      to[i * stride + j] = T(sums[i]) * row[j];
}

template <typename T>
void OuterSum::runAs(int64_t part, char *scratch, int64_t firstPiece,
                     int64_t lastPiece, double *sums) const {
  const PanelKernels<T> kernels = choosePanelKernels<T>(widestVectors);
  const int64_t width = kernels.yWidth;
  const Range ks(k, XWidth, kParts, part / nParts);
  const Range ns(n, MaxYBytes / (int64_t)sizeof(T), nParts, part % nParts);
  T *to = reinterpret_cast<T *>(out) + ks.begin * stride + ns.begin;
  if (rows == 0)
    for (int64_t i = 0; i < ks.size(); ++i)
      std::fill_n(to + i * stride, ns.size(), T(0));

  const int64_t pieceCount = pieces(rows);
  if (y.stride == 0 && !y.index && rows > 0) {
    double *own = sums ? sums + part % nParts * k + ks.begin
                       : reinterpret_cast<double *>(scratch);
    return multiplyBySum(x, y, rows * firstPiece / pieceCount,
                         rows * lastPiece / pieceCount, zeros, ks, ns, to,
                         stride, own);
  }

  // The panels of y are read as whole vectors.
  T *yPanels = reinterpret_cast<T *>(scratch);
  T *xPanels = yPanels + roundUp(ns.size(), width) * DepthRows;
  for (int64_t piece = firstPiece; piece < lastPiece; ++piece) {
    // Pieces of about equal size.
    const int64_t begin = rows * piece / pieceCount;
    const int64_t depth = rows * (piece + 1) / pieceCount - begin;
    for (int64_t r = 0; r < depth; r += PackRows) {
      const T *xRows[PackRows], *yRows[PackRows];
      const int64_t count = std::min(PackRows, depth - r);
      for (int64_t i = 0; i < count; ++i) {
        const char *xRow = x.read(begin + r + i, zeros);
        const char *yRow = y.read(begin + r + i, zeros);
        xRows[i] = reinterpret_cast<const T *>(xRow) + ks.begin;
        yRows[i] = reinterpret_cast<const T *>(yRow) + ns.begin;
      }
      kernels.packX(xRows, count, ks.size(), depth, xPanels + r * XWidth);
      kernels.packY(yRows, count, ns.size(), depth, yPanels + r * width);
    }
    for (int64_t column = 0; column < ns.size(); column += width)
      for (int64_t i = 0; i < ks.size(); i += XWidth)
        kernels.multiply[std::min<int64_t>(XWidth, ks.size() - i) - 1](
            xPanels + i * depth, yPanels + column * depth, depth,
            to + i * stride + column, stride,
            std::min(width, ns.size() - column), piece > 0);
  }
}

void OuterSum::run(int64_t part, char *scratch, int64_t firstPiece,
                   int64_t lastPiece, double *sums) const {
  dtype == ESPALIER_F32
      ? runAs<float>(part, scratch, firstPiece, lastPiece, sums)
      : runAs<double>(part, scratch, firstPiece, lastPiece, sums);
}

} // namespace espalier
