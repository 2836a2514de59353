//===- HoistChildOperators.cpp - Work of children, done once --------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region over children runs once an edge. What it computes from the vertex
// alone is the same for all of its edges, and moves in front of the region.
// What it computes from the child alone is the same for all edges to that
// child, and the child can do it: it becomes a part of the child's state. A
// shared child then does it once, products over edges become products over
// vertices, and the backward pass, which runs the region again, finds only
// cheap operators there. Where functions are applied by type the child may be
// of any type, so all of them do it.
//
//===----------------------------------------------------------------------===//

#include "SavedValues.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_HOISTCHILDOPERATORSPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

namespace {
class FunctionHoister {
public:
  /// `siblings` are `function` and those whose vertices may be its children.
  FunctionHoister(FuncOp function, ArrayRef<FuncOp> siblings)
      : function(function), siblings(siblings) {}

  void run() {
    for (MapChildrenOp map : function.getBody().getOps<MapChildrenOp>()) {
      moveOut(map);
      giveToChild(map);
    }
    if (hoisted.empty())
      return;
    for (FuncOp sibling : siblings)
      extendState(sibling);
    for (Operation *op : llvm::reverse(hoisted))
      op->erase();
    remark::passed(
        function.getLoc(),
        remark::RemarkOpts::name("hoisted").category("hoist-child-operators"))
        << remark::metric("function", function.getSymName())
        << remark::metric("states", hoisted.size());
  }

private:
  static bool isInside(Value value, MapChildrenOp map) {
    return value.getParentRegion() == &map.getBody();
  }

  /// Moves what depends on the vertex only.
  static void moveOut(MapChildrenOp map) {
    for (Operation &op :
         llvm::make_early_inc_range(map.getBody().front().without_terminator()))
      if (!op.hasTrait<OpTrait::ConstantLike>() &&
          llvm::none_of(getReadValues(&op),
                        [&](Value value) { return isInside(value, map); }))
        op.moveBefore(map);
  }

  /// Finds what depends on the child only, and takes more than keeping it.
  void giveToChild(MapChildrenOp map) {
    llvm::DenseSet<Value> ofChild(map.getBody().args_begin(),
                                  map.getBody().args_end());
    for (Operation &op : map.getBody().front().without_terminator()) {
      // Parameters are the same for the child; other values of the vertex are
      // not.
      bool known = llvm::all_of(getReadValues(&op), [&](Value value) {
        return ofChild.contains(value) ||
               (isa<BlockArgument>(value) && !isInside(value, map));
      });
      bool constant = op.hasTrait<OpTrait::ConstantLike>();
      if (!known && !constant)
        continue;
      ofChild.insert(op.result_begin(), op.result_end());
      if (!constant && !isCheap(&op) && op.getNumResults() == 1)
        hoisted.push_back(&op);
    }
  }

  /// Clones what `value`, inside a region, is made by in front of the scatter.
  Value cloneForChild(Value value, ScatterOp scatter, IRMapping &mapping,
                      OpBuilder &builder) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !isa<MapChildrenOp>(op->getParentOp())) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument)
        return value;
      unsigned number = argument.getArgNumber();
      if (isa<MapChildrenOp>(argument.getOwner()->getParentOp()))
        return scatter.getStates()[number];
      return scatter->getBlock()->getArgument(number);
    }
    for (Value operand : getReadValues(op))
      mapping.map(operand, cloneForChild(operand, scatter, mapping, builder));
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  }

  /// Adds what is hoisted to the state of `sibling`.
  void extendState(FuncOp sibling) {
    ScatterOp scatter = sibling.getScatter();
    OpBuilder builder(scatter);
    SmallVector<Value> states(scatter.getStates());
    SmallVector<Attribute> types(sibling.getState().getValue());
    SmallVector<Type> added;
    for (Operation *op : hoisted) {
      IRMapping mapping;
      states.push_back(
          cloneForChild(op->getResult(0), scatter, mapping, builder));
      added.push_back(op->getResult(0).getType());
      types.push_back(TypeAttr::get(added.back()));
    }
    scatter.getStatesMutable().assign(states);
    sibling.setStateAttr(builder.getArrayAttr(types));

    for (Operation &op :
         llvm::make_early_inc_range(sibling.getBody().getOps())) {
      if (auto gather = dyn_cast<GatherOp>(op)) {
        builder.setInsertionPoint(gather);
        auto extended =
            GatherOp::create(builder, gather.getLoc(), sibling.getStateTypes(),
                             gather.getSlot());
        gather.replaceAllUsesWith(
            extended.getStates().take_front(gather.getNumResults()));
        gather.erase();
      } else if (auto map = dyn_cast<MapChildrenOp>(op)) {
        Block &body = map.getBody().front();
        for (auto [type, source] : llvm::zip(added, hoisted)) {
          Value argument = body.addArgument(type, map.getLoc());
          if (source->getBlock() == &body)
            source->getResult(0).replaceAllUsesWith(argument);
        }
      }
    }
  }

  FuncOp function;
  ArrayRef<FuncOp> siblings;
  SmallVector<Operation *> hoisted;
};

struct HoistChildOperatorsPass
    : espalier::vertex::impl::HoistChildOperatorsPassBase<
          HoistChildOperatorsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    // Functions that are applied together share a state.
    llvm::EquivalenceClasses<Operation *> together;
    for (FuncOp function : module.getOps<FuncOp>())
      together.insert(function);
    module.walk([&](ApplyOp apply) {
      SmallVector<FuncOp> callees = lookupCallees(apply, symbols);
      for (FuncOp callee : callees)
        if (callee && callees.front())
          together.unionSets(callees.front(), callee);
    });
    for (FuncOp function : module.getOps<FuncOp>()) {
      if (!function.getScatter())
        continue;
      SmallVector<FuncOp> siblings;
      for (FuncOp other : module.getOps<FuncOp>())
        if (together.isEquivalent(function, other))
          siblings.push_back(other);
      FunctionHoister(function, siblings).run();
    }
  }
};
} // namespace
