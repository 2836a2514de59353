//===- SimDevice.cpp ------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/sim/SimDevice.h"

#include "support/Error.h"
#include "trace/Trace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace espalier {

static int64_t limitOf(const Machine &machine,
                       const SimDevice::Options &options) {
  int64_t bytes = options.memoryLimit > 0
                      ? std::min(options.memoryLimit, machine.memoryBytes)
                      : machine.memoryBytes;
  return std::min(bytes, int64_t(1) << 62); // with room to round up
}

SimDevice::SimDevice(Machine described, Options options)
    : machine(std::move(described)), options(options),
      capacity(limitOf(machine, options)),
      memory(capacity + MemoryPool::kUnit - 1) {}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

char *SimDevice::allocate(int64_t bytes, const char *what) {
  int64_t available = capacity - allocated;
  MemoryPool::Id node =
      bytes <= available ? memory.allocate(bytes) : MemoryPool::kNone;
  if (node == MemoryPool::kNone)
    fail(ESPALIER_OUT_OF_MEMORY,
         "%s needs %lld bytes of the device's memory; of the %lld bytes of "
         "device 'sim' (%s) %lld are available, the largest free block has "
         "%lld; plan for a smaller budget or take a smaller batch",
         what, (long long)bytes, (long long)capacity, machine.name.c_str(),
         (long long)available,
         (long long)std::min(available, memory.largestFree()));
  Pages pages;
  try {
    pages = Pages(
        bytes, options.dry ? Pages::Access::None : Pages::Access::Shared, what);
  } catch (...) {
    memory.release(node);
    throw;
  }
  char *block = pages.data();
  blocks[block] = Block{std::move(pages), node, bytes};
  allocated += bytes;
  return block;
}

void SimDevice::release(char *block) {
  auto found = blocks.find(block);
  memory.release(found->second.node);
  allocated -= found->second.bytes;
  blocks.erase(found);
}

char *SimDevice::reserve(int64_t bytes, const char *what) {
  Pages pages(bytes, Pages::Access::None, what);
  char *addresses = pages.data();
  reserved[addresses] = std::move(pages);
  return addresses;
}

void SimDevice::unreserve(char *addresses) { reserved.erase(addresses); }

void SimDevice::map(char *address, const char *part, int64_t bytes) {
  if (options.dry)
    return;
  auto block = std::prev(blocks.upper_bound(part));
  block->second.pages.showAt(address, part - block->first, bytes);
}

void SimDevice::unmap(char *address, int64_t bytes) {
  if (!options.dry)
    Pages::hide(address, bytes);
}

void SimDevice::place(char *to, const char *from, int64_t bytes) {
  if (!options.dry && bytes > 0)
    std::memcpy(to, from, bytes);
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// Does what has happened by the time of the lane that computes.
void SimDevice::settle() {
  auto end = effects.upper_bound(times[(int)Lane::Compute]);
  for (auto at = effects.begin(); at != end; ++at) {
    const Effect &effect = at->second;
    if (effect.from)
      std::memcpy(effect.to, effect.from, effect.bytes);
    else
      std::memset(effect.to, 0xFF, effect.bytes); // NaNs
  }
  effects.erase(effects.begin(), end);
}

/// Of clocks and timelines, which end after 285 years.
static int64_t nanoseconds(double seconds) {
  return (int64_t)std::llround(std::min(seconds * 1e9, 9e18));
}

void SimDevice::note(const char *name, Lane lane, double begin, double end) {
  if (options.profile && timeline.size() < Trace::kMaxEvents)
    timeline.push_back({name, lane, nanoseconds(begin), nanoseconds(end)});
}

void SimDevice::poison(Lane lane, char *block, int64_t bytes) {
  if (options.dry || bytes == 0)
    return;
  effects.emplace(times[(int)lane], Effect{block, nullptr, bytes});
  settle();
}

void SimDevice::copy(Lane lane, const char *name, char *to, const char *from,
                     int64_t bytes) {
  double begin = times[(int)lane];
  if (!machine.fullDuplex)
    begin = std::max(begin, linkTime);
  double end = begin + machine.linkLatencySeconds;
  if (machine.linkBytesPerSecond > 0)
    end += (double)bytes / machine.linkBytesPerSecond;
  linkTime = times[(int)lane] = end;
  (lane == Lane::ToHost ? done.toHostBytes : done.toDeviceBytes) += bytes;
  note(name, lane, begin, end);
  if (!options.dry && bytes > 0)
    effects.emplace(end, Effect{to, from, bytes});
}

/// The longer of its arithmetic and its traffic, and what a launch costs.
double SimDevice::secondsOf(const Work &work) const {
  if (work.flops == 0 && work.bytes == 0)
    return 0;
  double arithmetic = machine.flopsPerSecond > 0
                          ? work.flops / machine.flopsPerSecond /
                                machine.algorithmSpeeds[work.algorithm]
                          : 0;
  double traffic =
      machine.bytesPerSecond > 0 ? work.bytes / machine.bytesPerSecond : 0;
  return machine.launchSeconds + std::max(arithmetic, traffic);
}

void SimDevice::launch(const Work &work, const std::function<void()> &body) {
  settle();
  if (!options.dry)
    body();
  double &time = times[(int)Lane::Compute];
  double begin = time;
  time += secondsOf(work);
  note(work.name, Lane::Compute, begin, time);
}

double SimDevice::timeOf(Event event) const {
  return event < firstEvent ? 0 : eventTimes[event - firstEvent];
}

Event SimDevice::record(Lane lane) {
  eventTimes.push_back(times[(int)lane]);
  return firstEvent + (Event)eventTimes.size() - 1;
}

void SimDevice::wait(Lane lane, Event event) {
  double &time = times[(int)lane];
  double until = std::max(time, timeOf(event));
  if (lane == Lane::Compute)
    done.stallSeconds += until - time;
  time = until;
}

bool SimDevice::isDone(Event event) const {
  return timeOf(event) <= times[(int)Lane::Compute];
}

void SimDevice::synchronize() {
  double last = *std::max_element(times, times + kLanes);
  done.stallSeconds += last - times[(int)Lane::Compute];
  std::fill(times, times + kLanes, last);
  firstEvent += (Event)eventTimes.size();
  eventTimes.clear();
  settle();
}

DeviceCounts SimDevice::counts() const {
  DeviceCounts counts = done;
  counts.seconds = *std::max_element(times, times + kLanes);
  return counts;
}

int64_t SimDevice::clock() const {
  return nanoseconds(times[(int)Lane::Compute]);
}

std::vector<DeviceEvent> SimDevice::takeEvents() {
  return std::exchange(timeline, {});
}

} // namespace espalier
