//===- Machine.h - Devices and links that plans are made for ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device computes, has memory, and is joined to the host's by a link. How
// long an operator takes is read off a roofline: the longer of its arithmetic
// at the device's rate and its traffic at the memory's, plus what a launch
// costs. Algorithms with a workspace are faster by what was measured of the
// device; of one that is not listed nothing is known, and it is taken for no
// faster than the one without.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_MACHINE_H
#define ESPALIER_PLANNING_MACHINE_H

#include "espalier/Planning/Graph.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace espalier::planning {

struct Device {
  std::string name;
  int64_t memoryBytes = 0;
  double flopsPerSecond = 0;
  /// Of the device's own memory.
  double bytesPerSecond = 0;
  double launchSeconds = 0;
  /// What runs on it, e.g. "cpu" or "cuda". For people: planners decide nothing
  /// by it.
  std::string kind;
  /// By name: how much faster than the one without a workspace an algorithm is.
  std::vector<std::pair<std::string, double>> algorithmSpeeds = {};

  /// 1 of what is not listed.
  double speedOf(const std::string &algorithm) const;
};

/// Between the device and the host, each way.
struct Link {
  double bytesPerSecond = 0;
  double latencySeconds = 0;
  /// Whether both directions are at full rate at the same time.
  bool fullDuplex = true;
};

struct Machine {
  std::string name;
  Device device;
  Link link;
  /// 0: no limit.
  int64_t hostMemoryBytes = 0;

  /// Of `op`'s algorithm without workspace, or of `algorithm` if it says.
  double secondsOf(const Operator &op,
                   const Algorithm *algorithm = nullptr) const;
  /// One copy over the link, either way.
  double transferSeconds(int64_t bytes) const;
};

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_MACHINE_H
