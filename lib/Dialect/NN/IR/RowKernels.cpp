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

/// 0, 1, ..., width - 1, as i32.
static Value buildLaneNumbers(OpBuilder &builder, Location loc, int64_t width) {
  auto lanes = llvm::to_vector(llvm::seq<int32_t>(0, width));
  auto type = VectorType::get({width}, builder.getI32Type());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(lanes)));
}

namespace {
/// Arithmetic on vectors of one type; a scalar stands for itself in every lane.
class Lanes {
public:
  Lanes(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  Value number(double value) {
    return buildConstant(builder, loc, type, value);
  }
  Value plus(Value left, Value right) {
    return build<arith::AddFOp>(left, right);
  }
  Value minus(Value left, Value right) {
    return build<arith::SubFOp>(left, right);
  }
  Value times(Value left, Value right) {
    return build<arith::MulFOp>(left, right);
  }
  /// x y + z, as one operation where the machine has it.
  Value timesPlus(Value x, Value y, Value z) {
    auto contract = arith::FastMathFlagsAttr::get(
        builder.getContext(), arith::FastMathFlags::contract);
    Value product =
        arith::MulFOp::create(builder, loc, type, all(x), all(y), contract);
    return arith::AddFOp::create(builder, loc, type, product, all(z), contract);
  }
  Value where(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, all(yes), all(no));
  }

private:
  Value all(Value value) {
    if (value.getType() == type)
      return value;
    return vector::BroadcastOp::create(builder, loc, type, value);
  }
  template <typename Op> Value build(Value left, Value right) {
    return Op::create(builder, loc, all(left), all(right));
  }

  OpBuilder &builder;
  Location loc;
  Type type;
};
} // namespace

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

  /// The sum over all columns of `term`, which is given the columns' vector of
  /// operand 0. Lanes are summed apart, and added up at the end.
  using Term =
      llvm::function_ref<Value(OpBuilder &, Value column, Value vector)>;
  Value sumOf(Term term) {
    int64_t whole = columns / lanes * lanes;
    auto step = [&](OpBuilder &nested, Value column, int64_t width) -> Value {
      return term(nested, column,
                  access.load(nested, 0, column, vectorOf(element, width)));
    };
    Value sums;
    if (whole == lanes)
      sums = step(builder, buildIndex(builder, loc, 0), lanes);
    else
      sums =
          scf::ForOp::create(
              builder, loc, buildIndex(builder, loc, 0),
              buildIndex(builder, loc, whole), buildIndex(builder, loc, lanes),
              ValueRange(
                  buildConstant(builder, loc, vectorOf(element, lanes), 0)),
              [&](OpBuilder &nested, Location, Value column,
                  ValueRange carried) {
                Value sum = arith::AddFOp::create(nested, loc, carried[0],
                                                  step(nested, column, lanes));
                scf::YieldOp::create(nested, loc, ValueRange{sum});
              })
              .getResult(0);
    Value total = add(builder, sums, constant(0));
    if (whole != columns)
      total =
          add(builder,
              step(builder, buildIndex(builder, loc, whole), columns - whole),
              total);
    return total;
  }

  Value sum() {
    return sumOf([](OpBuilder &, Value, Value vector) { return vector; });
  }

  /// The sum of exp(x - maximum).
  Value sumOfExponentials(Value maximum) {
    return sumOf([&](OpBuilder &nested, Value, Value vector) {
      return exponential(nested, vector, maximum);
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
    Value lanes = buildLaneNumbers(nested, loc, width);
    Type type = lanes.getType();
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

void SoftmaxAdjointOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getOutput());
  Value sum =
      row.sumOf([&](OpBuilder &nested, Value column, Value output) -> Value {
        Value adjoint = access.load(nested, 1, column, output.getType());
        return arith::MulFOp::create(nested, loc, adjoint, output);
      });
  forEachVector(builder, loc, row.columns, row.lanes, access.isInPlace(),
                [&](OpBuilder &nested, Value column, int64_t width) {
                  Type type = vectorOf(row.element, width);
                  Value output = access.load(nested, 0, column, type);
                  Value adjoint = access.load(nested, 1, column, type);
                  Lanes lanes(nested, loc, type);
                  access.store(nested, 0, column,
                               lanes.times(lanes.minus(adjoint, sum), output));
                });
}

//===----------------------------------------------------------------------===//
// layer_norm
//===----------------------------------------------------------------------===//

namespace {
/// What brings operand 0's row to mean 0 and variance 1.
struct Normalizer {
  Normalizer(OpBuilder &builder, RowReducer &row, double epsilon)
      : row(row), loc(row.loc) {
    Value count = row.constant(row.columns);
    mean = arith::DivFOp::create(builder, loc, row.sum(), count);
    Value squares =
        row.sumOf([&](OpBuilder &nested, Value, Value vector) -> Value {
          Value centred =
              Lanes(nested, loc, vector.getType()).minus(vector, mean);
          return arith::MulFOp::create(nested, loc, centred, centred);
        });
    Value variance = arith::AddFOp::create(
        builder, loc, arith::DivFOp::create(builder, loc, squares, count),
        row.constant(epsilon));
    Value deviation = math::SqrtOp::create(builder, loc, variance);
    scale = arith::DivFOp::create(builder, loc, row.constant(1), deviation);
  }

  Value apply(OpBuilder &nested, Value vector) {
    Lanes lanes(nested, loc, vector.getType());
    return lanes.times(lanes.minus(vector, mean), scale);
  }

  RowReducer &row;
  Location loc;
  /// 1 / sqrt(variance + epsilon).
  Value mean, scale;
};
} // namespace

void LayerNormOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getInput());
  Normalizer normalizer(builder, row, getEpsilon().convertToDouble());
  forEachVector(builder, loc, row.columns, row.lanes, access.isInPlace(),
                [&](OpBuilder &nested, Value column, int64_t width) {
                  Type type = vectorOf(row.element, width);
                  Value normal = normalizer.apply(
                      nested, access.load(nested, 0, column, type));
                  Value scale = access.load(nested, 1, column, type);
                  Value shift = access.load(nested, 2, column, type);
                  Lanes lanes(nested, loc, type);
                  access.store(nested, 0, column,
                               lanes.plus(lanes.times(normal, scale), shift));
                });
}

void LayerNormAdjointOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getInput());
  Normalizer normalizer(builder, row, getEpsilon().convertToDouble());
  // The adjoint of the normal row.
  auto scaled = [&](OpBuilder &nested, Value column, Type type) -> Value {
    return arith::MulFOp::create(nested, loc,
                                 access.load(nested, 1, column, type),
                                 access.load(nested, 2, column, type));
  };
  Value count = row.constant(row.columns);
  Value mean = arith::DivFOp::create(
      builder, loc,
      row.sumOf([&](OpBuilder &nested, Value column, Value vector) {
        return scaled(nested, column, vector.getType());
      }),
      count);
  Value product = arith::DivFOp::create(
      builder, loc,
      row.sumOf([&](OpBuilder &nested, Value column, Value vector) -> Value {
        Value s = scaled(nested, column, vector.getType());
        return arith::MulFOp::create(nested, loc, s,
                                     normalizer.apply(nested, vector));
      }),
      count);
  forEachVector(
      builder, loc, row.columns, row.lanes, access.isInPlace(),
      [&](OpBuilder &nested, Value column, int64_t width) {
        Type type = vectorOf(row.element, width);
        Lanes lanes(nested, loc, type);
        Value normal =
            normalizer.apply(nested, access.load(nested, 0, column, type));
        Value adjoint = access.load(nested, 2, column, type);
        Value own = lanes.minus(scaled(nested, column, type), mean);
        own = lanes.minus(own, lanes.times(normal, product));
        access.store(nested, 0, column, lanes.times(own, normalizer.scale));
        access.store(nested, 1, column, lanes.times(normal, adjoint));
      });
}

//===----------------------------------------------------------------------===//
// dropout
//===----------------------------------------------------------------------===//

