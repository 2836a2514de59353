//===- BatchVertices.cpp - Applies become rows and a loop over tasks ------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An apply of F over a graph becomes
//
//   leaves:  everything that the leaf variant computes, over the leaves' rows
//   eager:   F's eager operators, over the rows of all (other) vertices
//   tasks:   the loop, with F's path operators in its body
//   lazy:    F's lazy operators, over the rows of all (other) vertices
//   push:    the leaves' and the other rows joined, in the caller's order
//
// An operator that depends on parameters only is the same for every vertex: it
// stays as it is, in front of everything.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_BATCHVERTICESPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

namespace {
/// Emits one variant of F over the rows of `place`.
class VariantBatcher {
public:
  VariantBatcher(OpBuilder &builder, ApplyOp apply, FuncOp function,
                 Place place)
      : builder(builder), apply(apply), function(function), place(place) {
    for (auto [argument, parameter] :
         llvm::zip(function.getBody().getArguments(), apply.getParameters()))
      mapping.map(argument, parameter);
  }

  Phase phaseOf(Operation &op) {
    return op.getAttrOfType<PhaseAttr>(kPhaseAttrName).getValue();
  }

  bool isShared(Operation &op) {
    return !isa<PullOp, GatherOp, ScatterOp, PushOp>(op) &&
           llvm::all_of(op.getOperands(), [&](Value operand) {
             Value mapped = mapping.lookupOrNull(operand);
             return mapped && mapped.getType() == operand.getType();
           });
  }

  /// Clones what depends on parameters only.
  void emitShared() {
    for (Operation &op : function.getBody().front())
      if (isShared(op))
        builder.clone(op, mapping)->removeAttr(kPhaseAttrName);
  }

  /// Emits the operators whose phase is `phase`, each over its rows.
  LogicalResult emit(Phase phase) {
    for (Operation &op : function.getBody().front()) {
      if (phaseOf(op) != phase || isa<GatherOp, ScatterOp, PushOp>(op) ||
          isShared(op))
        continue;
      if (auto pull = dyn_cast<PullOp>(op)) {
        mapping.map(pull.getRow(), buildPull(pull));
        continue;
      }
      auto batchable = dyn_cast<nn::BatchableOpInterface>(op);
      if (!batchable) {
        InFlightDiagnostic diagnostic =
            op.emitOpError("has no form over a batch of vertices");
        if (OpTrait::hasElementwiseMappableTraits(&op))
          diagnostic.attachNote()
              << "run fuse-elementwise first: it puts elementwise operators "
                 "into groups, which have one";
        return diagnostic;
      }
      SmallVector<Value> operands;
      for (Value operand : op.getOperands())
        operands.push_back(batchable.needsRows() ? rowsOf(operand)
                                                 : mapping.lookup(operand));
      FailureOr<SmallVector<Value>> results =
          batchable.buildBatched(builder, operands);
      if (failed(results))
        return failure();
      mapping.map(op.getResults(), *results);
    }
    return success();
  }

  /// The rows that stand for `value`, spread out if it is shared.
  Value rowsOf(Value value) {
    Value mapped = mapping.lookup(value);
    if (mapped.getType() != value.getType())
      return mapped;
    return SpreadRowsOp::create(builder, value.getLoc(),
                                nn::getRowsType(value.getType()),
                                apply.getGraph(), mapped, place);
  }

  IRMapping mapping;

private:
  Value buildPull(PullOp pull) {
    for (auto [name, rows] : llvm::zip(apply.getPullNames(), apply.getPulled()))
      if (cast<StringAttr>(name) == pull.getNameAttr()) {
        Place wanted = pull.getPlace();
        if (wanted == Place::all || wanted == place)
          return pullAt(pull, rows, place);
        if (place != Place::all)
          return zerosAt(pull, place);
        // Without variants, a pull at some vertices is zeros at the others.
        bool atLeaves = wanted == Place::leaves;
        Value leaves = atLeaves ? pullAt(pull, rows, Place::leaves)
                                : zerosAt(pull, Place::leaves);
        Value inner = atLeaves ? zerosAt(pull, Place::inner)
                               : pullAt(pull, rows, Place::inner);
        return JoinRowsOp::create(builder, pull.getLoc(), leaves, inner);
      }
    llvm_unreachable("the verifier of apply checks that names are bound");
  }

