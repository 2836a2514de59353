//===- MachineFile.h - The machine that is simulated ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format of the planners' machine files (docs/machines), of which plans
// are made for one device and its link to the host:
//
//   {
//     "name": "an example",
//     "devices": [{
//       "name": "gpu", "memory": "12GiB", "flops_per_second": 2.8e12,
//       "bytes_per_second": "200GB", "launch_seconds": 5e-6,
//       "algorithms": {"patches": 1.5}
//     }],
//     "links": [{
//       "from": "host", "to": "gpu", "bytes_per_second": "10GB",
//       "latency_seconds": 1e-5, "duplex": "full"
//     }],
//     "host": {"memory": "256GiB"}
//   }
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_SIM_MACHINEFILE_H
#define ESPALIER_DEVICE_SIM_MACHINEFILE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

struct Machine {
  std::string name;
  int64_t memoryBytes = 0;
  double flopsPerSecond = 0;
  /// Of the device's own memory.
  double bytesPerSecond = 0;
  double launchSeconds = 0;
  /// By ESPALIER_ALGORITHM_*: how much faster than DIRECT it is.
  double algorithmSpeeds[2] = {1, 1};
  double linkBytesPerSecond = 0;
  double linkLatencySeconds = 0;
  bool fullDuplex = true;
  int64_t hostMemoryBytes = 0; // 0: no limit
};

/// MALFORMED if `text` describes no machine; messages start with `path`.
Machine parseMachine(std::string_view text, const std::string &path);
Machine readMachine(const std::string &path);

} // namespace espalier

#endif // ESPALIER_DEVICE_SIM_MACHINEFILE_H
