//===- ExpandMath.cpp - exp, tanh, sigmoid as vector arithmetic -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All three functions reduce their argument to a multiple of a step that is
// worth a power of two, and a rest:
//
//   x = n * step + r,  |r| <= step / 2,  n an integer
//
// n is found by adding 1.5 * 2^23, which leaves the rounded sum in the low
// mantissa bits; shifting these into the exponent field gives 2^n without a
// conversion. The product n * step is subtracted in two parts where n is large.
//
//   exp      step = 2 ln 2, exp(x) = exp(r) * 2^n * 2^n. Two equal factors, so
//            that neither leaves the normal range when the result does.
//            exp(r) is a polynomial of degree 7.
//
//   tanh     step = ln 2 / 2. With c(r) = r coth(r), exp(2r) = (c+r) / (c-r),
//            so with s = 2^n
//              tanh(x) = (s exp(2r) - 1) / (s exp(2r) + 1)
//                      = ((s-1) c + (s+1) r) / ((s+1) c + (s-1) r).
//            Odd bit for bit, and never beyond 1, because rounding treats
//            s and 1/s alike.
//
//   sigmoid  step = ln 2, of -x. With y = -r and C(y) = y coth(y/2),
//            exp(r) = (C-y) / (C+y), so with s = 2^n
//              sigmoid(x) = (C+y) / ((C+y) + s (C-y)).
//            Both are scaled by 2^-40, which keeps s in the normal range while
//            the quotient runs down to the smallest denormal.
//
// c is even: a polynomial in r^2 of degree 2 has a relative error of 2.2e-9.
// The polynomials are least-maximum fits of the relative error, found as linear
// programs over Chebyshev nodes; the coefficients of orders 0 and 1 are held at
// their exact values, the others rounded to f32 one by one, lowest order first,
// each followed by a fit of the remaining ones.
//
// The distance from the correctly rounded result is at most 2 units in the last
// place for each function, over all 2^32 arguments (1.7 units from the exact
// result for exp, 2.5 for tanh and sigmoid). Zeroes, infinities and NaNs map
// exactly; denormal results are rounded, not flushed.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/ExpandMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {

/// 1.5 * 2^23: f32 values of this size are integers.
constexpr float roundingShift = 12582912.0f;
constexpr int32_t exponentBias = 127;
constexpr int64_t mantissaBits = 23;

/// Builds arithmetic over one type: a float, or a vector of floats.
class Expander {
public:
  Expander(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  Value constant(double value) {
    Type element = getElementTypeOrSelf(type);
    return splat(type, builder.getFloatAttr(element, value));
  }
  Value add(Value a, Value b) { return create<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return create<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return create<arith::DivFOp>(a, b); }
  Value negate(Value a) { return create<arith::NegFOp>(a); }
  Value fma(Value a, Value b, Value c) { return create<math::FmaOp>(a, b, c); }

  Value select(arith::CmpFPredicate predicate, Value lhs, Value rhs,
               Value ifTrue, Value ifFalse) {
    Value condition = create<arith::CmpFOp>(predicate, lhs, rhs);
    return create<arith::SelectOp>(condition, ifTrue, ifFalse);
  }

  /// A NaN compares false and stays. Each select is one minps or maxps on x86,
  /// which arith.minimumf and arith.maximumf are not.
  Value clamp(Value x, float low, float high) {
    Value bound = constant(high);
    x = select(arith::CmpFPredicate::OGT, x, bound, bound, x);
    bound = constant(low);
    return select(arith::CmpFPredicate::OLT, x, bound, bound, x);
  }

  /// Horner's scheme, highest order first.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = constant(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      sum = fma(sum, x, constant(coefficient));
    return sum;
  }

  /// n, the integer next to x * factor, and 2^(n + exponent).
  std::pair<Value, Value> roundToPowerOfTwo(Value x, float factor,
                                            int32_t exponent) {
    Value shift = constant(roundingShift + (exponentBias + exponent));
    Value shifted = fma(x, constant(factor), shift);
    Type intType = builder.getI32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      intType = vector.clone(intType);
    Value bits = arith::BitcastOp::create(builder, loc, intType, shifted);
    Value count = splat(intType, builder.getI32IntegerAttr(mantissaBits));
    Value power = create<arith::BitcastOp>(
        type, Value(create<arith::ShLIOp>(bits, count)));
    return {sub(shifted, shift), power};
  }