  Value pullAt(PullOp pull, Value rows, Place at) {
    return PullRowsOp::create(builder, pull.getLoc(), apply.getGraph(), rows,
                              at);
  }
  Value zerosAt(PullOp pull, Place at) {
    Type row = pull.getRow().getType();
    return SpreadRowsOp::create(
        builder, pull.getLoc(), nn::getRowsType(row), apply.getGraph(),
        nn::buildZeros(builder, pull.getLoc(), row), at);
  }

  OpBuilder &builder;
  ApplyOp apply;
  FuncOp function;
  Place place;
};

struct ApplyBatcher {
  ApplyBatcher(ApplyOp apply, FuncOp function, FuncOp leaf)
      : builder(apply), apply(apply), function(function), leaf(leaf),
        main(builder, apply, function, leaf ? Place::inner : Place::all) {}

  LogicalResult run() {
    SmallVector<Value> leafStates;
    llvm::StringMap<Value> leafPushes, pushes;
    if (leaf) {
      VariantBatcher leaves(builder, apply, leaf, Place::leaves);
      leaves.emitShared();
      for (Phase phase : {Phase::eager, Phase::path, Phase::lazy})
        if (failed(leaves.emit(phase)))
          return failure();
      if (ScatterOp scatter = leaf.getScatter())
        for (Value state : scatter.getStates())
          leafStates.push_back(leaves.rowsOf(state));
      for (PushOp push : leaf.getBody().getOps<PushOp>())
        leafPushes[push.getName()] = leaves.rowsOf(push.getRow());
    }

    main.emitShared();
    if (failed(main.emit(Phase::eager)))
      return failure();
    SmallVector<Value> states;
    if (failed(emitTasks(leafStates, states)) || failed(main.emit(Phase::lazy)))
      return failure();

    for (PushOp push : function.getBody().getOps<PushOp>())
      pushes[push.getName()] = joinPush(push, states, leafStates, leafPushes);
    for (auto [name, result] :
         llvm::zip(apply.getPushNames(), apply.getPushed())) {
      StringRef key = cast<StringAttr>(name).getValue();
      result.replaceAllUsesWith(PushRowsOp::create(
          builder, apply.getLoc(), apply.getGraph(), pushes.lookup(key)));
    }
    noteArity();
    apply.erase();
    return success();
  }

private:
  /// Which structures an entry takes must not depend on what its functions
  /// read once they are optimised.
  void noteArity() {
    auto graph = dyn_cast<BlockArgument>(apply.getGraph());
    auto entry = apply->getParentOfType<FunctionOpInterface>();
    if (!graph || !entry || graph.getOwner()->getParentOp() != entry)
      return;
    unsigned number = graph.getArgNumber();
    auto known = entry.getArgAttrOfType<IntegerAttr>(number, kArityAttrName);
    int64_t arity = function.getArity();
    if (known)
      arity = std::max(arity, known.getInt());
    entry.setArgAttr(number, kArityAttrName, builder.getI64IntegerAttr(arity));
  }

