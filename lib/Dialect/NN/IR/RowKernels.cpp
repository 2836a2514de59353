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

Value FillOp::buildExpansion(OpBuilder &builder, ValueRange operands) {
  return buildConstant(builder, getLoc(), operands[0].getType(),
                       getValue().convertToDouble());
}

//===----------------------------------------------------------------------===//
// RowKernelOpInterface
//===----------------------------------------------------------------------===//

/// Calls `body(column, lanes)` for vectors that together cover `columns`
/// columns: full vectors in a loop, then one that ends at the last column. The
/// last may overlap the one before, which is harmless where a column's result
/// depends on that column only, and what is read is not overwritten; otherwise
/// (`inPlace`) it is shorter instead.
static void
forEachVector(OpBuilder &builder, Location loc, int64_t columns, int64_t lanes,
              bool inPlace,
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
  if (whole == columns)
    return;
  int64_t last = inPlace ? columns - whole : lanes;
  body(builder, buildIndex(builder, loc, columns - last), last);
}

/// `type` with the shape of one vector of `lanes` elements.
static Type vectorOf(Type type, int64_t lanes) {
  return VectorType::get({lanes}, getElementTypeOrSelf(type));
}

void ElementwiseOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Block &body = getBody().front();
  // The narrowest vector of any element type in the group fits all of them.
  int64_t lanes = 0, columns = 0;
  bool empty = false;
  auto look = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    // Scalars are there to be broadcast, if not everything is one.
    columns = std::max(columns, type.getNumElements());
    empty |= type.getNumElements() == 0;
    if (type.getElementType().isInteger(1))
      return;
    int64_t own = access.lanes(type.getElementType());
    lanes = lanes ? std::min(lanes, own) : own;
  };
  llvm::for_each(body.getArguments(), look);
  for (Operation &op : body.without_terminator())
    llvm::for_each(op.getResults(), look);

  if (empty)
    return;
  auto isBroadcast = [](Operation *user) { return isa<BroadcastOp>(user); };
  llvm::DenseMap<Value, Value> scalars;
  for (BlockArgument argument : body.getArguments())
    if (!argument.use_empty() && llvm::all_of(argument.getUsers(), isBroadcast))
      scalars[argument] = access.load(builder, argument.getArgNumber(),
                                      buildIndex(builder, getLoc(), 0),
                                      getElementTypeOrSelf(argument.getType()));

  forEachVector(
      builder, getLoc(), columns, lanes, access.isInPlace(),
      [&](OpBuilder &nested, Value column, int64_t lanes) {
        IRMapping mapping;
        for (BlockArgument argument : body.getArguments())
          if (!scalars.contains(argument))
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
          if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
            mapping.map(broadcast.getResult(),
                        vector::BroadcastOp::create(
                            nested, op.getLoc(),
                            vectorOf(broadcast.getType(), lanes),
                            scalars.lookup(broadcast.getScalar())));
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

namespace {
/// Walks over the columns of operand 0, whole vectors, then a shorter one: the
/// rows of a softmax are short.
class RowReducer {
public:
  RowReducer(OpBuilder &builder, Location loc, RowAccess &access, Value operand)
      : builder(builder), loc(loc), access(access) {
    auto type = cast<RankedTensorType>(operand.getType());
    element = type.getElementType();
    columns = isRowsType(type) ? getRowType(type).getNumElements()
                               : type.getNumElements();
    lanes = std::max<int64_t>(1, std::min(access.lanes(element), columns));
  }

  /// Combines one scalar with the vector of every range of columns.
  using Combine = llvm::function_ref<Value(OpBuilder &, Value column,
                                           Value vector, Value sofar)>;
  Value reduce(Value init, Combine combine) {
    int64_t whole = columns / lanes * lanes;
    auto step = [&](OpBuilder &nested, Value column, int64_t width,
                    Value sofar) -> Value {
      Value vector = access.load(nested, 0, column, vectorOf(element, width));
      return combine(nested, column, vector, sofar);
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
  }

  Value constant(double value) {
    return buildConstant(builder, loc, element, value);
  }

  Value maximum() {
    return reduce(constant(-std::numeric_limits<double>::infinity()),
                  [&](OpBuilder &nested, Value, Value vector, Value sofar) {
                    return vector::ReductionOp::create(
                               nested, loc, vector::CombiningKind::MAXIMUMF,
                               vector, sofar)
                        .getResult();
                  });
  }

  Value sum() {
    return reduce(constant(0),
                  [&](OpBuilder &nested, Value, Value vector, Value sofar) {
                    return add(nested, vector, sofar);
                  });
  }

  /// The sum of exp(x - maximum).
  Value sumOfExponentials(Value maximum) {
    return reduce(
        constant(0), [&](OpBuilder &nested, Value, Value vector, Value sofar) {
          return add(nested, exponential(nested, vector, maximum), sofar);
        });
  }

  Value exponential(OpBuilder &nested, Value vector, Value maximum) {
    Value shift =
        vector::BroadcastOp::create(nested, loc, vector.getType(), maximum);
    return math::ExpOp::create(
        nested, loc, arith::SubFOp::create(nested, loc, vector, shift));
  }

  Value add(OpBuilder &nested, Value vector, Value sofar) {
    return vector::ReductionOp::create(nested, loc, vector::CombiningKind::ADD,
                                       vector, sofar);
  }

  /// For each lane of a vector of `width` columns from `column` on, whether it
  /// is column `label`, an i32.
  Value isColumn(OpBuilder &nested, Value column, int64_t width, Value label) {
    auto lane = llvm::to_vector(llvm::seq<int32_t>(0, width));
    auto type = VectorType::get({width}, nested.getI32Type());
    Value lanes = arith::ConstantOp::create(
        nested, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(lane)));
    Value first =
        arith::TruncIOp::create(nested, loc, nested.getI32Type(), column);
    Value wanted = arith::SubIOp::create(nested, loc, label, first);
    return arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::eq, lanes,
        vector::BroadcastOp::create(nested, loc, type, wanted));
  }

  OpBuilder &builder;
  Location loc;
  RowAccess &access;
  Type element;
  int64_t columns, lanes;
};
} // namespace

void SoftmaxOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getInput());
  Value maximum = row.maximum();
  Value sum = row.sumOfExponentials(maximum);
  forEachVector(builder, loc, row.columns, row.lanes, access.isInPlace(),
                [&](OpBuilder &nested, Value column, int64_t lanes) {
                  Type vector = vectorOf(row.element, lanes);
                  Value numerator = row.exponential(
                      nested, access.load(nested, 0, column, vector), maximum);
                  Value denominator =
                      vector::BroadcastOp::create(nested, loc, vector, sum);
                  access.store(nested, 0, column,
                               arith::DivFOp::create(nested, loc, numerator,
                                                     denominator));
                });
}

