//===- GemmBuiltin.cpp - Portable packed matrix products ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The columns of the weight are cut into panels that are a few vectors wide,
// the rows of the input into blocks whose sums fit into the registers. A panel
// is read once from memory and then, by the other blocks, from the cache.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/GemmBuiltin.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

// Let a product and a sum become one fused instruction.
#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=fast")
#endif

namespace espalier {

namespace {

constexpr int VectorsPerPanel = 2;
/// Rows of a block: 6 rows x 2 vectors of sums, and what they are made from,
/// fill 16 registers.
constexpr int MaxRows = 6;
/// Up to so many rows are too few to keep the arithmetic units busy with one
/// panel; they take several at a time.
constexpr int MaxWideRows = 3;
constexpr int WidePanels[MaxWideRows] = {4, 2, 2};

template <typename T>
using Kernel = void (*)(const T *in, int64_t ldIn, int64_t k, const T *panels,
                        T *out, int64_t ldOut, int64_t columns);

/// The kernels of one instruction set.
template <typename T> struct KernelSet {
  int64_t panelWidth;
  void (*packRows)(const T *from, int64_t stride, int64_t rows, int64_t count,
                   T *panel);
  void (*packTransposed)(const T *from, int64_t stride, int64_t rows,
                         int64_t count, T *panel);
  Kernel<T> narrow[MaxRows];   // narrow[r - 1]: r rows, one panel
  Kernel<T> wide[MaxWideRows]; // wide[r - 1]: r rows, WidePanels[r - 1] panels
};

namespace baseline {
#define ESPALIER_GEMM_TARGET
#define ESPALIER_GEMM_VECTOR_BYTES 16
#include "device/cpu/GemmKernel.inc"
} // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
#define ESPALIER_GEMM_TARGET __attribute__((target("avx2,fma")))
#define ESPALIER_GEMM_VECTOR_BYTES 32
#include "device/cpu/GemmKernel.inc"
} // namespace avx2
#endif

template <typename T> KernelSet<T> chooseKernels(bool widestVectors) {
#if defined(__x86_64__)
  if (widestVectors && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma"))
    return avx2::kernelSet<T>();
#endif
  (void)widestVectors;
  return baseline::kernelSet<T>();
}

template <typename T> class BuiltinWeight final : public PackedWeight {
public:
  BuiltinWeight(int64_t k, int64_t n, const WeightSource &source,
                const KernelSet<T> &kernels)
      : PackedWeight(k, n), kernels(kernels) {
    const int64_t elements = k * panelCount() * kernels.panelWidth;
    panels.reset(static_cast<T *>(
        ::operator new(elements * sizeof(T), std::align_val_t(CacheLine))));
    if (elements > 0) // the columns that pad the last panel stay zeros
      std::fill(panel(panelCount() - 1), panels.get() + elements, T(0));
    for (int64_t part = 0; part < repackParts(); ++part)
      repack(source, part);
  }

  int64_t repackParts() const override {
    const int64_t panelsPerPart = std::max<int64_t>(
        1, PartElements / std::max<int64_t>(1, k()) / kernels.panelWidth);
    return std::max<int64_t>(1, panelCount() / panelsPerPart);
  }

  void repack(const WeightSource &source, int64_t part) override {
    const int64_t first = panelCount() * part / repackParts();
    const int64_t last = panelCount() * (part + 1) / repackParts();
    source.transposed ? packTransposed(source, first, last)
                      : packRows(source, first, last);
  }

  void multiply(const void *in, int64_t ldIn, void *out, int64_t ldOut,
                int64_t m) const override {
    multiplyPart(in, ldIn, out, ldOut, m, 0, 1);
  }

  int64_t productParts(int64_t columns) const override {
    return std::max<int64_t>(1, n() / std::max(columns, partColumns()));
  }

  void multiplyPart(const void *in, int64_t ldIn, void *out, int64_t ldOut,
                    int64_t m, int64_t part, int64_t parts) const override {
    const T *from = static_cast<const T *>(in);
    T *to = static_cast<T *>(out);
    // Between parts is a border of the widest kernels.
    const int64_t units = (n() + partColumns() - 1) / partColumns();
    const int64_t first = units * part / parts * partColumns();
    const int64_t last =
        std::min(n(), units * (part + 1) / parts * partColumns());
    const int64_t fit =
        CachedInputBytes / (std::max<int64_t>(1, k()) * (int64_t)sizeof(T));
    forEachBlock(m, std::max<int64_t>(fit, MinCachedRows), [&](int64_t rows) {
      multiplyRows(from, ldIn, to, ldOut, rows, first, last);
      from += rows * ldIn;
      to += rows * ldOut;
    });
  }

private:
  static constexpr size_t CacheLine = 64;
  /// Rows of the input that are multiplied at a time: so many that they stay in
  /// the second-level cache while all panels pass.
  static constexpr int64_t CachedInputBytes = 192 << 10;
  static constexpr int64_t MinCachedRows = 4 * MaxRows;
  /// Elements that are packed at a time by one thread, about.
  static constexpr int64_t PartElements = 1 << 16;
  /// Rows whose lines are in the first-level cache while panels are filled.
  static constexpr int64_t PackRows = 16;

  /// The columns of the widest kernels.
  int64_t partColumns() const { return kernels.panelWidth * WidePanels[0]; }
  int64_t panelCount() const {
    return (n() + kernels.panelWidth - 1) / kernels.panelWidth;
  }
  T *panel(int64_t p) const {
    return panels.get() + p * k() * kernels.panelWidth;
  }

  /// Fills panels [first, last), some rows at a time.
  void packRows(const WeightSource &source, int64_t first, int64_t last) {
    const int64_t width = kernels.panelWidth;
    for (int64_t row = 0; row < k(); row += PackRows) {
      const int64_t rows = std::min(PackRows, k() - row);
      const T *from = static_cast<const T *>(source.rows) + row * source.stride;
      int64_t column = 0; // of the weight, where `range` begins
      for (uint32_t c = 0; c < source.columnsCount; ++c) {
        const espalier_columns &range = source.columns[c];
        int64_t at = std::max(column, first * width);
        const int64_t end = std::min(column + range.count, last * width);
        while (at < end) { // to the end of the range or of the panel
          const int64_t next = std::min(end, (at / width + 1) * width);
          kernels.packRows(from + range.begin + (at - column), source.stride,
                           rows, next - at,
                           panel(at / width) + row * width + at % width);
          at = next;
        }
        column += range.count;
      }
    }
  }

  /// The same where a panel's columns are rows of the source.
  void packTransposed(const WeightSource &source, int64_t first, int64_t last) {
    const int64_t width = kernels.panelWidth;
    for (int64_t p = first; p < last; ++p) {
      const int64_t rows = std::min(width, n() - p * width);
      const T *from =
          static_cast<const T *>(source.rows) + p * width * source.stride;
      T *to = panel(p);
      for (uint32_t c = 0; c < source.columnsCount; ++c) {
        const espalier_columns &range = source.columns[c];
        kernels.packTransposed(from + range.begin, source.stride, rows,
                               range.count, to);
        to += range.count * width;
      }
    }
  }

  /// Cuts `rows` into as few blocks of at most `limit` as possible, of about
  /// the same size.
  template <typename Body>
  static void forEachBlock(int64_t rows, int64_t limit, Body &&body) {
    for (int64_t blocks = (rows + limit - 1) / limit; blocks > 0; --blocks) {
      int64_t size = (rows + blocks - 1) / blocks;
      body(size);
      rows -= size;
    }
  }

  /// Columns [column, last) of all rows.
  void multiplyRows(const T *in, int64_t ldIn, T *out, int64_t ldOut, int64_t m,
                    int64_t column, int64_t last) const {
    const int64_t width = kernels.panelWidth;
    if (m <= MaxWideRows) {
      const int64_t step = width * WidePanels[m - 1];
      for (; column + step <= last; column += step)
        kernels.wide[m - 1](in, ldIn, k(), panels.get() + column * k(),
                            out + column, ldOut, step);
    }
    for (; column < last; column += width) {
      const T *from = in;
      T *to = out + column;
      forEachBlock(m, MaxRows, [&](int64_t rows) {
        kernels.narrow[rows - 1](from, ldIn, k(), panels.get() + column * k(),
                                 to, ldOut, std::min(width, n() - column));
        from += rows * ldIn;
        to += rows * ldOut;
      });
    }
  }

  struct AlignedDelete {
    void operator()(T *memory) const {
      ::operator delete(memory, std::align_val_t(CacheLine));
    }
  };

  KernelSet<T> kernels;
  /// Panel after panel, each k x panelWidth, the last one padded with zeros.
  std::unique_ptr<T, AlignedDelete> panels;
};

} // namespace

template <typename T>
std::unique_ptr<PackedWeight> packBuiltin(int64_t k, int64_t n,
                                          const WeightSource &source,
                                          bool widestVectors) {
  return std::make_unique<BuiltinWeight<T>>(k, n, source,
                                            chooseKernels<T>(widestVectors));
}

template std::unique_ptr<PackedWeight>
packBuiltin<float>(int64_t, int64_t, const WeightSource &, bool);
template std::unique_ptr<PackedWeight>
packBuiltin<double>(int64_t, int64_t, const WeightSource &, bool);

} // namespace espalier
