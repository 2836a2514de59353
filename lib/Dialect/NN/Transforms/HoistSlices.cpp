//===- HoistSlices.cpp - Moves slices towards where values are made -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices here are static, of unit stride, and of rank-1 values. A slice goes
// up through elementwise operators and concatenations only if everybody who
// reads the value reads slices of it, so no arithmetic is done twice beyond
// where slices overlap. At a product it ends, and the product is narrowed to
// the columns that are read.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/NN/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace espalier::nn;

namespace espalier::nn {
#define GEN_PASS_DEF_HOISTSLICESPASS
#include "espalier/Dialect/NN/Transforms/Passes.h.inc"
} // namespace espalier::nn

namespace {
/// Elements [begin, begin + size).
struct Interval {
  int64_t begin, size;
  int64_t end() const { return begin + size; }
};
} // namespace

/// The range of a static, unit-stride slice of a rank-1 value.
static std::optional<Interval> getInterval(Operation *op) {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  if (!slice || slice.getSourceType().getRank() != 1 ||
      slice.getType().getRank() != 1 || !slice.getOffsets().empty() ||
      !slice.getSizes().empty() || !slice.getStrides().empty() ||
      slice.getStaticStrides()[0] != 1)
    return std::nullopt;
  return Interval{slice.getStaticOffsets()[0], slice.getStaticSizes()[0]};
}

static bool readOnlyThroughSlices(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return getInterval(user).has_value();
  });
}

/// Elements `range` along dimension `dim` of `value`, all along the others.
static Value buildSlice(OpBuilder &builder, Location loc, Value value,
                        Interval range, int64_t dim = 0) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes;
  for (int64_t extent : type.getShape())
    sizes.push_back(builder.getIndexAttr(extent));
  offsets[dim] = builder.getIndexAttr(range.begin);
  sizes[dim] = builder.getIndexAttr(range.size);
  return builder.createOrFold<tensor::ExtractSliceOp>(loc, value, offsets,
                                                      sizes, strides);
}

namespace {
struct HoistOverElementwise : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    Operation *producer = op.getSource().getDefiningOp();
    std::optional<Interval> range = getInterval(op);
    if (!range || !producer || producer->getNumResults() != 1 ||
        producer->getNumRegions() != 0 ||
        !OpTrait::hasElementwiseMappableTraits(producer) ||
        !llvm::all_of(producer->getOperandTypes(), [&](Type type) {
          auto tensor = dyn_cast<RankedTensorType>(type);
          return tensor && tensor.getRank() == 1;
        }))
      return rewriter.notifyMatchFailure(op, "is no slice of an elementwise "
                                             "result");
    if (!readOnlyThroughSlices(op.getSource()))
      return rewriter.notifyMatchFailure(op, "the whole value is read too");
    OperationState state(producer->getLoc(), producer->getName());
    for (Value operand : producer->getOperands())
      state.addOperands(buildSlice(rewriter, op.getLoc(), operand, *range));
    state.addTypes(op.getType());
    state.addAttributes(producer->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }
};

struct HoistOverSlice : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto outer = op.getSource().getDefiningOp<tensor::ExtractSliceOp>();
    std::optional<Interval> inner = getInterval(op);
    std::optional<Interval> range = outer ? getInterval(outer) : std::nullopt;
    if (!inner || !range)
      return rewriter.notifyMatchFailure(op, "is no slice of a slice");
    rewriter.replaceOp(
        op, buildSlice(rewriter, op.getLoc(), outer.getSource(),
                       Interval{range->begin + inner->begin, inner->size}));
    return success();
  }
};

struct HoistOverConcat : OpRewritePattern<tensor::ExtractSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExtractSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getSource().getDefiningOp<tensor::ConcatOp>();
    std::optional<Interval> range = getInterval(op);
    if (!range || !concat)
      return rewriter.notifyMatchFailure(op, "is no slice of a concatenation");
    int64_t begin = 0;
    for (Value piece : concat.getInputs()) {
      int64_t size = cast<RankedTensorType>(piece.getType()).getDimSize(0);
      if (begin <= range->begin && range->end() <= begin + size) {
        rewriter.replaceOp(
            op, buildSlice(rewriter, op.getLoc(), piece,
                           Interval{range->begin - begin, range->size}));
        return success();
      }
      begin += size;
    }
    return rewriter.notifyMatchFailure(op, "reaches over several pieces");
  }
};

struct NarrowMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getRank() != 1 || op->use_empty() ||
        !readOnlyThroughSlices(op.getResult()))
      return rewriter.notifyMatchFailure(op, "all of its columns are read");

    SmallVector<Interval> read;
    for (Operation *user : op->getUsers())
      read.push_back(*getInterval(user));
    llvm::sort(read, [](Interval a, Interval b) { return a.begin < b.begin; });
    SmallVector<Interval> columns;
    for (Interval range : read) {
      if (columns.empty() || columns.back().end() < range.begin)
        columns.push_back(range);
      else
        columns.back().size =
            std::max(columns.back().end(), range.end()) - columns.back().begin;
    }
    int64_t width = 0;
    for (Interval range : columns)
      width += range.size;
    if (width == type.getDimSize(0))
      return rewriter.notifyMatchFailure(op, "all of its columns are read");

    Location loc = op.getLoc();
    SmallVector<Value> pieces;
    for (Interval range : columns)
      pieces.push_back(
          buildSlice(rewriter, loc, op.getWeight(), range, /*dim=*/1));
    Value weight =
        pieces.size() == 1
            ? pieces[0]
            : tensor::ConcatOp::create(rewriter, loc, /*dim=*/1, pieces)
                  .getResult();
    auto narrowed = MatmulOp::create(rewriter, loc, op.getInput(), weight);
    remark::analysis(
        loc, remark::RemarkOpts::name("narrowed").category("hoist-slices"))
        << remark::metric("columns", width)
        << remark::metric("saved", type.getDimSize(0) - width);

    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      Interval range = *getInterval(user);
      int64_t begin = 0;
      for (Interval kept : columns) {
        if (kept.begin <= range.begin && range.end() <= kept.end()) {
          rewriter.setInsertionPoint(user);
          rewriter.replaceOp(
              user, buildSlice(rewriter, user->getLoc(), narrowed,
                               Interval{begin + range.begin - kept.begin,
                                        range.size}));
          break;
        }
        begin += kept.size;
      }
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct HoistSlicesPass
    : espalier::nn::impl::HoistSlicesPassBase<HoistSlicesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<HoistOverElementwise, HoistOverSlice, HoistOverConcat,
                 NarrowMatmul>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
