//===- Trace.h - What ran when ----------------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A timeline of steps, and its file in the Chrome trace format. Where a device
// has a memory plan, the curve of its memory is there, too, and what each of
// its lanes did if it has a clock of its own.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TRACE_TRACE_H
#define ESPALIER_TRACE_TRACE_H

#include "device/Device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier {

/// Nanoseconds of a clock that never goes back.
int64_t now();

struct TraceEvent {
  const char *name;
  const char *phase;
  int64_t begin; // as `now` gives it
  int64_t end;
  int64_t rows;
  uint32_t thread;
};

/// How much memory was in use at a time of the device's clock.
struct MemorySample {
  int64_t at;
  int64_t deviceBytes;
  int64_t hostBytes;
};

/// Not safe to share between threads; its owner locks.
class Trace {
public:
  /// Later events are only counted, so that a trace never takes more than
  /// some 50 MB of memory.
  static constexpr size_t kMaxEvents = 1 << 20;

  void append(const std::vector<TraceEvent> &more, int64_t droppedBefore);
  /// What happened on a device, by its own clock: a process of its own, with a
  /// thread for each lane and the memory in use.
  void appendDevice(const char *device, const std::vector<DeviceEvent> &events,
                    const std::vector<MemorySample> &samples);
  void clear();
  const std::vector<TraceEvent> &all() const { return events; }
  /// Writes the file atomically.
  void write(const std::string &path) const;

private:
  std::string deviceEventsText() const;

  std::vector<TraceEvent> events;
  std::string deviceName;
  std::vector<DeviceEvent> deviceEvents;
  std::vector<MemorySample> memory;
  int64_t dropped = 0;
};

} // namespace espalier

#endif // ESPALIER_TRACE_TRACE_H
