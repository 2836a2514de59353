//===- WeightedRows.cpp - Sums over vertices that share rows --------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightedRows.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

bool vertex::hasSharedVertices(func::FuncOp entry) {
  return llvm::any_of(entry.getArguments(), [&](BlockArgument argument) {
    return bool(entry.getArgAttr(argument.getArgNumber(), kSharedAttrName));
  });
}

/// All rows that an operator reads are the same rows, but for those that go
/// from vertices to structures and back, so any of them tells.
bool vertex::isOfStructures(Value rows) {
  llvm::SetVector<Value> same;
  same.insert(rows);
  for (size_t i = 0; i < same.size(); ++i) {
    Operation *op = same[i].getDefiningOp();
    if (isa_and_nonnull<RootsOp, SegmentSumOp, SegmentMaxOp>(op))
      return true;
    if (!op || isa<ApplyOp, AtRootsOp, SpreadStructuresOp>(op))
      continue;
    for (Value operand : op->getOperands())
      if (isRowsType(operand.getType()))
        same.insert(operand);
  }
  return false;
}

Value vertex::weighRows(OpBuilder &builder, Location loc, Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  auto scalars =
      RankedTensorType::get({ShapedType::kDynamic}, type.getElementType());
  Value many = MultiplicityOp::create(builder, loc, scalars, rows);
  if (scalars != type)
    many = nn::BroadcastOp::create(builder, loc, type, many);
  return arith::MulFOp::create(builder, loc, rows, many);
}
