//===- Passes.h - Passes of the plan dialect --------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_TRANSFORMS_PASSES_H
#define ESPALIER_DIALECT_PLAN_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace espalier::plan {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "espalier/Dialect/Plan/Transforms/Passes.h.inc"
} // namespace espalier::plan

#endif // ESPALIER_DIALECT_PLAN_TRANSFORMS_PASSES_H
