//===- Random.h - Random numbers without a state ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every number is a function of a seed, of what it is for, and of a counter, so
// that training can go on anywhere without having come there.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_RANDOM_H
#define ESPALIER_RUN_RANDOM_H

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace espalier::run {

/// What random numbers are for: numbers for one thing tell nothing about those
/// for another.
enum class Purpose : uint64_t { Shuffle = 1, Step = 2 };

/// 64 random bits: a step of splitmix64 for each of the four.
inline uint64_t randomBits(uint64_t seed, Purpose purpose, uint64_t stream,
                           uint64_t counter) {
  uint64_t z = 0;
  for (uint64_t part : {seed, (uint64_t)purpose, stream, counter}) {
    z += part + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return z;
}

/// 0 ... count - 1 in the order of an epoch (Fisher-Yates).
inline std::vector<int64_t> shuffled(int64_t count, uint64_t seed,
                                     int64_t epoch) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), (int64_t)0);
  for (int64_t i = count - 1; i > 0; --i) {
    uint64_t bits = randomBits(seed, Purpose::Shuffle, epoch, i);
    // In [0, i]; the bias is below i / 2^64.
    auto j = (int64_t)((unsigned __int128)bits * (uint64_t)(i + 1) >> 64);
    std::swap(order[i], order[j]);
  }
  return order;
}

/// The seed of a step's dropout: not negative.
inline int32_t seedOfStep(uint64_t seed, int64_t step) {
  return (int32_t)(randomBits(seed, Purpose::Step, 0, step) >> 33);
}

} // namespace espalier::run

#endif // ESPALIER_RUN_RANDOM_H
