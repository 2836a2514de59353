//===- MachineLimits.h - Numbers that a machine may have --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For both readers of machine files, the runtime's and the planners'. Any
// machine is within these limits, and whatever it computes or copies takes a
// time that is finite.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_SIM_MACHINELIMITS_H
#define ESPALIER_DEVICE_SIM_MACHINELIMITS_H

#include <cstdio>
#include <string>

namespace espalier {

struct NumberRange {
  double least;
  double most;

  /// False of what is no number.
  constexpr bool contains(double number) const {
    return number >= least && number <= most;
  }
  /// "a number from 0 to 1e+09".
  std::string text() const {
    char text[64];
    std::snprintf(text, sizeof text, "a number from %g to %g", least, most);
    return text;
  }
};

/// Of operations, or bytes, a second.
inline constexpr NumberRange kMachineRates{1e-3, 1e24};
/// Of what a launch, or a copy of nothing, takes.
inline constexpr NumberRange kMachineSeconds{0, 1e9};
/// How much faster an algorithm is than another.
inline constexpr NumberRange kMachineSpeeds{1e-6, 1e6};

} // namespace espalier

#endif // ESPALIER_DEVICE_SIM_MACHINELIMITS_H
