//===- SplitOperators.h - Layers a part of the batch at a time --*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No plan is below what one operator reads and writes, max(l_i) of
// SuperNeurons. Where that exceeds the budget, operators that compute the
// samples of a batch apart from each other are split into several, each of
// which does some of the samples, and the tensors between them into as many
// pieces. Gradients of weights are summed up over the pieces, in place. What
// needs the whole batch (the statistics of batch normalisation) reads all
// pieces.
//
//   conv: x, W -> y        conv[0/2]: x[0/2], W -> y[0/2]
//   relu: y -> z           relu[0/2]: y[0/2] -> z[0/2]
//                          conv[1/2]: x[1/2], W -> y[1/2]
//                          relu[1/2]: y[1/2] -> z[1/2]
//
// The samples of a run of split operators go through it one piece after the
// other, so that what is between them is there for one piece at a time.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_SPLITOPERATORS_H
#define ESPALIER_PLANNING_SPLITOPERATORS_H

#include "espalier/Planning/Graph.h"

#include <cstdint>
#include <vector>

namespace espalier::planning {

/// A part of something of the graph that was split: piece `part` of `parts`.
struct Piece {
  /// The tensor or operator; of an operator that was not split, itself.
  int32_t of = -1;
  int32_t part = 0;
  int32_t parts = 1;
  /// Of a batch of so many rows, which of them it has.
  int64_t firstRow(int64_t batch) const { return batch * part / parts; }
  int64_t rows(int64_t batch) const {
    return batch * (part + 1) / parts - firstRow(batch);
  }
};

struct SplitGraph {
  Graph graph;
  /// By tensor and operator of `graph`. An operator whose output is a sum reads
  /// the sum so far as its last inputs, but for the first piece.
  std::vector<Piece> tensors;
  std::vector<Piece> operators;
  int32_t parts = 1;
};

/// Splits the operators that need more than `limit` bytes at a time, and those
/// which make or read the same batches, into `parts`. As it was, if there are
/// none.
SplitGraph splitOperators(const Graph &graph, int64_t limit, int32_t parts);

/// The rows of the largest batch, and so the most parts; 1 if there is none.
int64_t largestBatch(const Graph &graph);

/// The most that one operator needs: what it reads and makes, and the least
/// workspace.
int64_t largestOperator(const Graph &graph);

/// Into as few parts as bring every operator below `limit`, or as close to it
/// as powers of two up to the batch do.
SplitGraph splitToFit(const Graph &graph, int64_t limit);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_SPLITOPERATORS_H
