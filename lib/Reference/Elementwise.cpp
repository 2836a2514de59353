//===- Elementwise.cpp - Operators on every element -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scalar functions that arith, math and the activations of nn stand for.
// Integers are signed i32, or i1 as 0 and 1; arithmetic on them wraps.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

using Scalars = ArrayRef<double>;
/// What an operator does to one element of each of its operands.
using ScalarFunction = std::function<double(Scalars)>;

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// NaN if either is; +0 is greater than -0.
static double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

static double minimum(double a, double b) { return -maximum(-a, -b); }

static double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

static double relu(double x) { return x < 0 ? 0 : x; }

static double gelu(double x) {
  return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
}

template <typename Op>
static std::pair<StringRef, ScalarFunction> unary(double (*f)(double)) {
  return {Op::getOperationName(), [f](Scalars x) { return f(x[0]); }};
}

template <typename Op>
static std::pair<StringRef, ScalarFunction> binary(double (*f)(double,
                                                               double)) {
  return {Op::getOperationName(), [f](Scalars x) { return f(x[0], x[1]); }};
}

/// Functions of floats by the name of their operator.
static const llvm::StringMap<ScalarFunction> &floatFunctions() {
  static const llvm::StringMap<ScalarFunction> functions{
      binary<arith::AddFOp>([](double a, double b) { return a + b; }),
      binary<arith::SubFOp>([](double a, double b) { return a - b; }),
      binary<arith::MulFOp>([](double a, double b) { return a * b; }),
      binary<arith::DivFOp>([](double a, double b) { return a / b; }),
      binary<arith::RemFOp>(std::fmod),
      binary<arith::MaximumFOp>(maximum),
      binary<arith::MinimumFOp>(minimum),
      binary<arith::MaxNumFOp>(std::fmax),
      binary<arith::MinNumFOp>(std::fmin),
      unary<arith::NegFOp>([](double x) { return -x; }),
      // All floats are f64 here.
      unary<arith::ExtFOp>([](double x) { return x; }),
      unary<arith::TruncFOp>([](double x) { return x; }),
      unary<math::AbsFOp>(std::fabs),
      unary<math::AcosOp>(std::acos),
      unary<math::AcoshOp>(std::acosh),
      unary<math::AsinOp>(std::asin),
      unary<math::AsinhOp>(std::asinh),
      unary<math::AtanOp>(std::atan),
      unary<math::AtanhOp>(std::atanh),
      binary<math::Atan2Op>(std::atan2),
      unary<math::CbrtOp>(std::cbrt),
      unary<math::CeilOp>(std::ceil),
      binary<math::CopySignOp>(std::copysign),
      unary<math::CosOp>(std::cos),
      unary<math::CoshOp>(std::cosh),
      unary<math::ErfOp>(std::erf),
      unary<math::ErfcOp>(std::erfc),
      unary<math::ExpOp>(std::exp),
      unary<math::Exp2Op>(std::exp2),
      unary<math::ExpM1Op>(std::expm1),
      unary<math::FloorOp>(std::floor),
      {math::FmaOp::getOperationName(),
       [](Scalars x) { return std::fma(x[0], x[1], x[2]); }},
      {math::ClampFOp::getOperationName(),
       [](Scalars x) { return minimum(maximum(x[0], x[1]), x[2]); }},
      unary<math::IsFiniteOp>(
          [](double x) -> double { return std::isfinite(x); }),
      unary<math::IsInfOp>([](double x) -> double { return std::isinf(x); }),
      unary<math::IsNaNOp>([](double x) -> double { return std::isnan(x); }),
      unary<math::LogOp>(std::log),
      unary<math::Log10Op>(std::log10),
      unary<math::Log1pOp>(std::log1p),
      unary<math::Log2Op>(std::log2),
      binary<math::PowFOp>(std::pow),
      binary<math::FPowIOp>(std::pow),
      unary<math::RoundOp>(std::round),
      unary<math::RoundEvenOp>(std::nearbyint),
      unary<math::RsqrtOp>([](double x) { return 1 / std::sqrt(x); }),
      unary<math::SinOp>(std::sin),
      unary<math::SinhOp>(std::sinh),
      unary<math::SqrtOp>(std::sqrt),
      unary<math::TanOp>(std::tan),
      unary<math::TanhOp>(std::tanh),
      unary<math::TruncOp>(std::trunc),
      unary<nn::SigmoidOp>(sigmoid),
      unary<nn::ReluOp>(relu),
      unary<nn::GeluOp>(gelu),
  };
  return functions;
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return !unordered && a == b;
  case P::OGT:
    return !unordered && a > b;
  case P::OGE:
    return !unordered && a >= b;
  case P::OLT:
    return !unordered && a < b;
  case P::OLE:
    return !unordered && a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The value of `x`, an element of the integer type `type`, with its sign: the
/// one bit of i1 is the sign.
static int64_t asSigned(double x, Type type) {
  return getElementTypeOrSelf(type).isInteger(1) ? -(int64_t)x : (int64_t)x;
}

/// The same without sign.
static int64_t asUnsigned(double x, Type type) {
  return getElementTypeOrSelf(type).isInteger(1)
             ? (int64_t)x
             : (int64_t)(uint32_t)(int64_t)x;
}

/// The low bits of `x` as an element of the integer type `type`.
static double wrap(int64_t x, Type type) {
  return getElementTypeOrSelf(type).isInteger(1) ? (double)(x & 1)
                                                 : (double)(int32_t)x;
}

using IntegerFunction = int64_t (*)(int64_t, int64_t);

/// Functions of two integers with sign, by the name of their operator. Their
/// results are wrapped. There is none for division, which may be undefined.
static IntegerFunction integerFunction(Operation *op) {
  using F = IntegerFunction;
  return TypeSwitch<Operation *, F>(op)
      .Case([](arith::AddIOp) -> F {
        return [](int64_t a, int64_t b) { return a + b; };
      })
      .Case([](arith::SubIOp) -> F {
        return [](int64_t a, int64_t b) { return a - b; };
      })
      .Case([](arith::MulIOp) -> F {
        return [](int64_t a, int64_t b) { return a * b; };
      })
      .Case([](arith::AndIOp) -> F {
        return [](int64_t a, int64_t b) { return a & b; };
      })
      .Case([](arith::OrIOp) -> F {
        return [](int64_t a, int64_t b) { return a | b; };
      })
      .Case([](arith::XOrIOp) -> F {
        return [](int64_t a, int64_t b) { return a ^ b; };
      })
      .Case([](arith::MaxSIOp) -> F {
        return [](int64_t a, int64_t b) { return std::max(a, b); };
      })
      .Case([](arith::MinSIOp) -> F {
        return [](int64_t a, int64_t b) { return std::min(a, b); };
      })
      .Default([](Operation *) { return F(); });
}

static bool compare(arith::CmpIPredicate predicate, Scalars x, Type type) {
  using P = arith::CmpIPredicate;
  int64_t a = asSigned(x[0], type), b = asSigned(x[1], type);
  int64_t ua = asUnsigned(x[0], type), ub = asUnsigned(x[1], type);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  llvm_unreachable("unknown predicate");
}

//===----------------------------------------------------------------------===//
// Any operator
//===----------------------------------------------------------------------===//

/// The scalar function of `op`; null if it has none that is known.
static ScalarFunction scalarFunction(Operation *op) {
  auto known = floatFunctions().find(op->getName().getStringRef());
  if (known != floatFunctions().end())
    return known->second;
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return nullptr;
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (IntegerFunction f = integerFunction(op))
    return [=](Scalars x) {
      return wrap(f(asSigned(x[0], from), asSigned(x[1], from)), to);
    };
  return TypeSwitch<Operation *, ScalarFunction>(op)
      .Case([](arith::CmpFOp op) {
        return [p = op.getPredicate()](Scalars x) -> double {
          return compare(p, x[0], x[1]);
        };
      })
      .Case([=](arith::CmpIOp op) {
        return [=, p = op.getPredicate()](Scalars x) -> double {
          return compare(p, x, from);
        };
      })
      .Case([](arith::SelectOp) {
        return [](Scalars x) { return x[0] != 0 ? x[1] : x[2]; };
      })
      .Case([](nn::FillOp op) {
        return [value = op.getValue().convertToDouble()](Scalars) {
          return value;
        };
      })
      .Case([=](arith::SIToFPOp) {
        return [=](Scalars x) { return (double)asSigned(x[0], from); };
      })
      .Case([=](arith::UIToFPOp) {
        return [=](Scalars x) { return (double)asUnsigned(x[0], from); };
      })
      .Case<arith::ExtSIOp, arith::TruncIOp>([=](Operation *) {
        return [=](Scalars x) { return wrap(asSigned(x[0], from), to); };
      })
      .Case([=](arith::ExtUIOp) {
        return [=](Scalars x) { return wrap(asUnsigned(x[0], from), to); };
      })
      .Default([](Operation *) { return nullptr; });
}

bool reference::isElementwise(Operation *op) {
  return scalarFunction(op) != nullptr;
}

FailureOr<Array> reference::elementwise(Operation *op, Operands operands) {
  ScalarFunction function = scalarFunction(op);
  // A condition may be one value for all elements.
  const Array &like = *operands.back();
  auto isScalar = [&](unsigned index) {
    return !isa<ShapedType>(op->getOperand(index).getType());
  };
  for (unsigned index = 0; index != operands.size(); ++index)
    if (!isScalar(index) && operands[index]->shape != like.shape)
      return op->emitOpError("expects operands of one shape, but operand #")
             << index << " is " << describeShape(*operands[index])
             << " and the last one " << describeShape(like);

  Array result = Array::zeros(like.shape);
  SmallVector<double> scalars(operands.size());
  for (size_t i = 0; i != result.data.size(); ++i) {
    for (unsigned index = 0; index != operands.size(); ++index)
      scalars[index] = operands[index]->data[isScalar(index) ? 0 : i];
    result.data[i] = function(scalars);
  }
  return result;
}
