//===- Convolution.cpp - Convolutions and their adjoints ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of them are matrix products with a matrix of patches (Gather.h): of a
// whole batch at a time where patches are packed straight from the images
// (DIRECT), of an image and a group at a time where they are copied to the
// workspace first (PATCHES).
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Builtin.h"
#include "device/cpu/layers/ConvolutionShape.h"
#include "device/cpu/layers/Gather.h"

#include <algorithm>

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

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

template <typename T> class Convolution final : public LayerKernel {
public:
  Convolution(const LayerProblem &problem, unsigned threads)
      : shape(problem), gather(patchesOf(shape)),
        hasBias(problem.operands.size() == 4),
        copies(problem.layer.algorithm == ESPALIER_ALGORITHM_PATCHES),
        scratch(TiledProduct<T>::scratchBytes(threads)) {}

  int64_t scratchBytes() const override { return scratch; }

  void run(const LayerCall &call) const override {
    Product product(*this, call);
    if (!copies) {
      TiledProduct<T>::run({shape.groups, shape.resultChannels,
                            shape.images * shape.resultArea(), shape.taps()},
                           product, call.scratch, call.pool);
      return;
    }
    product.patches = reinterpret_cast<T *>(call.workspace);
    for (product.image = 0; product.image < shape.images; ++product.image)
      for (product.group = 0; product.group < shape.groups; ++product.group) {
        const T *image = product.imagesOf(product.group) +
                         product.image * gather.imageStride;
        forEachIndex(call.pool, shape.taps(), [&](unsigned, int64_t d) {
          gather.copyRow(image, d, product.patches + d * shape.resultArea());
        });
        TiledProduct<T>::run(
            {1, shape.resultChannels, shape.resultArea(), shape.taps()},
            product, call.scratch, call.pool);
      }
  }

private:
  /// weight (result channels x taps) * patches (taps x points).
  struct Product final : TiledProduct<T>::Operands {
    const Convolution &of;
    const T *images, *weight, *bias;
    T *out;
    /// The copied patches of one group of one image; null if it is a product
    /// for all.
    T *patches = nullptr;
    int64_t image = 0, group = 0;

    Product(const Convolution &of, const LayerCall &call)
        : of(of), images(operandOf<T>(call, 0)), weight(operandOf<T>(call, 1)),
          bias(of.hasBias ? operandOf<T>(call, 2) : nullptr),
          out(operandOf<T>(call, of.hasBias ? 3 : 2)) {}

    const T *imagesOf(int64_t g) const {
      return images + g * of.shape.imageChannels * of.shape.imageArea();
    }
    void packA(int64_t batch, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      const int64_t taps = of.shape.taps();
      StridedMatrix<T>{
          weight + (group + batch) * of.shape.resultChannels * taps, taps, 1}
          .pack(rows, depths, width, panels);
    }
    void packB(int64_t batch, Extent columns, Extent depths, int64_t width,
               T *panels) const override {
      if (patches)
        StridedMatrix<T>{patches, 1, of.shape.resultArea()}.pack(
            columns, depths, width, panels);
      else
        of.gather.packPoints(imagesOf(batch), columns, depths, width, panels);
    }
    void store(int64_t batch, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      const Shape &shape = of.shape;
      const int64_t area = shape.resultArea();
      const int64_t channels = shape.groups * shape.resultChannels;
      for (int64_t r = 0; r < rows.size; ++r) {
        const int64_t channel =
            (group + batch) * shape.resultChannels + rows.begin + r;
        const T more = bias ? bias[channel] : T(0);
        // Columns of one image lie one after another.
        for (int64_t c = 0; c < columns.size;) {
          const int64_t n = image + (columns.begin + c) / area;
          const int64_t point = (columns.begin + c) % area;
          const int64_t count = std::min(area - point, columns.size - c);
          const T *from = tile + r * stride + c;
          T *to = out + (n * channels + channel) * area + point;
          for (int64_t i = 0; i < count; ++i)
            to[i] = from[i] + more;
          c += count;
        }
      }
    }
  };

  Shape shape;
  Gather gather;
  bool hasBias, copies;
  int64_t scratch;
};

//===----------------------------------------------------------------------===//
// The adjoint of the input
//===----------------------------------------------------------------------===//

