//===- DynamicRun.h - A batch on a device that it may not fit ---*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A batch of structures on a device with memory of its own. What has one row
// (weights, their gradients, what an optimiser remembers) stays there. Buffers
// with a row a vertex, structure or edge come and go: they have addresses of
// their own, without memory, cut into chunks, and a chunk is a tensor of a
// UnifiedTensorPool. Before a unit of the batch runs (DynamicUnits), what it
// touches is brought in, mapped to where the buffer has it, and locked; so
// steps find every row at base + row, as on a device that is large enough, and
// compute the same bits. What the next unit touches is fetched beside it.
//
// Arguments come from the host's pool and results go back there, as all that
// leaves. One run, on a device that nobody else uses meanwhile.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_DYNAMICRUN_H
#define ESPALIER_MODULE_DYNAMICRUN_H

#include "device/Device.h"
#include "device/cpu/Executor.h"
#include "memory/Arena.h"
#include "memory/HostPool.h"
#include "memory/UnifiedTensorPool.h"
#include "module/DynamicUnits.h"
#include "trace/Trace.h"

#include <functional>
#include <memory>
#include <vector>

namespace espalier {

class DynamicRun {
public:
  /// `hostViews` has arguments, weights, results and multiplicities in the
  /// host's memory. OUT_OF_MEMORY if the device, or the host, has too little.
  DynamicRun(const Program &program, const std::vector<BatchGraph> &graphs,
             Device &device, const std::vector<View> &hostViews,
             ExecutorOptions options);

  /// Where the device has everything.
  const std::vector<View> &onDevice() const { return views; }
  /// Runs all phases, with an executor over onDevice(); then the host has the
  /// results, and the weights' new values.
  void run(Executor &executor);

  int64_t devicePeakBytes() const {
    return residentBytes + pool->memory().peakBytes();
  }
  int64_t hostPeakBytes() const { return host->peakBytes(); }
  int64_t evictions() const { return pool->counts().evictions; }
  /// The memory's curve, if the run is profiled.
  const std::vector<MemorySample> &memorySamples() const { return samples; }

private:
  using Id = UnifiedTensorPool::Id;
  using DeviceBytes = std::unique_ptr<char, std::function<void(char *)>>;

  /// A buffer of many rows.
  struct Rows {
    uint32_t buffer;
    int64_t bytes;
    int64_t firstChunk;
    int64_t lastChunk; // and one more
    /// The phase after which nothing touches it.
    uint32_t lastPhase;
  };
  struct Chunk {
    uint32_t buffer;
    Id id = -1; // none before something is written to it
    bool isMapped = false;
  };

  void findLastUses();
  void layOutResidents();
  void findRows();
  void layOutRows();
  int64_t chunksOf(const Rows &rows) const {
    return (rows.bytes + chunkBytes - 1) / chunkBytes;
  }
  void chooseUnits();
  [[noreturn]] void failForMemory(int64_t available) const;
  void fillResidents();
  void fillArguments();
  Id create(int64_t chunk, bool onHost);
  void bringIn(TouchedChunks::Chunk touched);
  void bringInAll();
  void unlockAll();
  void prefetchNext();
  void launch(const DynamicUnit &unit, Executor &executor);
  void endLives(uint32_t phase);
  void takeResults();
  void forgetAddress(Id id);
  char *addressOf(int64_t chunk) const {
    return space.get() + chunk * chunkBytes;
  }
  const espalier_buffer_desc &descOf(uint32_t buffer) const {
    return program.entry.buffers[buffer];
  }
  bool isResident(uint32_t buffer) const;

  const Program &program;
  const std::vector<BatchGraph> &graphs;
  Device &device;
  const std::vector<View> &hostViews;
  ExecutorOptions options;

  std::vector<View> views;
  /// By buffer: the last phase that touches it, and whether any writes it.
  std::vector<uint32_t> lastPhases;
  std::vector<bool> isWritten;
  /// By buffer, then by workspace, where the block of residents has it.
  std::vector<Placement> placements;
  int64_t residentBytes = 0;
  DeviceBytes residents;

  std::vector<Rows> rowBuffers; // by lastPhase
  size_t dead = 0;              // of these
  int64_t chunkBytes = 0;
  int64_t poolBytes = 0;
  DeviceBytes space;
  std::vector<Chunk> chunks;
  std::vector<int32_t> chunkOf; // by tensor
  std::unique_ptr<HostPool> host;
  std::unique_ptr<UnifiedTensorPool> pool;

  DynamicUnits cut;
  /// Of the unit that runs, and of the one after it.
  TouchedChunks current, next;
  /// What was found for the COMBINE_ROWS that comes.
  const int32_t *firsts = nullptr;
  std::vector<MemorySample> samples;
};

} // namespace espalier

#endif // ESPALIER_MODULE_DYNAMICRUN_H
