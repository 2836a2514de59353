//===- Passes.h - From rows to what the runtime executes --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_CONVERSION_PASSES_H
#define ESPALIER_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace espalier {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "espalier/Conversion/Passes.h.inc"
} // namespace espalier

#endif // ESPALIER_CONVERSION_PASSES_H
