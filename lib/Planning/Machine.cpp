//===- Machine.cpp - Devices and links that plans are made for ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Machine.h"

#include <algorithm>

using namespace espalier::planning;

double Device::speedOf(const std::string &algorithm) const {
  for (const auto &[name, speed] : algorithmSpeeds)
    if (name == algorithm)
      return speed;
  return 1;
}

double Machine::secondsOf(const Operator &op,
                          const Algorithm *algorithm) const {
  if (algorithm && algorithm->seconds > 0)
    return algorithm->seconds;
  double speed = algorithm ? device.speedOf(algorithm->name) : 1;
  if (op.seconds > 0)
    return op.seconds / speed;
  double arithmetic =
      device.flopsPerSecond > 0 ? op.flops / device.flopsPerSecond / speed : 0;
  double traffic =
      device.bytesPerSecond > 0 ? op.bytes / device.bytesPerSecond : 0;
  if (op.flops == 0 && op.bytes == 0)
    return 0;
  return device.launchSeconds + std::max(arithmetic, traffic);
}

double Machine::transferSeconds(int64_t bytes) const {
  return link.latencySeconds +
         (link.bytesPerSecond > 0 ? double(bytes) / link.bytesPerSecond : 0);
}