  Value exp(Value x);
  Value tanh(Value x);
  Value sigmoid(Value x);
  Value sigmoidByExp(Value x);

private:
  template <typename OpTy, typename... Args> Value create(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...);
  }

  Value splat(Type valueType, TypedAttr element) {
    TypedAttr value = element;
    if (auto vector = dyn_cast<VectorType>(valueType))
      value = DenseElementsAttr::get(vector, Attribute(element));
    return create<arith::ConstantOp>(value);
  }

  OpBuilder &builder;
  Location loc;
  Type type;
};

Value Expander::exp(Value x) {
  // exp(-104) rounds to 0, exp(89) to infinity.
  x = clamp(x, -104.0f, 89.0f);
  auto [n, s] = roundToPowerOfTwo(x, 0x1.715476p-1f, /*exponent=*/0);
  Value r = fma(n, constant(-0x1.62e43p+0f), x);
  r = fma(n, constant(0x1.05c61p-28f), r);
  Value p = polynomial(r, {0x1.9baedap-13f, 0x1.71bf66p-10f, 0x1.1126dap-7f,
                           0x1.5549eep-5f, 0x1.555514p-3f, 0x1.00000cp-1f, 1.0f,
                           1.0f});
  return mul(mul(p, s), s);
}

Value Expander::tanh(Value x) {
  // tanh(10) rounds to 1, in these formulas too.
  x = clamp(x, -10.0f, 10.0f);
  auto [n, s] = roundToPowerOfTwo(x, 0x1.715476p+1f, /*exponent=*/0);
  Value r = fma(n, constant(-0x1.62e43p-2f), x);
  Value c = polynomial(mul(r, r), {-0x1.6aa362p-6f, 0x1.55551ep-2f, 1.0f});
  Value one = constant(1.0);
  // 1 - s, and not s - 1: its zero at s = 1 must not swallow the sign of -0.
  Value difference = sub(one, s), sum = add(one, s);
  Value numerator = fma(negate(difference), c, mul(sum, r));
  Value denominator = fma(sum, c, negate(mul(difference, r)));
  return div(numerator, denominator);
}

Value Expander::sigmoid(Value x) {
  // sigmoid(-104) rounds to 0, sigmoid(20) to 1.
  x = clamp(x, -104.0f, 20.0f);
  auto [n, s] = roundToPowerOfTwo(x, -0x1.715476p+0f, /*exponent=*/-40);
  Value y = fma(n, constant(0x1.62e43p-1f), x);
  // c(y / 2) * 2; its argument does not need the second part of n * step.
  Value c = polynomial(mul(y, y), {-0x1.6aa362p-9f, 0x1.55551ep-3f, 2.0f});
  y = fma(n, constant(-0x1.05c61p-29f), y);
  Value numerator = mul(add(c, y), constant(0x1p-40f));
  return div(numerator, fma(s, sub(c, y), numerator));
}

/// With e = exp(-|x|): 1 / (1 + e), or e / (1 + e) where x < 0.
Value Expander::sigmoidByExp(Value x) {
  Value one = constant(1.0);
  Value e = create<math::ExpOp>(negate(create<math::AbsFOp>(x)));
  Value numerator = select(arith::CmpFPredicate::OLT, x, constant(0.0), e, one);
  return div(numerator, add(one, e));
}

bool isF32ScalarOrVector(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    type = vector.getElementType();
  return type.isF32();
}

template <typename OpTy, Value (Expander::*expand)(Value)>
struct ExpandPattern : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isF32ScalarOrVector(op.getType()))
      return rewriter.notifyMatchFailure(op, "not an f32 scalar or vector");
    Expander expander(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, (expander.*expand)(op.getOperand()));
    return success();
  }
};

} // namespace

void espalier::nn::populateExpandMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandPattern<math::ExpOp, &Expander::exp>,
               ExpandPattern<math::TanhOp, &Expander::tanh>>(
      patterns.getContext());
}

Value espalier::nn::buildSigmoid(OpBuilder &builder, Location loc, Value x) {
  Expander expander(builder, loc, x.getType());
  return isF32ScalarOrVector(x.getType()) ? expander.sigmoid(x)
                                          : expander.sigmoidByExp(x);
}
