//===- VertexRowOps.cpp - Verifiers, patterns of row operators ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

//===----------------------------------------------------------------------===//
// pull_rows
//===----------------------------------------------------------------------===//

namespace {
/// Looking up permuted ids touches only the rows that are wanted, and nothing
/// is copied twice.
struct PullBeforeEmbedding : OpRewritePattern<PullRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PullRowsOp op,
                                PatternRewriter &rewriter) const override {
    auto embedding = op.getRows().getDefiningOp<nn::EmbeddingOp>();
    if (!embedding || !isRowsType(embedding.getIds().getType()))
      return rewriter.notifyMatchFailure(op, "pulls no embedding");
    Value ids = PullRowsOp::create(rewriter, op.getLoc(), op.getGraph(),
                                   embedding.getIds(), op.getPlace());
    rewriter.replaceOpWithNewOp<nn::EmbeddingOp>(op, embedding.getTable(), ids);
    return success();
  }
};

/// The roots of pushed rows are read where they were made.
struct RootsOfPushedRows : OpRewritePattern<RootsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RootsOp op,
                                PatternRewriter &rewriter) const override {
    auto push = op.getRows().getDefiningOp<PushRowsOp>();
    if (!push || push.getGraph() != op.getGraph())
      return rewriter.notifyMatchFailure(op, "reads no pushed rows");
    rewriter.replaceOpWithNewOp<RootRowsOp>(op, op.getGraph(), push.getRows());
    return success();
  }
};
} // namespace

namespace {
/// Rows that were pushed over the same graph are in schedule order already.
struct PullOfPushedRows : OpRewritePattern<PullRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PullRowsOp op,
                                PatternRewriter &rewriter) const override {
    auto push = op.getRows().getDefiningOp<PushRowsOp>();
    if (!push || push.getGraph() != op.getGraph())
      return rewriter.notifyMatchFailure(op, "pulls no pushed rows");
    if (op.getPlace() == Place::all)
      rewriter.replaceOp(op, push.getRows());
    else
      rewriter.replaceOpWithNewOp<SelectRowsOp>(op, push.getRows(),
                                                op.getPlace());
    return success();
  }
};

/// Selecting what was joined.
struct SelectOfJoin : OpRewritePattern<SelectRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getPlace() == Place::all) {
      rewriter.replaceOp(op, op.getRows());
      return success();
    }
    auto join = op.getRows().getDefiningOp<JoinRowsOp>();
    if (!join)
      return rewriter.notifyMatchFailure(op, "selects from no join");
    rewriter.replaceOp(op, op.getPlace() == Place::leaves ? join.getLeaves()
                                                          : join.getInner());
    return success();
  }
};
} // namespace

namespace {
/// Rows are added to a table, by scatter_rows or combine_rows, where they were
/// made, and rows of zeros not at all.
template <typename Op> struct AddPushedRowsByIds : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto push = op.getRows().template getDefiningOp<PushRowsOp>();
    if (!push)
      return rewriter.notifyMatchFailure(op, "adds no pushed rows");
    Value rows = push.getRows();
    Place place = Place::all;
    if (auto join = rows.getDefiningOp<JoinRowsOp>()) {
      auto isZero = [](Value value) {
        auto spread = value.getDefiningOp<SpreadRowsOp>();
        return spread && nn::isZeros(spread.getRow());
      };
      if (isZero(join.getInner())) {
        rows = join.getLeaves();
        place = Place::leaves;
      } else if (isZero(join.getLeaves())) {
        rows = join.getInner();
        place = Place::inner;
      }
    }
    Value ids = PullRowsOp::create(rewriter, op.getLoc(), push.getGraph(),
                                   op.getIds(), place);
    rewriter.replaceOpWithNewOp<Op>(op, op->getResultTypes(), rows, ids);
    return success();
  }
};
} // namespace

void PushRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<AddPushedRowsByIds<nn::ScatterRowsOp>,
               AddPushedRowsByIds<nn::CombineRowsOp>>(context);
}

static bool isSpreadZeros(Value value) {
  auto spread = value.getDefiningOp<SpreadRowsOp>();
  return spread && nn::isZeros(spread.getRow());
}

/// The pieces of rows put together of which some are zeros; none if none are.
static SmallVector<Value> piecesWithZeros(Value rows) {
  auto concat = rows.getDefiningOp<tensor::ConcatOp>();
  if (!concat || llvm::none_of(concat.getInputs(), isSpreadZeros))
    return {};
  return llvm::to_vector(concat.getInputs());
}

