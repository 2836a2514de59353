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
// cheap operators there.
//
//===----------------------------------------------------------------------===//

#include "SavedValues.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

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
  explicit FunctionHoister(FuncOp function) : function(function) {}

  void run() {
    for (MapChildrenOp map : function.getBody().getOps<MapChildrenOp>()) {
      moveOut(map);
      giveToChild(map);
    }
    if (hoisted.empty())
      return;
    extendState();
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
      bool isState =
          argument && isa<MapChildrenOp>(argument.getOwner()->getParentOp());
      return isState ? scatter.getStates()[argument.getArgNumber()] : value;
    }
    for (Value operand : getReadValues(op))
      mapping.map(operand, cloneForChild(operand, scatter, mapping, builder));
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  }

  void extendState() {
    ScatterOp scatter = function.getScatter();
    OpBuilder builder(scatter);
    SmallVector<Value> states(scatter.getStates());
    SmallVector<Attribute> types(function.getState().getValue());
    SmallVector<Type> added;
    for (Operation *op : hoisted) {
      IRMapping mapping;
      states.push_back(
          cloneForChild(op->getResult(0), scatter, mapping, builder));
      added.push_back(op->getResult(0).getType());
      types.push_back(TypeAttr::get(added.back()));
    }
    scatter.getStatesMutable().assign(states);
    function.setStateAttr(builder.getArrayAttr(types));

    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().getOps())) {
      if (auto gather = dyn_cast<GatherOp>(op)) {
        builder.setInsertionPoint(gather);
        auto extended =
            GatherOp::create(builder, gather.getLoc(), function.getStateTypes(),
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
    for (Operation *op : llvm::reverse(hoisted))
      op->erase();
  }

  FuncOp function;
  SmallVector<Operation *> hoisted;
};

struct HoistChildOperatorsPass
    : espalier::vertex::impl::HoistChildOperatorsPassBase<
          HoistChildOperatorsPass> {
  void runOnOperation() override {
    for (FuncOp function : getOperation().getOps<FuncOp>())
      if (function.getScatter())
        FunctionHoister(function).run();
  }
};
} // namespace
