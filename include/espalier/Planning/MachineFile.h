//===- MachineFile.h - Machines as JSON -------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   {
//     "name": "an example",
//     "description": "for people; optional, like kind, and ignored",
//     "devices": [{
//       "name": "gpu", "kind": "cuda", "memory": "12GiB",
//       "flops_per_second": 2.8e12, "bytes_per_second": "200GB",
//       "launch_seconds": 5e-6, "algorithms": {"patches": 1.5}
//     }],
//     "links": [{
//       "from": "host", "to": "gpu", "bytes_per_second": "10GB",
//       "latency_seconds": 1e-5, "duplex": "full"
//     }],
//     "host": {"memory": "256GiB"}
//   }
//
// `algorithms`, optional, says how much faster than without a workspace an
// operator is computed by those that need one. Bytes, and bytes per second, are
// numbers or sizes that parseByteSize() takes. docs/machines has files of some
// machines. The host's memory of 0 is no limit. Rates are from 0.001 to 1e24 a
// second, seconds from 0 to 1e9, and algorithms at most a million times as
// fast, or as slow. Plans of memory are for one device and its link to the
// host, so that there is one of each.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_MACHINEFILE_H
#define ESPALIER_PLANNING_MACHINEFILE_H

#include "espalier/Planning/Machine.h"

#include <optional>
#include <string>
#include <string_view>

namespace espalier::planning {

/// None, and why and where in the text, if it is no machine.
std::optional<Machine> parseMachine(std::string_view text, std::string &error);

/// The same of a file, whose path `error` then starts with.
std::optional<Machine> readMachineFile(const std::string &path,
                                       std::string &error);

/// What parseMachine() reads back as the same machine.
std::string printMachine(const Machine &machine);

bool writeMachineFile(const std::string &path, const Machine &machine,
                      std::string &error);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_MACHINEFILE_H
