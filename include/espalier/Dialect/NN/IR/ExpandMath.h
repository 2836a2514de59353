//===- ExpandMath.h - exp, tanh, sigmoid as vector arithmetic ---*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transcendental functions of f32 for generated kernels: straight-line code
// over scalars or vectors, no branch, no table, no call.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DIALECT_NN_IR_EXPANDMATH_H
#define ESPALIER_DIALECT_NN_IR_EXPANDMATH_H

#include "mlir/IR/PatternMatch.h"

namespace espalier::nn {

/// Adds patterns that rewrite `math.exp` and `math.tanh` over f32, or a vector
/// of f32, into `arith` and `math.fma`. Other types are left to libm.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns);

/// Builds 1 / (1 + exp(-x)) for a scalar or vector `x` of any float type. Over
/// f32 it is expanded in place, as above; over other types it contains a
/// `math.exp` whose argument is never positive, so that it cannot overflow.
mlir::Value buildSigmoid(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value x);

} // namespace espalier::nn

#endif // ESPALIER_DIALECT_NN_IR_EXPANDMATH_H
