//===- Device.h - What has memory of its own and runs steps -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device has memory and three lanes: one computes, one copies to the host,
// one copies from it. What is given to a lane runs after all that was given to
// it before, and beside the other lanes; an event marks how far one has come,
// so that another can wait for it. Nothing is known to have happened before
// somebody waited for it.
//
// Used by one thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_DEVICE_H
#define ESPALIER_DEVICE_DEVICE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace espalier {

enum class Lane { Compute, ToHost, ToDevice };
constexpr int kLanes = 3;

/// What a lane had been given when it was recorded.
using Event = int64_t;

/// What a step costs, for devices that only reckon with time.
struct Work {
  const char *name;
  double flops;
  double bytes;
  uint32_t algorithm = 0; // ESPALIER_ALGORITHM_*
};

/// Since the device was made.
struct DeviceCounts {
  int64_t toHostBytes = 0;
  int64_t toDeviceBytes = 0;
  /// Of the device's clock; 0 if it has none of its own. Of these the lane that
  /// computes waited for copies.
  double seconds = 0;
  double stallSeconds = 0;
};

/// What a lane did, by the device's clock in nanoseconds.
struct DeviceEvent {
  const char *name;
  Lane lane;
  int64_t begin;
  int64_t end;
};

class Device {
public:
  virtual ~Device() = default;

  virtual const char *name() const = 0;
  /// The device works on the host's memory: what is there need not be copied.
  virtual bool sharesHostMemory() const = 0;
  /// Nothing is computed, and no byte is moved.
  virtual bool isDry() const = 0;
  /// Bytes that the host may have for offloaded tensors; 0: any number.
  virtual int64_t hostMemoryBytes() const = 0;

  /// OUT_OF_MEMORY, with what is needed, available, and the largest free block,
  /// if it does not fit. `what` says for what it is.
  virtual char *allocate(int64_t bytes, const char *what) = 0;
  virtual void release(char *block) = 0;
  /// What could be allocated if it were in one block.
  virtual int64_t availableBytes() const = 0;

  /// Addresses for `bytes`, which have no memory: who touches them is stopped.
  /// Only devices whose memory is not the host's have them.
  virtual char *reserve(int64_t bytes, const char *what);
  virtual void unreserve(char *addresses);
  /// From now on `address` stands for the memory at `part` of a block; unmap()
  /// ends that. In whole pages of `pageBytes`.
  virtual void map(char *address, const char *part, int64_t bytes);
  virtual void unmap(char *address, int64_t bytes);
  virtual int64_t pageBytes() const;

  /// From the lane's turn on the bytes are NaNs, on devices that look for reads
  /// of what is not there.
  virtual void poison(Lane lane, char *block, int64_t bytes) = 0;
  /// Lane::ToHost from the device to the host, ToDevice the other way.
  virtual void copy(Lane lane, const char *name, char *to, const char *from,
                    int64_t bytes) = 0;
  /// At once and at no cost, while all lanes are idle: what is on the device
  /// before a run, and stays there.
  virtual void place(char *to, const char *from, int64_t bytes) = 0;
  /// `body` does the work on this thread, if the device is not dry.
  virtual void launch(const Work &work, const std::function<void()> &body) = 0;

  virtual Event record(Lane lane) = 0;
  virtual void wait(Lane lane, Event event) = 0;
  /// Whether the lane that computes would not wait for it.
  virtual bool isDone(Event event) const = 0;
  /// Waits for all lanes.
  virtual void synchronize() = 0;

  virtual DeviceCounts counts() const = 0;
  /// By the device's clock, in nanoseconds: how far the lane that computes is.
  virtual int64_t clock() const = 0;
  /// Takes what has happened since it was last asked, if the device keeps a
  /// timeline of its own.
  virtual std::vector<DeviceEvent> takeEvents() = 0;
};

struct DeviceOptions {
  /// "cpu" or "sim".
  std::string kind = "cpu";
  /// The description of the machine, of "sim".
  std::string machineFile;
  /// 0: what the machine has.
  int64_t memoryLimit = 0;
  bool dry = false;
  bool profile = false;
};

/// INVALID_ARGUMENT if there is no such device, or the options make no sense.
std::unique_ptr<Device> createDevice(const DeviceOptions &options);

} // namespace espalier

#endif // ESPALIER_DEVICE_DEVICE_H
