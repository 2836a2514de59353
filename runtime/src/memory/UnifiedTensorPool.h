//===- UnifiedTensorPool.h - Tensors on a device that is too small *- C++ -*-=//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors without a plan. A tensor has a place on the device, in the host's
// pool, or both; who uses it gets it on the device. Only when the device is
// really full do others leave, least recently used first, and of these only
// what the host does not have already is copied. What a tensor leaves behind
// can be somebody else's at once: who fills it waits for the copy.
//
// Used by one thread at a time.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_UNIFIEDTENSORPOOL_H
#define ESPALIER_MEMORY_UNIFIEDTENSORPOOL_H

#include "device/Device.h"
#include "memory/CopiesInFlight.h"
#include "memory/HostPool.h"
#include "memory/MemoryPool.h"
#include "memory/TensorCache.h"

#include <functional>
#include <string>
#include <vector>

namespace espalier {

class UnifiedTensorPool {
public:
  using Id = int32_t;

  enum class Use {
    Read,
    /// All of it: what was in it is lost.
    Write,
    /// Read first.
    Update
  };

  struct Counts {
    int64_t hits = 0;   // uses of what was on the device
    int64_t misses = 0; // and of what had to be fetched
    int64_t evictions = 0;
  };

  /// Allocates `deviceBytes` of the device's memory. `onLeave` hears of each
  /// tensor whose address on the device is not its own any more.
  UnifiedTensorPool(Device &device, int64_t deviceBytes, HostPool &host,
                    std::function<void(Id)> onLeave = {});
  ~UnifiedTensorPool();

  /// A tensor that has nothing in it yet, and no place.
  Id create(int64_t bytes, std::string name);
  /// One that the host has, to be filled at once by who has it created.
  /// OUT_OF_MEMORY if the host's pool has no room for it.
  Id createOnHost(int64_t bytes, std::string name);
  void destroy(Id id);

  /// Its address on the device, until another tensor is used, or, if it is
  /// locked, until it is unlocked; for what the lane that computes does next.
  /// OUT_OF_MEMORY if it does not fit beside those that are locked, or the
  /// host's pool has no room for those that would have to leave;
  /// INVALID_ARGUMENT if it is read and nothing was ever written.
  char *use(Id id, Use how);
  /// As `use` for reading, but the lane that computes does not wait. Does
  /// nothing if others would have to leave for it, unless it `makesRoom`.
  void prefetch(Id id, bool makesRoom = false);
  /// What was used last is the last to leave.
  void touch(Id id) { cache.touch(id); }
  /// Leaves the device, where it is not locked, without being asked to.
  void offload(Id id);
  /// Only what is on the device can be locked. As often locked as unlocked, it
  /// can leave again.
  void lock(Id id);
  void unlock(Id id);

  bool isOnDevice(Id id) const { return tensors[id].node != MemoryPool::kNone; }
  bool isOnHost(Id id) const { return tensors[id].copy != MemoryPool::kNone; }
  /// What the host has of it, when the copies that bring it have ended.
  char *onHostAddress(Id id) const { return host.address(tensors[id].copy); }
  const MemoryPool &memory() const { return pool; }
  const Counts &counts() const { return done; }

private:
  struct Tensor {
    std::string name;
    int64_t bytes = 0;
    MemoryPool::Id node = MemoryPool::kNone; // on the device
    MemoryPool::Id copy = MemoryPool::kNone; // on the host, with the same bytes
    bool isFilled = false;
  };

  AddressRange onDevice(const Tensor &tensor) const {
    return {block + pool.offsetOf(tensor.node), tensor.bytes};
  }
  AddressRange onHost(const Tensor &tensor) const {
    return {host.address(tensor.copy), tensor.bytes};
  }
  char *address(const Tensor &tensor) const {
    return block + pool.offsetOf(tensor.node);
  }
  void makeRoom(Id id);
  bool evictOne();
  void leave(Id id);
  void fetch(Id id);
  void saveOnHost(Id id);
  void dropCopy(Id id);

  Device &device;
  HostPool &host;
  char *block;
  MemoryPool pool;
  TensorCache cache;
  CopiesInFlight copies;
  std::vector<Tensor> tensors;
  std::vector<Id> unused;
  std::function<void(Id)> onLeave;
  Counts done;
};

} // namespace espalier

#endif // ESPALIER_MEMORY_UNIFIEDTENSORPOOL_H
