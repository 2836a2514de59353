//===- PlanDialect.cpp - The plan dialect -----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Plan/IR/Plan.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace espalier::plan;

#include "espalier/Dialect/Plan/IR/PlanDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "espalier/Dialect/Plan/IR/PlanTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "espalier/Dialect/Plan/IR/PlanAttrs.cpp.inc"

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "espalier/Dialect/Plan/IR/PlanTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "espalier/Dialect/Plan/IR/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "espalier/Dialect/Plan/IR/PlanOps.cpp.inc"
      >();
}

LogicalResult PrefetchOp::verify() {
  Type source = getSource().getType();
  if (auto host = dyn_cast<HostType>(source))
    source = host.getTensor();
  if (source != getResult().getType())
    return emitOpError("[C1] copies ")
           << getResult().getType() << " from a source of " << source;
  return success();
}

#define GET_OP_CLASSES
#include "espalier/Dialect/Plan/IR/PlanOps.cpp.inc"
