//===- Plan.h - Reading an entry's memory plan ------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the check of a plan and its execution both ask of its tables.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_PLAN_H
#define ESPALIER_MODULE_PLAN_H

#include "espalier/abi.h"
#include "memory/LiveRanges.h"
#include "module/Program.h"

#include <string>
#include <vector>

namespace espalier {

inline bool isCopyOfPlan(uint32_t stepKind) {
  return stepKind == ESPALIER_STEP_OFFLOAD ||
         stepKind == ESPALIER_STEP_PREFETCH;
}

/// A buffer of the caller's, of the weights or of the library.
inline bool isNamedOutside(const espalier_buffer_desc &buffer) {
  return buffer.kind == ESPALIER_BUFFER_PARAMETER ||
         buffer.kind == ESPALIER_BUFFER_STATE ||
         buffer.kind == ESPALIER_BUFFER_INPUT ||
         buffer.kind == ESPALIER_BUFFER_OUTPUT ||
         buffer.kind == ESPALIER_BUFFER_CONSTANT;
}

/// Whether the plan has the buffer in the device's memory.
inline bool isOnDevice(const espalier_buffer_desc &buffer) {
  return buffer.offset >= 0 && buffer.kind != ESPALIER_BUFFER_HOST;
}

inline ByteRange rangeOf(const espalier_buffer_desc &buffer) {
  return {buffer.offset, buffer.offset + rowBytes(buffer)};
}

/// The workspace of a layer, if it has one.
inline ByteRange workspaceOf(const espalier_step &step) {
  if (step.kind != ESPALIER_STEP_LAYER || !step.layer ||
      step.layer->workspace_offset < 0)
    return {};
  return {step.layer->workspace_offset,
          step.layer->workspace_offset + step.layer->workspace_bytes};
}

/// Phases, both included, in which a buffer has its place.
struct Lifetime {
  uint32_t first;
  uint32_t last;
};
inline Lifetime lifetimeOf(const espalier_entry &entry,
                           const espalier_buffer_desc &buffer) {
  uint32_t last = entry.phase_count ? entry.phase_count - 1 : 0;
  if (buffer.kind == ESPALIER_BUFFER_OUTPUT)
    return {buffer.first_phase, last};
  if (isNamedOutside(buffer))
    return {0, last};
  return {buffer.first_phase, buffer.last_phase};
}

/// By phase, the buffers whose life begins with it, and those whose ends; of
/// those on the device, or of those in the host's pool.
struct Lives {
  std::vector<std::vector<uint32_t>> begin;
  std::vector<std::vector<uint32_t>> end;

  Lives(const espalier_entry &entry, bool onDevice)
      : begin(entry.phase_count), end(entry.phase_count) {
    for (uint32_t b = 0; b < entry.buffer_count; ++b) {
      const espalier_buffer_desc &buffer = entry.buffers[b];
      if (onDevice ? !isOnDevice(buffer) : buffer.kind != ESPALIER_BUFFER_HOST)
        continue;
      if (entry.phase_count == 0)
        continue;
      Lifetime life = lifetimeOf(entry, buffer);
      begin[life.first].push_back(b);
      end[life.last].push_back(b);
    }
  }
};

/// Throws unless the plan of `entry`, whose tables have been checked, can be
/// executed: all places are where they may be, nothing that lives at the same
/// time shares bytes but where a step may work in place, and copies go between
/// the device and the host. `where` says whose entry it is.
void validatePlan(const espalier_entry &entry, const std::string &where);

} // namespace espalier

#endif // ESPALIER_MODULE_PLAN_H
