//===- Plan.h - What is done when, and where it lies ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is a list of steps over buffers. A step runs an operator, for the
// first time or again, or starts a copy between the device and the host. A
// buffer is a tensor's stay on the device: a range of the arena from one step
// to another. A tensor that is offloaded and fetched, or computed again, has a
// buffer for each stay.
//
//   step                          buffers
//   0 compute conv1  -> c         c: [0, 2]
//   1 compute relu1  c -> r       r: [1, 1]
//   2 offload c                   (the copy reads c until step 2 is over)
//   ...
//   9 prefetch c                  c': [9, 11]
//  10 compute relu1  c' -> r'     r': [10, 11]  (again)
//  11 compute conv2's adjoint  c', r' -> ...
//
// A buffer's memory belongs to it during [first, last], both included. A copy
// that a step starts runs beside the steps after it; before a step in which a
// buffer's memory is another's (last + 1 at the earliest), the copy that reads
// it has ended, and before a step that reads a prefetched buffer, the copy that
// fills it; a copy to the device starts when the one that brought the same data
// to the host has ended. Whoever executes a plan waits for these, and for
// nothing else, so that a prefetched buffer is read, or stays to the plan's
// end.
//
// At the start the device has the inputs and parameters that have a buffer
// which no step makes; the host has the others. At the end every parameter is
// again where it was, updated; an output is on the device, or was offloaded. An
// update is written over the parameter's buffer (`sharesWith`), if the device
// has one.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_PLAN_H
#define ESPALIER_PLANNING_PLAN_H

#include "espalier/Planning/Graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::planning {

using BufferId = int32_t;

/// A tensor's stay on the device.
struct Buffer {
  TensorId tensor = -1;
  int64_t bytes = 0;
  /// Steps, both included. A parameter or input that never leaves the device
  /// has the first and the last step of the plan; an output's stay ends with
  /// the last one.
  int32_t first = 0;
  int32_t last = 0;
  /// In the arena; -1: not assigned yet.
  int64_t offset = -1;
  /// The buffer whose memory this one takes over (in place), or names (a view);
  /// it has the same offset, and may overlap with it in time at the step that
  /// makes it, or, of a view or an update, at all steps. -1: none.
  BufferId sharesWith = -1;
};

struct Step {
  enum class Kind : uint8_t { compute, offload, prefetch };
  Kind kind = Kind::compute;
  /// Of a compute step.
  OperatorId op = -1;
  /// Of a compute step, in the operator's order. Of a copy, the device's side:
  /// an offload's input, a prefetch's output.
  std::vector<BufferId> inputs;
  std::vector<BufferId> outputs;
  /// Of a compute step: the number of the operator's algorithm (0 if it has
  /// only one), and its workspace.
  int32_t algorithm = 0;
  int64_t workspaceBytes = 0;
  int64_t workspaceOffset = -1;
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  /// What the device must have: the highest end of a buffer or workspace.
  int64_t arenaBytes = 0;
  /// The most that the host holds at a step: parameters and inputs that the
  /// device does not have at the start, at all steps; what is offloaded, from
  /// that step to the last that prefetches it before it is offloaded again, or
  /// to the end, if it is an output that the device no longer has then.
  int64_t hostBytes = 0;
};

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_PLAN_H
