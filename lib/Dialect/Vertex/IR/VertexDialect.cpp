//===- VertexDialect.cpp - The vertex dialect -------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace espalier::vertex;

#include "espalier/Dialect/Vertex/IR/VertexDialect.cpp.inc"
#include "espalier/Dialect/Vertex/IR/VertexEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "espalier/Dialect/Vertex/IR/VertexTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "espalier/Dialect/Vertex/IR/VertexAttrs.cpp.inc"

SmallVector<Value> espalier::vertex::getReadValues(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values.takeVector();
}

void VertexDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "espalier/Dialect/Vertex/IR/VertexTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "espalier/Dialect/Vertex/IR/VertexAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "espalier/Dialect/Vertex/IR/VertexOps.cpp.inc"
      >();
}
