//===- Model.h - The tables of a compiled model -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_MODEL_IR_MODEL_H
#define ESPALIER_DIALECT_MODEL_IR_MODEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "espalier/Dialect/Model/IR/ModelDialect.h.inc"
#include "espalier/Dialect/Model/IR/ModelEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "espalier/Dialect/Model/IR/ModelTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "espalier/Dialect/Model/IR/ModelAttrs.h.inc"

#define GET_OP_CLASSES
#include "espalier/Dialect/Model/IR/ModelOps.h.inc"

#endif // ESPALIER_DIALECT_MODEL_IR_MODEL_H
