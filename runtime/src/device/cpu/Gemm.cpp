//===- Gemm.cpp - Choosing a backend --------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Gemm.h"

#include "device/cpu/GemmBuiltin.h"
#include "device/cpu/OneDnn.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <vector>

namespace espalier {

namespace {

/// Row-major copies of selected elements.
std::vector<float> select(const WeightSource &source, int64_t k, int64_t n) {
  std::vector<float> selected(k * n);
  const float *rows = static_cast<const float *>(source.rows);
  int64_t rowCount = source.transposed ? n : k, column = 0;
  int64_t rowStep = source.transposed ? 1 : n;
  int64_t columnStep = source.transposed ? n : 1;
  for (uint32_t c = 0; c < source.columnsCount; ++c)
    for (int64_t i = 0; i < source.columns[c].count; ++i, ++column)
      for (int64_t r = 0; r < rowCount; ++r)
        selected[r * rowStep + column * columnStep] =
            rows[r * source.stride + source.columns[c].begin + i];
  return selected;
}

class OneDnnWeight final : public PackedWeight {
public:
  OneDnnWeight(int64_t k, int64_t n, const WeightSource &source)
      : PackedWeight(k, n), backend(oneDnn()),
        packed(backend.pack(k, n, select(source, k, n).data())) {
    if (!packed)
      fail(ESPALIER_UNSUPPORTED, "oneDNN cannot pack a %ldx%ld f32 weight: %s",
           (long)k, (long)n, backend.error());
  }
  ~OneDnnWeight() override { backend.destroy(packed); }

  int64_t repackParts() const override { return 1; }
  void repack(const WeightSource &source, int64_t) override {
    if (!backend.repack(packed, select(source, k(), n()).data()))
      fail(ESPALIER_UNSUPPORTED, "oneDNN cannot pack a %ldx%ld f32 weight: %s",
           (long)k(), (long)n(), backend.error());
  }

  void multiply(const void *in, int64_t ldIn, void *out, int64_t ldOut,
                int64_t m) const override {
    if (!backend.multiply(packed, static_cast<const float *>(in), ldIn,
                          static_cast<float *>(out), ldOut, m))
      fail(ESPALIER_UNSUPPORTED,
           "oneDNN cannot multiply %ld rows with a %ldx%ld f32 weight: %s",
           (long)m, (long)k(), (long)n(), backend.error());
  }

private:
  const OneDnnBackend &backend;
  void *packed;
};

bool hasAvx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

bool useBuiltin() {
  GemmChoice choice = gemmChoice();
  return choice == GemmChoice::Builtin ||
         (choice == GemmChoice::Auto && !hasAvx512());
}

} // namespace

std::unique_ptr<PackedWeight> PackedWeight::pack(uint32_t dtype, int64_t k,
                                                 int64_t n,
                                                 const WeightSource &source) {
  if (k < 0 || n < 0)
    fail(ESPALIER_INVALID_ARGUMENT,
         "a weight cannot be %ldx%ld: expected extents of at least 0", (long)k,
         (long)n);
  if (dtype == ESPALIER_F64)
    return packBuiltin<double>(k, n, source);
  if (dtype != ESPALIER_F32)
    fail(ESPALIER_UNSUPPORTED,
         "matrix products of %s are not supported: expected f32 or f64",
         dtypeName(dtype));
  if (useBuiltin() || k == 0 || n == 0)
    return packBuiltin<float>(k, n, source);
  return std::make_unique<OneDnnWeight>(k, n, source);
}

std::unique_ptr<PackedWeight> PackedWeight::pack(uint32_t dtype, int64_t k,
                                                 int64_t n,
                                                 const void *rowMajorKxN) {
  espalier_columns all = {0, n};
  return pack(dtype, k, n, WeightSource{rowMajorKxN, n, &all, 1, false});
}

} // namespace espalier
