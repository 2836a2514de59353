//===- ClassifyOperators.cpp - Finds when operators of F can run ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One sweep down the body finds what gathers reach, one sweep up what reaches
// the scatter (Cavs, section 3.5, proposition 2). Bodies are straight-line code
// in SSA order, so a sweep each is enough.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_CLASSIFYOPERATORSPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

namespace {
struct Classifier {
  Classifier(FuncOp function, bool eager, bool lazy)
      : body(function.getBody().front()), eager(eager), lazy(lazy) {
    for (Operation &op : body)
      if (op.hasTrait<Gathers>() ||
          llvm::any_of(getReadValues(&op), [&](Value operand) {
            return afterGather.contains(operand.getDefiningOp());
          }))
        afterGather.insert(&op);
    for (Operation &op : llvm::reverse(body))
      if (op.hasTrait<Scatters>() ||
          llvm::any_of(op.getUsers(), [&](Operation *user) {
            return beforeScatter.contains(body.findAncestorOpInBlock(*user));
          }))
        beforeScatter.insert(&op);
  }

  /// What is neither after a gather nor before the scatter can run at either
  /// end. Running it eagerly keeps its results over all tasks, running it
  /// lazily its operands; pulled rows and parameters are there anyway.
  bool keepsLessWhenEager(Operation &op) {
    int64_t results = 0, operands = 0;
    for (Type type : op.getResultTypes())
      results += bytesOf(type);
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && !isa<PullOp, PullChildOp>(producer) &&
          !producer->hasTrait<OpTrait::ConstantLike>())
        operands += bytesOf(operand.getType());
    }
    return results < operands;
  }

  std::pair<Phase, StringRef> classify(Operation &op) {
    if (isa<MapChildrenOp>(op) && !beforeScatter.contains(&op))
      return {Phase::lazy, "no scatter depends on it"};
    if (op.hasTrait<Gathers>())
      return {Phase::path, "reads a neighbour's state"};
    if (op.hasTrait<Scatters>())
      return {Phase::path, "sets the vertex's state"};
    if (isa<PullOp, PullChildOp>(op))
      return {Phase::eager, "pulled rows are there from the start"};
    if (op.hasTrait<Emits>())
      return {Phase::lazy, "no scatter depends on it"};
    bool gathered = afterGather.contains(&op);
    bool scattered = beforeScatter.contains(&op);
    if (scattered && !gathered && !eager && hasLoop())
      return {Phase::path, "eager operators are off"};
    if (gathered && !scattered && !lazy && hasLoop() && !isSummed(&op) &&
        llvm::none_of(getReadValues(&op), [&](Value value) {
          return phases.lookup(value.getDefiningOp()) == Phase::lazy;
        }))
      return {Phase::path, "lazy operators are off"};
    if (gathered && scattered)
      return {Phase::path, "lies on a path from a gather to the scatter"};
    if (scattered)
      return {Phase::eager, "depends on no gather"};
    if (gathered)
      return {Phase::lazy, "no scatter depends on it"};
    // With eager operators off, what it reads may be made on the path.
    bool afterLoop = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer && phases.lookup(producer) != Phase::eager;
    });
    if (!afterLoop && keepsLessWhenEager(op))
      return {Phase::eager, "could run at either end; keeps fewer bytes here"};
    return {Phase::lazy, "could run at either end; keeps fewer bytes here"};
  }

  void run() {
    for (Operation &op : body) {
      auto [phase, reason] = classify(op);
      phases[&op] = phase;
      op.setAttr(kPhaseAttrName, PhaseAttr::get(op.getContext(), phase));
      remark::analysis(op.getLoc(), remark::RemarkOpts::name("phase").category(
                                        "classify-operators"))
          << remark::metric("operator", op.getName().getStringRef())
          << remark::metric("phase", stringifyPhase(phase))
          << remark::metric("reason", reason);
    }
  }

  /// Whether `op` only makes what is summed over all vertices, which no vertex
  /// keeps for itself.
  static bool isSummed(Operation *op) {
    return !op->use_empty() &&
           llvm::all_of(op->getUsers(), [](Operation *user) {
             return isa<ReduceOp>(user) || isSummed(user);
           });
  }

  bool hasLoop() { return !beforeScatter.empty(); }

  Block &body;
  bool eager, lazy;
  llvm::DenseSet<Operation *> afterGather, beforeScatter;
  llvm::DenseMap<Operation *, Phase> phases;
};

struct ClassifyOperatorsPass
    : espalier::vertex::impl::ClassifyOperatorsPassBase<ClassifyOperatorsPass> {
  using ClassifyOperatorsPassBase::ClassifyOperatorsPassBase;
  void runOnOperation() override {
    for (FuncOp function : getOperation().getOps<FuncOp>())
      Classifier(function, eager, lazy).run();
  }
};
} // namespace
