//===- GemmTest.cpp - Matrix products against a naive loop ----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every property is checked for every backend. Without oneDNN (the macro
// ESPALIER_HAVE_ONEDNN is not defined) the message that says so is checked
// instead.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/GemmBuiltin.h"
#include "device/cpu/ThreadPool.h"
#include "espalier/abi.h"
#include "support/Error.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

using namespace espalier;

namespace {

/// Sets ESPALIER_GEMM for a scope (null: unset).
class GemmVariable {
public:
  explicit GemmVariable(const char *value) {
    if (const char *old = std::getenv("ESPALIER_GEMM"))
      before = old;
    set(value);
  }
  ~GemmVariable() { set(before.empty() ? nullptr : before.c_str()); }

private:
  static void set(const char *value) {
    if (value)
      setenv("ESPALIER_GEMM", value, 1);
    else
      unsetenv("ESPALIER_GEMM");
  }
  std::string before;
};

template <typename T> uint32_t dtypeOf() {
  return std::is_same_v<T, double> ? ESPALIER_F64 : ESPALIER_F32;
}

template <typename T> struct OneDnn {
  using Element = T;
  static std::unique_ptr<PackedWeight> pack(int64_t k, int64_t n,
                                            const WeightSource &source) {
    GemmVariable variable("onednn");
    return PackedWeight::pack(dtypeOf<T>(), k, n, source);
  }
};
template <typename T> struct Builtin {
  using Element = T;
  static std::unique_ptr<PackedWeight> pack(int64_t k, int64_t n,
                                            const WeightSource &source) {
    GemmVariable variable("builtin");
    return PackedWeight::pack(dtypeOf<T>(), k, n, source);
  }
};
/// The built-in kernels for processors without wide vectors.
template <typename T> struct Baseline {
  using Element = T;
  static std::unique_ptr<PackedWeight> pack(int64_t k, int64_t n,
                                            const WeightSource &source) {
    return packBuiltin<T>(k, n, source, /*widestVectors=*/false);
  }
};

uint32_t state = 1;
/// In [-1, 1).
double nextRandom() {
  state = state * 1664525u + 1013904223u;
  return int32_t(state) / 2147483648.0;
}

template <typename T> std::vector<T> randomValues(int64_t count) {
  std::vector<T> values(count);
  for (T &value : values)
    value = T(nextRandom());
  return values;
}

template <typename Backend> class Gemm : public testing::Test {
protected:
  using T = typename Backend::Element;

  static std::unique_ptr<PackedWeight> pack(int64_t k, int64_t n,
                                            const std::vector<T> &weight) {
    espalier_columns all = {0, n};
    return Backend::pack(k, n, {weight.data(), n, &all, 1, false});
  }

  /// Compares with sums in double, within what rounding each step may lose.
  static void expectProduct(int64_t m, int64_t k, int64_t n, int64_t padIn = 0,
                            int64_t padOut = 0) {
    SCOPED_TRACE("m = " + std::to_string(m) + ", k = " + std::to_string(k) +
                 ", n = " + std::to_string(n));
    const T untouched = T(12345);
    const int64_t ldIn = k + padIn, ldOut = n + padOut;
    auto weight = randomValues<T>(k * n);
    auto in = randomValues<T>(m * ldIn);
    for (int64_t row = 0; row < m; ++row) // what lies between rows is not read
      for (int64_t p = k; p < ldIn; ++p)
        in[row * ldIn + p] = std::numeric_limits<T>::quiet_NaN();
    std::vector<T> out(m * ldOut + 1, untouched);
    pack(k, n, weight)->multiply(in.data(), ldIn, out.data(), ldOut, m);

    ASSERT_EQ(out.back(), untouched);
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0, magnitude = 0;
        for (int64_t p = 0; p < k; ++p) {
          double product =
              double(in[row * ldIn + p]) * double(weight[p * n + column]);
          sum += product;
          magnitude += std::fabs(product);
        }
        double tolerance =
            (k + 1) * magnitude * std::numeric_limits<T>::epsilon();
        ASSERT_NEAR(out[row * ldOut + column], sum, tolerance)
            << "row " << row << ", column " << column;
      }
      for (int64_t column = n; column < ldOut; ++column)
        ASSERT_EQ(out[row * ldOut + column], untouched)
            << "written past row " << row;
    }
  }
};

