//===- Matmul.cpp - Products of whole matrices ----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/layers/Builtin.h"
#include "device/cpu/layers/TiledProduct.h"

#include <algorithm>

namespace espalier {

namespace {

template <typename T> class Matmul final : public LayerKernel {
public:
  Matmul(const LayerProblem &problem, unsigned threads)
      : m(problem.operands[2].shape[0]), n(problem.operands[2].shape[1]),
        transposesA(problem.layer.flags & ESPALIER_LAYER_TRANSPOSE_A),
        transposesB(problem.layer.flags & ESPALIER_LAYER_TRANSPOSE_B),
        k(problem.operands[0].shape[transposesA ? 0 : 1]),
        accumulates(problem.layer.flags & ESPALIER_LAYER_ACCUMULATE),
        scratch(TiledProduct<T>::scratchBytes(threads)) {}

  int64_t scratchBytes() const override { return scratch; }

  void run(const LayerCall &call) const override {
    Product product;
    const T *a = operandOf<T>(call, 0), *b = operandOf<T>(call, 1);
    product.a =
        transposesA ? StridedMatrix<T>{a, 1, m} : StridedMatrix<T>{a, k, 1};
    product.b =
        transposesB ? StridedMatrix<T>{b, k, 1} : StridedMatrix<T>{b, 1, n};
    product.out = operandOf<T>(call, 2);
    product.n = n;
    product.accumulates = accumulates;
    TiledProduct<T>::run({1, m, n, k}, product, call.scratch, call.pool);
  }

private:
  struct Product final : TiledProduct<T>::Operands {
    StridedMatrix<T> a, b;
    T *out;
    int64_t n;
    bool accumulates;

    void packA(int64_t, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      a.pack(rows, depths, width, panels);
    }
    void packB(int64_t, Extent columns, Extent depths, int64_t width,
               T *panels) const override {
      b.pack(columns, depths, width, panels);
    }
    void store(int64_t, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      for (int64_t r = 0; r < rows.size; ++r) {
        T *to = out + (rows.begin + r) * n + columns.begin;
        const T *from = tile + r * stride;
        if (accumulates)
          for (int64_t i = 0; i < columns.size; ++i)
            to[i] += from[i];
        else
          std::copy_n(from, columns.size, to);
      }
    }
  };

  int64_t m, n;
  bool transposesA, transposesB;
  int64_t k;
  bool accumulates;
  int64_t scratch;
};

} // namespace

LayerKernelPointer makeMatmul(const LayerProblem &problem, unsigned threads) {
  if (problem.layer.kind != ESPALIER_LAYER_MATMUL)
    return nullptr;
  return makeByDtype<Matmul>(problem, threads);
}

} // namespace espalier
