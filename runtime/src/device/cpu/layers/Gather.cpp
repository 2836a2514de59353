//===- Gather.cpp ---------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/layers/Gather.h"

#include <algorithm>
#include <cstring>

namespace espalier {

/// Rounded up, of any a and positive b.
static int64_t ceilDiv(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

namespace {
/// The points of a row that a tap takes from inside the image: [begin, end) of
/// `size` points from x on.
struct Inside {
  int64_t begin, end;

  Inside(int64_t x, int64_t size, int64_t step, int64_t offset, int64_t width) {
    int64_t first = ceilDiv(-offset, step) - x;
    int64_t last = ceilDiv(width - offset, step) - x;
    begin = std::min(std::max<int64_t>(first, 0), size);
    end = std::max(begin, std::min(last, size));
  }
};
} // namespace

template <typename Body>
void Gather::forEachRun(Extent points, Body body) const {
  int64_t n = points.begin / gridArea(), rest = points.begin % gridArea();
  int64_t y = rest / gridWidth, x = rest % gridWidth;
  for (int64_t at = 0; at < points.size;) {
    const int64_t size = std::min(gridWidth - x, points.size - at);
    body(Run{at, size, n, y, x});
    at += size;
    x = 0;
    if (++y == gridHeight) {
      y = 0;
      ++n;
    }
  }
}

template <typename T>
void Gather::gatherRun(const T *images, const Run &run, int64_t channel,
                       const Tap &tap, T *to) const {
  const int64_t row = run.y * stepY + tap.dy;
  if (row < 0 || row >= height) {
    std::fill_n(to, run.size, T(0));
    return;
  }
  const T *from = images + run.n * imageStride +
                  (channel * height + row) * width + tap.dx + run.x * stepX;
  const Inside inside(run.x, run.size, stepX, tap.dx, width);
  std::fill_n(to, inside.begin, T(0));
  if (stepX == 1)
    for (int64_t i = inside.begin; i < inside.end; ++i)
      to[i] = from[i];
  else
    for (int64_t i = inside.begin; i < inside.end; ++i)
      to[i] = from[i * stepX];
  std::fill_n(to + inside.end, run.size - inside.end, T(0));
}

template <typename T>
void Gather::packPoints(const T *images, Extent points, Extent depths,
                        int64_t panelWidth, T *panels) const {
  Run runs[TiledProduct<T>::kMaxColumns];
  int64_t runCount = 0;
  forEachRun(points, [&](const Run &run) { runs[runCount++] = run; });
  alignas(64) T line[TiledProduct<T>::kMaxColumns];
  const int64_t tapCount = (int64_t)taps.size();
  const int64_t panelCount = ceilDiv(points.size, panelWidth);
  std::fill_n(line + points.size, panelCount * panelWidth - points.size, T(0));
  for (int64_t d = 0; d < depths.size; ++d) {
    const int64_t channel = (depths.begin + d) / tapCount;
    const Tap &tap = taps[(depths.begin + d) % tapCount];
    for (int64_t r = 0; r < runCount; ++r)
      gatherRun(images, runs[r], channel, tap, line + runs[r].at);
    for (int64_t p = 0; p < panelCount; ++p)
      std::copy_n(line + p * panelWidth, panelWidth,
                  panels + (p * depths.size + d) * panelWidth);
  }
}

template <typename T>
void Gather::packTaps(const T *images, Extent across, Extent points,
                      int64_t panelWidth, T *panels) const {
  constexpr int64_t kMaxPoints = 256, kMaxWidth = 64;
  Run runs[kMaxPoints];
  T lines[kMaxWidth][kMaxPoints];
  const int64_t tapCount = (int64_t)taps.size();
  // Some points at a time, so that the lines stay in the cache.
  for (int64_t first = 0; first < points.size; first += kMaxPoints) {
    const int64_t size = std::min(kMaxPoints, points.size - first);
    int64_t runCount = 0;
    forEachRun({points.begin + first, size},
               [&](const Run &run) { runs[runCount++] = run; });
    for (int64_t c = 0; c < across.size; c += panelWidth) {
      const int64_t count = std::min(panelWidth, across.size - c);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t channel = (across.begin + c + i) / tapCount;
        const Tap &tap = taps[(across.begin + c + i) % tapCount];
        for (int64_t r = 0; r < runCount; ++r)
          gatherRun(images, runs[r], channel, tap, lines[i] + runs[r].at);
      }
      T *panel = panels + c * points.size + first * panelWidth;
      for (int64_t p = 0; p < size; ++p)
        for (int64_t i = 0; i < panelWidth; ++i)
          panel[p * panelWidth + i] = i < count ? lines[i][p] : T(0);
    }
  }
}

template void Gather::packPoints(const float *, Extent, Extent, int64_t,
                                 float *) const;
template void Gather::packPoints(const double *, Extent, Extent, int64_t,
                                 double *) const;
template void Gather::packTaps(const float *, Extent, Extent, int64_t,
                               float *) const;
template void Gather::packTaps(const double *, Extent, Extent, int64_t,
                               double *) const;

} // namespace espalier
