//===- UnifiedTensorPool.cpp ----------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/UnifiedTensorPool.h"

#include "support/Error.h"

#include <utility>

namespace espalier {

UnifiedTensorPool::UnifiedTensorPool(Device &device, int64_t deviceBytes,
                                     HostPool &host,
                                     std::function<void(Id)> onLeave)
    : device(device), host(host),
      block(device.allocate(deviceBytes, "the pool of tensors")),
      pool(deviceBytes), copies(device), onLeave(std::move(onLeave)) {}

UnifiedTensorPool::~UnifiedTensorPool() {
  device.synchronize();
  device.release(block);
}

UnifiedTensorPool::Id UnifiedTensorPool::create(int64_t bytes,
                                                std::string name) {
  Id id = (Id)tensors.size();
  if (unused.empty()) {
    tensors.emplace_back();
  } else {
    id = unused.back();
    unused.pop_back();
  }
  tensors[id] = Tensor{};
  tensors[id].name = std::move(name);
  tensors[id].bytes = bytes;
  return id;
}

UnifiedTensorPool::Id UnifiedTensorPool::createOnHost(int64_t bytes,
                                                      std::string name) {
  Id id = create(bytes, std::move(name));
  saveOnHost(id);
  tensors[id].isFilled = true;
  return id;
}

/// The host's bytes of a tensor are not its own any more.
void UnifiedTensorPool::dropCopy(Id id) {
  Tensor &tensor = tensors[id];
  if (tensor.copy != MemoryPool::kNone)
    host.release(std::exchange(tensor.copy, MemoryPool::kNone));
}

void UnifiedTensorPool::destroy(Id id) {
  Tensor &tensor = tensors[id];
  dropCopy(id);
  if (isOnDevice(id)) {
    cache.remove(id);
    if (!copies.touches(onDevice(tensor)))
      device.poison(Lane::Compute, address(tensor), tensor.bytes);
    pool.release(tensor.node);
    if (onLeave)
      onLeave(id);
  }
  tensor = Tensor{};
  unused.push_back(id);
}

//===----------------------------------------------------------------------===//
// Between the device and the host
//===----------------------------------------------------------------------===//

/// Finds room in the host's pool.
void UnifiedTensorPool::saveOnHost(Id id) {
  Tensor &tensor = tensors[id];
  tensor.copy = host.allocate(tensor.bytes);
  if (tensor.copy == MemoryPool::kNone)
    fail(ESPALIER_OUT_OF_MEMORY,
         "the host's pool has no room for the %lld bytes of '%s', which have "
         "to leave the device: %lld of its %lld bytes are free, the largest "
         "free block has %lld",
         (long long)tensor.bytes, tensor.name.c_str(),
         (long long)host.nodes().freeBytes(), (long long)host.capacity(),
         (long long)host.nodes().largestFree());
}

void UnifiedTensorPool::leave(Id id) {
  Tensor &tensor = tensors[id];
  if (tensor.isFilled && !isOnHost(id)) {
    saveOnHost(id);
    device.wait(Lane::ToHost, device.record(Lane::Compute));
    copies.waitToRead(Lane::ToHost, onDevice(tensor));
    copies.waitToWrite(Lane::ToHost, onHost(tensor));
    device.copy(Lane::ToHost, tensor.name.c_str(), host.address(tensor.copy),
                address(tensor), tensor.bytes);
    copies.add(onDevice(tensor), onHost(tensor), device.record(Lane::ToHost));
  }
  cache.remove(id);
  pool.release(std::exchange(tensor.node, MemoryPool::kNone));
  if (onLeave)
    onLeave(id);
}

/// False if all that are on the device are locked.
bool UnifiedTensorPool::evictOne() {
  TensorCache::Id victim = cache.victim();
  if (victim == TensorCache::kNone)
    return false;
  leave(victim);
  ++done.evictions;
  return true;
}

/// Finds a node for a tensor that has none.
void UnifiedTensorPool::makeRoom(Id id) {
  Tensor &tensor = tensors[id];
  for (;;) {
    tensor.node = pool.allocate(tensor.bytes);
    if (tensor.node != MemoryPool::kNone)
      break;
    if (!evictOne())
      fail(ESPALIER_OUT_OF_MEMORY,
           "'%s' needs %lld bytes of the device's pool of %lld bytes, of which "
           "%lld are free beside what is in use, the largest free block has "
           "%lld",
           tensor.name.c_str(), (long long)tensor.bytes,
           (long long)pool.capacity(), (long long)pool.freeBytes(),
           (long long)pool.largestFree());
  }
  cache.insert(id);
}

/// Starts to bring a tensor that has a node what the host has of it.
void UnifiedTensorPool::fetch(Id id) {
  Tensor &tensor = tensors[id];
  device.wait(Lane::ToDevice, device.record(Lane::Compute));
  copies.waitToRead(Lane::ToDevice, onHost(tensor));
  copies.waitToWrite(Lane::ToDevice, onDevice(tensor));
  device.copy(Lane::ToDevice, tensor.name.c_str(), address(tensor),
              host.address(tensor.copy), tensor.bytes);
  copies.add(onHost(tensor), onDevice(tensor), device.record(Lane::ToDevice));
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

char *UnifiedTensorPool::use(Id id, Use how) {
  Tensor &tensor = tensors[id];
  if (how != Use::Write && !tensor.isFilled)
    fail(ESPALIER_INVALID_ARGUMENT,
         "'%s' is read before anything was written to it", tensor.name.c_str());
  if (isOnDevice(id)) {
    ++done.hits;
    cache.touch(id);
  } else {
    makeRoom(id);
    if (how == Use::Write) {
      copies.waitToWrite(Lane::Compute, onDevice(tensor));
      device.poison(Lane::Compute, address(tensor), tensor.bytes);
    } else {
      ++done.misses;
      fetch(id);
    }
  }
  if (how == Use::Read) {
    copies.waitToRead(Lane::Compute, onDevice(tensor));
    return address(tensor);
  }
  copies.waitToWrite(Lane::Compute, onDevice(tensor));
  dropCopy(id);
  tensor.isFilled = true;
  return address(tensor);
}

void UnifiedTensorPool::prefetch(Id id, bool makesRoom) {
  Tensor &tensor = tensors[id];
  if (isOnDevice(id) || !tensor.isFilled)
    return;
  do
    tensor.node = pool.allocate(tensor.bytes);
  while (tensor.node == MemoryPool::kNone && makesRoom && evictOne());
  if (tensor.node == MemoryPool::kNone)
    return;
  cache.insert(id);
  fetch(id);
}

void UnifiedTensorPool::offload(Id id) {
  if (isOnDevice(id) && !cache.isLocked(id))
    leave(id);
}

void UnifiedTensorPool::lock(Id id) { cache.lock(id); }

void UnifiedTensorPool::unlock(Id id) { cache.unlock(id); }

} // namespace espalier
