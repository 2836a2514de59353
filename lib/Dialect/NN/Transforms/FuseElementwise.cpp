//===- FuseElementwise.cpp - Groups linked elementwise operators ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Union-find over the edges between elementwise operators of one block (Cavs,
// section 3.5), refined by an acyclicity check: two groups are merged only if
// no path leads from one to the other through something outside both. Blocks
// of vertex functions hold tens of operators, so the check is a plain search.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/NN/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace espalier::nn;

namespace espalier::nn {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "espalier/Dialect/NN/Transforms/Passes.h.inc"
} // namespace espalier::nn

/// Whether `op` is an elementwise operator on tensors of one static row shape,
/// or makes one from a scalar.
static bool isFusible(Operation &op) {
  if (isa<BroadcastOp>(op))
    return true;
  if (op.getNumResults() != 1 || op.getNumRegions() != 0 ||
      op.hasTrait<OpTrait::ConstantLike>() || !isTotal(&op) ||
      !OpTrait::hasElementwiseMappableTraits(&op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
  return type && (type.hasStaticShape() || isRowsType(type)) &&
         llvm::all_of(op.getOperandTypes(), [&](Type operand) {
           auto tensor = dyn_cast<RankedTensorType>(operand);
           return tensor && tensor.getShape() == type.getShape();
         });
}

static bool isSplatConstant(Value value) {
  return matchPattern(value, m_Constant<SplatElementsAttr>(nullptr));
}

namespace {
class BlockFuser {
public:
  BlockFuser(Block &block, bool singletons)
      : block(block), singletons(singletons) {}

  void run() {
    duplicate([](Operation *op) { return isCondition(op->getResult(0)); });
    // A number that two updates of parameters use, say, is no reason to wait
    // with the one for the gradient of the other.
    if (isa<func::FuncOp>(block.getParentOp()))
      duplicate([](Operation *op) { return isa<BroadcastOp>(op); });
    for (Operation &op : block) {
      positions[&op] = positions.size();
      if (isFusible(op)) {
        groups.insert(&op);
        order.push_back(&op);
      }
    }
    mergeLinks(isCondition);
    if (!singletons)
      mergeLinks([](Value) { return true; });
    outline();
  }

private:
  /// Conditions live in registers only, so that each is in its reader's group.
  static bool isCondition(Value value) {
    return getElementTypeOrSelf(value.getType()).isInteger(1);
  }

  /// Gives each reader of what is `wanted` one of its own.
  void duplicate(llvm::function_ref<bool(Operation *)> isWanted) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (!isFusible(op) || !isWanted(&op) || op.use_empty())
        continue;
      llvm::SetVector<Operation *> readers(op.user_begin(), op.user_end());
      for (Operation *reader : llvm::drop_begin(readers))
        reader->replaceUsesOfWith(op.getResult(0),
                                  OpBuilder(&op).clone(op)->getResult(0));
    }
  }

  void mergeLinks(llvm::function_ref<bool(Value)> isWanted) {
    for (Operation *op : order)
      for (Value operand : op->getOperands())
        // The scalar that is broadcast has another shape.
        if (Operation *producer =
                isa<BroadcastOp>(op) ? nullptr : operand.getDefiningOp())
          if (producer->getBlock() == &block && isFusible(*producer) &&
              isWanted(operand))
            merge(producer, op);
  }

  bool inGroup(Operation *op, Operation *leader) const {
    return groups.contains(op) && groups.getLeaderValue(op) == leader;
  }

  /// Whether some path leads out of the union of two groups and back into it.
  /// If that takes long to find out, in layered networks of great depth, it is
  /// taken for granted: what is so far apart has little to gain.
  bool wouldCycle(Operation *left, Operation *right) const {
    auto inside = [&](Operation *op) {
      return inGroup(op, left) || inGroup(op, right);
    };
    // Behind the last member nothing comes back.
    size_t last = 0;
    for (Operation *leader : {left, right})
      for (Operation *member : groups.members(leader))
        last = std::max(last, positions.lookup(member));
    SmallVector<Operation *> worklist;
    llvm::DenseSet<Operation *> seen;
    auto pushUsers = [&](Operation *op, bool onlyOutside) {
      // A group that is left is left through any of its members' results.
      SmallVector<Operation *> members{op};
      if (groups.contains(op)) {
        auto range = groups.members(op);
        members.assign(range.begin(), range.end());
      }
      for (Operation *member : members)
        for (Operation *user : member->getUsers()) {
          user = block.findAncestorOpInBlock(*user);
          if (user && !(onlyOutside && inside(user)) &&
              positions.lookup(user) <= last && seen.insert(user).second)
            worklist.push_back(user);
        }
    };
    pushUsers(left, /*onlyOutside=*/true);
    pushUsers(right, /*onlyOutside=*/true);
    while (!worklist.empty()) {
      Operation *op = worklist.pop_back_val();
      if (inside(op) || seen.size() > kMaxSearch)
        return true;
      pushUsers(op, /*onlyOutside=*/false);
    }
    return false;
  }

  void merge(Operation *producer, Operation *user) {
    Operation *left = groups.getLeaderValue(producer);
    Operation *right = groups.getLeaderValue(user);
    if (left != right && !wouldCycle(left, right))
      groups.unionSets(left, right);
  }

  void outline() {
    llvm::MapVector<Operation *, SmallVector<Operation *>> members;
    for (Operation *op : order)
      members[groups.getLeaderValue(op)].push_back(op);
    for (auto &[leader, ops] : members)
      outline(ops);
    sortTopologically(&block);
  }

  /// Replaces `ops`, in block order, by one nn.elementwise.
  void outline(ArrayRef<Operation *> ops) {
    llvm::SetVector<Value> inputs;
    SmallVector<Value> outputs;
    llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if ((!isSplatConstant(operand) || isa<BroadcastOp>(op)) &&
            !inside.contains(operand.getDefiningOp()))
          inputs.insert(operand);
      if (llvm::any_of(op->getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        outputs.push_back(op->getResult(0));
    }
    if (outputs.empty()) {
      for (Operation *op : llvm::reverse(ops))
        op->erase();
      return;
    }

    auto row = [](Type type) -> Type {
      return isRowsType(type) ? getRowType(type) : cast<RankedTensorType>(type);
    };
    OpBuilder builder(ops.back());
    SmallVector<Location> locations;
    for (Operation *op : ops)
      locations.push_back(op->getLoc());
    Location loc = builder.getFusedLoc(locations);
    auto group = ElementwiseOp::create(
        builder, loc, TypeRange(ValueRange(outputs)), inputs.getArrayRef());
    SmallVector<Type> argumentTypes;
    for (Value input : inputs)
      argumentTypes.push_back(row(input.getType()));
    Block *body =
        builder.createBlock(&group.getBody(), {}, argumentTypes,
                            SmallVector<Location>(argumentTypes.size(), loc));

    IRMapping mapping;
    for (auto [input, argument] : llvm::zip(inputs, body->getArguments()))
      mapping.map(input, argument);
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (isSplatConstant(operand) && !isa<BroadcastOp>(op) &&
            !mapping.contains(operand)) {
          Operation *clone = builder.clone(*operand.getDefiningOp());
          SplatElementsAttr splat;
          matchPattern(operand, m_Constant(&splat));
          auto type = cast<RankedTensorType>(row(operand.getType()));
          clone->setAttr("value", splat.resizeSplat(type));
          clone->getResult(0).setType(type);
          mapping.map(operand, clone->getResult(0));
        }
      Operation *clone = builder.clone(*op, mapping);
      clone->getResult(0).setType(row(clone->getResult(0).getType()));
    }
    SmallVector<Value> yielded;
    for (Value output : outputs)
      yielded.push_back(mapping.lookup(output));
    YieldOp::create(builder, loc, yielded);

    for (auto [output, result] : llvm::zip(outputs, group.getOutputs()))
      output.replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    remark::analysis(
        loc, remark::RemarkOpts::name("group").category("fuse-elementwise"))
        << remark::metric("operators", ops.size())
        << remark::metric("inputs", inputs.size())
        << remark::metric("outputs", outputs.size());
  }

  static constexpr size_t kMaxSearch = 1024;

  Block &block;
  bool singletons;
  llvm::EquivalenceClasses<Operation *> groups;
  SmallVector<Operation *> order;
  llvm::DenseMap<Operation *, size_t> positions;
};

struct FuseElementwisePass
    : espalier::nn::impl::FuseElementwisePassBase<FuseElementwisePass> {
  using FuseElementwisePassBase::FuseElementwisePassBase;
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](FunctionOpInterface function) {
      function->walk([&](Block *block) {
        if (!isa<ElementwiseOp>(block->getParentOp()))
          blocks.push_back(block);
      });
    });
    for (Block *block : blocks)
      BlockFuser(*block, singletons).run();
  }
};
} // namespace
