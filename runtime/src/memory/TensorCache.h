//===- TensorCache.h - Which tensor leaves the device next ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors that are on the device, in the order in which they were last
// used. Going backward, a network reads first what it wrote last: the least
// recently used is the one that is needed latest. A tensor that a step is at is
// locked, and cannot leave; a lock is a use that lasts. Nobody leaves before
// the device is really full: who asks for a victim is.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_TENSORCACHE_H
#define ESPALIER_MEMORY_TENSORCACHE_H

#include <cstdint>
#include <vector>

namespace espalier {

class TensorCache {
public:
  using Id = int32_t;
  static constexpr Id kNone = -1;

  /// As the one used last. `id` is a small number that is not there yet.
  void insert(Id id);
  void remove(Id id);
  bool contains(Id id) const {
    return id < (Id)entries.size() && entries[id].isThere;
  }
  void touch(Id id);
  /// As often locked as unlocked, it can leave again, and was used last.
  void lock(Id id);
  void unlock(Id id);
  bool isLocked(Id id) const { return contains(id) && entries[id].locks > 0; }
  /// The one of those that are not locked whose last use is longest ago; kNone
  /// if all are.
  Id victim() const { return oldest; }

private:
  struct Entry {
    Id newer = kNone;
    Id older = kNone;
    int32_t locks = 0;
    bool isThere = false;
  };

  void link(Id id);
  void unlink(Id id);

  std::vector<Entry> entries;
  /// The ends of the list of those that are not locked.
  Id newest = kNone;
  Id oldest = kNone;
};

} // namespace espalier

#endif // ESPALIER_MEMORY_TENSORCACHE_H
