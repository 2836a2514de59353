//===- Readouts.cpp - Between rows of vertices and of structures ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

/// Zeros in as many rows, each like those of `rows`.
static Array zerosLike(const Array &rows, int64_t count) {
  std::vector<int64_t> shape = rows.shape;
  shape[0] = count;
  return Array::zeros(shape);
}

FailureOr<ArrayPtr> reference::readStructures(Operation *op, const Array &rows,
                                              const Structures &structures) {
  bool spreads = isa<vertex::SpreadStructuresOp, vertex::AtRootsOp>(op);
  bool ofRoots = isa<vertex::RootsOp, vertex::AtRootsOp>(op);
  int64_t vertices = structures.vertices(), count = structures.count();
  int64_t expected = spreads ? count : vertices;
  if (rows.shape[0] != expected)
    return op->emitOpError("expects a row for each of ")
           << expected << (spreads ? " structures" : " vertices")
           << ", but got " << rows.shape[0] << " rows";
  Array result = zerosLike(rows, spreads ? vertices : count);
  int64_t elements = 1;
  for (int64_t extent : ArrayRef(rows.shape).drop_front())
    elements *= extent;
  // Where there is no vertex there is no id, and no label.
  bool ids = isa<vertex::RootsOp>(op) &&
             getElementTypeOrSelf(op->getResult(0)).isInteger();
  for (int64_t k = 0; k != count; ++k) {
    int64_t first = structures.offsets[k], end = structures.offsets[k + 1];
    if (ids && first == end)
      std::fill_n(result.data.begin() + k * elements, elements, -1);
    // The root is the last vertex, if there is one.
    int64_t begin = ofRoots ? std::max(first, end - 1) : first;
    for (int64_t v = begin; v != end; ++v)
      for (int64_t i = 0; i != elements; ++i) {
        if (spreads) {
          result.data[v * elements + i] = rows.data[k * elements + i];
          continue;
        }
        double x = rows.data[v * elements + i];
        double &reduced = result.data[k * elements + i];
        if (isa<vertex::SegmentMaxOp>(op))
          reduced = v == first || x > reduced || std::isnan(x) ? x : reduced;
        else
          reduced += x;
      }
  }
  return ArrayPtr(std::make_shared<Array>(std::move(result)));
}