using Backends = testing::Types<
#ifdef ESPALIER_HAVE_ONEDNN
    OneDnn<float>,
#endif
    Builtin<float>, Builtin<double>, Baseline<float>, Baseline<double>>;
TYPED_TEST_SUITE(Gemm, Backends);

TYPED_TEST(Gemm, SmallShapes) {
  for (int64_t k : {0, 1, 2, 3, 7, 8, 9, 17})
    for (int64_t n : {0, 1, 2, 5, 8, 9, 15, 16, 17, 31, 33, 65})
      for (int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13})
        this->expectProduct(m, k, n, k % 3, n % 2);
}

TYPED_TEST(Gemm, ManyRows) {
  for (int64_t m : {16, 25, 31, 64, 127, 128, 129, 257, 400})
    this->expectProduct(m, 37, 29, 5, 3);
}

TYPED_TEST(Gemm, LargeShapes) {
  for (int64_t m : {1, 2, 3, 4, 17, 100}) {
    this->expectProduct(m, 300, 768);
    this->expectProduct(m, 512, 1280, 512, 256);
    this->expectProduct(m, 2311, 67, 1, 0);
  }
}

/// Rows and columns of a larger matrix, as they are and transposed, give the
/// bits that a dense copy of them gives, packed first or packed again.
TYPED_TEST(Gemm, PartsOfAMatrix) {
  using T = typename TypeParam::Element;
  for (int64_t rows : {0, 1, 5, 8, 16, 19, 40, 150})
    for (const std::vector<espalier_columns> &columns :
         std::vector<std::vector<espalier_columns>>{
             {{0, 90}},
             {{3, 64}},
             {{0, 17}, {50, 33}, {20, 0}, {17, 3}},
             {{89, 1}, {0, 1}},
             {}})
      for (bool transposed : {false, true}) {
        const int64_t stride = 90, firstRow = 2, m = 7;
        int64_t count = 0;
        for (const espalier_columns &range : columns)
          count += range.count;
        const int64_t k = transposed ? count : rows;
        const int64_t n = transposed ? rows : count;
        auto matrix = randomValues<T>((firstRow + rows) * stride);
        std::vector<T> dense(k * n);
        for (int64_t r = 0; r < rows; ++r) {
          int64_t to = 0;
          for (const espalier_columns &range : columns)
            for (int64_t i = 0; i < range.count; ++i, ++to)
              dense[transposed ? to * n + r : r * n + to] =
                  matrix[(firstRow + r) * stride + range.begin + i];
        }
        auto in = randomValues<T>(m * k);
        std::vector<T> expected(m * n), out(m * n);
        this->pack(k, n, dense)->multiply(in.data(), k, expected.data(), n, m);

        auto others = randomValues<T>(matrix.size());
        WeightSource source{matrix.data() + firstRow * stride, stride,
                            columns.data(), (uint32_t)columns.size(),
                            transposed};
        WeightSource before = source;
        before.rows = others.data() + firstRow * stride;
        auto packed = TypeParam::pack(k, n, source);
        packed->multiply(in.data(), k, out.data(), n, m);
        ASSERT_EQ(out, expected) << k << " x " << n;
        packed = TypeParam::pack(k, n, before);
        for (int64_t part = packed->repackParts(); part > 0; --part)
          packed->repack(source, part - 1);
        packed->multiply(in.data(), k, out.data(), n, m);
        ASSERT_EQ(out, expected) << k << " x " << n << ", packed again";
      }
}

TYPED_TEST(Gemm, PartsOfALargeMatrix) {
  using T = typename TypeParam::Element;
  const int64_t k = 700, n = 450, m = 3;
  auto values = randomValues<T>(k * n), transposed = values;
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < n; ++i)
      transposed[i * k + p] = values[p * n + i];
  auto in = randomValues<T>(m * k);
  std::vector<T> expected(m * n), out(m * n);
  auto packed = this->pack(k, n, values);
  packed->multiply(in.data(), k, expected.data(), n, m);
  espalier_columns all = {0, k};
  packed = this->pack(k, n, randomValues<T>(k * n));
  for (int64_t part = 0; part < packed->repackParts(); ++part)
    packed->repack({transposed.data(), k, &all, 1, true}, part);
  packed->multiply(in.data(), k, out.data(), n, m);
  ASSERT_EQ(out, expected);
}

