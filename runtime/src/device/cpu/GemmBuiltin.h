//===- GemmBuiltin.h - Portable packed matrix products ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix products that need no library, for f32 and f64 and any shape. Every
// element of a result is one sum in ascending order of k, so its bits depend
// neither on m nor on where its row is.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_GEMMBUILTIN_H
#define ESPALIER_DEVICE_CPU_GEMMBUILTIN_H

#include "device/cpu/Gemm.h"

namespace espalier {

/// Packs for the widest vectors that this processor has, or for those that
/// every processor has. `T` is float or double.
template <typename T>
std::unique_ptr<PackedWeight> packBuiltin(int64_t k, int64_t n,
                                          const WeightSource &source,
                                          bool widestVectors = true);

extern template std::unique_ptr<PackedWeight>
packBuiltin<float>(int64_t, int64_t, const WeightSource &, bool);
extern template std::unique_ptr<PackedWeight>
packBuiltin<double>(int64_t, int64_t, const WeightSource &, bool);

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_GEMMBUILTIN_H
