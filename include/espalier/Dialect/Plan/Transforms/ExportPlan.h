//===- ExportPlan.h - Planned functions as plan files -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_TRANSFORMS_EXPORTPLAN_H
#define ESPALIER_DIALECT_PLAN_TRANSFORMS_EXPORTPLAN_H

#include "espalier/Planning/PlanFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace espalier::plan {

/// Whether `function` has been planned: it has its `plan.memory`.
bool isPlanned(mlir::func::FuncOp function);

/// The graph and the plan that a planned function is, as `espalier-plan` reads
/// them.
mlir::FailureOr<planning::PlanFile> exportPlan(mlir::func::FuncOp function);

} // namespace espalier::plan

#endif // ESPALIER_DIALECT_PLAN_TRANSFORMS_EXPORTPLAN_H
