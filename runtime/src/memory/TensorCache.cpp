//===- TensorCache.cpp ----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/TensorCache.h"

namespace espalier {

void TensorCache::link(Id id) {
  Entry &entry = entries[id];
  entry.newer = kNone;
  entry.older = newest;
  (newest == kNone ? oldest : entries[newest].newer) = id;
  newest = id;
}

void TensorCache::unlink(Id id) {
  Entry &entry = entries[id];
  (entry.newer == kNone ? newest : entries[entry.newer].older) = entry.older;
  (entry.older == kNone ? oldest : entries[entry.older].newer) = entry.newer;
}

void TensorCache::insert(Id id) {
  if (id >= (Id)entries.size())
    entries.resize(id + 1);
  entries[id] = Entry{};
  entries[id].isThere = true;
  link(id);
}

void TensorCache::remove(Id id) {
  if (entries[id].locks == 0)
    unlink(id);
  entries[id].isThere = false;
}

void TensorCache::touch(Id id) {
  if (entries[id].locks > 0)
    return;
  unlink(id);
  link(id);
}

void TensorCache::lock(Id id) {
  if (entries[id].locks++ == 0)
    unlink(id);
}

void TensorCache::unlock(Id id) {
  if (--entries[id].locks == 0)
    link(id);
}

} // namespace espalier