template <typename T> class ConvolutionTranspose final : public LayerKernel {
public:
  ConvolutionTranspose(const LayerProblem &problem, unsigned threads)
      : shape(problem), patches(patchesOf(shape)),
        copies(problem.layer.algorithm == ESPALIER_ALGORITHM_PATCHES),
        scratch(TiledProduct<T>::scratchBytes(threads)) {
    for (int64_t y = 0; y < shape.strides[0] && y < shape.height; ++y)
      for (int64_t x = 0; x < shape.strides[1] && x < shape.width; ++x)
        phases.push_back({y, x, resultsAt(shape, y, x)});
  }

  int64_t scratchBytes() const override { return scratch; }

  void run(const LayerCall &call) const override {
    if (copies)
      return runByPatches(call);
    for (const Phase &phase : phases)
      TiledProduct<T>::run(
          {shape.groups, shape.imageChannels,
           shape.images * phase.gather.gridArea(), phase.gather.depth()},
          PhaseProduct(*this, phase, call), call.scratch, call.pool);
  }

private:
  /// Points with the same remainders by the strides.
  struct Phase {
    int64_t y, x;
    Gather gather;
  };

  /// For the points of a phase: weight^T (image channels x results) * results
  /// that meet them.
  struct PhaseProduct final : TiledProduct<T>::Operands {
    const Shape &shape;
    const Phase &phase;
    const T *d, *weight;
    T *out;

    PhaseProduct(const ConvolutionTranspose &of, const Phase &phase,
                 const LayerCall &call)
        : shape(of.shape), phase(phase), d(operandOf<T>(call, 0)),
          weight(operandOf<T>(call, 1)), out(operandOf<T>(call, 2)) {}

    void packA(int64_t batch, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      const T *from = weight + batch * shape.resultChannels * shape.taps();
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
    void packB(int64_t batch, Extent columns, Extent depths, int64_t width,
               T *panels) const override {
      phase.gather.packPoints(d + batch * shape.resultChannels *
                                      shape.resultArea(),
                              columns, depths, width, panels);
    }
    void store(int64_t batch, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      const Gather &gather = phase.gather;
      const int64_t channels = shape.groups * shape.imageChannels;
      for (int64_t r = 0; r < rows.size; ++r) {
        const int64_t channel = batch * shape.imageChannels + rows.begin + r;
        const T *from = tile + r * stride;
        for (int64_t c = 0; c < columns.size;) {
          const int64_t n = (columns.begin + c) / gather.gridArea();
          const int64_t point = (columns.begin + c) % gather.gridArea();
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
  };

  /// For one group of one image: weight^T (taps x result channels) * d (result
  /// channels x points), which are the adjoints of its patches.
  struct PatchesProduct final : TiledProduct<T>::Operands {
    const Shape &shape;
    const T *weight, *d;
    T *patches;

    PatchesProduct(const Shape &shape, const T *weight, const T *d, T *patches)
        : shape(shape), weight(weight), d(d), patches(patches) {}

    void packA(int64_t, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      StridedMatrix<T>{weight, 1, shape.taps()}.pack(rows, depths, width,
                                                     panels);
    }
    void packB(int64_t, Extent columns, Extent depths, int64_t width,
               T *panels) const override {
      StridedMatrix<T>{d, 1, shape.resultArea()}.pack(columns, depths, width,
                                                      panels);
    }
    void store(int64_t, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      for (int64_t r = 0; r < rows.size; ++r)
        std::copy_n(tile + r * stride, columns.size,
                    patches + (rows.begin + r) * shape.resultArea() +
                        columns.begin);
    }
  };

  void runByPatches(const LayerCall &call) const {
    const T *d = operandOf<T>(call, 0), *weight = operandOf<T>(call, 1);
    T *out = operandOf<T>(call, 2);
    T *copied = reinterpret_cast<T *>(call.workspace);
    const int64_t window = shape.window();
    for (int64_t n = 0; n < shape.images; ++n)
      for (int64_t g = 0; g < shape.groups; ++g) {
        const int64_t group = n * shape.groups + g;
        TiledProduct<T>::run(
            {1, shape.taps(), shape.resultArea(), shape.resultChannels},
            PatchesProduct(
                shape, weight + g * shape.resultChannels * shape.taps(),
                d + group * shape.resultChannels * shape.resultArea(), copied),
            call.scratch, call.pool);
        T *image = out + group * shape.imageChannels * shape.imageArea();
        forEachIndex(call.pool, shape.imageChannels, [&](unsigned, int64_t c) {
          std::fill_n(image + c * shape.imageArea(), shape.imageArea(), T(0));
          for (int64_t w = c * window; w < (c + 1) * window; ++w)
            patches.addRow(copied + w * shape.resultArea(), w, image);
        });
      }
  }

  Shape shape;
  Gather patches;
  std::vector<Phase> phases;
  bool copies;
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
        copies(problem.layer.algorithm == ESPALIER_ALGORITHM_PATCHES),
        accumulates(problem.layer.flags & ESPALIER_LAYER_ACCUMULATE),
        scratch(TiledProduct<T>::scratchBytes(threads)) {}

  int64_t scratchBytes() const override { return scratch; }

  void run(const LayerCall &call) const override {
    Product product(*this, call);
    if (!copies || shape.images == 0) {
      TiledProduct<T>::run({shape.groups, shape.resultChannels, shape.taps(),
                            shape.images * shape.resultArea()},
                           product, call.scratch, call.pool);
      return;
    }
    product.patches = reinterpret_cast<T *>(call.workspace);
    for (product.image = 0; product.image < shape.images; ++product.image) {
      for (product.group = 0; product.group < shape.groups; ++product.group) {
        const T *image = product.imagesOf(product.group) +
                         product.image * gather.imageStride;
        forEachIndex(call.pool, shape.taps(), [&](unsigned, int64_t d) {
          gather.copyRow(image, d, product.patches + d * shape.resultArea());
        });
        TiledProduct<T>::run(
            {1, shape.resultChannels, shape.taps(), shape.resultArea()},
            product, call.scratch, call.pool);
      }
      product.accumulates = true;
    }
  }

private:
  /// d (result channels x points) * patches^T (points x taps).
  struct Product final : TiledProduct<T>::Operands {
    const ConvolutionWeightAdjoint &of;
    const T *images, *d;
    T *out;
    T *patches = nullptr;
    int64_t image = 0, group = 0;
    bool accumulates;

    Product(const ConvolutionWeightAdjoint &of, const LayerCall &call)
        : of(of), images(operandOf<T>(call, 0)), d(operandOf<T>(call, 1)),
          out(operandOf<T>(call, 2)), accumulates(of.accumulates) {}

    const T *imagesOf(int64_t g) const {
      return images + g * of.shape.imageChannels * of.shape.imageArea();
    }
    /// Points are those of all images, but their channels lie between them.
    void packA(int64_t batch, Extent rows, Extent depths, int64_t width,
               T *panels) const override {
      const Shape &shape = of.shape;
      const int64_t area = shape.resultArea();
      for (int64_t r = 0; r < rows.size; r += width) {
        const Extent panelRows{rows.begin + r, std::min(width, rows.size - r)};
        for (int64_t d = 0; d < depths.size;) {
          const int64_t n = image + (depths.begin + d) / area;
          const int64_t point = (depths.begin + d) % area;
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
      if (patches)
        StridedMatrix<T>{patches, of.shape.resultArea(), 1}.pack(
            columns, depths, width, panels);
      else
        of.gather.packTaps(imagesOf(batch), columns, depths, width, panels);
    }
    void store(int64_t batch, Extent rows, Extent columns, const T *tile,
               int64_t stride) const override {
      for (int64_t r = 0; r < rows.size; ++r) {
        T *to = out +
                ((group + batch) * of.shape.resultChannels + rows.begin + r) *
                    of.shape.taps() +
                columns.begin;
        const T *from = tile + r * stride;
        if (accumulates)
          for (int64_t i = 0; i < columns.size; ++i)
            to[i] += from[i];
        else
          std::copy_n(from, columns.size, to);
      }
    }
  };

  Shape shape;
  Gather gather;
  bool copies, accumulates;
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

int64_t layerWorkspaceBytes(const LayerProblem &problem) {
  if (problem.layer.algorithm != ESPALIER_ALGORITHM_PATCHES)
    return 0;
  ConvolutionShape shape(problem);
  int64_t elementBytes = problem.operands[0].dtype == ESPALIER_F64 ? 8 : 4;
  return shape.taps() * shape.resultArea() * elementBytes;
}

} // namespace espalier