  /// Emits the loop. `states` receives the states of all vertices; in the
  /// mapping, path values stand for the rows that the loop ran over.
  LogicalResult emitTasks(ArrayRef<Value> inits, SmallVector<Value> &states) {
    ScatterOp scatter = function.getScatter();
    if (!scatter)
      return success();
    Location loc = scatter.getLoc();
    Block &body = function.getBody().front();
    auto isPath = [&](Operation *op) {
      return op && op->getBlock() == &body && main.phaseOf(*op) == Phase::path;
    };

    // Values that enter the loop, and values of the loop read after it.
    llvm::SetVector<Value> entering, leaving;
    for (Operation &op : body) {
      if (main.isShared(op))
        continue;
      for (Value operand : op.getOperands()) {
        Operation *producer = operand.getDefiningOp();
        bool isRows = producer && !main.isShared(*producer);
        if (!isRows)
          continue;
        if (isPath(&op) && !isPath(producer))
          entering.insert(operand);
        if (!isPath(&op) && isPath(producer) &&
            !llvm::is_contained(scatter.getStates(), operand))
          leaving.insert(operand);
      }
    }

    SmallVector<Value> eager;
    for (Value value : entering)
      eager.push_back(main.mapping.lookup(value));
    SmallVector<Type> types;
    for (Value state : scatter.getStates())
      types.push_back(nn::getRowsType(state.getType()));
    size_t stateCount = types.size();
    SmallVector<Type> argumentTypes(types);
    for (Value value : eager)
      argumentTypes.push_back(value.getType());
    for (Value value : leaving)
      types.push_back(nn::getRowsType(value.getType()));

    auto tasks = TasksOp::create(builder, loc, types, apply.getGraph(), inits,
                                 eager, function.getArity(), stateCount);
    {
      OpBuilder::InsertionGuard guard(builder);
      Block *block =
          builder.createBlock(&tasks.getBody(), {}, argumentTypes,
                              SmallVector<Location>(argumentTypes.size(), loc));
      for (auto [value, argument] :
           llvm::zip(entering, block->getArguments().drop_front(stateCount)))
        main.mapping.map(value, argument);
      for (GatherOp gather : body.getOps<GatherOp>())
        for (auto [index, state] : llvm::enumerate(gather.getStates()))
          if (!state.use_empty())
            main.mapping.map(state,
                             GatherRowsOp::create(builder, gather.getLoc(),
                                                  block->getArgument(index),
                                                  gather.getSlot()));
      if (failed(main.emit(Phase::path)))
        return failure();
      SmallVector<Value> yielded;
      for (Value state : scatter.getStates())
        yielded.push_back(main.rowsOf(state));
      for (Value value : leaving)
        yielded.push_back(main.rowsOf(value));
      YieldOp::create(builder, loc, yielded);
    }

    for (auto [value, rows] : llvm::zip(entering, eager))
      main.mapping.map(value, rows);
    for (auto [value, rows] :
         llvm::zip(leaving, tasks.getOutputs().drop_front(stateCount)))
      main.mapping.map(value, rows);
    states.assign(tasks.getOutputs().begin(),
                  tasks.getOutputs().begin() + stateCount);
    for (auto [value, rows] : llvm::zip(scatter.getStates(), states)) {
      Operation *producer = value.getDefiningOp();
      if (!isPath(producer))
        continue; // An eager state: its rows are known already.
      main.mapping.map(value, leaf ? Value(SelectRowsOp::create(
                                         builder, loc, rows, Place::inner))
                                   : rows);
    }
    return success();
  }

  /// The pushed rows of all vertices.
  Value joinPush(PushOp push, ArrayRef<Value> states,
                 ArrayRef<Value> leafStates,
                 const llvm::StringMap<Value> &leafPushes) {
    if (!leaf)
      return main.rowsOf(push.getRow());
    Value leaves = leafPushes.lookup(push.getName());
    if (ScatterOp scatter = function.getScatter())
      for (auto [index, state] : llvm::enumerate(scatter.getStates()))
        if (state == push.getRow() && leaves == leafStates[index])
          return states[index];
    return JoinRowsOp::create(builder, push.getLoc(), leaves,
                              main.rowsOf(push.getRow()));
  }

  OpBuilder builder;
  ApplyOp apply;
  FuncOp function, leaf;
  VariantBatcher main;
};

struct BatchVerticesPass
    : espalier::vertex::impl::BatchVerticesPassBase<BatchVerticesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (FuncOp function : module.getOps<FuncOp>())
      for (Operation &op : function.getBody().front())
        if (!op.getAttrOfType<PhaseAttr>(kPhaseAttrName)) {
          op.emitOpError("has no phase; run classify-operators first");
          return signalPassFailure();
        }

    SmallVector<ApplyOp> applies;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != module && op->hasTrait<OpTrait::SymbolTable>())
        return WalkResult::skip(); // Has vertex functions of its own.
      if (auto apply = dyn_cast<ApplyOp>(op))
        applies.push_back(apply);
      return WalkResult::advance();
    });
    for (ApplyOp apply : applies) {
      auto function = symbols.lookup<FuncOp>(apply.getCallee());
      FuncOp leaf;
      if (auto reference = function.getLeafAttr())
        leaf = symbols.lookup<FuncOp>(reference.getValue());
      if (failed(ApplyBatcher(apply, function, leaf).run()))
        return signalPassFailure();
    }
    for (FuncOp function : llvm::make_early_inc_range(module.getOps<FuncOp>()))
      function.erase();
  }
};
} // namespace
