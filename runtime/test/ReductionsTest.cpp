//===- ReductionsTest.cpp - Sums over rows against naive loops ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Reductions.h"

#include "espalier/abi.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>
#include <type_traits>

using namespace espalier;

namespace {

template <typename T> class ReductionsOf : public testing::Test {
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
  static OperandRows rowsOf(std::vector<T> &data, int64_t stride,
                            const int32_t *index = nullptr) {
    return {reinterpret_cast<char *>(data.data()), stride * (int64_t)sizeof(T),
            index};
  }
  static std::vector<T> sum(OperandRows in, int64_t rows, int64_t n) {
    std::vector<T> out(n + 1, T(12345)), zeros(n + 1, T(0));
    SumRows reduction(dtype, in, rows, n, reinterpret_cast<char *>(out.data()),
                      reinterpret_cast<char *>(zeros.data()));
    for (int64_t part = reduction.parts(); part > 0; --part)
      reduction.run(part - 1);
    EXPECT_EQ(out.back(), T(12345));
    EXPECT_EQ(sumInTurns(in, rows, n), out);
    out.pop_back();
    return out;
  }

  /// The same in turns of some blocks each.
  static std::vector<T> sumInTurns(OperandRows in, int64_t rows, int64_t n) {
    std::vector<T> out(n + 1, T(12345)), zeros(n + 1, T(0));
    std::vector<double> state(SumRows::stateDoubles(dtype, n), 12345);
    int64_t block = 0, row = 0;
    do {
      int64_t blocks = 1 + block % 3;
      int64_t end = std::min(rows, row + blocks * SumRows::kBlockRows);
      OperandRows turn = in;
      if (in.index)
        turn.index += row;
      else
        turn.base += row * in.stride;
      SumRows reduction(
          dtype, turn, end - row, n, reinterpret_cast<char *>(out.data()),
          reinterpret_cast<char *>(zeros.data()), block, state.data());
      for (int64_t part = reduction.parts(); part > 0; --part)
        reduction.run(part - 1);
      block += blocks;
      row = end;
    } while (row < rows);
    return out;
  }

  std::mt19937 random{1};
};

using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(ReductionsOf, Elements);

TYPED_TEST(ReductionsOf, SumRows) {
  using T = TypeParam;
  for (int64_t n : {0, 1, 7, 63, 64, 65, 200})
    for (int64_t rows : {0, 1, 2, 31, 32, 33, 64, 95, 1000}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << n);
      int64_t stride = n + 2;
      std::vector<T> data = this->values(rows * stride);
      std::vector<int32_t> index;
      for (int64_t r = 0; r < rows; ++r)
        index.push_back((int32_t)(this->random() % (rows + 1)) - 1);
      for (bool indexed : {false, true}) {
        std::vector<T> out = this->sum(
            this->rowsOf(data, stride, indexed ? index.data() : nullptr), rows,
            n);
        for (int64_t i = 0; i < n; ++i) {
          double expected = 0, magnitude = 0;
          for (int64_t r = 0; r < rows; ++r) {
            int64_t from = indexed ? index[r] : r;
            double value = from < 0 ? 0 : double(data[from * stride + i]);
            expected += value;
            magnitude += std::fabs(value);
          }
          ASSERT_NEAR(out[i], expected,
                      40 * magnitude * std::numeric_limits<T>::epsilon());
        }
      }
    }
}

TYPED_TEST(ReductionsOf, SumsOfAMillionRowsKeepTheirDigits) {
  using T = TypeParam;
  const int64_t rows = 1000000;
  std::vector<T> data(rows, T(0.1));
  double sum = this->sum(this->rowsOf(data, 1), rows, 1)[0];
  double exact = double(T(0.1)) * rows;
  // One after another they would lose 0.9 % in f32.
  EXPECT_NEAR(sum, exact, 20 * exact * std::numeric_limits<T>::epsilon());
}

TYPED_TEST(ReductionsOf, CombineRows) {
  using T = TypeParam;
  FirstRows firstRows; // one for all lists of ids
  for (int round = 0; round < 200; ++round) {
    int64_t rows = this->random() % 300, n = this->random() % 70;
    int32_t range = 1 + (int32_t)(this->random() % (round % 2 ? 20 : 2000));
    // Strided ids.
    std::vector<int32_t> ids(2 * rows + 1, -7);
    for (int64_t r = 0; r < rows; ++r)
      ids[2 * r] = (int32_t)(this->random() % range) - 1;
    if (rows > 0)
      ids[0] = std::numeric_limits<int32_t>::max();
    std::vector<T> data = this->values(rows * n);
    std::vector<T> expected(rows * n, T(0)), zeros(n + 1, T(0));
    std::vector<int32_t> expectedFirst;
    std::map<int32_t, int32_t> seen;
    for (int64_t r = 0; r < rows; ++r) {
      int32_t id = ids[2 * r];
      expectedFirst.push_back(
          id < 0 ? -1 : seen.emplace(id, (int32_t)r).first->second);
      for (int64_t i = 0; id >= 0 && i < n; ++i)
        expected[expectedFirst[r] * n + i] += data[r * n + i];
    }
    const int32_t *first = firstRows.find(
        {reinterpret_cast<char *>(ids.data()), 8, nullptr}, rows, nullptr);
    ASSERT_EQ(std::vector<int32_t>(first, first + rows), expectedFirst);
    for (int64_t maxParts : {1, 3}) {
      std::vector<T> out(rows * n, T(12345));
      CombineRows reduction(this->dtype, first, this->rowsOf(data, n),
                            this->rowsOf(out, n), n,
                            reinterpret_cast<char *>(zeros.data()), maxParts);
      int64_t turn = std::max<int64_t>(rows / (1 + round % 3), 1);
      for (int64_t row = 0; row < rows; row += turn)
        for (int64_t part = reduction.parts(); part > 0; --part)
          reduction.run(part - 1, row, std::min(rows, row + turn));
      ASSERT_EQ(out, expected);
    }
  }
}

} // namespace
