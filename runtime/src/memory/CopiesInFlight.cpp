//===- CopiesInFlight.cpp -------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/CopiesInFlight.h"

#include <algorithm>

namespace espalier {

/// Forgets what nobody would wait for: the other lanes start after the one that
/// computes.
void CopiesInFlight::dropEnded() {
  copies.erase(
      std::remove_if(copies.begin(), copies.end(),
                     [&](const Copy &c) { return device.isDone(c.end); }),
      copies.end());
}

void CopiesInFlight::add(AddressRange from, AddressRange to, Event end) {
  dropEnded();
  copies.push_back({from, to, end});
}

void CopiesInFlight::waitToRead(Lane lane, AddressRange range) {
  for (const Copy &copy : copies)
    if (copy.to.overlaps(range))
      device.wait(lane, copy.end);
}

void CopiesInFlight::waitToWrite(Lane lane, AddressRange range) {
  for (const Copy &copy : copies)
    if (copy.from.overlaps(range) || copy.to.overlaps(range))
      device.wait(lane, copy.end);
}

bool CopiesInFlight::touches(AddressRange range) const {
  return std::any_of(copies.begin(), copies.end(), [&](const Copy &copy) {
    return !device.isDone(copy.end) &&
           (copy.from.overlaps(range) || copy.to.overlaps(range));
  });
}

} // namespace espalier