void SumOp::buildRow(OpBuilder &builder, RowAccess &access) {
  RowReducer row(builder, getLoc(), access, getInput());
  access.store(builder, 0, buildIndex(builder, getLoc(), 0), row.sum());
}

/// The row's label, and whether it has one.
static std::pair<Value, Value> loadLabel(OpBuilder &builder, Location loc,
                                         RowAccess &access) {
  Type i32 = builder.getI32Type();
  Value label = access.load(builder, 1, buildIndex(builder, loc, 0), i32);
  Value none = arith::ConstantIntOp::create(builder, loc, i32, 0);
  Value given = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      label, none);
  return {label, given};
}

void SoftmaxCrossEntropyOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  auto [label, given] = loadLabel(builder, loc, access);
  Value maximum = row.maximum();
  Value sum = row.sumOfExponentials(maximum);
  Value zero = row.constant(0);
  // A sum with one term: the logit of the label.
  Value logit = row.reduce(zero, [&](OpBuilder &nested, Value column,
                                     Value vector, Value sofar) {
    auto type = cast<VectorType>(vector.getType());
    Value zeros = buildConstant(nested, loc, type, 0);
    Value picked = arith::SelectOp::create(
        nested, loc, row.isColumn(nested, column, type.getDimSize(0), label),
        vector, zeros);
    return row.add(nested, picked, sofar);
  });
  Value logSum = arith::AddFOp::create(
      builder, loc, math::LogOp::create(builder, loc, sum), maximum);
  Value loss = arith::SubFOp::create(builder, loc, logSum, logit);
  access.store(builder, 0, buildIndex(builder, loc, 0),
               arith::SelectOp::create(builder, loc, given, loss, zero));
}