namespace {
/// Arithmetic modulo 2^32 on integers or vectors of them.
struct Hash {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value number(uint32_t value) {
    TypedAttr attribute =
        builder.getI32IntegerAttr(static_cast<int32_t>(value));
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = SplatElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  Value plus(Value left, Value right) {
    return arith::AddIOp::create(builder, loc, left, right);
  }
  Value times(Value left, uint32_t right) {
    return arith::MulIOp::create(builder, loc, left, number(right));
  }
  Value shifted(Value value, uint32_t bits) {
    return arith::ShRUIOp::create(builder, loc, value, number(bits));
  }
  Value folded(Value value, uint32_t bits) {
    return arith::XOrIOp::create(builder, loc, value, shifted(value, bits));
  }
  /// Every bit of the result depends on every bit of `value`.
  Value mixed(Value value) {
    value = times(folded(value, 16), 0x7feb352d);
    value = times(folded(value, 15), 0x846ca68b);
    return folded(value, 16);
  }
};
constexpr uint32_t kGoldenRatio = 0x9e3779b9;
} // namespace

void DropoutOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  auto type = cast<RankedTensorType>(getInput().getType());
  Type element = type.getElementType(), i32 = builder.getI32Type();
  int64_t columns =
      (isRowsType(type) ? getRowType(type) : type).getNumElements();
  Value first = buildIndex(builder, loc, 0);
  Hash scalar{builder, loc, i32};
  Value seed = scalar.plus(access.load(builder, 1, first, i32),
                           scalar.number(kGoldenRatio * getSite()));
  Value key = scalar.mixed(
      scalar.plus(scalar.mixed(seed), access.load(builder, 2, first, i32)));
  double kept = 1 - getProbability().convertToDouble();
  forEachVector(
      builder, loc, columns, access.lanes(element), access.isInPlace(),
      [&](OpBuilder &nested, Value column, int64_t width) {
        auto integers = VectorType::get({width}, i32);
        Hash hash{nested, loc, integers};
        Value from = arith::TruncIOp::create(nested, loc, i32, column);
        Value counter = hash.times(
            hash.plus(vector::BroadcastOp::create(nested, loc, integers, from),
                      buildLaneNumbers(nested, loc, width)),
            kGoldenRatio);
        Value drawn = hash.mixed(hash.plus(
            vector::BroadcastOp::create(nested, loc, integers, key), counter));
        // Without sign: 31 bits, and a threshold of at most 2^31.
        Value isKept = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::ult, hash.shifted(drawn, 1),
            hash.number(getThreshold()));
        Type floats = vectorOf(element, width);
        Lanes lanes(nested, loc, floats);
        Value scaled = lanes.times(access.load(nested, 0, column, floats),
                                   lanes.number(1 / kept));
        access.store(nested, 0, column,
                     lanes.where(isKept, scaled, lanes.number(0)));
      });
}

//===----------------------------------------------------------------------===//
// Sums and losses
//===----------------------------------------------------------------------===//

void SumOp::buildRow(OpBuilder &builder, RowAccess &access) {
  RowReducer row(builder, getLoc(), access, getInput());
  access.store(builder, 0, buildIndex(builder, getLoc(), 0), row.sum());
}

namespace {
/// A row's label, and whether it has one.
struct Label {
  Value value;
  Value given;
};
} // namespace

static Label loadLabel(OpBuilder &builder, Location loc, RowAccess &access) {
  Type i32 = builder.getI32Type();
  Value label = access.load(builder, 1, buildIndex(builder, loc, 0), i32);
  Value none = arith::ConstantIntOp::create(builder, loc, i32, 0);
  Value given = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      label, none);
  return {label, given};
}

/// `value`, or NaN where the label is none of `classes`.
static Value orNaN(OpBuilder &builder, Location loc, Value label,
                   int64_t classes, Value value) {
  Type type = label.getType();
  TypedAttr count = builder.getI32IntegerAttr(
      std::min<int64_t>(classes, std::numeric_limits<int32_t>::max()));
  if (auto vector = dyn_cast<VectorType>(type))
    count = SplatElementsAttr::get(vector, Attribute(count));
  Value known =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, label,
                            arith::ConstantOp::create(builder, loc, count));
  Value nan = buildConstant(builder, loc, value.getType(),
                            std::numeric_limits<double>::quiet_NaN());
  return arith::SelectOp::create(builder, loc, known, value, nan);
}

void SoftmaxCrossEntropyOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  Label label = loadLabel(builder, loc, access);
  Value maximum = row.maximum();
  Value sum = row.sumOfExponentials(maximum);
  Value zero = row.constant(0);
  // A sum with one term: the logit of the label.
  Value logit = row.reduce(
      zero, [&](OpBuilder &nested, Value column, Value vector, Value sofar) {
        auto type = cast<VectorType>(vector.getType());
        Value zeros = buildConstant(nested, loc, type, 0);
        Value picked = arith::SelectOp::create(
            nested, loc,
            row.isColumn(nested, column, type.getDimSize(0), label.value),
            vector, zeros);
        return row.add(nested, picked, sofar);
      });
  // Exact where it matters: the sum with the maximum would lose digits.
  Value apart = arith::SubFOp::create(builder, loc, maximum, logit);
  Value logSum = math::LogOp::create(builder, loc, sum);
  Value loss = orNaN(builder, loc, label.value, row.columns,
                     arith::AddFOp::create(builder, loc, logSum, apart));
  access.store(builder, 0, buildIndex(builder, loc, 0),
               arith::SelectOp::create(builder, loc, label.given, loss, zero));
}

