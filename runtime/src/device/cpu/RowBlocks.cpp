//===- RowBlocks.cpp ------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/RowBlocks.h"

#include "device/cpu/OuterSum.h"
#include "device/cpu/Reductions.h"
#include "schedule/BatchGraph.h"

namespace espalier {

int64_t RowBlocks::firstRow(int64_t block) const {
  if (isEven)
    return count ? begin + (end - begin) * block / count : end;
  if (!edgeOffsets) {
    int64_t rows = blockRows ? blockRows : (end - begin + count - 1) / count;
    return std::min(end, begin + block * rows);
  }
  int64_t target = weightBefore(end) * block / count;
  int64_t low = begin, high = end;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    (weightBefore(middle) < target ? low = middle + 1 : high = middle);
  }
  return low;
}

RowBlocks cutRows(const Program::Phase &phase, const BatchGraph &graph,
                  const ExecutorOptions &options, int64_t begin, int64_t end) {
  RowBlocks blocks;
  blocks.begin = begin;
  blocks.end = end;
  int64_t rowWeight = 1, cost = (end - begin) * phase.costPerRow;
  if (phase.hasEdgeSteps && !options.serial) {
    blocks.edgeOffsets = graph.edges.offsets();
    rowWeight = RowBlocks::kRowWeight;
    cost += (blocks.edgeOffsets[end] - blocks.edgeOffsets[begin]) *
            phase.costPerEdge;
  }
  int64_t weight = blocks.weightBefore(end);
  int64_t limit = (options.serial ? 1 : kBlockRows) * rowWeight;
  int64_t least = kMinBlockRows * rowWeight;
  blocks.isShared = options.threads > 1 && options.subBatches &&
                    weight > least && cost >= kMinParallelCost;
  if (blocks.isShared) {
    int64_t share = (weight + options.threads - 1) / options.threads;
    limit = std::min(limit, std::max(share, least));
  }
  blocks.count = (weight + limit - 1) / limit;
  return blocks;
}

RowBlocks cutReduction(const Program::Step &step, int64_t begin, int64_t end) {
  RowBlocks blocks;
  blocks.begin = begin;
  blocks.end = end;
  if (step.kind == ESPALIER_STEP_OUTER_SUM) {
    blocks.count = OuterSum::pieces(end - begin);
    blocks.isEven = true;
    return blocks;
  }
  blocks.blockRows =
      step.kind == ESPALIER_STEP_SUM_ROWS ? SumRows::kBlockRows : 1;
  blocks.count = (end - begin + blocks.blockRows - 1) / blocks.blockRows;
  return blocks;
}

} // namespace espalier
