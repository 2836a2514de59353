//===- Convolution.cpp - Convolutions and their adjoints ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them are matrix products with a matrix of patches (Gather.h). A
// product is cut into tiles, and a tile packs the patches that it reads: where
// a result has many channels, and so many tiles above each other, each patch is
// gathered several times (DIRECT). With a workspace the patches of some points
// at a time are gathered once, and packed there for all tiles (PATCHES). Sums
// are the same in both, in the same order, so that their bits are.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/PanelKernels.h"
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "device/cpu/layers/ConvolutionShape.h"
#include "device/cpu/layers/Gather.h"
#include "memory/Arena.h"

#include <algorithm>
#include <utility>

namespace espalier {

namespace {

using Shape = ConvolutionShape;

/// Patches of the image, at the points of the result.
Gather patchesOf(const Shape &shape) {
  Gather gather{shape.height,
                shape.width,
                shape.imageChannels,
                shape.groups * shape.imageChannels * shape.imageArea(),
                shape.resultHeight,
                shape.resultWidth,
                shape.strides[0],
                shape.strides[1],
                {}};
  for (int64_t u = 0; u < shape.windowHeight; ++u)
    for (int64_t v = 0; v < shape.windowWidth; ++v)
      gather.taps.push_back({u * shape.windowWidth + v,
                             u * shape.dilations[0] - shape.padding[0],
                             v * shape.dilations[1] - shape.padding[1]});
  return gather;
}

/// What of the result meets the points (remainderY + y strides[0],
/// remainderX + x strides[1]) of the image.
Gather resultsAt(const Shape &shape, int64_t remainderY, int64_t remainderX) {
  auto points = [](int64_t extent, int64_t remainder, int64_t stride) {
    return extent > remainder ? (extent - remainder + stride - 1) / stride : 0;
  };
  Gather gather{shape.resultHeight,
                shape.resultWidth,
                shape.resultChannels,
                shape.groups * shape.resultChannels * shape.resultArea(),
                points(shape.height, remainderY, shape.strides[0]),
                points(shape.width, remainderX, shape.strides[1]),
                1,
                1,
                {}};
  for (int64_t u = 0; u < shape.windowHeight; ++u)
    for (int64_t v = 0; v < shape.windowWidth; ++v) {
      int64_t y = remainderY + shape.padding[0] - u * shape.dilations[0];
      int64_t x = remainderX + shape.padding[1] - v * shape.dilations[1];
      if (y % shape.strides[0] == 0 && x % shape.strides[1] == 0)
        gather.taps.push_back({u * shape.windowWidth + v, y / shape.strides[0],
                               x / shape.strides[1]});
    }
  return gather;
}

/// Of the patches of a point, `depth` elements, in a workspace.
template <typename T> int64_t pointBytes(int64_t depth) {
  return alignUp(depth * (int64_t)sizeof(T));
}

/// How many points' patches of `depth` elements the workspace of `layer` has
/// room for; 0: it has none.
template <typename T>
int64_t pointsOfWorkspace(const espalier_layer &layer, int64_t depth) {
  if (layer.algorithm != ESPALIER_ALGORITHM_PATCHES || depth == 0)
    return 0;
  return layer.workspace_bytes / pointBytes<T>(depth) /
         ESPALIER_PATCHES_POINTS * ESPALIER_PATCHES_POINTS;
}
static_assert(ESPALIER_PATCHES_CHANNELS == TiledProduct<float>::kMaxRows,
              "where patches are gathered several times");
static_assert(ESPALIER_PATCHES_POINTS % TiledProduct<float>::kDepth == 0 &&
                  ESPALIER_PATCHES_POINTS % TiledProduct<double>::kDepth == 0,
              "sums over points are cut where their pieces end");

//===----------------------------------------------------------------------===//
// Products of weights and patches
//===----------------------------------------------------------------------===//

/// B is the matrix of patches: a column for each point of all images, and
/// depths of (channel, tap).
template <typename T> class PatchColumns : public TiledProduct<T>::Operands {
public:
  /// What is read; `images` has `groupStride` elements for a group of an image.
  PatchColumns(const Gather &gather, const T *images, int64_t groupStride)
      : gather(gather), images(images), groupStride(groupStride) {}

  /// For `rows` rows of A of each group; `roomPoints` points at a time are
  /// packed in the workspace, or, if it is 0, all where they are read.
  void run(int64_t groups, int64_t rows, int64_t points, int64_t roomPoints,
           const LayerCall &call) {
    if (roomPoints == 0) {
      TiledProduct<T>::run({groups, rows, points, gather.depth()}, *this,
                           call.scratch, call.pool);
      return;
    }
    packed = reinterpret_cast<T *>(call.workspace);
    for (group = 0; group < groups; ++group)
      for (first = 0; first < points; first += roomPoints) {
        const int64_t size = std::min(roomPoints, points - first);
        pack(size, call.pool);
        TiledProduct<T>::run({1, rows, size, gather.depth()}, *this,
                             call.scratch, call.pool);
      }
  }

  void packB(int64_t batch, Extent columns, Extent depths, int64_t width,
             T *panels) const final {
    gather.packPoints(images + groupOf(batch) * groupStride, columns, depths,
                      width, panels);
  }
  typename TiledProduct<T>::Panels panelsOfB(int64_t batch, Extent columns,
                                             Extent depths, int64_t width,
                                             T *room) const final {
    // Not the base's function, with which GCC 12 drops the condition when it
    // compiles for ThreadSanitizer.
    if (!packed) {
      packB(batch, columns, depths, width, room);
      return {room, depths.size * width};
    }
    return {packed + columns.begin * gather.depth() + depths.begin * width,
            gather.depth() * width};
  }

protected:
  int64_t groupOf(int64_t batch) const { return group + batch; }
  /// The point of a column.
  int64_t pointOf(int64_t column) const { return first + column; }

  const Gather &gather;

private:
  /// All depths of `size` points.
  void pack(int64_t size, ThreadPool *pool) const {
    constexpr int64_t kPoints = 64;
    forEachIndex(
        pool, (size + kPoints - 1) / kPoints, [&](unsigned, int64_t part) {
          const int64_t begin = part * kPoints;
          gather.packPoints(images + group * groupStride,
                            {first + begin, std::min(kPoints, size - begin)},
                            {0, gather.depth()}, TiledProduct<T>::panelWidth(),
                            packed + begin * gather.depth());
        });
  }

  const T *images;
  int64_t groupStride;
  T *packed = nullptr;
  int64_t group = 0, first = 0;
};

template <typename T> class Convolution final : public LayerKernel {
public:
  Convolution(const LayerProblem &problem, unsigned threads)
      : shape(problem), gather(patchesOf(shape)),
        hasBias(problem.operands.size() == 4),
        roomPoints(pointsOfWorkspace<T>(problem.layer, gather.depth())),
        scratch(TiledProduct<T>::scratchBytes(threads)) {}

  int64_t scratchBytes() const override { return scratch; }

  void run(const LayerCall &call) const override {
    Product(*this, call)
        .run(shape.groups, shape.resultChannels,
             shape.images * shape.resultArea(), roomPoints, call);
  }

private:
  /// weight (result channels x taps) * patches (taps x points).
  class Product final : public PatchColumns<T> {
  public:
    Product(const Convolution &of, const LayerCall &call)
        : PatchColumns<T>(of.gather, operandOf<T>(call, 0),
                          of.shape.imageChannels * of.shape.imageArea()),
          shape(of.shape), weight(operandOf<T>(call, 1)),
          bias(of.hasBias ? operandOf<T>(call, 2) : nullptr),
          out(operandOf<T>(call, of.hasBias ? 3 : 2)) {}

    void packA(int64_t batch, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      const int64_t taps = shape.taps();
      StridedMatrix<T>{
          weight + this->groupOf(batch) * shape.resultChannels * taps, taps, 1}
          .pack(rows, depths, width, panels);
    }
    void store(int64_t batch, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      const int64_t area = shape.resultArea();
      const int64_t channels = shape.groups * shape.resultChannels;
      for (int64_t r = 0; r < rows.size; ++r) {
        const int64_t channel =
            this->groupOf(batch) * shape.resultChannels + rows.begin + r;
        const T more = bias ? bias[channel] : T(0);
        // Columns of one image lie one after another.
        for (int64_t c = 0; c < columns.size;) {
          const int64_t at = this->pointOf(columns.begin + c);
          const int64_t n = at / area, point = at % area;
          const int64_t count = std::min(area - point, columns.size - c);
          const T *from = tile + r * stride + c;
          T *to = out + (n * channels + channel) * area + point;
          for (int64_t i = 0; i < count; ++i)
            to[i] = from[i] + more;
          c += count;
        }
      }
    }

  private:
    const Shape &shape;
    const T *weight, *bias;
    T *out;
  };

  Shape shape;
  Gather gather;
  bool hasBias;
  int64_t roomPoints;
  int64_t scratch;
};

template <typename T> class ConvolutionTranspose final : public LayerKernel {
public:
  ConvolutionTranspose(const LayerProblem &problem, unsigned threads)
      : shape(problem), scratch(TiledProduct<T>::scratchBytes(threads)) {
    for (int64_t y = 0; y < shape.strides[0] && y < shape.height; ++y)
      for (int64_t x = 0; x < shape.strides[1] && x < shape.width; ++x) {
        Gather gather = resultsAt(shape, y, x);
        int64_t room = pointsOfWorkspace<T>(problem.layer, gather.depth());
        phases.push_back({y, x, std::move(gather), room});
      }
  }

  int64_t scratchBytes() const override { return scratch; }

  void run(const LayerCall &call) const override {
    for (const Phase &phase : phases)
      Product(*this, phase, call)
          .run(shape.groups, shape.imageChannels,
               shape.images * phase.gather.gridArea(), phase.roomPoints, call);
  }

private:
  /// Points with the same remainders by the strides.
  struct Phase {
    int64_t y, x;
    Gather gather;
    int64_t roomPoints;
  };

  /// For the points of a phase: weight^T (image channels x results) * results
  /// that meet them.
  class Product final : public PatchColumns<T> {
  public:
    Product(const ConvolutionTranspose &of, const Phase &phase,
            const LayerCall &call)
        : PatchColumns<T>(phase.gather, operandOf<T>(call, 0),
                          of.shape.resultChannels * of.shape.resultArea()),
          shape(of.shape), phase(phase), weight(operandOf<T>(call, 1)),
          out(operandOf<T>(call, 2)) {}

    void packA(int64_t batch, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      const T *from =
          weight + this->groupOf(batch) * shape.resultChannels * shape.taps();
      const auto &taps = phase.gather.taps;
      for (int64_t r = 0; r < rows.size; r += width) {
        const int64_t count = std::min(width, rows.size - r);
        for (int64_t d = 0; d < depths.size; ++d, panels += width) {
          const int64_t depth = depths.begin + d;
          const T *line = from + depth / (int64_t)taps.size() * shape.taps() +
                          (rows.begin + r) * shape.window() +
                          taps[depth % (int64_t)taps.size()].index;
          for (int64_t i = 0; i < width; ++i)
            panels[i] = i < count ? line[i * shape.window()] : T(0);
        }
      }
    }
    void store(int64_t batch, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      const Gather &gather = phase.gather;
      const int64_t channels = shape.groups * shape.imageChannels;
      for (int64_t r = 0; r < rows.size; ++r) {
        const int64_t channel =
            this->groupOf(batch) * shape.imageChannels + rows.begin + r;
        const T *from = tile + r * stride;
        for (int64_t c = 0; c < columns.size;) {
          const int64_t at = this->pointOf(columns.begin + c);
          const int64_t n = at / gather.gridArea();
          const int64_t point = at % gather.gridArea();
          const int64_t y = point / gather.gridWidth;
          const int64_t x = point % gather.gridWidth;
          const int64_t count =
              std::min(gather.gridWidth - x, columns.size - c);
          T *to = out + (n * channels + channel) * shape.imageArea() +
                  (phase.y + y * shape.strides[0]) * shape.width + phase.x +
                  x * shape.strides[1];
          for (int64_t i = 0; i < count; ++i)
            to[i * shape.strides[1]] = from[c + i];
          c += count;
        }
      }
    }

  private:
    const Shape &shape;
    const Phase &phase;
    const T *weight;
    T *out;
  };

  Shape shape;
  std::vector<Phase> phases;
  int64_t scratch;
};

//===----------------------------------------------------------------------===//
// The adjoint of the weight
//===----------------------------------------------------------------------===//

template <typename T>
class ConvolutionWeightAdjoint final : public LayerKernel {
public:
  ConvolutionWeightAdjoint(const LayerProblem &problem, unsigned threads)
      : shape(problem), gather(patchesOf(shape)),
        accumulates(problem.layer.flags & ESPALIER_LAYER_ACCUMULATE),
        roomPoints(pointsOfWorkspace<T>(problem.layer, gather.depth())),
        scratch(TiledProduct<T>::scratchBytes(threads)) {}

