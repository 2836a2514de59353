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
  BuiltinWeight(int64_t k, int64_t n, const T *weight,
                const KernelSet<T> &kernels)
      : PackedWeight(k, n), kernels(kernels) {
    const int64_t width = kernels.panelWidth;
    const int64_t elements = k * ((n + width - 1) / width) * width;
    panels.reset(static_cast<T *>(
        ::operator new(elements * sizeof(T), std::align_val_t(CacheLine))));
    T *to = panels.get();
    for (int64_t column = 0; column < n; column += width)
      for (int64_t p = 0; p < k; ++p, to += width) {
        int64_t count = std::min(width, n - column);
        std::copy_n(weight + p * n + column, count, to);
        std::fill(to + count, to + width, T(0));
      }
  }

  void multiply(const void *in, int64_t ldIn, void *out, int64_t ldOut,
                int64_t m) const override {
    const T *from = static_cast<const T *>(in);
    T *to = static_cast<T *>(out);
    const int64_t fit =
        CachedInputBytes / (std::max<int64_t>(1, k()) * (int64_t)sizeof(T));
    forEachBlock(m, std::max<int64_t>(fit, MinCachedRows), [&](int64_t rows) {
      multiplyRows(from, ldIn, to, ldOut, rows);
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

  void multiplyRows(const T *in, int64_t ldIn, T *out, int64_t ldOut,
                    int64_t m) const {
    const int64_t width = kernels.panelWidth;
    int64_t column = 0;
    if (m <= MaxWideRows) {
      const int64_t step = width * WidePanels[m - 1];
      for (; column + step <= n(); column += step)
        kernels.wide[m - 1](in, ldIn, k(), panels.get() + column * k(),
                            out + column, ldOut, step);
    }
    for (; column < n(); column += width) {
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
std::unique_ptr<PackedWeight>
packBuiltin(int64_t k, int64_t n, const T *rowMajorKxN, bool widestVectors) {
  return std::make_unique<BuiltinWeight<T>>(k, n, rowMajorKxN,
                                            chooseKernels<T>(widestVectors));
}

template std::unique_ptr<PackedWeight> packBuiltin<float>(int64_t, int64_t,
                                                          const float *, bool);
template std::unique_ptr<PackedWeight>
packBuiltin<double>(int64_t, int64_t, const double *, bool);

} // namespace espalier
