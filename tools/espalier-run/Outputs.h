//===- Outputs.h - Files that a run will write ------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_OUTPUTS_H
#define ESPALIER_RUN_OUTPUTS_H

#include "Options.h"

namespace espalier::run {

/// Fails now, rather than after a long run, if a file cannot be written. No
/// output may replace another, or a file that is read; only a checkpoint may
/// replace the one that training goes on from.
void checkOutputs(const Options &options);

} // namespace espalier::run

#endif // ESPALIER_RUN_OUTPUTS_H
