//===- Validate.h - Checks a compiled model's tables ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_VALIDATE_H
#define ESPALIER_MODULE_VALIDATE_H

#include "espalier/abi.h"

namespace espalier {

/// Throws an Error unless the executor can run every entry of `model` without
/// touching memory that it should not: indices and column ranges are inside
/// their tables, accesses suit the rows of phase and buffer, dtypes and shapes
/// of steps agree, scratch is written before it is read, and results are
/// written. INCOMPATIBLE if the model is for another ABI version, MALFORMED
/// for the rest.
void validateModel(const espalier_model *model);

} // namespace espalier

#endif // ESPALIER_MODULE_VALIDATE_H
