//===- Networks.cpp - What is asked of layered networks -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Plan/IR/Plan.h"

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace espalier;

Value plan::getViewed(Operation *op) {
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return transpose.getMatrix();
  return nn::getViewed(op);
}

Value plan::storageOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    Value viewed = getViewed(op);
    if (!viewed)
      break;
    value = viewed;
  }
  return value;
}

std::string plan::getOperatorName(Operation *op) {
  if (auto named = dyn_cast<NameLoc>(op->getLoc()))
    return named.getName().str();
  StringRef name = op->getName().getStringRef();
  return name.substr(name.find('.') + 1).str();
}

/// Whether `slice` is some rows of its source, all of each.
static bool takesRows(tensor::ExtractSliceOp slice) {
  RankedTensorType from = slice.getSourceType(), to = slice.getType();
  if (slice->getNumOperands() != 1 || from.getRank() != to.getRank() ||
      from.getRank() == 0 ||
      !llvm::all_of(slice.getStaticStrides(),
                    [](int64_t stride) { return stride == 1; }))
    return false;
  return from.getShape().drop_front() == to.getShape().drop_front();
}

BlockArgument plan::getSlicedInput(Operation *op) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  auto input =
      slice ? dyn_cast<BlockArgument>(slice.getSource()) : BlockArgument();
  if (!input)
    return {};
  auto function = dyn_cast<func::FuncOp>(input.getOwner()->getParentOp());
  if (!function || !function.getArgAttr(input.getArgNumber(), "nn.input") ||
      !llvm::all_of(input.getUsers(), [](Operation *user) {
        auto other = dyn_cast<tensor::ExtractSliceOp>(user);
        return other && takesRows(other);
      }))
    return {};
  return input;
}

int64_t plan::getFirstRow(Operation *slice) {
  return cast<tensor::ExtractSliceOp>(slice).getStaticOffsets()[0];
}
