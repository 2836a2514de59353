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
                                   embedding.getIds(), op.getPlace(),
                                   op.getVertexTypeAttr());
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
    if (op.getPlace() == Place::all && !op.getVertexType())
      rewriter.replaceOp(op, push.getRows());
    else
      rewriter.replaceOpWithNewOp<SelectRowsOp>(
          op, push.getRows(), op.getPlace(), op.getVertexTypeAttr());
    return success();
  }
};

/// Selecting what was joined.
struct SelectOfJoin : OpRewritePattern<SelectRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectRowsOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getPlace() == Place::all && !op.getVertexType()) {
      rewriter.replaceOp(op, op.getRows());
      return success();
    }
    auto join = op.getRows().getDefiningOp<JoinRowsOp>();
    if (!join)
      return rewriter.notifyMatchFailure(op, "selects from no join");
    std::optional<int64_t> type = op.getVertexType();
    for (auto [index, piece] : llvm::enumerate(join.getPieces()))
      if (join.getPlace(index) == op.getPlace() &&
          join.getVertexType(index) == type) {
        rewriter.replaceOp(op, piece);
        return success();
      }
    return rewriter.notifyMatchFailure(op, "selects other rows than a piece");
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
    IntegerAttr type;
    if (auto join = rows.getDefiningOp<JoinRowsOp>()) {
      auto isZero = [](Value value) {
        auto spread = value.getDefiningOp<SpreadRowsOp>();
        return spread && nn::isZeros(spread.getRow());
      };
      SmallVector<int64_t> pieces;
      for (auto [index, piece] : llvm::enumerate(join.getPieces()))
        if (!isZero(piece))
          pieces.push_back(index);
      if (pieces.size() == 1) {
        int64_t index = pieces.front();
        rows = join.getPieces()[index];
        place = join.getPlace(index);
        if (auto known = join.getVertexType(index))
          type = rewriter.getI64IntegerAttr(*known);
      }
    }
    Value ids = PullRowsOp::create(rewriter, op.getLoc(), push.getGraph(),
                                   op.getIds(), place, type);
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

/// How many eager tensors a body reads that has `carried` states.
static size_t countEager(Region &body, size_t carried) {
  return body.getNumArguments() - carried;
}

/// How many results a body yields besides `carried` states.
static size_t countOthers(Region &body, size_t carried) {
  return body.front().getTerminator()->getNumOperands() - carried;
}

template <typename Loop> static OperandRange eagerOf(Loop loop, size_t index) {
  size_t first = 0, carried = loop.getCarried();
  for (Region &body : loop.getBodies().take_front(index))
    first += countEager(body, carried);
  return loop.getEager().slice(first,
                               countEager(loop.getBodies()[index], carried));
}

template <typename Loop>
static SmallVector<Value> outputsOf(Loop loop, size_t index) {
  size_t carried = loop.getCarried(), first = carried;
  for (Region &body : loop.getBodies().take_front(index))
    first += countOthers(body, carried);
  SmallVector<Value> outputs(loop.getOutputs().take_front(carried));
  llvm::append_range(outputs,
                     loop.getOutputs().slice(
                         first, countOthers(loop.getBodies()[index], carried)));
  return outputs;
}

OperandRange TasksOp::getEagerOf(size_t index) { return eagerOf(*this, index); }
SmallVector<Value> TasksOp::getOutputsOf(size_t index) {
  return outputsOf(*this, index);
}
OperandRange ReversedTasksOp::getEagerOf(size_t index) {
  return eagerOf(*this, index);
}
SmallVector<Value> ReversedTasksOp::getOutputsOf(size_t index) {
  return outputsOf(*this, index);
}

/// What bodies take and yield, of both loops; `arguments` and `yields` are the
/// labels of these constraints.
template <typename Loop>
static LogicalResult verifyBodies(Loop loop, StringRef arguments,
                                  StringRef yields) {
  size_t carried = loop.getCarried();
  if (loop.getBodies().empty())
    return loop.emitOpError() << arguments << " has no body";
  if (carried > loop.getNumResults())
    return loop.emitOpError()
           << yields << " has " << carried << " states, but only "
           << loop.getNumResults() << " results";
  size_t eager = 0, others = 0;
  for (Region &body : loop.getBodies()) {
    if (body.getNumArguments() < carried)
      return loop.emitOpError()
             << arguments << " expects block arguments for " << carried
             << " states and " << loop.getEager().size()
             << " eager tensors, with their types";
    if (body.front().getTerminator()->getNumOperands() < carried)
      return loop.emitOpError()
             << yields << " expects the yielded types to be the result types";
    eager += countEager(body, carried);
    others += countOthers(body, carried);
  }
  if (eager != loop.getEager().size())
    return loop.emitOpError()
           << arguments << " expects block arguments for " << carried
           << " states and " << loop.getEager().size()
           << " eager tensors, with their types";
  if (carried + others != loop.getNumResults())
    return loop.emitOpError()
           << yields << " expects the yielded types to be the result types";
  for (auto [index, body] : llvm::enumerate(loop.getBodies())) {
    SmallVector<Value> outputs = loop.getOutputsOf(index);
    SmallVector<Type> expected(
        ValueRange(outputs).take_front(carried).getTypes());
    llvm::append_range(expected, loop.getEagerOf(index).getTypes());
    if (TypeRange(body.getArgumentTypes()) != TypeRange(expected))
      return loop.emitOpError()
             << arguments << " expects block arguments for " << carried
             << " states and " << expected.size() - carried
             << " eager tensors, with their types";
    if (body.front().getTerminator()->getOperandTypes() !=
        ValueRange(outputs).getTypes())
      return loop.emitOpError()
             << yields << " expects the yielded types to be the result types";
  }
  return success();
}

LogicalResult TasksOp::verify() {
  if (failed(verifyBodies(*this, "[T1]", "[T2]")))
    return failure();
  size_t states = getStates(), types = getBodies().size();
  if (getInits().size() != states * types && (types > 1 || !getInits().empty()))
    return emitOpError("[T3] expects ")
           << states * types << " inits" << (types > 1 ? "" : " or none")
           << ", but got " << getInits().size();
  for (auto [index, init] : llvm::enumerate(getInits())) {
    Type expected = getOutputs()[index % states].getType();
    if (init.getType() != expected)
      return emitOpError("[T3] expects an init of type ")
             << expected << ", but got " << init.getType();
  }
  return success();
}

LogicalResult JoinRowsOp::verify() {
  size_t pieces = getPieces().size();
  if (pieces == 0 || pieces % 2 != 0)
    return emitOpError("[J1] expects the rows of the leaves of each type, then "
                       "those of the others of each, but got ")
           << pieces << " pieces";
  return success();
}

LogicalResult GatherRowsOp::verify() {
  auto tasks = (*this)->getParentOfType<TasksOp>();
  auto argument = dyn_cast<BlockArgument>(getState());
  if (!tasks || !argument || argument.getOwner()->getParentOp() != tasks ||
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
  return verifyBodies(*this, "[V1]", "[V2]");
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
