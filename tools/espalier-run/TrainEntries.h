//===- TrainEntries.h - Which entries train and which measure ---*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_TRAINENTRIES_H
#define ESPALIER_RUN_TRAINENTRIES_H

#include "espalier/abi.h"

#include <string>

namespace espalier::run {

/// The entry that is a step of training: it gives 'loss' and changes
/// parameters. That called `name`, or "train_step" if it is empty.
const espalier_entry &findStep(const espalier_model &model,
                               const std::string &name);

/// The entry that gives 'loss' and changes nothing: that called `name`, or, if
/// it is empty, the only one that draws no random numbers.
const espalier_entry &findMeasure(const espalier_model &model,
                                  const std::string &name);

} // namespace espalier::run

#endif // ESPALIER_RUN_TRAINENTRIES_H
