//===- SegmentRecompute.h - SuperNeurons' recomputation ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recomputation by rules, as in section 3.4 of the SuperNeurons paper: what
// checkpoints make is kept, what lies between them, a segment, is let go of
// after the forward pass and computed again in the backward one.
//
//   speed-centric   a segment once, when the first of it is needed; all of it
//                   is kept until its last use
//   memory-centric  for every backward operator what it reads, from the
//                   checkpoint on; nothing else is kept
//   cost-aware      speed-centric where the segment's values and as many
//                   gradients are no more than the largest operator needs,
//                   memory-centric elsewhere
//   measured        the same, but by what is live in the segment's stages; a
//                   gradient is gone by the time that the last is made
//
// A segment is a chain. An operator that reads several results of the forward
// pass, or whose result several of its operators read, ends one: what it makes
// is kept, as a checkpoint's is, because running it again would take other
// segments with it. The segment in which the forward pass ends is kept, too.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_SEGMENTRECOMPUTE_H
#define ESPALIER_PLANNING_SEGMENTRECOMPUTE_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Recompute.h"

#include <cstdint>
#include <vector>

namespace espalier::planning {

enum class SegmentPolicy : uint8_t {
  speedCentric,
  memoryCentric,
  costAware,
  measured,
};

struct SegmentRecomputation {
  /// `peakBytes` and `peakRun` are those without offloading.
  Recomputation runs;
  /// The most that is live at a run if what the forward pass keeps is elsewhere
  /// whenever no run reads or makes it: the paper's accounting, in which
  /// checkpoints are offloaded.
  int64_t offloadedPeakBytes = 0;
  /// The most that one operator reads, makes and works with.
  int64_t largestOperatorBytes = 0;
  /// By operator: the number of its segment; -1: what it makes is kept.
  std::vector<int32_t> segmentOf;
  /// By segment: whether each use computes it again.
  std::vector<bool> memoryCentric;
};

/// Of a graph whose operators say which pass they are in and which are
/// checkpoints. It has passed checkGraph().
SegmentRecomputation recomputeSegments(const Graph &graph, SegmentPolicy policy,
                                       const RecomputeOptions &options = {});

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_SEGMENTRECOMPUTE_H