  int64_t scratchBytes() const override { return scratch; }

  void run(const LayerCall &call) const override {
    Product product(*this, call);
    const int64_t points = shape.images * shape.resultArea();
    if (roomPoints == 0 || points == 0) {
      TiledProduct<T>::run({shape.groups, shape.resultChannels, shape.taps(),
                            points, accumulates},
                           product, call.scratch, call.pool);
      return;
    }
    for (int64_t group = 0; group < shape.groups; ++group)
      for (int64_t first = 0; first < points; first += roomPoints) {
        const int64_t size = std::min(roomPoints, points - first);
        product.pack(group, first, size, call);
        TiledProduct<T>::run({1, shape.resultChannels, shape.taps(), size,
                              accumulates || first > 0},
                             product, call.scratch, call.pool);
      }
  }

private:
  /// d (result channels x points) * patches^T (points x taps).
  class Product final : public TiledProduct<T>::Operands {
  public:
    Product(const ConvolutionWeightAdjoint &of, const LayerCall &call)
        : of(of), images(operandOf<T>(call, 0)), d(operandOf<T>(call, 1)),
          out(operandOf<T>(call, 2)) {}

    /// The patches of some points of a group, for products over these.
    void pack(int64_t group, int64_t first, int64_t size,
              const LayerCall &call) {
      this->group = group;
      this->first = first;
      this->size = size;
      packed = reinterpret_cast<T *>(call.workspace);
      const int64_t taps = of.shape.taps();
      constexpr int64_t kTaps = kPanelMaxYBytes / (int64_t)sizeof(T);
      forEachIndex(
          call.pool, (taps + kTaps - 1) / kTaps, [&](unsigned, int64_t part) {
            const int64_t begin = part * kTaps;
            of.gather.packTaps(imagesOf(group),
                               {begin, std::min(kTaps, taps - begin)},
                               {first, size}, TiledProduct<T>::panelWidth(),
                               packed + begin * size);
          });
    }

