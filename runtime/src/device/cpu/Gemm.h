//===- Gemm.h - Matrix products with a packed weight ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// out[m x n] = in[m x k] * weight[k x n], where m changes from call to call and
// the weight rarely. It is packed into the layout that its backend reads
// fastest, and again when its values have changed.
//
// f64, and shapes with k = 0 or n = 0, use the built-in kernels
// (GemmBuiltin.h). For f32 the environment variable ESPALIER_GEMM says what to
// use:
//
//   ESPALIER_GEMM=auto      the default, the faster one on this processor:
//                           oneDNN where there is AVX-512, which the built-in
//                           kernels do not use, the built-in kernels elsewhere
//                           (docs/performance.md has the table)
//   ESPALIER_GEMM=onednn    oneDNN, loaded when the first f32 weight is packed
//                           (onednn/Backend.h)
//   ESPALIER_GEMM=builtin   the built-in kernels; needs no other library
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_GEMM_H
#define ESPALIER_DEVICE_CPU_GEMM_H

#include "espalier/abi.h"

#include <cstdint>
#include <memory>

namespace espalier {

/// Where the elements of a k x n weight are: in the columns listed, side by
/// side, of a row-major matrix, or of the transpose of that.
struct WeightSource {
  const void *rows;
  int64_t stride; // elements between rows
  const espalier_columns *columns;
  uint32_t columnsCount;
  bool transposed;
};

class PackedWeight {
public:
  /// Packs a k x n matrix of `dtype` (ESPALIER_F32 or _F64), which is not
  /// needed afterwards. Throws UNSUPPORTED for another dtype or if the backend
  /// cannot be loaded.
  static std::unique_ptr<PackedWeight>
  pack(uint32_t dtype, int64_t k, int64_t n, const WeightSource &source);
  /// The same of a dense row-major matrix.
  static std::unique_ptr<PackedWeight> pack(uint32_t dtype, int64_t k,
                                            int64_t n, const void *rowMajorKxN);

  virtual ~PackedWeight() = default;
  PackedWeight(const PackedWeight &) = delete;
  PackedWeight &operator=(const PackedWeight &) = delete;

  /// Computes m >= 0 rows of `out`, overwriting them. `ldIn` and `ldOut` are
  /// the elements between rows: ldIn >= k, ldOut >= n. Rows of `out` must not
  /// overlap those of `in`.
  ///
  /// Uses the calling thread only. Any number of threads may call it at a time.
  /// A row depends on nothing but the same row of `in`, m and the weight; the
  /// same m gives the same bits. The first call with an m may allocate (oneDNN
  /// generates code for each m up to 128, in about 0.2 ms).
  virtual void multiply(const void *in, int64_t ldIn, void *out, int64_t ldOut,
                        int64_t m) const = 0;

  /// In how many parts of at least `columns` columns each threads may do a
  /// product at a time; one if the backend cannot. Their bits are those of the
  /// whole.
  virtual int64_t productParts(int64_t columns) const {
    (void)columns;
    return 1;
  }
  /// One of `parts` (productParts or fewer) of `multiply`: some columns of
  /// `out`.
  virtual void multiplyPart(const void *in, int64_t ldIn, void *out,
                            int64_t ldOut, int64_t m, int64_t part,
                            int64_t parts) const {
    (void)part, (void)parts;
    multiply(in, ldIn, out, ldOut, m);
  }

  /// Packs other values, of the same dtype and shape, in the same memory, in
  /// parts that threads may do at a time. Nobody may multiply meanwhile. Only
  /// with one part may it throw.
  virtual int64_t repackParts() const = 0;
  virtual void repack(const WeightSource &source, int64_t part) = 0;

  int64_t k() const { return inputs; }
  int64_t n() const { return outputs; }

protected:
  PackedWeight(int64_t k, int64_t n) : inputs(k), outputs(n) {}

private:
  int64_t inputs;
  int64_t outputs;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_GEMM_H
