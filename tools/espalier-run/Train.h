//===- Train.h - Training from files to files -------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What espalier-run --train does.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_TRAIN_H
#define ESPALIER_RUN_TRAIN_H

#include "Options.h"

#include "espalier/runtime.hpp"

namespace espalier::run {

using namespace runtime;

/// Trains as `options` say. Returns the exit code of the program: 0, or 128
/// plus the signal that interrupted it. Throws an exception if anything fails.
int train(const Module &module, Options options);

} // namespace espalier::run

#endif // ESPALIER_RUN_TRAIN_H