void SoftmaxCrossEntropyAdjointOp::buildRow(OpBuilder &builder,
                                            RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  Label label = loadLabel(builder, loc, access);
  Value adjoint =
      orNaN(builder, loc, label.value, row.columns,
            access.load(builder, 2, buildIndex(builder, loc, 0), row.element));
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
            nested, loc, row.isColumn(nested, column, lanes, label.value), ones,
            zeros);
        Value difference =
            arith::SubFOp::create(nested, loc, probability, target);
        Value scaled =
            arith::MulFOp::create(nested, loc, difference, spread(adjoint));
        access.store(
            nested, 0, column,
            arith::SelectOp::create(nested, loc, label.given, scaled, zeros));
      });
}

void CorrectOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  Label label = loadLabel(builder, loc, access);
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
        auto integers = VectorType::get(type.getShape(), i32);
        Value lanes = buildLaneNumbers(nested, loc, type.getDimSize(0));
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
                                      best, label.value);
  Value result =
      arith::SelectOp::create(builder, loc, right, integer(1), integer(0));
  access.store(
      builder, 0, buildIndex(builder, loc, 0),
      arith::SelectOp::create(builder, loc, label.given, result, integer(-1)));
}

namespace {
/// Elements of a binary_cross_entropy.
struct BinaryLabels {
  BinaryLabels(OpBuilder &builder, Location loc, RowAccess &access,
               Value column, VectorType floats)
      : builder(builder), loc(loc),
        type(VectorType::get(floats.getShape(), builder.getI32Type())),
        lanes(builder, loc, floats),
        labels(access.load(builder, 1, column, type)) {
    zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    isYes = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                  labels, zeros);
  }

  /// The logit against the label: the loss is log(1 + exp(wrong)).
  Value wrong(Value logits) {
    return lanes.where(isYes, arith::NegFOp::create(builder, loc, logits),
                       logits);
  }

  /// `value` where there is a label, zeros where not, NaN where it is neither
  /// yes nor no.
  Value whereGiven(Value value) {
    Value given = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                        labels, zeros);
    return lanes.where(given, orNaN(builder, loc, labels, 2, value),
                       lanes.number(0));
  }

  OpBuilder &builder;
  Location loc;
  VectorType type;
  Lanes lanes;
  Value labels, zeros, isYes;
};
} // namespace

void BinaryCrossEntropyOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  Value loss = row.sumOf([&](OpBuilder &nested, Value column,
                             Value vector) -> Value {
    BinaryLabels labels(nested, loc, access, column,
                        cast<VectorType>(vector.getType()));
    Value wrong = labels.wrong(vector);
    // log(1 + exp(z)) without overflow.
    Value size = math::AbsFOp::create(nested, loc, wrong);
    Value small = math::Log1pOp::create(
        nested, loc,
        math::ExpOp::create(nested, loc,
                            arith::NegFOp::create(nested, loc, size)));
    Value large =
        arith::MaximumFOp::create(nested, loc, wrong, labels.lanes.number(0));
    return labels.whereGiven(arith::AddFOp::create(nested, loc, large, small));
  });
  access.store(builder, 0, buildIndex(builder, loc, 0), loss);
}

void BinaryCrossEntropyAdjointOp::buildRow(OpBuilder &builder,
                                           RowAccess &access) {
  Location loc = getLoc();
  RowReducer row(builder, loc, access, getLogits());
  Value adjoint =
      access.load(builder, 2, buildIndex(builder, loc, 0), row.element);
  Value negative = arith::NegFOp::create(builder, loc, adjoint);
  forEachVector(
      builder, loc, row.columns, row.lanes, access.isInPlace(),
      [&](OpBuilder &nested, Value column, int64_t width) {
        auto type = VectorType::get({width}, row.element);
        BinaryLabels labels(nested, loc, access, column, type);
        Value slope = espalier::nn::buildSigmoid(
            nested, loc, labels.wrong(access.load(nested, 0, column, type)));
        Value sign = labels.lanes.where(labels.isYes, negative, adjoint);
        access.store(nested, 0, column,
                     labels.whereGiven(labels.lanes.times(slope, sign)));
      });
}

