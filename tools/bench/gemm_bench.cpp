//===- gemm_bench.cpp - The rate of bare matrix products ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints GFLOP/s of the CPU device's matrix products on one thread, for each
// backend and number of rows: the limit that whole models are compared with.
//
//   espalier-gemm-bench [--m 1,2,4] [--backend onednn,builtin,f64] [KxN ...]
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Gemm.h"
#include "espalier/abi.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

using namespace espalier;

static double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

static std::vector<std::string> splitAtCommas(const std::string &list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The best of several samples of about two milliseconds each.
static double gigaflops(const PackedWeight &weight, const void *in, void *out,
                        int64_t m) {
  auto time = [&](int64_t calls) {
    double start = seconds();
    for (int64_t i = 0; i < calls; ++i)
      weight.multiply(in, weight.k(), out, weight.n(), m);
    return (seconds() - start) / calls;
  };
  time(1);
  double once = std::min(time(2), time(2));
  int64_t calls = std::max<int64_t>(1, 2e-3 / once);
  double best = once;
  for (int sample = 0; sample < 15; ++sample)
    best = std::min(best, time(calls));
  return 2.0 * m * weight.k() * weight.n() / best * 1e-9;
}

template <typename T>
static std::vector<double> measure(int64_t k, int64_t n,
                                   const std::vector<int64_t> &rows,
                                   std::vector<double> &packMilliseconds) {
  auto fill = [](std::vector<T> &values) {
    uint32_t state = 1;
    for (T &value : values)
      value = T((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24);
  };
  int64_t maxRows = *std::max_element(rows.begin(), rows.end());
  std::vector<T> data(k * n), in(maxRows * k), out(maxRows * n);
  fill(data);
  fill(in);
  double start = seconds();
  auto weight = PackedWeight::pack(sizeof(T) == sizeof(double) ? ESPALIER_F64
                                                               : ESPALIER_F32,
                                   k, n, data.data());
  packMilliseconds.push_back((seconds() - start) * 1e3);
  std::vector<double> rates;
  for (int64_t m : rows)
    rates.push_back(gigaflops(*weight, in.data(), out.data(), m));
  return rates;
}

static int run(const std::vector<std::pair<int64_t, int64_t>> &shapes,
               const std::vector<int64_t> &rows,
               const std::vector<std::string> &backends) {
  for (auto [k, n] : shapes) {
    std::printf("\nweight %ldx%ld, GFLOP/s\n%8s", (long)k, (long)n, "m");
    std::vector<std::vector<double>> rates;
    std::vector<double> packMilliseconds;
    for (const std::string &backend : backends) {
      std::printf(" %10s", backend.c_str());
      if (backend == "f64") {
        rates.push_back(measure<double>(k, n, rows, packMilliseconds));
      } else {
        setenv("ESPALIER_GEMM", backend.c_str(), 1);
        rates.push_back(measure<float>(k, n, rows, packMilliseconds));
      }
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      std::printf("\n%8ld", (long)rows[row]);
      for (const std::vector<double> &column : rates)
        std::printf(" %10.1f", column[row]);
    }
    std::printf("\n%8s", "pack ms");
    for (double milliseconds : packMilliseconds)
      std::printf(" %10.2f", milliseconds);
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

static int usage(const char *argument) {
  std::fprintf(stderr,
               "espalier-gemm-bench: cannot use '%s'\nusage: "
               "espalier-gemm-bench [--m 1,2,4] "
               "[--backend onednn,builtin,f64] [KxN ...]\n",
               argument);
  return 1;
}

int main(int argc, char **argv) {
  std::vector<std::pair<int64_t, int64_t>> shapes;
  std::vector<int64_t> rows;
  std::vector<std::string> backends = {"onednn", "builtin", "f64"};
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    long k = 0, n = 0;
    if (argument == "--m" && i + 1 < argc) {
      for (const std::string &m : splitAtCommas(argv[++i]))
        rows.push_back(std::atol(m.c_str()));
      if (*std::min_element(rows.begin(), rows.end()) < 1)
        return usage(argv[i]);
    } else if (argument == "--backend" && i + 1 < argc) {
      backends = splitAtCommas(argv[++i]);
      for (const std::string &backend : backends)
        if (backend != "onednn" && backend != "builtin" && backend != "f64")
          return usage(argv[i]);
    } else if (std::sscanf(argv[i], "%ldx%ld", &k, &n) == 2 && k > 0 && n > 0) {
      shapes.emplace_back(k, n);
    } else {
      return usage(argv[i]);
    }
  }
  if (rows.empty())
    rows = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  if (shapes.empty())
    shapes = {{64, 64},   {64, 256},  {256, 256},  {256, 1024},
              {300, 768}, {512, 512}, {512, 1280}, {1024, 1024}};
  try {
    return run(shapes, rows, backends);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "espalier-gemm-bench: %s\n", error.what());
    return 1;
  }
}
