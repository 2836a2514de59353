//===- PanelKernels.h - Products of packed panels ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What sums of outer products (OuterSum.h) and the products of layers
// (layers/TiledProduct.h) are made of: a panel of x, some rows of a few columns
// each, times a panel of y with as many rows, is a small block of sums that
// stays in the registers.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_PANELKERNELS_H
#define ESPALIER_DEVICE_CPU_PANELKERNELS_H

#include <cstdint>

namespace espalier {

/// Columns of a panel of x: 6 of them times 2 vectors of y, and what the sums
/// are made from, fill 16 registers.
constexpr int kPanelXWidth = 6;
/// Bytes in a row of the widest panel of y of any instruction set.
constexpr int64_t kPanelMaxYBytes = 64;

/// The kernels of one instruction set. `T` is float or double.
template <typename T> struct PanelKernels {
  /// Columns of a panel of y, whose rows are aligned to as many elements.
  int64_t yWidth;
  /// Cut columns [0, columns) of `rows` rows into panels, each of panelRows
  /// rows, the last one padded with zeros.
  void (*packX)(const T *const *from, int64_t rows, int64_t columns,
                int64_t panelRows, T *to);
  void (*packY)(const T *const *from, int64_t rows, int64_t columns,
                int64_t panelRows, T *to);
  /// multiply[i - 1] writes the first i rows of the block, `columns` elements
  /// of each, or adds to them. A sum over `rows` is in ascending order.
  void (*multiply[kPanelXWidth])(const T *x, const T *y, int64_t rows, T *out,
                                 int64_t stride, int64_t columns,
                                 bool accumulate);
};

/// Those for the widest vectors that this processor has, or for those that
/// every processor has.
template <typename T> PanelKernels<T> choosePanelKernels(bool widestVectors);

extern template PanelKernels<float> choosePanelKernels<float>(bool);
extern template PanelKernels<double> choosePanelKernels<double>(bool);

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_PANELKERNELS_H
