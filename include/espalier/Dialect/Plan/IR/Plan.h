//===- Plan.h - Copies, and where tensors lie -------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_IR_PLAN_H
#define ESPALIER_DIALECT_PLAN_IR_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "espalier/Dialect/Plan/IR/PlanDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "espalier/Dialect/Plan/IR/PlanTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "espalier/Dialect/Plan/IR/PlanAttrs.h.inc"

#define GET_OP_CLASSES
#include "espalier/Dialect/Plan/IR/PlanOps.h.inc"

namespace espalier::plan {

/// Attributes that a plan leaves; the dialect's description says what they are.
constexpr llvm::StringLiteral kOffsetsAttrName = "plan.offsets";
constexpr llvm::StringLiteral kOffsetAttrName = "plan.offset";
constexpr llvm::StringLiteral kAgainAttrName = "plan.again";
/// Which operator of the graph an operator is, of those that run several times.
constexpr llvm::StringLiteral kOperatorAttrName = "plan.operator";
constexpr llvm::StringLiteral kAlgorithmAttrName = "plan.algorithm";
constexpr llvm::StringLiteral kWorkspaceAttrName = "plan.workspace";
constexpr llvm::StringLiteral kMemoryAttrName = "plan.memory";
constexpr llvm::StringLiteral kNotesAttrName = "plan.notes";

/// The value whose memory the result of `op` names: what is reshaped, or, as
/// products read matrices either way, transposed. Null if it has its own.
mlir::Value getViewed(mlir::Operation *op);
/// The value whose memory `value` names: itself, if that is its own.
mlir::Value storageOf(mlir::Value value);

/// What people know an operator by: its layer, if its location names it, or
/// what it is.
std::string getOperatorName(mlir::Operation *op);

/// The input of a network that `op` takes some rows of, if that is all that
/// anybody does to it: such an input stays on the host, and the rows are
/// fetched from there on their own. Null otherwise.
mlir::BlockArgument getSlicedInput(mlir::Operation *op);
int64_t getFirstRow(mlir::Operation *slice);

} // namespace espalier::plan

#endif // ESPALIER_DIALECT_PLAN_IR_PLAN_H