    /// Points are those of all images, but their channels lie between them.
    void packA(int64_t batch, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      const Shape &shape = of.shape;
      const int64_t area = shape.resultArea();
      for (int64_t r = 0; r < rows.size; r += width) {
        const Extent panelRows{rows.begin + r, std::min(width, rows.size - r)};
        for (int64_t d = 0; d < depths.size;) {
          const int64_t at = first + depths.begin + d;
          const int64_t n = at / area, point = at % area;
          const int64_t count = std::min(area - point, depths.size - d);
          const T *from = this->d + (n * shape.groups + group + batch) *
                                        shape.resultChannels * area;
          StridedMatrix<T>{from, area, 1}.pack(panelRows, {point, count}, width,
                                               panels + d * width);
          d += count;
        }
        panels += depths.size * width;
      }
    }
    void packB(int64_t batch, Extent columns, Extent depths, int64_t width,
               T *panels) const override {
      of.gather.packTaps(imagesOf(batch), columns, depths, width, panels);
    }
    typename TiledProduct<T>::Panels panelsOfB(int64_t batch, Extent columns,
                                               Extent depths, int64_t width,
                                               T *room) const override {
      // Not the base's function here either.
      if (!packed) {
        packB(batch, columns, depths, width, room);
        return {room, depths.size * width};
      }
      return {packed + columns.begin * size + depths.begin * width,
              size * width};
    }
    void load(int64_t batch, Extent rows, Extent columns, T *tile,
              int64_t stride) const override {
      for (int64_t r = 0; r < rows.size; ++r)
        std::copy_n(placeOf(batch, rows.begin + r) + columns.begin,
                    columns.size, tile + r * stride);
    }
    void store(int64_t batch, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      for (int64_t r = 0; r < rows.size; ++r)
        std::copy_n(tile + r * stride, columns.size,
                    placeOf(batch, rows.begin + r) + columns.begin);
    }