void SoftmaxCrossEntropyAdjointOp::buildRow(OpBuilder &builder,
                                            RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  auto [label, given] = loadLabel(builder, loc, access);
  Value adjoint =
      access.load(builder, 2, buildIndex(builder, loc, 0), row.element);
  Value maximum = row.maximum();
  Value sum = row.sumOfExponentials(maximum);
  forEachVector(
      builder, loc, row.columns, row.lanes, access.isInPlace(),
      [&](OpBuilder &nested, Value column, int64_t lanes) {
        auto type = VectorType::get({lanes}, row.element);
        auto spread = [&](Value scalar) -> Value {
          return vector::BroadcastOp::create(nested, loc, type, scalar);
        };
        Value zeros = buildConstant(nested, loc, type, 0);
        Value ones = buildConstant(nested, loc, type, 1);
        Value exponential = row.exponential(
            nested, access.load(nested, 0, column, type), maximum);
        Value probability =
            arith::DivFOp::create(nested, loc, exponential, spread(sum));
        Value target = arith::SelectOp::create(
            nested, loc, row.isColumn(nested, column, lanes, label), ones,
            zeros);
        Value difference =
            arith::SubFOp::create(nested, loc, probability, target);
        Value scaled =
            arith::MulFOp::create(nested, loc, difference, spread(adjoint));
        access.store(
            nested, 0, column,
            arith::SelectOp::create(nested, loc, given, scaled, zeros));
      });
}

void CorrectOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  auto [label, given] = loadLabel(builder, loc, access);
  Type i32 = builder.getI32Type();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, i32, value);
  };
  // The first column that has the maximum.
  Value maximum = row.maximum();
  Value best = row.reduce(
      integer(INT32_MAX),
      [&](OpBuilder &nested, Value column, Value vector, Value sofar) -> Value {
        auto type = cast<VectorType>(vector.getType());
        int64_t width = type.getDimSize(0);
        auto integers = VectorType::get({width}, i32);
        auto lane = llvm::to_vector(llvm::seq<int32_t>(0, width));
        Value lanes = arith::ConstantOp::create(
            nested, loc,
            DenseElementsAttr::get(integers, ArrayRef<int32_t>(lane)));
        Value first = arith::TruncIOp::create(nested, loc, i32, column);
        Value columns = arith::AddIOp::create(
            nested, loc, lanes,
            vector::BroadcastOp::create(nested, loc, integers, first));
        Value isMaximum = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OEQ, vector,
            vector::BroadcastOp::create(nested, loc, type, maximum));
        Value none = arith::ConstantOp::create(
            nested, loc,
            DenseElementsAttr::get(integers, static_cast<int32_t>(INT32_MAX)));
        return vector::ReductionOp::create(
            nested, loc, vector::CombiningKind::MINSI,
            arith::SelectOp::create(nested, loc, isMaximum, columns, none),
            sofar);
      });
  Value right = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      best, label);
  Value result =
      arith::SelectOp::create(builder, loc, right, integer(1), integer(0));
  access.store(
      builder, 0, buildIndex(builder, loc, 0),
      arith::SelectOp::create(builder, loc, given, result, integer(-1)));
}
