//===- ModelDialect.cpp - The model dialect ---------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Model/IR/Model.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace espalier::model;

#include "espalier/Dialect/Model/IR/ModelDialect.cpp.inc"
#include "espalier/Dialect/Model/IR/ModelEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "espalier/Dialect/Model/IR/ModelTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "espalier/Dialect/Model/IR/ModelAttrs.cpp.inc"

void ModelDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "espalier/Dialect/Model/IR/ModelTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "espalier/Dialect/Model/IR/ModelAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "espalier/Dialect/Model/IR/ModelOps.cpp.inc"
      >();
}

LogicalResult EntryOp::verify() {
  size_t graphs = getGraphs().size();
  if (getArities().size() != graphs ||
      (getReverseOf() && getReverseOf()->size() != graphs) ||
      (getShared() && getShared()->size() != graphs))
    return emitOpError("expects an arity, what it is the reverse of, and "
                       "whether it is shared, for each of its ")
           << graphs << " graphs";
  if ((getTypes() && getTypes()->size() != graphs) ||
      (getTypeFields() && getTypeFields()->size() != graphs) ||
      getTypes().has_value() != getTypeFields().has_value())
    return emitOpError("expects a number of types, and the field that has "
                       "them, for each of its ")
           << graphs << " graphs";
  for (int64_t graph = 0; getReverseOf() && graph < (int64_t)graphs; ++graph) {
    int64_t source = (*getReverseOf())[graph] - 1;
    if (source < -1 || source >= graph ||
        (source >= 0 && (*getReverseOf())[source] != 0))
      return emitOpError("has graph #")
             << graph << " as the reverse of graph #" << source
             << "; expects an argument before it";
  }
  return success();
}

LogicalResult BufferOp::verify() {
  auto row = dyn_cast<RankedTensorType>(getRow());
  if (!row || !row.hasStaticShape())
    return emitOpError("expects rows to be tensors of static shape, but got ")
           << getRow();
  if ((getKind() == BufferKind::constant) != getValue().has_value())
    return emitOpError("expects a value for a constant, and only for one");
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getAt().size() != getBuffers().size() ||
      !llvm::all_of(getAt(), llvm::IsaPred<OperandAttr>))
    return emitOpError("expects a #model.at for each of its ")
           << getBuffers().size() << " operands";
  if ((size_t)getWritten() > getBuffers().size())
    return emitOpError("expects at most as many results as operands");
  auto byId = [](Attribute at) {
    return cast<OperandAttr>(at).getAccess() == Access::id;
  };
  if ((size_t)llvm::count_if(getAt(), byId) != getByIds().size())
    return emitOpError("expects a buffer of ids for each operand with an `id` "
                       "access");
  return success();
}

LogicalResult LayerOp::verify() {
  if (getWritten() < 1 || (size_t)getWritten() > getBuffers().size())
    return emitOpError("expects at least one result, and no more than it has "
                       "operands");
  if (getWindow().size() != 2 || getStrides().size() != 2 ||
      getDilations().size() != 2 || getPadding().size() != 4 ||
      getOffsets().size() != 4 ||
      (getWorkspace() && getWorkspace()->size() != 2))
    return emitOpError("expects 2 windows, strides and dilations, 4 paddings "
                       "and offsets, and a workspace's bytes and offset");
  return success();
}

#define GET_OP_CLASSES
#include "espalier/Dialect/Model/IR/ModelOps.cpp.inc"
