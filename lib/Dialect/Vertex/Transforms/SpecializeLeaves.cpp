//===- SpecializeLeaves.cpp - Leaf and inner variants of F ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces what is known to be zeros, then lets zeros meet the operators that
// they cancel. That zero times anything is zero is not true of infinities and
// NaN in general; here the zero stands for a child or a word that is not there,
// and what is not there contributes nothing.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_SPECIALIZELEAVESPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

namespace {
/// x + 0 = 0 + x = x - 0 = x
template <typename Op> struct DropZeroTerm : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (nn::isZeros(op.getRhs()))
      rewriter.replaceOp(op, op.getLhs());
    else if (isa<arith::AddFOp>(op.getOperation()) && nn::isZeros(op.getLhs()))
      rewriter.replaceOp(op, op.getRhs());
    else
      return rewriter.notifyMatchFailure(op, "adds no zeros");
    return success();
  }
};

/// 0 * x = x * 0 = 0 / x = 0 W = 0
template <typename Op> struct AbsorbZeroFactor : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    bool commutes =
        isa<arith::MulFOp, nn::OuterOp, nn::RowMatmulOp>(op.getOperation());
    if (!nn::isZeros(op->getOperand(0)) &&
        !(commutes && nn::isZeros(op->getOperand(1))))
      return rewriter.notifyMatchFailure(op, "has no zero factor");
    rewriter.replaceOp(op, nn::buildZeros(rewriter, op.getLoc(), op.getType()));
    return success();
  }
};

/// Concatenations, slices, sums of zeros are zeros.
template <typename Op> struct FoldZeroRows : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!llvm::all_of(op->getOperands(), nn::isZeros))
      return rewriter.notifyMatchFailure(op, "has operands other than zeros");
    rewriter.replaceOp(op, nn::buildZeros(rewriter, op.getLoc(), op.getType()));
    return success();
  }
};

/// [x 0 y] W = [x y] W', where W' lacks the rows that meet zeros. Rows can be
/// left out between others of a transpose, which is packed column by column;
/// of another weight, at its ends.
struct SkipZeroPieces : OpRewritePattern<nn::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<tensor::ConcatOp>();
    if (!concat || concat.getType().getRank() != 1)
      return rewriter.notifyMatchFailure(op, "multiplies no concatenation");
    // Runs of pieces that are not zeros: the first row, and how many.
    SmallVector<Value> pieces;
    SmallVector<std::pair<int64_t, int64_t>> runs;
    int64_t row = 0;
    for (Value piece : concat.getInputs()) {
      int64_t size = cast<RankedTensorType>(piece.getType()).getDimSize(0);
      if (!nn::isZeros(piece)) {
        pieces.push_back(piece);
        if (!runs.empty() && runs.back().first + runs.back().second == row)
          runs.back().second += size;
        else
          runs.push_back({row, size});
      }
      row += size;
    }
    bool transposed = bool(op.getWeight().getDefiningOp<nn::TransposeOp>());
    if (pieces.size() == concat.getInputs().size() || pieces.empty() ||
        (!transposed && runs.size() > 1))
      return rewriter.notifyMatchFailure(op, "has no zeros to skip");

    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getWeight().getType());
    SmallVector<Value> rows;
    Value weight;
    int64_t total = 0;
    for (auto [first, count] : runs) {
      auto part = RankedTensorType::get({count, type.getDimSize(1)},
                                        type.getElementType());
      weight =
          nn::buildSlice(rewriter, loc, op.getWeight(), part, /*dim=*/0, first);
      rows.push_back(weight);
      total += count;
    }
    Value input = pieces.front();
    if (rows.size() > 1)
      weight = tensor::ConcatOp::create(
          rewriter, loc,
          RankedTensorType::get({total, type.getDimSize(1)},
                                type.getElementType()),
          /*dim=*/0, rows);
    if (pieces.size() > 1)
      input = tensor::ConcatOp::create(
          rewriter, loc, RankedTensorType::get({total}, type.getElementType()),
          /*dim=*/0, pieces);
    rewriter.replaceOpWithNewOp<nn::MatmulOp>(op, input, weight);
    return success();
  }
};

