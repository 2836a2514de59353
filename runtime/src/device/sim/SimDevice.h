//===- SimDevice.h - A device with a fictitious clock -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps run on the processor, for true results; how long they take, and when a
// copy ends, a machine's description says. Each lane has a time of its own. A
// step takes effect when it begins, a copy when the lane that computes gets to
// the time at which the copy ends: who reads what it brings before, or writes
// over what it takes, gets the wrong bytes here as on a card.
//
// Memory is of a fixed size, and bytes that are not anybody's are NaNs. A dry
// device does the same with no memory at all.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_SIM_SIMDEVICE_H
#define ESPALIER_DEVICE_SIM_SIMDEVICE_H

#include "device/Device.h"
#include "device/sim/MachineFile.h"
#include "memory/MemoryPool.h"
#include "memory/Pages.h"

#include <map>

namespace espalier {

class SimDevice : public Device {
public:
  struct Options {
    /// Of the machine's memory; 0: all.
    int64_t memoryLimit = 0;
    bool dry = false;
    /// Keeps a timeline.
    bool profile = false;
  };

  SimDevice(Machine machine, Options options);

  const char *name() const override { return "sim"; }
  bool sharesHostMemory() const override { return false; }
  bool isDry() const override { return options.dry; }
  int64_t hostMemoryBytes() const override { return machine.hostMemoryBytes; }
  char *allocate(int64_t bytes, const char *what) override;
  void release(char *block) override;
  int64_t availableBytes() const override { return capacity - allocated; }
  char *reserve(int64_t bytes, const char *what) override;
  void unreserve(char *addresses) override;
  void map(char *address, const char *part, int64_t bytes) override;
  void unmap(char *address, int64_t bytes) override;
  int64_t pageBytes() const override { return Pages::pageBytes(); }
  void poison(Lane lane, char *block, int64_t bytes) override;
  void copy(Lane lane, const char *name, char *to, const char *from,
            int64_t bytes) override;
  void place(char *to, const char *from, int64_t bytes) override;
  void launch(const Work &work, const std::function<void()> &body) override;
  Event record(Lane lane) override;
  void wait(Lane lane, Event event) override;
  bool isDone(Event event) const override;
  void synchronize() override;
  DeviceCounts counts() const override;
  int64_t clock() const override;
  std::vector<DeviceEvent> takeEvents() override;

private:
  /// Bytes that change when the clock gets there.
  struct Effect {
    char *to;
    const char *from; // null: NaNs
    int64_t bytes;
  };
  struct Block {
    Pages pages;
    MemoryPool::Id node;
    int64_t bytes;
  };

  double secondsOf(const Work &work) const;
  double timeOf(Event event) const;
  void settle();
  void note(const char *name, Lane lane, double begin, double end);

  Machine machine;
  Options options;
  /// The pool has whole units; the device has `capacity`.
  int64_t capacity;
  MemoryPool memory;
  int64_t allocated = 0;
  std::map<const char *, Block> blocks;
  std::map<const char *, Pages> reserved;
  double times[kLanes] = {};
  /// When a link that carries one copy at a time is free.
  double linkTime = 0;
  /// By time; of one time in the order in which they were given.
  std::multimap<double, Effect> effects;
  /// Times of the events since the last synchronize; earlier ones have passed.
  std::vector<double> eventTimes;
  Event firstEvent = 0;
  DeviceCounts done;
  std::vector<DeviceEvent> timeline;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_SIM_SIMDEVICE_H
