//===- DifferentiableUpstreamOps.cpp - Derivatives of upstream operators --===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DifferentiableOpInterface for operators of arith, math and tensor. Each
// elementwise operator has one formula, its contribution to each operand; d is
// the adjoint of the result y. Where a function has no derivative (a kink, a
// comparison) the formula says which one-sided value it takes.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>
#include <type_traits>

using namespace mlir;
using namespace espalier::nn;

namespace {
/// Arithmetic on tensors of one type, for formulas.
class Formula {
public:
  Formula(OpBuilder &builder, Operation *op, Adjoints &adjoints)
      : y(op->getResult(0)), d(adjoints.of(y)), builder(builder), op(op),
        adjoints(adjoints), loc(op->getLoc()) {}

  Value x(unsigned index = 0) { return op->getOperand(index); }
  bool wants(unsigned index) { return adjoints.wants(x(index)); }
  void add(unsigned index, Value adjoint) { adjoints.add(x(index), adjoint); }

  Value number(double value) {
    return FillOp::create(builder, loc, y.getType(), y,
                          builder.getF64FloatAttr(value));
  }
  template <typename Op> Value build(Value left, Value right) {
    return Op::create(builder, loc, left, right);
  }
  template <typename Op> Value build(Value operand) {
    return Op::create(builder, loc, operand);
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
  Value over(Value left, Value right) {
    return build<arith::DivFOp>(left, right);
  }
  Value negative(Value operand) { return build<arith::NegFOp>(operand); }
  Value where(arith::CmpFPredicate predicate, Value left, Value right,
              Value yes, Value no) {
    Value condition =
        arith::CmpFOp::create(builder, loc, predicate, left, right);
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value where(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }

  const Value y, d;

private:
  OpBuilder &builder;
  Operation *op;
  Adjoints &adjoints;
  Location loc;
};

/// Attaches the interface to `Op` with `Rule::build(Formula)`.
template <typename Op, void (*rule)(Formula &)>
struct Elementwise
    : DifferentiableOpInterface::ExternalModel<Elementwise<Op, rule>, Op> {
  void buildAdjoint(Operation *op, OpBuilder &builder,
                    Adjoints &adjoints) const {
    Formula formula(builder, op, adjoints);
    rule(formula);
  }
};

/// The same for a function of one operand, of which `slope` is the derivative.
template <typename Op, Value (*slope)(Formula &)>
struct Unary : DifferentiableOpInterface::ExternalModel<Unary<Op, slope>, Op> {
  void buildAdjoint(Operation *op, OpBuilder &builder,
                    Adjoints &adjoints) const {
    Formula formula(builder, op, adjoints);
    if (formula.wants(0))
      formula.add(0, formula.times(formula.d, slope(formula)));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

static void addAdd(Formula &f) {
  f.add(0, f.d);
  f.add(1, f.d);
}

static void addSub(Formula &f) {
  f.add(0, f.d);
  if (f.wants(1))
    f.add(1, f.negative(f.d));
}

static void addMul(Formula &f) {
  if (f.wants(0))
    f.add(0, f.times(f.d, f.x(1)));
  if (f.wants(1))
    f.add(1, f.times(f.d, f.x(0)));
}

static void addDiv(Formula &f) {
  Value share = f.over(f.d, f.x(1));
  f.add(0, share);
  if (f.wants(1))
    f.add(1, f.negative(f.times(share, f.y)));
}

static void addNeg(Formula &f) {
  if (f.wants(0))
    f.add(0, f.negative(f.d));
}

/// Of equal operands the first counts. A NaN result passes d on to both.
static void addExtremum(Formula &f) {
  Value zero = f.number(0);
  if (f.wants(0))
    f.add(0, f.where(arith::CmpFPredicate::UEQ, f.x(0), f.y, f.d, zero));
  if (f.wants(1))
    f.add(1, f.where(arith::CmpFPredicate::UEQ, f.x(0), f.y, zero, f.d));
}

static void addSelect(Formula &f) {
  Value zero = f.number(0);
  if (f.wants(1))
    f.add(1, f.where(f.x(0), f.d, zero));
  if (f.wants(2))
    f.add(2, f.where(f.x(0), zero, f.d));
}

/// Rounding and conversions from integers have a derivative of zero.
static void addNothing(Formula &) {}

//===----------------------------------------------------------------------===//
// math
//===----------------------------------------------------------------------===//

static Value slopeOfTanh(Formula &f) {
  return f.minus(f.number(1), f.times(f.y, f.y));
}
static Value slopeOfExp(Formula &f) { return f.y; }
static Value slopeOfExpM1(Formula &f) { return f.plus(f.y, f.number(1)); }
static Value slopeOfExp2(Formula &f) { return f.times(f.y, f.number(M_LN2)); }
static Value slopeOfLog(Formula &f) { return f.over(f.number(1), f.x()); }
static Value slopeOfLog1p(Formula &f) {
  return f.over(f.number(1), f.plus(f.x(), f.number(1)));
}
static Value slopeOfLog2(Formula &f) {
  return f.over(f.number(M_LOG2E), f.x());
}
static Value slopeOfLog10(Formula &f) {
  return f.over(f.number(M_LOG10E), f.x());
}
static Value slopeOfSqrt(Formula &f) { return f.over(f.number(0.5), f.y); }
static Value slopeOfRsqrt(Formula &f) {
  return f.times(f.number(-0.5), f.times(f.y, f.times(f.y, f.y)));
}
static Value slopeOfCbrt(Formula &f) {
  return f.over(f.number(1. / 3), f.times(f.y, f.y));
}
static Value slopeOfSin(Formula &f) { return f.build<math::CosOp>(f.x()); }
static Value slopeOfCos(Formula &f) {
  return f.negative(f.build<math::SinOp>(f.x()));
}
static Value slopeOfTan(Formula &f) {
  return f.plus(f.number(1), f.times(f.y, f.y));
}
static Value slopeOfSinh(Formula &f) { return f.build<math::CoshOp>(f.x()); }
static Value slopeOfCosh(Formula &f) { return f.build<math::SinhOp>(f.x()); }
static Value slopeOfAtan(Formula &f) {
  return f.over(f.number(1), f.plus(f.number(1), f.times(f.x(), f.x())));
}
static Value slopeOfErf(Formula &f) {
  Value density = f.build<math::ExpOp>(f.negative(f.times(f.x(), f.x())));
  return f.times(f.number(M_2_SQRTPI), density);
}
static Value slopeOfErfc(Formula &f) { return f.negative(slopeOfErf(f)); }

/// 0 at 0; NaN stays NaN.
static Value slopeOfAbs(Formula &f) {
  Value zero = f.number(0);
  Value sign = f.where(arith::CmpFPredicate::OLT, f.x(), zero, f.number(-1),
                       f.where(arith::CmpFPredicate::OGT, f.x(), zero,
                               f.number(1), f.times(f.x(), zero)));
  return sign;
}

static void addFma(Formula &f) {
  addMul(f);
  f.add(2, f.d);
}

static void addPow(Formula &f) {
  // x^(y - 1) rather than x^y / x, which has no value at 0.
  if (f.wants(0)) {
    Value power = f.build<math::PowFOp>(f.x(0), f.minus(f.x(1), f.number(1)));
    f.add(0, f.times(f.d, f.times(f.x(1), power)));
  }
  // x^y log x tends to 0 with x if y > 0.
  if (f.wants(1)) {
    Value zero = f.number(0);
    Value slope = f.times(f.y, f.build<math::LogOp>(f.x(0)));
    f.add(1, f.times(f.d, f.where(arith::CmpFPredicate::OEQ, f.y, zero, zero,
                                  slope)));
  }
}

static void addAtan2(Formula &f) {
  Value square = f.plus(f.times(f.x(0), f.x(0)), f.times(f.x(1), f.x(1)));
  Value share = f.over(f.d, square);
  if (f.wants(0))
    f.add(0, f.times(share, f.x(1)));
  if (f.wants(1))
    f.add(1, f.negative(f.times(share, f.x(0))));
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

namespace {
struct Concat
    : DifferentiableOpInterface::ExternalModel<Concat, tensor::ConcatOp> {
  void buildAdjoint(Operation *op, OpBuilder &builder,
                    Adjoints &adjoints) const {
    auto concat = cast<tensor::ConcatOp>(op);
    Value adjoint = adjoints.of(concat.getResult());
    int64_t dim = concat.getDim(), offset = 0;
    for (Value piece : concat.getInputs()) {
      auto type = cast<RankedTensorType>(piece.getType());
      // Of nothing there is no slice at the end.
      if (type.getDimSize(dim) != 0 && adjoints.wants(piece))
        adjoints.add(piece, buildSlice(builder, op->getLoc(), adjoint, type,
                                       dim, offset));
      offset += type.getDimSize(dim);
    }
  }
};

struct ExtractSlice
    : DifferentiableOpInterface::ExternalModel<ExtractSlice,
                                               tensor::ExtractSliceOp> {
  void buildAdjoint(Operation *op, OpBuilder &builder,
                    Adjoints &adjoints) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    if (!adjoints.wants(slice.getSource()))
      return;
    // The dimensions that are cut; the last one if none is.
    RankedTensorType whole = slice.getSourceType();
    SmallVector<int64_t> cut;
    for (int64_t dim = 0; dim < whole.getRank(); ++dim)
      if (slice.getType().getDimSize(dim) != whole.getDimSize(dim))
        cut.push_back(dim);
    if (cut.empty())
      cut.push_back(whole.getRank() - 1);
    ArrayRef<int64_t> offsets = slice.getStaticOffsets();
    Value adjoint = adjoints.of(slice.getResult());
    for (int64_t dim : llvm::drop_begin(cut))
      adjoint = pad(builder, op->getLoc(), adjoint, dim, offsets[dim],
                    whole.getDimSize(dim));
    adjoints.addSlice(slice.getSource(), cut.front(), offsets[cut.front()],
                      adjoint);
  }

private:
  /// `value` at `offset` in dimension `dim`, of `extent`, of zeros.
  static Value pad(OpBuilder &builder, Location loc, Value value, int64_t dim,
                   int64_t offset, int64_t extent) {
    auto type = cast<RankedTensorType>(value.getType());
    auto zeros = [&](int64_t size) {
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] = size;
      return buildZeros(builder, loc,
                        RankedTensorType::get(shape, type.getElementType()));
    };
    SmallVector<Value> pieces;
    if (offset != 0)
      pieces.push_back(zeros(offset));
    pieces.push_back(value);
    int64_t rest = extent - offset - type.getDimSize(dim);
    if (rest != 0)
      pieces.push_back(zeros(rest));
    return tensor::ConcatOp::create(builder, loc, dim, pieces);
  }
};

/// What puts the elements of `op` back into the shape that they had.
template <typename Op, typename Inverse>
struct Reshape
    : DifferentiableOpInterface::ExternalModel<Reshape<Op, Inverse>, Op> {
  void buildAdjoint(Operation *op, OpBuilder &builder,
                    Adjoints &adjoints) const {
    auto reshape = cast<Op>(op);
    Value source = reshape.getSrc();
    if (adjoints.wants(source))
      adjoints.add(source, build(builder, op->getLoc(), source,
                                 adjoints.of(reshape.getResult()),
                                 reshape.getReassociationIndices()));
  }

private:
  static Value build(OpBuilder &builder, Location loc, Value source,
                     Value adjoint, ArrayRef<ReassociationIndices> groups) {
    Type type = source.getType();
    if constexpr (std::is_same_v<Inverse, tensor::CollapseShapeOp>)
      return Inverse::create(builder, loc, type, adjoint, groups);
    else
      return Inverse::create(builder, loc, type, adjoint, groups,
                             tensor::getMixedSizes(builder, loc, source));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

template <typename Op, void (*rule)(Formula &)>
static void attach(MLIRContext *context) {
  Op::template attachInterface<Elementwise<Op, rule>>(*context);
}
template <typename Op, Value (*slope)(Formula &)>
static void attach(MLIRContext *context) {
  Op::template attachInterface<Unary<Op, slope>>(*context);
}

void espalier::nn::registerDifferentiableUpstreamOps(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::AddFOp, addAdd>(context);
    attach<arith::SubFOp, addSub>(context);
    attach<arith::MulFOp, addMul>(context);
    attach<arith::DivFOp, addDiv>(context);
    attach<arith::NegFOp, addNeg>(context);
    attach<arith::MaximumFOp, addExtremum>(context);
    attach<arith::MinimumFOp, addExtremum>(context);
    attach<arith::MaxNumFOp, addExtremum>(context);
    attach<arith::MinNumFOp, addExtremum>(context);
    attach<arith::SelectOp, addSelect>(context);
    attach<arith::SIToFPOp, addNothing>(context);
    attach<arith::UIToFPOp, addNothing>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<math::TanhOp, slopeOfTanh>(context);
    attach<math::ExpOp, slopeOfExp>(context);
    attach<math::ExpM1Op, slopeOfExpM1>(context);
    attach<math::Exp2Op, slopeOfExp2>(context);
    attach<math::LogOp, slopeOfLog>(context);
    attach<math::Log1pOp, slopeOfLog1p>(context);
    attach<math::Log2Op, slopeOfLog2>(context);
    attach<math::Log10Op, slopeOfLog10>(context);
    attach<math::SqrtOp, slopeOfSqrt>(context);
    attach<math::RsqrtOp, slopeOfRsqrt>(context);
    attach<math::CbrtOp, slopeOfCbrt>(context);
    attach<math::SinOp, slopeOfSin>(context);
    attach<math::CosOp, slopeOfCos>(context);
    attach<math::TanOp, slopeOfTan>(context);
    attach<math::SinhOp, slopeOfSinh>(context);
    attach<math::CoshOp, slopeOfCosh>(context);
    attach<math::AtanOp, slopeOfAtan>(context);
    attach<math::ErfOp, slopeOfErf>(context);
    attach<math::ErfcOp, slopeOfErfc>(context);
    attach<math::AbsFOp, slopeOfAbs>(context);
    attach<math::FmaOp, addFma>(context);
    attach<math::PowFOp, addPow>(context);
    attach<math::Atan2Op, addAtan2>(context);
    attach<math::FloorOp, addNothing>(context);
    attach<math::CeilOp, addNothing>(context);
    attach<math::TruncOp, addNothing>(context);
    attach<math::RoundOp, addNothing>(context);
    attach<math::RoundEvenOp, addNothing>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ConcatOp::attachInterface<Concat>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSlice>(*context);
    tensor::CollapseShapeOp::attachInterface<
        Reshape<tensor::CollapseShapeOp, tensor::ExpandShapeOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<
        Reshape<tensor::ExpandShapeOp, tensor::CollapseShapeOp>>(*context);
  });
}