struct SpecializeLeavesPass
    : espalier::vertex::impl::SpecializeLeavesPassBase<SpecializeLeavesPass> {
  void runOnOperation() override {
    RewritePatternSet set(&getContext());
    set.add<DropZeroTerm<arith::AddFOp>, DropZeroTerm<arith::SubFOp>,
            AbsorbZeroFactor<arith::MulFOp>, AbsorbZeroFactor<arith::DivFOp>,
            AbsorbZeroFactor<nn::MatmulOp>, SkipZeroPieces,
            AbsorbZeroFactor<nn::OuterOp>, AbsorbZeroFactor<nn::RowMatmulOp>,
            AbsorbZeroFactor<nn::DropoutOp>, FoldZeroRows<tensor::ConcatOp>,
            FoldZeroRows<tensor::ExtractSliceOp>, FoldZeroRows<nn::SumOp>,
            FoldZeroRows<nn::BroadcastOp>, FoldZeroRows<arith::NegFOp>>(
        &getContext());
    FrozenRewritePatternSet patterns(std::move(set));

    SymbolTable symbols(getOperation());
    for (FuncOp function :
         llvm::make_early_inc_range(getOperation().getOps<FuncOp>())) {
      if (!readsChildren(function) || function.getLeafAttr())
        continue;
      FuncOp leaf = function.clone();
      leaf.setSymName((function.getSymName() + ".leaf").str());
      leaf.setArity(0);
      symbols.insert(leaf, std::next(function->getIterator()));
      function.setLeafAttr(FlatSymbolRefAttr::get(leaf.getSymNameAttr()));

      for (Operation &op :
           llvm::make_early_inc_range(leaf.getBody().getOps())) {
        if (isa<GatherOp, MapChildrenOp, PullChildOp, ScatterChildrenOp>(op))
          replaceByZeros(&op);
        else if (isa<ScatterChildOp>(op))
          op.erase();
      }
      dropOutside(leaf, Place::inner);
      dropOutside(function, Place::leaves);
      for (FuncOp variant : {function, leaf})
        if (failed(applyPatternsGreedily(variant, patterns)))
          return signalPassFailure();

      auto count = [](FuncOp variant) {
        return llvm::count_if(variant.getBody().getOps(), [](Operation &op) {
          return !op.hasTrait<OpTrait::ConstantLike>();
        });
      };
      remark::passed(
          function.getLoc(),
          remark::RemarkOpts::name("specialized").category("specialize-leaves"))
          << remark::metric("inner", count(function))
          << remark::metric("leaf", count(leaf));
    }
  }

  static bool readsChildren(FuncOp function) {
    return function.getArity() > 0 ||
           llvm::any_of(function.getBody().getOps(),
                        llvm::IsaPred<MapChildrenOp, ScatterChildrenOp>);
  }

  static void replaceByZeros(Operation *op) {
    OpBuilder builder(op);
    for (Value result : op->getResults())
      result.replaceAllUsesWith(
          nn::buildZeros(builder, op->getLoc(), result.getType()));
    op->erase();
  }

  /// What is pulled or pushed at `place` only is zeros in `function`, which
  /// runs at the others.
  static void dropOutside(FuncOp function, Place place) {
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().getOps())) {
      if (auto pull = dyn_cast<PullOp>(op); pull && pull.getPlace() == place) {
        replaceByZeros(pull);
      } else if (auto push = dyn_cast<PushOp>(op)) {
        OpBuilder builder(push);
        if (push.getPlace() == place)
          push.getRowMutable().assign(
              nn::buildZeros(builder, push.getLoc(), push.getRow().getType()));
        push.setPlace(Place::all);
      }
    }
  }
};
} // namespace
