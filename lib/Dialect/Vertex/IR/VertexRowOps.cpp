//===- VertexRowOps.cpp - Verifiers, patterns of row operators ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"

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

void RootsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<RootsOfPushedRows>(context);
}

void PullRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<PullBeforeEmbedding>(context);
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
