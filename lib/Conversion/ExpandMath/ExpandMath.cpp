//===- ExpandMath.cpp - Expands exp and tanh on f32 -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/ExpandMath.h"
#include "espalier/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace espalier {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "espalier/Conversion/Passes.h.inc"
} // namespace espalier

namespace {
struct ExpandMathPass : espalier::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    espalier::nn::populateExpandMathPatterns(patterns);
    mlir::walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