TYPED_TEST(Gemm, NoInputsGiveZeros) {
  using T = typename TypeParam::Element;
  std::vector<T> out(3 * 40, T(7)), nothing(1);
  this->pack(0, 40, nothing)->multiply(nothing.data(), 0, out.data(), 40, 3);
  EXPECT_EQ(out, std::vector<T>(3 * 40, T(0)));
}

// A weight's padding must not meet what lies next to a row.
TYPED_TEST(Gemm, NotANumberStaysInItsRow) {
  using T = typename TypeParam::Element;
  const T bad[] = {std::numeric_limits<T>::quiet_NaN(),
                   std::numeric_limits<T>::infinity()};
  for (int64_t k : {1, 3, 8, 29, 300})
    for (int64_t n : {1, 5, 16, 43})
      for (int64_t m : {2, 3, 5, 6, 7, 12, 19}) {
        auto weight = this->pack(k, n, randomValues<T>(k * n));
        auto in = randomValues<T>(m * k);
        std::vector<T> expected(m * n), out(m * n);
        weight->multiply(in.data(), k, expected.data(), n, m);
        for (int64_t victim = 0; victim < m; ++victim) {
          auto spoiled = in;
          std::fill_n(spoiled.begin() + victim * k, k, bad[victim % 2]);
          weight->multiply(spoiled.data(), k, out.data(), n, m);
          for (int64_t row = 0; row < m; ++row)
            for (int64_t column = 0; column < n; ++column) {
              if (row == victim)
                ASSERT_FALSE(std::isfinite(out[row * n + column]));
              else
                ASSERT_EQ(out[row * n + column], expected[row * n + column]);
            }
        }
      }
}

// The input ends where readable memory ends, and so does the output.
TYPED_TEST(Gemm, StaysInsideItsOperands) {
  using T = typename TypeParam::Element;
  const size_t page = sysconf(_SC_PAGESIZE), size = 16 * page;
  auto guarded = [&] {
    void *memory = mmap(nullptr, size + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<char *>(memory) + size, page, PROT_NONE), 0);
    return static_cast<char *>(memory);
  };
  char *inMemory = guarded(), *outMemory = guarded();
  for (int64_t k : {1, 5, 8, 13, 30})
    for (int64_t n : {1, 5, 8, 13, 19, 47})
      for (int64_t m : {1, 2, 3, 4, 5, 6, 7, 9, 14}) {
        auto weight = this->pack(k, n, randomValues<T>(k * n));
        weight->multiply(inMemory + size - m * k * sizeof(T), k,
                         outMemory + size - m * n * sizeof(T), n, m);
      }
  munmap(inMemory, size + page);
  munmap(outMemory, size + page);
}

TYPED_TEST(Gemm, ManyThreadsGetTheSameBits) {
  using T = typename TypeParam::Element;
  const int64_t k = 70, n = 90, maxRows = 40;
  const auto values = randomValues<T>(k * n);
  const auto in = randomValues<T>(maxRows * k);
  auto product = [&](const PackedWeight &weight, int64_t m, int64_t ldOut) {
    std::vector<T> out(m * ldOut, T(0));
    weight.multiply(in.data(), k, out.data(), ldOut, m);
    return out;
  };
  auto reference = this->pack(k, n, values);
  auto shared = this->pack(k, n, values); // first used by all threads at once
  std::vector<std::vector<T>> expected;
  for (int64_t m = 1; m <= maxRows; ++m)
    expected.push_back(product(*reference, m, n + m % 2));

  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 20; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 5 * maxRows; ++round) {
        int64_t m = 1 + (round * 7 + thread / 4) % maxRows;
        different += product(*shared, m, n + m % 2) != expected[m - 1];
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(different, 0);
}