namespace {
/// The columns of x^T [y 0] that are zeros need no product.
struct OuterSumOfZeroColumns : OpRewritePattern<nn::OuterSumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::OuterSumOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> columns;
    for (Value piece : piecesWithZeros(op.getY()))
      columns.push_back(
          nn::OuterSumOp::create(rewriter, op.getLoc(), op.getX(), piece));
    if (columns.empty())
      return rewriter.notifyMatchFailure(op, "has no columns of zeros");
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(op, op.getType(), /*dim=*/1,
                                                  columns);
    return success();
  }
};

struct SumOfZeroColumns : OpRewritePattern<nn::SumRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::SumRowsOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> sums;
    for (Value piece : piecesWithZeros(op.getRows()))
      sums.push_back(
          isSpreadZeros(piece)
              ? nn::buildZeros(rewriter, op.getLoc(),
                               nn::getRowType(piece.getType()))
              : Value(nn::SumRowsOp::create(rewriter, op.getLoc(), piece)));
    if (sums.empty())
      return rewriter.notifyMatchFailure(op, "has no columns of zeros");
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(op, op.getType(), /*dim=*/0,
                                                  sums);
    return success();
  }
};
} // namespace

void SpreadRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<OuterSumOfZeroColumns, SumOfZeroColumns>(context);
}

void SelectRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<SelectOfJoin>(context);
}

void RootsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<RootsOfPushedRows>(context);
}

void PullRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<PullBeforeEmbedding, PullOfPushedRows>(context);
}

//===----------------------------------------------------------------------===//
// tasks, gather_rows
//===----------------------------------------------------------------------===//

LogicalResult TasksOp::verify() {
  Block &body = getBody().front();
  size_t states = getStates();
  if (states > getNumResults())
    return emitOpError("[T2] has ")
           << states << " states, but only " << getNumResults() << " results";
  if (!getInits().empty() && getInits().size() != states)
    return emitOpError("[T3] expects ")
           << states << " inits or none, but got " << getInits().size();
  for (auto [init, result] : llvm::zip(getInits(), getOutputs()))
    if (init.getType() != result.getType())
      return emitOpError("[T3] expects an init of type ")
             << result.getType() << ", but got " << init.getType();

  SmallVector<Type> expected(llvm::to_vector(getResultTypes()));
  expected.truncate(states);
  llvm::append_range(expected, getEager().getTypes());
  if (TypeRange(body.getArgumentTypes()) != TypeRange(expected))
    return emitOpError("[T1] expects block arguments for ")
           << states << " states and " << getEager().size()
           << " eager tensors, with their types";
  if (body.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("[T2] expects the yielded types to be the result "
                       "types");
  return success();
}

LogicalResult GatherRowsOp::verify() {
  auto tasks = (*this)->getParentOfType<TasksOp>();
  auto argument = dyn_cast<BlockArgument>(getState());
  if (!tasks || !argument || argument.getOwner() != &tasks.getBody().front() ||
      argument.getArgNumber() >= tasks.getStates())
    return emitOpError("[R1] expects a state argument of the enclosing "
                       "vertex.tasks");
  if (getSlot() >= tasks.getArity())
    return emitOpError("[T4] reads child slot ")
           << getSlot() << ", but the loop's arity is " << tasks.getArity();
  return success();
}

//===----------------------------------------------------------------------===//
// reversed_tasks, gather_parent_rows
//===----------------------------------------------------------------------===//

LogicalResult ReversedTasksOp::verify() {
  Block &body = getBody().front();
  size_t states = getStates() + getEdgeStates();
  if (states > getNumResults())
    return emitOpError("[V1] has ")
           << states << " states, but only " << getNumResults() << " results";
  SmallVector<Type> expected(llvm::to_vector(getResultTypes()));
  expected.truncate(states);
  llvm::append_range(expected, getEager().getTypes());
  if (TypeRange(body.getArgumentTypes()) != TypeRange(expected))
    return emitOpError("[V1] expects block arguments for ")
           << states << " states and " << getEager().size()
           << " eager tensors, with their types";
  if (body.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("[V2] expects the yielded types to be the result "
                       "types");
  return success();
}

LogicalResult GatherParentRowsOp::verify() {
  auto rows = nn::getRowType(getRows().getType());
  auto result = nn::getRowType(getResult().getType());
  auto fits = [&] {
    if (rows.getElementType() != result.getElementType() ||
        rows.getRank() != result.getRank() || rows.getRank() == 0 ||
        rows.getShape().drop_front() != result.getShape().drop_front())
      return false;
    int64_t all = rows.getDimSize(0), own = result.getDimSize(0);
    return own == 0 ? all == 0 : all % own == 0;
  };
  if (!fits())
    return emitOpError("[R2] expects a multiple of the columns of ")
           << getResult().getType() << ", but got " << getRows().getType();
  return success();
}