  private:
    const T *imagesOf(int64_t g) const {
      return images + g * of.shape.imageChannels * of.shape.imageArea();
    }
    T *placeOf(int64_t batch, int64_t row) const {
      return out + ((group + batch) * of.shape.resultChannels + row) *
                       of.shape.taps();
    }

    const ConvolutionWeightAdjoint &of;
    const T *images, *d;
    T *out;
    T *packed = nullptr;
    int64_t group = 0, first = 0, size = 0;
  };

  Shape shape;
  Gather gather;
  bool accumulates;
  int64_t roomPoints;
  int64_t scratch;
};

} // namespace

LayerKernelPointer makeConvolution(const LayerProblem &problem,
                                   unsigned threads) {
  switch (problem.layer.kind) {
  case ESPALIER_LAYER_CONV2D:
    return makeByDtype<Convolution>(problem, threads);
  case ESPALIER_LAYER_CONV2D_TRANSPOSE:
    return makeByDtype<ConvolutionTranspose>(problem, threads);
  case ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT:
    return makeByDtype<ConvolutionWeightAdjoint>(problem, threads);
  default:
    return nullptr;
  }
}

int64_t layerWorkspaceBytes(const LayerProblem &problem, int64_t points) {
  if (problem.layer.algorithm != ESPALIER_ALGORITHM_PATCHES)
    return 0;
  ConvolutionShape shape(problem);
  const int64_t channels = problem.layer.kind == ESPALIER_LAYER_CONV2D_TRANSPOSE
                               ? shape.resultChannels
                               : shape.imageChannels;
  const int64_t depth = channels * shape.window();
  const int64_t room = (points + ESPALIER_PATCHES_POINTS - 1) /
                       ESPALIER_PATCHES_POINTS * ESPALIER_PATCHES_POINTS;
  return room * (problem.operands[0].dtype == ESPALIER_F64
                     ? pointBytes<double>(depth)
                     : pointBytes<float>(depth));
}

} // namespace espalier
