//===- StableSort.h - Sorting that keeps equal elements in order *- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// std::stable_sort of GCC 12 uses a function that the standard has deprecated,
// which clang-tidy takes for an error of ours.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_STABLESORT_H
#define ESPALIER_LIB_PLANNING_STABLESORT_H

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace espalier::planning {

template <typename T, typename Less>
void stableSort(std::vector<T> &values, const Less &less) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (less(values[a], values[b]))
      return true;
    return !less(values[b], values[a]) && a < b;
  });
  std::vector<T> sorted;
  sorted.reserve(values.size());
  for (size_t index : order)
    sorted.push_back(std::move(values[index]));
  values = std::move(sorted);
}

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_STABLESORT_H
