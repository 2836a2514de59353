//===- CheckEntry.cpp - What an entry must be to be lowered ---------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckEntry.h"

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace espalier;

static LogicalResult checkType(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  if (!tensor.hasStaticShape() && !nn::isRowsType(tensor))
    return op->emitOpError("cannot keep ")
           << tensor << " in memory; expects a static shape, or one whose "
           << "leading dimension only is dynamic";
  Type element = tensor.getElementType();
  if (element.isF32() || element.isF64() || element.isInteger(32))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("cannot keep ")
                                  << tensor << " in memory; expects elements "
                                  << "of f32, f64 or i32";
  if (element.isInteger(1))
    diagnostic.attachNote()
        << "select on conditions in the elementwise group that makes them";
  return diagnostic;
}

/// A batch of static size looks like one row, which it is not.
static LogicalResult checkRow(Operation *op, Value value, int64_t rank) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == rank + (nn::isRowsType(type) ? 1 : 0))
    return success();
  return op->emitOpError("expects one row, or rows of dynamic number, but got ")
         << type;
}

/// Columns of rows, or columns and rows of a weight.
static LogicalResult checkSlice(tensor::ExtractSliceOp op) {
  bool batched = nn::isRowsType(op.getType());
  if (op.getSourceType().getRank() != op.getType().getRank() ||
      nn::isRowsType(op.getSourceType()) != batched ||
      op.getType().getRank() > 2)
    return op.emitOpError("cannot be lowered: a slice of ")
           << op.getSourceType() << " cannot be " << op.getType();
  if (ShapedType::isDynamicShape(op.getStaticOffsets()) ||
      llvm::any_of(op.getStaticStrides(),
                   [](int64_t stride) { return stride != 1; }))
    return op.emitOpError("cannot be lowered: expects static offsets and "
                          "strides of 1");
  if (!batched)
    return success();
  // All rows: as many as some tensor of rows has.
  auto dim = op.getSizes().empty()
                 ? tensor::DimOp()
                 : op.getSizes()[0].getDefiningOp<tensor::DimOp>();
  if (op.getStaticOffsets()[0] != 0 || !dim || dim.getConstantIndex() != 0)
    return op.emitOpError("cannot be lowered: expects all rows, from the first "
                          "to the tensor.dim of rows");
  return success();
}

static LogicalResult checkConcat(tensor::ConcatOp op) {
  if (!nn::isRowsType(op.getType()) || op.getDim() != 0)
    return success();
  return op.emitOpError("cannot be lowered: rows of a batch are joined in "
                        "another dimension than that of the rows");
}

LogicalResult espalier::checkEntry(func::FuncOp function) {
  if (function.isExternal())
    return function.emitOpError("has no body, and nothing to link it with");
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("has control flow, which an entry cannot have");
  for (Type type : function.getArgumentTypes())
    if (failed(checkType(function, type)))
      return failure();

  auto check = [](Operation *op) -> LogicalResult {
    for (Type type : op->getResultTypes())
      if (failed(checkType(op, type)))
        return failure();
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case([](nn::MatmulOp op) { return checkRow(op, op.getInput(), 1); })
        .Case<nn::SoftmaxOp, nn::LayerNormOp, nn::LayerNormAdjointOp>(
            [](auto op) { return checkRow(op, op.getInput(), 1); })
        .Case<nn::SoftmaxCrossEntropyOp, nn::SoftmaxCrossEntropyAdjointOp,
              nn::BinaryCrossEntropyOp, nn::BinaryCrossEntropyAdjointOp,
              nn::CorrectOp>(
            [](auto op) { return checkRow(op, op.getLogits(), 1); })
        .Case([](nn::EmbeddingOp op) { return checkRow(op, op.getIds(), 0); })
        .Case([](nn::DropoutOp op) { return checkRow(op, op.getRow(), 0); })
        .Case([](nn::OuterSumOp op) { return checkRow(op, op.getX(), 1); })
        .Case([](nn::SoftmaxAdjointOp op) {
          return checkRow(op, op.getOutput(), 1);
        })
        .Case([](nn::SumRowsOp op) {
          auto rows = cast<RankedTensorType>(op.getRows().getType());
          return checkRow(op, op.getRows(), rows.getRank() - 1);
        })
        .Case([](tensor::ExtractSliceOp op) { return checkSlice(op); })
        .Case([](tensor::ConcatOp op) { return checkConcat(op); })
        .Default([](Operation *) { return success(); });
  };
  WalkResult result = function.walk([&](Operation *op) {
    // Conditions and other types in a group live in registers.
    if (isa<nn::ElementwiseOp>(op->getParentOp()) || succeeded(check(op)))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
