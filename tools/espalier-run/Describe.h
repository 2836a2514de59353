//===- Describe.h - What a compiled model contains --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The model's tables as text.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_DESCRIBE_H
#define ESPALIER_RUN_DESCRIBE_H

#include "espalier/abi.h"

#include <ostream>
#include <string>

namespace espalier::run {

/// The entry called `name`, or the only one if it is empty.
const espalier_entry &findEntry(const espalier_model &model,
                                const std::string &name);

/// Prints all entries, or the one called `entry`.
void describe(std::ostream &out, const espalier_model &model,
              const std::string &entry);

} // namespace espalier::run

#endif // ESPALIER_RUN_DESCRIBE_H
