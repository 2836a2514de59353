//===- Windows.h - Sizes of convolutions and pools --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What operators with a window know of it: their numbers, which attributes hold
// as arrays, and how many windows there are in an image.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_LIB_DIALECT_NN_IR_WINDOWS_H
#define ESPALIER_LIB_DIALECT_NN_IR_WINDOWS_H

#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>
#include <array>
#include <optional>

namespace espalier::nn {

/// The `count` numbers of `attribute`; none if it has others, or some that are
/// less than `least` or too large to add up.
template <size_t count>
std::optional<std::array<int64_t, count>> readNumbers(mlir::ArrayAttr attribute,
                                                      int64_t least) {
  std::array<int64_t, count> numbers;
  if (!attribute || attribute.size() != count)
    return std::nullopt;
  for (size_t i = 0; i != count; ++i) {
    auto number = mlir::dyn_cast<mlir::IntegerAttr>(attribute[i]);
    if (!number || number.getValue().getSignificantBits() > 32)
      return std::nullopt;
    numbers[i] = number.getValue().getSExtValue();
    if (numbers[i] < least)
      return std::nullopt;
  }
  return numbers;
}

/// The numbers of an attribute that has been verified.
template <size_t count>
std::array<int64_t, count> numbersOf(mlir::ArrayAttr attribute) {
  return *readNumbers<count>(attribute, 0);
}

/// Height and width of the window, how windows follow one another, how far
/// apart a window's elements are, and what is around the image: top, left,
/// bottom, right.
struct Windows {
  std::array<int64_t, 2> size{1, 1}, strides{1, 1}, dilations{1, 1};
  std::array<int64_t, 4> padding{0, 0, 0, 0};
  bool roundUp = false;

  /// How far the window reaches in dimension `dim`, 0 or 1.
  int64_t reach(size_t dim) const {
    return dilations[dim] * (size[dim] - 1) + 1;
  }
  bool fits(int64_t extent, size_t dim) const {
    return size[dim] > 0 &&
           extent + padding[dim] + padding[dim + 2] >= reach(dim);
  }
  /// How many windows there are over `extent` elements; at least one, if it
  /// fits.
  int64_t count(int64_t extent, size_t dim) const {
    int64_t rest = extent + padding[dim] + padding[dim + 2] - reach(dim);
    if (!roundUp)
      return rest / strides[dim] + 1;
    int64_t last = (rest + strides[dim] - 1) / strides[dim];
    // It has to begin in the image, or before it.
    bool outside = last * strides[dim] >= extent + padding[dim];
    return std::max<int64_t>(0, last - outside) + 1;
  }
  /// Whether the windows are the elements themselves.
  bool areElements() const {
    return size == std::array<int64_t, 2>{1, 1} &&
           strides == std::array<int64_t, 2>{1, 1} &&
           padding == std::array<int64_t, 4>{0, 0, 0, 0};
  }
};

/// The windows of a verified convolution `op` with a weight of `shape`.
template <typename Op>
Windows windowsOfConvolution(Op op, llvm::ArrayRef<int64_t> shape) {
  return {{shape[2], shape[3]},
          numbersOf<2>(op.getStrides()),
          numbersOf<2>(op.getDilations()),
          numbersOf<4>(op.getPadding()),
          /*roundUp=*/false};
}

/// The windows of a verified pool.
template <typename Op> Windows windowsOfPool(Op op) {
  return {numbersOf<2>(op.getWindow()),
          numbersOf<2>(op.getStrides()),
          {1, 1},
          numbersOf<4>(op.getPadding()),
          op.getCeilMode()};
}

} // namespace espalier::nn

#endif // ESPALIER_LIB_DIALECT_NN_IR_WINDOWS_H
