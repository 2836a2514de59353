//===- Interpreter.h - Evaluates model IR directly --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle: what model IR means, computed in the plainest way. One vertex at
// a time, one function per operator, float64 throughout, whatever the float
// types of the IR. It shares nothing with the lowering, so that it can judge
// what that makes.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_REFERENCE_INTERPRETER_H
#define ESPALIER_REFERENCE_INTERPRETER_H

#include "espalier/Reference/Values.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace espalier::reference {

/// Evaluates `entry` on `structures`, one batch for each of its graph
/// arguments, in order, and all of as many structures. `arguments` are its
/// other arguments, in order. Returns its results, or reports an error at the
/// operator that is not supported or fails.
mlir::FailureOr<std::vector<Array>>
interpret(mlir::func::FuncOp entry, llvm::ArrayRef<Structures> structures,
          std::vector<Array> arguments);

} // namespace espalier::reference

#endif // ESPALIER_REFERENCE_INTERPRETER_H
