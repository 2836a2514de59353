//===- RowKernels.cpp - Code for one row of an operator ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas of activations (ExpandableOpInterface) and loops over the columns
// of a row (RowKernelOpInterface), in arith, math, vector and scf.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/ExpandMath.h"
#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace espalier::nn;

/// `value` as a constant of `type`, a float or a vector of floats.
static Value buildConstant(OpBuilder &builder, Location loc, Type type,
                           double value) {
  TypedAttr attribute = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = SplatElementsAttr::get(vector, attribute);
  return arith::ConstantOp::create(builder, loc, attribute);
}

static Value buildIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                      value);
}

//===----------------------------------------------------------------------===//
// ExpandableOpInterface
//===----------------------------------------------------------------------===//

Value SigmoidOp::buildExpansion(OpBuilder &builder, ValueRange operands) {
  return espalier::nn::buildSigmoid(builder, getLoc(), operands[0]);
}

Value ReluOp::buildExpansion(OpBuilder &builder, ValueRange operands) {
  // x < 0 ? 0 : x keeps NaN, and is one instruction on x86.
  Value zero = buildConstant(builder, getLoc(), operands[0].getType(), 0);
  Value negative = arith::CmpFOp::create(
      builder, getLoc(), arith::CmpFPredicate::OLT, operands[0], zero);
  return arith::SelectOp::create(builder, getLoc(), negative, zero,
                                 operands[0]);
}

Value GeluOp::buildExpansion(OpBuilder &builder, ValueRange operands) {
  // 1 + erf(x / sqrt 2) would cancel for negative x; erfc(-x / sqrt 2) is the
  // same number.
  Location loc = getLoc();
  Value x = operands[0];
  Type type = x.getType();
  Value scaled = arith::MulFOp::create(
      builder, loc, x, buildConstant(builder, loc, type, -M_SQRT1_2));
  Value tail = math::ErfcOp::create(builder, loc, scaled);
  Value half = arith::MulFOp::create(builder, loc, x,
                                     buildConstant(builder, loc, type, 0.5));
  return arith::MulFOp::create(builder, loc, half, tail);
}

//===----------------------------------------------------------------------===//
// RowKernelOpInterface
//===----------------------------------------------------------------------===//

/// Calls `body(column, lanes)` for vectors that together cover `columns`
/// columns: full vectors in a loop, then one that ends at the last column. The
/// last may overlap the one before, which is harmless where a column's result
/// depends on that column only.
static void
forEachVector(OpBuilder &builder, Location loc, int64_t columns, int64_t lanes,
              llvm::function_ref<void(OpBuilder &, Value, int64_t)> body) {
  if (columns == 0)
    return;
  lanes = std::min(lanes, columns);
  int64_t whole = columns / lanes * lanes;
  if (whole == lanes) {
    body(builder, buildIndex(builder, loc, 0), lanes);
  } else {
    scf::ForOp::create(
        builder, loc, buildIndex(builder, loc, 0),
        buildIndex(builder, loc, whole), buildIndex(builder, loc, lanes),
        ValueRange(),
        [&](OpBuilder &nested, Location, Value column, ValueRange) {
          body(nested, column, lanes);
          scf::YieldOp::create(nested, loc);
        });
  }
  if (whole != columns)
    body(builder, buildIndex(builder, loc, columns - lanes), lanes);
}

/// `type` with the shape of one vector of `lanes` elements.
static Type vectorOf(Type type, int64_t lanes) {
  return VectorType::get({lanes}, getElementTypeOrSelf(type));
}

void ElementwiseOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Block &body = getBody().front();
  // The narrowest vector of any element type in the group fits all of them.
  int64_t lanes = 0, columns = 0;
  auto look = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    columns = type.getNumElements();
    if (type.getElementType().isInteger(1))
      return;
    int64_t own = access.lanes(type.getElementType());
    lanes = lanes ? std::min(lanes, own) : own;
  };
  llvm::for_each(body.getArguments(), look);
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), look);

  forEachVector(
      builder, getLoc(), columns, lanes,
      [&](OpBuilder &nested, Value column, int64_t lanes) {
        IRMapping mapping;
        for (BlockArgument argument : body.getArguments())
          mapping.map(argument,
                      access.load(nested, argument.getArgNumber(), column,
                                  vectorOf(argument.getType(), lanes)));
        for (Operation &op : body.without_terminator()) {
          if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
            auto splat = cast<SplatElementsAttr>(constant.getValue());
            auto type = cast<VectorType>(vectorOf(constant.getType(), lanes));
            mapping.map(constant,
                        arith::ConstantOp::create(
                            nested, op.getLoc(),
                            SplatElementsAttr::get(
                                type, splat.getSplatValue<Attribute>()))
                            .getResult());
            continue;
          }
          SmallVector<Value> operands;
          for (Value operand : op.getOperands())
            operands.push_back(mapping.lookup(operand));
          if (auto expandable = dyn_cast<ExpandableOpInterface>(op)) {
            mapping.map(op.getResult(0),
                        expandable.buildExpansion(nested, operands));
            continue;
          }
          OperationState state(op.getLoc(), op.getName());
          state.addOperands(operands);
          for (Type type : op.getResultTypes())
            state.addTypes(vectorOf(type, lanes));
          state.addAttributes(op.getAttrs());
          Operation *clone = nested.create(state);
          mapping.map(op.getResults(), clone->getResults());
        }
        for (auto [index, value] :
             llvm::enumerate(body.getTerminator()->getOperands()))
          access.store(nested, index, column, mapping.lookup(value));
      });
}

void SoftmaxOp::buildRow(OpBuilder &builder, RowAccess &access) {
  // Rows of a softmax are short: whole vectors of them, then a shorter one.
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getInput().getType());
  Type element = type.getElementType();
  int64_t columns = type.getShape().back();
  int64_t lanes = std::min(access.lanes(element), columns);
  int64_t whole = columns / lanes * lanes;

  // Reduces one scalar over all columns.
  auto reduce = [&](Value init, auto combine) -> Value {
    auto step = [&](OpBuilder &nested, Value column, int64_t width,
                    Value sofar) -> Value {
      Value vector = access.load(nested, 0, column, vectorOf(element, width));
      return combine(nested, vector, sofar);
    };
    auto loop = scf::ForOp::create(
        builder, loc, buildIndex(builder, loc, 0),
        buildIndex(builder, loc, whole), buildIndex(builder, loc, lanes),
        ValueRange(init),
        [&](OpBuilder &nested, Location, Value column, ValueRange carried) {
          scf::YieldOp::create(
              nested, loc, ValueRange{step(nested, column, lanes, carried[0])});
        });
    Value result = loop.getResult(0);
    if (whole != columns)
      result = step(builder, buildIndex(builder, loc, whole), columns - whole,
                    result);
    return result;
  };

  Value maximum =
      reduce(buildConstant(builder, loc, element,
                           -std::numeric_limits<double>::infinity()),
             [&](OpBuilder &nested, Value vector, Value sofar) -> Value {
               return vector::ReductionOp::create(
                   nested, loc, vector::CombiningKind::MAXIMUMF, vector, sofar);
             });
  auto exponential = [&](OpBuilder &nested, Value vector) -> Value {
    Value shift =
        vector::BroadcastOp::create(nested, loc, vector.getType(), maximum);
    return math::ExpOp::create(
        nested, loc, arith::SubFOp::create(nested, loc, vector, shift));
  };
  Value sum =
      reduce(buildConstant(builder, loc, element, 0),
             [&](OpBuilder &nested, Value vector, Value sofar) -> Value {
               return vector::ReductionOp::create(
                   nested, loc, vector::CombiningKind::ADD,
                   exponential(nested, vector), sofar);
             });
  forEachVector(builder, loc, columns, lanes,
                [&](OpBuilder &nested, Value column, int64_t lanes) {
                  Type vector = vectorOf(element, lanes);
                  Value numerator = exponential(
                      nested, access.load(nested, 0, column, vector));
                  Value denominator =
                      vector::BroadcastOp::create(nested, loc, vector, sum);
                  access.store(nested, 0, column,
                               arith::DivFOp::create(nested, loc, numerator,
                                                     denominator));
                });
}
