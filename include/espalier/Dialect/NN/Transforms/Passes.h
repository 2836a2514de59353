//===- Passes.h - Passes of the NN dialect ----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_NN_TRANSFORMS_PASSES_H
#define ESPALIER_DIALECT_NN_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace espalier::nn {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "espalier/Dialect/NN/Transforms/Passes.h.inc"
} // namespace espalier::nn

#endif // ESPALIER_DIALECT_NN_TRANSFORMS_PASSES_H
