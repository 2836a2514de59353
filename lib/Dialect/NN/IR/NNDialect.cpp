//===- NNDialect.cpp - Layer operators --------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace espalier::nn;

#include "espalier/Dialect/NN/IR/NNDialect.cpp.inc"
#include "espalier/Dialect/NN/IR/NNInterfaces.cpp.inc"

void NNDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "espalier/Dialect/NN/IR/NNOps.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// nn.param, nn.input, nn.output
//===----------------------------------------------------------------------===//

static LogicalResult verifyName(Operation *op, NamedAttribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name || name.empty())
    return op->emitOpError() << "expects '" << attribute.getName().getValue()
                             << "' to be a non-empty string";
  return success();
}

LogicalResult NNDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  return op->emitOpError()
         << "has the attribute '" << attribute.getName().getValue()
         << "', which belongs on an argument or a result of a function";
}

LogicalResult NNDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned argument,
                                                  NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name != "nn.param" && name != "nn.input" && name != "nn.state")
    return op->emitOpError()
           << "has an argument with the unknown attribute '" << name
           << "'; expects nn.param, nn.input or nn.state";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "expects '" << name << "' on a function only";
  for (StringRef other : {"nn.param", "nn.input", "nn.state"})
    if (other != name && function.getArgAttr(argument, other))
      return op->emitOpError() << "argument #" << argument << " has both "
                               << other << " and " << name;
  if (name != "nn.input") {
    auto type =
        dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
    if (!type || !type.hasStaticShape())
      return op->emitOpError()
             << "expects a parameter or state to be a tensor of static shape, "
                "but "
                "argument #"
             << argument << " is " << function.getArgumentTypes()[argument];
  }
  return verifyName(op, attribute);
}

LogicalResult NNDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name != "nn.output" && name != "nn.update" && name != "nn.gradient")
    return op->emitOpError()
           << "has a result with the unknown attribute '" << name
           << "'; expects nn.output, nn.update or nn.gradient";
  return verifyName(op, attribute);
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

RankedTensorType espalier::nn::getRowsType(Type type) {
  auto row = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape, row.getShape());
  return RankedTensorType::get(shape, row.getElementType());
}

RankedTensorType espalier::nn::getRowType(Type type) {
  auto rows = cast<RankedTensorType>(type);
  return RankedTensorType::get(rows.getShape().drop_front(),
                               rows.getElementType());
}

bool espalier::nn::isRowsType(Type type) {
  auto rows = dyn_cast<RankedTensorType>(type);
  return rows && rows.getRank() > 0 && rows.isDynamicDim(0) &&
         rows.getNumDynamicDims() == 1;
}

Value espalier::nn::buildZeros(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc,
                                   cast<TypedAttr>(builder.getZeroAttr(type)));
}

bool espalier::nn::isZeros(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

Value espalier::nn::buildSlice(OpBuilder &builder, Location loc, Value source,
                               RankedTensorType type, int64_t dim,
                               int64_t offset) {
  // No offset is inside of nothing.
  if (type.hasStaticShape() && type.getNumElements() == 0)
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, ArrayRef<Attribute>{}));
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  offsets[dim] = builder.getIndexAttr(offset);
  for (int64_t extent : type.getShape())
    sizes.push_back(builder.getIndexAttr(extent));
  if (isRowsType(type))
    sizes[0] = tensor::DimOp::create(builder, loc, source, 0).getResult();
  return tensor::ExtractSliceOp::create(builder, loc, type, source, offsets,
                                        sizes, strides);
}

bool espalier::nn::isTotal(Operation *op) {
  // Upstream calls integer remainders pure, though not of a divisor of 0.
  if (isa<arith::RemSIOp, arith::RemUIOp>(op)) {
    SplatElementsAttr divisor;
    if (!matchPattern(op->getOperand(1), m_Constant(&divisor)) ||
        !isa<IntegerType>(divisor.getElementType()))
      return false;
    APInt value = divisor.getSplatValue<APInt>();
    return !value.isZero() && !value.isAllOnes();
  }
  return isPure(op);
}

int64_t espalier::nn::detail::rowBytes(Operation *op) {
  bool batched = llvm::any_of(op->getOperandTypes(), isRowsType) ||
                 llvm::any_of(op->getResultTypes(), isRowsType);
  int64_t bytes = 0;
  auto add = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || (batched && !isRowsType(tensor)))
      return;
    if (isRowsType(tensor))
      tensor = getRowType(tensor);
    if (tensor.hasStaticShape())
      bytes += tensor.getNumElements() *
               llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  };
  for (Type type : op->getOperandTypes())
    add(type);
  for (Type type : op->getResultTypes())
    add(type);
  return bytes;
}
