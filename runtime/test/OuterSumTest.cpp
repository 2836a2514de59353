//===- OuterSumTest.cpp - x^T y against a naive loop ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/OuterSum.h"

#include "espalier/abi.h"
#include "memory/Arena.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <type_traits>

using namespace espalier;

namespace {

template <typename T> class OuterSumOf : public testing::Test {
protected:
  static constexpr uint32_t dtype =
      std::is_same_v<T, double> ? ESPALIER_F64 : ESPALIER_F32;

  std::vector<T> values(int64_t count) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<T> result(count);
    for (T &value : result)
      value = T(uniform(random));
    return result;
  }

  struct Rows {
    std::vector<T> data;
    std::vector<int32_t> index; // empty: none
    int64_t columns, stride;

    OperandRows view() const {
      return {reinterpret_cast<char *>(const_cast<T *>(data.data())),
              stride * (int64_t)sizeof(T),
              index.empty() ? nullptr : index.data()};
    }
    double at(int64_t r, int64_t column) const {
      int64_t source = index.empty() ? r : index[r];
      return source < 0 ? 0 : double(data[source * stride + column]);
    }
  };

  /// Rows with NaN between them; indexed ones are permuted, repeated and
  /// absent.
  Rows makeRows(int64_t rows, int64_t columns, bool indexed) {
    Rows result{{}, {}, columns, columns + (int64_t)(random() % 3)};
    result.data = values(rows * result.stride);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = columns; c < result.stride; ++c)
        result.data[r * result.stride + c] =
            std::numeric_limits<T>::quiet_NaN();
    for (int64_t r = 0; indexed && r < rows; ++r)
      result.index.push_back((int32_t)(random() % (rows + 1)) - 1);
    return result;
  }

  /// With `turns`, that many pieces of the rows at a time.
  std::vector<T> sum(const Rows &x, const Rows &y, int64_t rows, int64_t stride,
                     int64_t threads, bool widest, int64_t turns = 0) {
    std::vector<T> out(x.columns * stride + 1, T(12345));
    std::vector<char> zeros((x.columns + y.columns + 1) * sizeof(T), 0);
    OuterSum product(dtype, x.view(), x.columns, y.view(), y.columns, rows,
                     reinterpret_cast<char *>(out.data()), stride, zeros.data(),
                     threads, widest);
    Arena scratch;
    scratch.reserve(OuterSum::scratchBytes(dtype, x.columns, y.columns));
    if (turns == 0) {
      for (int64_t part = product.parts(); part > 0; --part)
        product.run(part - 1, scratch.data());
      return out;
    }
    std::vector<double> sums(product.sumCount(), 12345);
    int64_t pieces = OuterSum::pieces(rows);
    for (int64_t piece = 0; piece < pieces; piece += turns)
      for (int64_t part = product.parts(); part > 0; --part)
        product.run(part - 1, scratch.data(), piece,
                    std::min(pieces, piece + turns), sums.data());
    return out;
  }

  void expectSum(int64_t rows, int64_t k, int64_t n, int64_t pad,
                 bool indexed) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << k << " x " << n);
    Rows x = makeRows(rows, k, indexed), y = makeRows(rows, n, false);
    int64_t stride = n + pad;
    std::vector<double> expected(k * n, 0), magnitude(k * n, 0);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < n; ++j) {
          expected[i * n + j] += x.at(r, i) * y.at(r, j);
          magnitude[i * n + j] += std::fabs(x.at(r, i) * y.at(r, j));
        }
    for (bool widest : {true, false}) {
      std::vector<T> out = sum(x, y, rows, stride, 1, widest);
      ASSERT_EQ(out.back(), T(12345));
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t j = 0; j < n; ++j)
          ASSERT_NEAR(out[i * stride + j], expected[i * n + j],
                      (rows + 1) * magnitude[i * n + j] *
                          std::numeric_limits<T>::epsilon())
              << i << ", " << j;
        for (int64_t j = n; j < stride; ++j)
          ASSERT_EQ(out[i * stride + j], T(12345)) << "written past row " << i;
      }
      // However many threads the parts are for, the bits are the same.
      for (int64_t threads : {2, 3, 4, 16})
        ASSERT_EQ(sum(x, y, rows, stride, threads, widest), out);
      for (int64_t turns : {1, 2})
        if (rows > 0) {
          ASSERT_EQ(sum(x, y, rows, stride, 2, widest, turns), out);
        }
    }
  }

  std::mt19937 random{1};
};

using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(OuterSumOf, Elements);

TYPED_TEST(OuterSumOf, SmallShapes) {
  for (int64_t k : {0, 1, 2, 5, 6, 7, 12, 13})
    for (int64_t n : {0, 1, 3, 4, 7, 8, 15, 16, 17, 33})
      for (int64_t rows : {0, 1, 2, 15, 16, 17})
        this->expectSum(rows, k, n, n % 3, rows % 2);
}

TYPED_TEST(OuterSumOf, ManyRows) {
  for (int64_t rows : {64, 255, 256, 257, 511, 513, 1000})
    this->expectSum(rows, 19, 37, 2, rows % 2);
}

TYPED_TEST(OuterSumOf, LargeShapes) {
  this->expectSum(70, 300, 1100, 3, false);
  this->expectSum(300, 512, 131, 0, true);
  this->expectSum(3, 97, 1280, 1, true);
}

TYPED_TEST(OuterSumOf, OneRowForAll) {
  for (int64_t rows : {0, 1, 3, 300})
    for (int64_t threads : {1, 3}) {
      auto x = this->makeRows(rows, 19, rows % 2);
      auto y = this->makeRows(1, 700, false);
      y.stride = 0;
      std::vector<TypeParam> out = this->sum(x, y, rows, 701, threads, true);
      if (rows > 0) {
        ASSERT_EQ(this->sum(x, y, rows, 701, threads, true, 1), out);
      }
      for (int64_t i = 0; i < 19; ++i)
        for (int64_t j = 0; j < 700; ++j) {
          double sum = 0;
          for (int64_t r = 0; r < rows; ++r)
            sum += x.at(r, i) * y.data[j];
          ASSERT_NEAR(out[i * 701 + j], sum, 1e-5 * (1 + rows));
        }
    }
}

TYPED_TEST(OuterSumOf, PartsTileTheResult) {
  for (int64_t k : {1, 96, 97, 192, 193, 500, 1281})
    for (int64_t n : {1, 64, 256, 257, 512, 513, 1000})
      for (int64_t threads : {1, 2, 7}) {
        auto x = this->makeRows(1, k, false), y = this->makeRows(1, n, false);
        std::vector<TypeParam> out = this->sum(x, y, 1, n, threads, true);
        for (int64_t i = 0; i < k; ++i)
          for (int64_t j = 0; j < n; ++j)
            ASSERT_EQ(out[i * n + j], TypeParam(x.data[i] * y.data[j]));
      }
}

} // namespace
