//===- ExpandScatterRows.cpp - Builds tables of few rows ------------------===//
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
#define GEN_PASS_DEF_EXPANDSCATTERROWSPASS
#include "espalier/Dialect/NN/Transforms/Passes.h.inc"
} // namespace espalier::nn

namespace {
struct ExpandScatterRows : OpRewritePattern<ScatterRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (!isRowsType(op.getRows().getType()))
      return rewriter.notifyMatchFailure(op, "scatters one row");
    Location loc = op.getLoc();
    Type rows = op.getRows().getType(), row = getRowType(rows);
    auto sums = CombineRowsOp::create(
        rewriter, loc, rows, op.getIds().getType(), op.getRows(), op.getIds());
    auto zeros =
        ElementwiseOp::create(rewriter, loc, op.getType(), ValueRange());
    auto copy =
        ElementwiseOp::create(rewriter, loc, rows, ValueRange{sums.getSums()});
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.createBlock(&zeros.getBody());
      YieldOp::create(rewriter, loc,
                      ValueRange{buildZeros(rewriter, loc, op.getType())});
      Block *body = rewriter.createBlock(&copy.getBody(), {}, row, loc);
      YieldOp::create(rewriter, loc, ValueRange{body->getArgument(0)});
    }
    rewriter.replaceOpWithNewOp<UpdateRowsOp>(
        op, zeros.getResult(0), sums.getOwners(), copy.getResult(0));
    return success();
  }
};

struct ExpandScatterRowsPass
    : espalier::nn::impl::ExpandScatterRowsPassBase<ExpandScatterRowsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandScatterRows>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
