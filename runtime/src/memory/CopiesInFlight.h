//===- CopiesInFlight.h - Copies that memory has to wait for ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy reads its memory, and writes that of its target, until it ends. Who
// reads bytes waits for the copies that write them; who writes bytes, for those
// that read them, too; nobody waits for anything else.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MEMORY_COPIESINFLIGHT_H
#define ESPALIER_MEMORY_COPIESINFLIGHT_H

#include "device/Device.h"

#include <vector>

namespace espalier {

/// Memory of the host or a device.
struct AddressRange {
  const char *begin = nullptr;
  int64_t bytes = 0;

  bool overlaps(const AddressRange &other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

class CopiesInFlight {
public:
  explicit CopiesInFlight(Device &device) : device(device) {}

  void add(AddressRange from, AddressRange to, Event end);
  /// `lane` waits until it may read, or write, `range`.
  void waitToRead(Lane lane, AddressRange range);
  void waitToWrite(Lane lane, AddressRange range);
  /// Whether one reads or writes any of `range`.
  bool touches(AddressRange range) const;
  /// All have ended.
  void clear() { copies.clear(); }

private:
  struct Copy {
    AddressRange from;
    AddressRange to;
    Event end;
  };

  void dropEnded();

  Device &device;
  std::vector<Copy> copies;
};

} // namespace espalier

#endif // ESPALIER_MEMORY_COPIESINFLIGHT_H
