//===- Liveness.h - How long tensors are needed -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SuperNeurons (section 3.2.1) gives each layer the sets of tensors that are
// live before and after it. Here a tensor has an interval of steps instead,
// from which both sets, and the bytes at each step, follow: the work grows with
// the number of uses, not with steps times tensors.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_LIVENESS_H
#define ESPALIER_PLANNING_LIVENESS_H

#include "espalier/Planning/Graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::planning {

struct LivenessOptions {
  /// Whether outputs may take over the memory of inputs that die there.
  bool inPlace = true;
  /// What sizes are rounded up to.
  int64_t alignment = 1;
};

/// Of tensors that stay on the device while an order of operators runs. Step s
/// runs operator order[s].
struct Liveness {
  /// By tensor: the steps at which it is needed, both included. Parameters and
  /// inputs: all; outputs: up to the last.
  std::vector<int32_t> first;
  std::vector<int32_t> last;
  /// By tensor: the tensor in whose memory it lies: of a view, what it is a
  /// view of; of an output in place, the input whose memory it took over, or
  /// the parameter that it updates; else itself.
  std::vector<TensorId> home;
  /// By tensor that is its own home: its bytes, rounded up, and the steps in
  /// which some tensor is in its memory.
  std::vector<int64_t> homeBytes;
  std::vector<int32_t> homeFirst;
  std::vector<int32_t> homeLast;

  /// By step: the bytes of all homes that are needed then, and the workspace of
  /// the algorithm that needs the least.
  std::vector<int64_t> liveBytes;
  /// Without reuse but in place: a memory for each home.
  int64_t baselineBytes = 0;
  int64_t peakBytes = 0;
  int32_t peakStep = 0;

  /// The tensors (no views) that are there before and after a step.
  std::vector<TensorId> inSet(const Graph &graph, int32_t step) const;
  std::vector<TensorId> outSet(const Graph &graph, int32_t step) const;
  /// The homes that are needed at a step, largest first, `count` at most.
  std::vector<TensorId> largestAt(int32_t step, size_t count) const;
};

/// Of the algorithm that needs the least.
int64_t leastWorkspace(const Operator &op);

Liveness analyzeLiveness(const Graph &graph,
                         const std::vector<OperatorId> &order,
                         const LivenessOptions &options = {});

/// The operators as they are listed.
std::vector<OperatorId> givenOrder(const Graph &graph);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_LIVENESS_H
