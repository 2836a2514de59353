//===- Gather.h - Windows of images as a matrix -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patches of a convolution, without copying them: a matrix with a column
// for every point (n, y, x) of a grid and a row for every channel c and tap
// (dy, dx), whose element is
//
//   images[n, c, y * stepY + dy, x * stepX + dx], 0 outside of the image.
//
// A forward convolution has a grid of its results' points and steps of its
// strides. Its adjoint has a grid for each remainder of y and x by the strides:
// the taps that meet these points do so at steps of 1.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_LAYERS_GATHER_H
#define ESPALIER_DEVICE_CPU_LAYERS_GATHER_H

#include "device/cpu/layers/TiledProduct.h"

#include <cstdint>
#include <vector>

namespace espalier {

struct Gather {
  /// Of a weight's window, and where it is in the image.
  struct Tap {
    int64_t index;
    int64_t dy, dx;
  };

  int64_t height, width; // of the image
  int64_t channels;      // that are read
  int64_t imageStride;   // elements from an image to the next
  int64_t gridHeight, gridWidth;
  int64_t stepY, stepX;
  std::vector<Tap> taps;

  int64_t gridArea() const { return gridHeight * gridWidth; }
  int64_t depth() const { return channels * (int64_t)taps.size(); }

  /// Packs columns of the matrix (TiledProduct's B): `points` of the grid,
  /// counted over all images, and `depths` of (channel, tap). `images` begins
  /// with the first channel that is read.
  template <typename T>
  void packPoints(const T *images, Extent points, Extent depths, int64_t width,
                  T *panels) const;
  /// The same of the transpose: columns are (channel, tap), depths are points.
  template <typename T>
  void packTaps(const T *images, Extent taps, Extent points, int64_t width,
                T *panels) const;

private:
  /// Points of one row of the grid that lie one after another.
  struct Run {
    int64_t at; // where its first point is among those packed
    int64_t size;
    int64_t n, y, x;
  };
  /// Calls body(run) for the runs of `points`.
  template <typename Body> void forEachRun(Extent points, Body body) const;
  template <typename T>
  void gatherRun(const T *images, const Run &run, int64_t channel,
                 const Tap &tap, T *to) const;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_LAYERS_GATHER_H
