//===- TiledProduct.h - Matrix products that pack as they go ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product C = A B is cut into tiles of C, which threads may compute at the
// same time. For a tile, some of the rows of A and of the columns of B are
// packed at a time, into panels that stay in the cache, and their product is
// added to the tile; when it is complete it is stored.
//
// Where elements are and where sums go is the caller's business (`Operands`):
// the patches of an image are a matrix that is never in memory, or one that was
// packed before, for all tiles.
//
// A sum is over pieces of a fixed size, in order, and each piece in order, so
// that its bits depend neither on the tiles nor on the number of threads. A
// product that goes on from what is there (`Sizes::continues`) has the bits of
// one over all depths, if pieces end where it was cut.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_LAYERS_TILEDPRODUCT_H
#define ESPALIER_DEVICE_CPU_LAYERS_TILEDPRODUCT_H

#include <cstdint>

namespace espalier {

class ThreadPool;

/// [begin, begin + size) of rows, columns or depths.
struct Extent {
  int64_t begin;
  int64_t size;
};

template <typename T> class TiledProduct {
public:
  /// `batch` products of m x k and k x n matrices, added to what is there if
  /// it `continues`.
  struct Sizes {
    int64_t batch, m, n, k;
    bool continues = false;
  };

  /// Panels of B, `step` elements from one to the next.
  struct Panels {
    const T *data;
    int64_t step;
  };

  /// The matrices of a product.
  class Operands {
  public:
    virtual ~Operands() = default;
    /// Fills panels of `width` rows of A, or columns of B, the last one padded
    /// with zeros. A panel has for each depth its `width` elements, side by
    /// side.
    virtual void packA(int64_t batch, Extent rows, Extent depths, int64_t width,
                       T *panels) const = 0;
    virtual void packB(int64_t batch, Extent columns, Extent depths,
                       int64_t width, T *panels) const = 0;
    /// The panels of B: in `room`, packed there, or where they have been
    /// packed. `columns` begins at a multiple of `width`.
    virtual Panels panelsOfB(int64_t batch, Extent columns, Extent depths,
                             int64_t width, T *room) const {
      packB(batch, columns, depths, width, room);
      return {room, depths.size * width};
    }
    /// Fills a tile with what is there, of a product that continues.
    virtual void load(int64_t /*batch*/, Extent /*rows*/, Extent /*columns*/,
                      T * /*tile*/, int64_t /*stride*/) const {}
    /// Takes a complete tile; its rows are `stride` elements apart.
    virtual void store(int64_t batch, Extent rows, Extent columns,
                       const T *tile, int64_t stride) const = 0;
  };

  /// `scratch` has scratchBytes(threads of the pool), aligned to kAlignment.
  static void run(const Sizes &sizes, const Operands &operands, char *scratch,
                  ThreadPool *pool);

  static int64_t scratchBytes(unsigned threads);

  // What a panel of B has of depth (kDepth) stays in the first-level cache, a
  // tile and its panels in the second-level cache.

  /// Rows of a tile, at most: B is packed for each so many rows of A.
  static constexpr int64_t kMaxRows = 96;
  /// Columns of B that are packed at a time, at most.
  static constexpr int64_t kMaxColumns = 1024 / (int64_t)sizeof(T);
  /// The length of the pieces of a sum.
  static constexpr int64_t kDepth = 192;
  /// Columns of a panel of B on this processor; a divisor of kPanelMaxYBytes.
  static int64_t panelWidth();
};

extern template class TiledProduct<float>;
extern template class TiledProduct<double>;

/// A matrix in memory, for packA and packB: element (i, depth) of it, where i
/// is a row of A or a column of B, is at data[i * step + depth * depthStep].
template <typename T> struct StridedMatrix {
  const T *data;
  int64_t step;
  int64_t depthStep;

  void pack(Extent across, Extent depths, int64_t width, T *panels) const;
};

extern template struct StridedMatrix<float>;
extern template struct StridedMatrix<double>;

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_LAYERS_TILEDPRODUCT_H
