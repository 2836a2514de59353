//===- ExpandDense.cpp - Splits a dense layer in two ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/NN/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace espalier::nn;

namespace espalier::nn {
#define GEN_PASS_DEF_EXPANDDENSEPASS
#include "espalier/Dialect/NN/Transforms/Passes.h.inc"
} // namespace espalier::nn

namespace {
struct ExpandDense : OpRewritePattern<DenseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DenseOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type row = op.getBias().getType();
    if (op.getType() != row && !isRowsType(op.getType()))
      return rewriter.notifyMatchFailure(op, "it is a layer of a network");
    Value product =
        MatmulOp::create(rewriter, loc, op.getInput(), op.getWeight());
    if (op.getType() == row) {
      rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getBias());
      return success();
    }
    auto group = ElementwiseOp::create(rewriter, loc, op.getType(),
                                       ValueRange{product, op.getBias()});
    Block *body =
        rewriter.createBlock(&group.getBody(), {}, {row, row}, {loc, loc});
    Value sum = arith::AddFOp::create(rewriter, loc, body->getArgument(0),
                                      body->getArgument(1));
    YieldOp::create(rewriter, loc, sum);
    rewriter.replaceOp(op, group);
    return success();
  }
};

struct ExpandDensePass
    : espalier::nn::impl::ExpandDensePassBase<ExpandDensePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandDense>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
