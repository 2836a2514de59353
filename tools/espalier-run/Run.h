//===- Run.h - A run from files to files ------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything espalier-run does but --train and --describe.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_RUN_H
#define ESPALIER_RUN_RUN_H

#include "Options.h"

#include "espalier/runtime.hpp"

namespace espalier::run {

using namespace runtime;

/// Runs an entry of `module` as `options` say. Throws an exception if anything
/// fails.
void run(const Module &module, Options options);

} // namespace espalier::run

#endif // ESPALIER_RUN_RUN_H
