//===- CpuDevice.h - The processor that the runtime runs on -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Its memory is the host's, so that a copy moves bytes from one place to
// another over the same bus that the steps need: it is done at once. Time is
// what it takes.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_CPUDEVICE_H
#define ESPALIER_DEVICE_CPU_CPUDEVICE_H

#include "device/Device.h"
#include "memory/Pages.h"

namespace espalier {

class CpuDevice : public Device {
public:
  /// Allocates no more than `memoryLimit` bytes; 0: any number.
  explicit CpuDevice(int64_t memoryLimit) : memoryLimit(memoryLimit) {}

  const char *name() const override { return "cpu"; }
  bool sharesHostMemory() const override { return true; }
  bool isDry() const override { return false; }
  int64_t hostMemoryBytes() const override { return 0; }
  char *allocate(int64_t bytes, const char *what) override;
  void release(char *block) override;
  int64_t availableBytes() const override {
    return memoryLimit > 0 ? memoryLimit - allocated : INT64_MAX;
  }
  void poison(Lane lane, char *block, int64_t bytes) override;
  void copy(Lane lane, const char *name, char *to, const char *from,
            int64_t bytes) override;
  void place(char *to, const char *from, int64_t bytes) override;
  void launch(const Work &work, const std::function<void()> &body) override;
  Event record(Lane) override { return 0; }
  void wait(Lane, Event) override {}
  bool isDone(Event) const override { return true; }
  void synchronize() override {}
  DeviceCounts counts() const override { return done; }
  int64_t clock() const override;
  std::vector<DeviceEvent> takeEvents() override { return {}; }

private:
  std::vector<Pages> blocks;
  int64_t memoryLimit;
  int64_t allocated = 0;
  DeviceCounts done;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_CPUDEVICE_H