int threadsOfThisProcess() {
  DIR *folder = opendir("/proc/self/task");
  int count = 0;
  while (dirent *entry = readdir(folder))
    count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

TYPED_TEST(Gemm, PartsOfAProduct) {
  using T = typename TypeParam::Element;
  ThreadPool pool(3);
  for (int64_t n : {1, 64, 65, 130, 320, 700})
    for (int64_t m : {1, 2, 3, 4, 9, 16}) {
      const int64_t k = 70, ldOut = n + 3;
      auto weight = this->pack(k, n, randomValues<T>(k * n));
      auto in = randomValues<T>(m * k);
      std::vector<T> whole(m * ldOut, T(5)), out(whole);
      weight->multiply(in.data(), k, whole.data(), ldOut, m);
      const int64_t most = weight->productParts(64);
      EXPECT_GE(most, 1);
      EXPECT_LE(most, std::max<int64_t>(1, n / 64));
      for (int64_t parts = 1; parts <= most; ++parts) {
        std::fill(out.begin(), out.end(), T(5));
        forEachIndex(&pool, parts, [&](unsigned, int64_t part) {
          weight->multiplyPart(in.data(), k, out.data(), ldOut, m, part, parts);
        });
        ASSERT_EQ(out, whole) << m << " x " << n << " in " << parts;
      }
    }
}
TYPED_TEST(Gemm, UsesTheCallingThreadOnly) {
  using T = typename TypeParam::Element;
  const int64_t k = 512, n = 512, m = 128;
  int before = threadsOfThisProcess();
  auto weight = this->pack(k, n, randomValues<T>(k * n));
  auto in = randomValues<T>(m * k);
  std::vector<T> out(m * n);
  weight->multiply(in.data(), k, out.data(), n, m);
  EXPECT_EQ(threadsOfThisProcess(), before);
}

/// The built-in kernels promise more than the interface does.
TEST(GemmBuiltin, BitsOfARowDoNotDependOnItsNeighbours) {
  GemmVariable variable("builtin");
  const int64_t k = 321, n = 150, rows = 60;
  auto values = randomValues<float>(k * n), in = randomValues<float>(rows * k);
  auto weight = PackedWeight::pack(ESPALIER_F32, k, n, values.data());
  std::vector<float> single(rows * n);
  for (int64_t row = 0; row < rows; ++row)
    weight->multiply(in.data() + row * k, k, single.data() + row * n, n, 1);
  for (int64_t m = 1; m <= rows; ++m) {
    std::vector<float> out(m * n);
    weight->multiply(in.data(), k, out.data(), n, m);
    ASSERT_EQ(
        std::memcmp(out.data(), single.data(), out.size() * sizeof(float)), 0)
        << m << " rows";
  }
}

/// The error of packing a 1 x 1 weight.
Error packingError(uint32_t dtype, int64_t k = 1) {
  double value = 0;
  try {
    PackedWeight::pack(dtype, k, 1, &value);
  } catch (const Error &error) {
    return error;
  }
  return Error(ESPALIER_OK, "no error");
}

TEST(GemmErrors, UnknownBackend) {
  GemmVariable variable("blas");
  Error error = packingError(ESPALIER_F32);
  EXPECT_EQ(error.code(), ESPALIER_INVALID_ARGUMENT);
  EXPECT_EQ(error.message(), "the environment variable ESPALIER_GEMM is "
                             "'blas'; expected 'auto', 'onednn' or "
                             "'builtin'");
}

TEST(GemmErrors, Dtype) {
  Error error = packingError(ESPALIER_I32);
  EXPECT_EQ(error.code(), ESPALIER_UNSUPPORTED);
  EXPECT_EQ(error.message(),
            "matrix products of i32 are not supported: expected f32 or f64");
}

TEST(GemmErrors, NegativeExtent) {
  Error error = packingError(ESPALIER_F32, -1);
  EXPECT_EQ(error.code(), ESPALIER_INVALID_ARGUMENT);
  EXPECT_EQ(error.message(),
            "a weight cannot be -1x1: expected extents of at least 0");
}

#ifndef ESPALIER_HAVE_ONEDNN
TEST(GemmErrors, MissingBackend) {
  GemmVariable variable(nullptr);
  Error error = packingError(ESPALIER_F32);
  EXPECT_EQ(error.code(), ESPALIER_UNSUPPORTED);
  EXPECT_NE(error.message().find("ESPALIER_GEMM=builtin"), std::string::npos)
      << error.message();
}
#endif

} // namespace