//===----------------------------------------------------------------------===//
// A matrix for each row
//===----------------------------------------------------------------------===//

/// Registers of sums that a product keeps busy.
static constexpr int64_t kSumsAtOnce = 4;

/// Where column `column` of row `row` of a matrix of `columns` columns lies.
static Value buildElement(OpBuilder &builder, Location loc, Value row,
                          int64_t columns, Value column) {
  Value begin = arith::MulIOp::create(builder, loc, row,
                                      buildIndex(builder, loc, columns));
  return arith::AddIOp::create(builder, loc, begin, column);
}

namespace {
struct MatrixShape {
  int64_t rows;
  int64_t columns;
};
} // namespace

/// Of a matrix, or of each of a batch.
static MatrixShape matrixShape(Value matrix) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(matrix.getType()).getShape().take_back(2);
  return {shape[0], shape[1]};
}

void RowMatmulOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  MatrixShape shape = matrixShape(getMatrix());
  int64_t rows = shape.rows, columns = shape.columns;
  Type element = getElementTypeOrSelf(getInput().getType());
  Value zero = buildIndex(builder, loc, 0), one = buildIndex(builder, loc, 1);
  Value end = buildIndex(builder, loc, rows);
  if (getTransposed()) {
    // An element of the result is the product of x and a row.
    scf::ForOp::create(
        builder, loc, zero, end, one, ValueRange(),
        [&](OpBuilder &nested, Location, Value k, ValueRange) {
          RowReducer row(nested, loc, access, getInput());
          Value product =
              row.sumOf([&](OpBuilder &inner, Value column, Value x) -> Value {
                Value other = access.load(
                    inner, 1, buildElement(inner, loc, k, columns, column),
                    x.getType());
                return arith::MulFOp::create(inner, loc, x, other);
              });
          access.store(nested, 0, k, product);
          scf::YieldOp::create(nested, loc);
        });
    return;
  }
  // The result is a sum of rows, in as many registers as hide the latency of a
  // sum.
  int64_t lanes = access.lanes(element);
  if (columns >= kSumsAtOnce * lanes)
    lanes *= kSumsAtOnce;
  forEachVector(
      builder, loc, columns, lanes, access.isInPlace(),
      [&](OpBuilder &nested, Value column, int64_t width) {
        Type type = vectorOf(element, width);
        auto loop = scf::ForOp::create(
            nested, loc, zero, end, one,
            ValueRange(buildConstant(nested, loc, type, 0)),
            [&](OpBuilder &inner, Location, Value k, ValueRange sums) {
              Value x = access.load(inner, 0, k, element);
              Value row = access.load(
                  inner, 1, buildElement(inner, loc, k, columns, column), type);
              scf::YieldOp::create(
                  inner, loc,
                  ValueRange{
                      Lanes(inner, loc, type).timesPlus(x, row, sums[0])});
            });
        access.store(nested, 0, column, loop.getResult(0));
      });
}

void OuterOp::buildRow(OpBuilder &builder, RowAccess &access) {
  Location loc = getLoc();
  MatrixShape shape = matrixShape(getResult());
  int64_t rows = shape.rows, columns = shape.columns;
  Type element = getElementTypeOrSelf(getX().getType());
  scf::ForOp::create(
      builder, loc, buildIndex(builder, loc, 0), buildIndex(builder, loc, rows),
      buildIndex(builder, loc, 1), ValueRange(),
      [&](OpBuilder &nested, Location, Value k, ValueRange) {
        Value x = access.load(nested, 0, k, element);
        forEachVector(
            nested, loc, columns, access.lanes(element), access.isInPlace(),
            [&](OpBuilder &inner, Value column, int64_t width) {
              Type type = vectorOf(element, width);
              Value y = access.load(inner, 1, column, type);
              access.store(inner, 0,
                           buildElement(inner, loc, k, columns, column),
                           Lanes(inner, loc, type).times(x, y));
            });
        scf::YieldOp::create(nested, loc);
      });
}
