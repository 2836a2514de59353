//===- PlannedRun.h - Executes the memory plan of an entry ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All buffers of a planned entry have their places before it first runs: in a
// block of the device's memory, or in the host's pool. What is left to do is to
// give steps and copies to the device's lanes, and to have each wait for the
// copies that its own bytes are part of: a step for those that bring what it
// reads or take what it writes over, a copy likewise. When a run ends, all of
// its copies have, so that the next one finds the memory idle.
//
// One run at a time: the block is the device's whole share.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_PLANNEDRUN_H
#define ESPALIER_MODULE_PLANNEDRUN_H

#include "device/Device.h"
#include "device/cpu/Executor.h"
#include "memory/CopiesInFlight.h"
#include "memory/HostPool.h"
#include "module/Plan.h"
#include "trace/Trace.h"

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace espalier {

class PlannedRun {
public:
  /// Allocates all that runs need. OUT_OF_MEMORY if the device or the host has
  /// less.
  PlannedRun(const espalier_entry &entry, std::unique_ptr<Device> device,
             bool profile);
  ~PlannedRun();

  /// To be held from place() to finish().
  std::unique_lock<std::mutex> lock() {
    return std::unique_lock<std::mutex>(mutex);
  }

  /// `views` has the buffers of the caller, the weights and the library in the
  /// host's memory. Gives every buffer on the device, and behind these every
  /// one of the layers' `workspaces`, its place there, and brings what belongs
  /// there from the start.
  void place(std::vector<View> &views,
             const std::vector<Program::Workspace> &workspaces);
  /// Runs all phases; `runPhase` does the steps of one.
  void run(const std::function<void(uint32_t)> &runPhase);
  /// Brings back what steps wrote.
  void finish();

  const Device &on() const { return *device; }
  /// The highest end of a buffer or workspace that was in use.
  int64_t devicePeakBytes() const { return devicePeak; }
  int64_t hostPeakBytes() const { return host.peakBytes(); }
  /// Adds what happened by the device's clock since the last time to `trace`.
  void appendTo(Trace &trace);

private:
  struct Copy {
    Lane lane;
    uint32_t from;
    uint32_t to;
    /// Of `from`, whose part it may be.
    int64_t firstByte;
  };

  /// What a phase does to memory, worked out once.
  struct Phase {
    std::vector<Work> work;
    /// -1, or the number of its copy.
    int32_t copy = -1;
    std::vector<ByteRange> read;
    std::vector<ByteRange> written;
    /// Nobody's before it, and nobody's after it.
    std::vector<ByteRange> begins;
    std::vector<ByteRange> ends;
    int64_t deviceBytes = 0; // in use
    int64_t deviceEnd = 0;   // the highest byte of these
    int64_t hostBytes = 0;
  };

  void layOut();
  void noteSteps(uint32_t p);
  void startCopy(uint32_t p);
  void runSteps(uint32_t p, const std::function<void(uint32_t)> &runPhase);
  void beginLife(Lane lane, ByteRange range);
  void endLives(const Phase &phase);
  bool isResident(const espalier_buffer_desc &buffer) const;
  AddressRange onDevice(ByteRange range) const {
    return {block + range.begin, range.bytes()};
  }
  AddressRange memoryOf(uint32_t buffer) const {
    return {bases[buffer], rowBytes(entry.buffers[buffer])};
  }

  const espalier_entry &entry;
  std::unique_ptr<Device> device;
  HostPool host;
  char *block;
  CopiesInFlight copiesInFlight;
  std::vector<Phase> phases;
  std::vector<Copy> copies;

  std::mutex mutex;
  /// By buffer, of the run that is going on: where it is, and where the host
  /// has it, if steps use a copy on the device.
  std::vector<char *> bases;
  std::vector<char *> hostBases;
  /// By buffer, whether a step writes it.
  std::vector<bool> isWritten;
  int64_t devicePeak = 0;
  std::vector<MemorySample> samples;
  bool profile;
};

} // namespace espalier

#endif // ESPALIER_MODULE_PLANNEDRUN_H
