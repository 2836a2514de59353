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
// of a reversed F the loop comes first and the leaves last, since they gather
// from parents.
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
    return !isa<PullOp, PullChildOp>(op) && !op.hasTrait<Gathers>() &&
           !op.hasTrait<Scatters>() && !op.hasTrait<Emits>() &&
           isSharedBy(op, mapping);
  }

  /// Whether `values` has all that `op` reads as it is, the same for all.
  static bool isSharedBy(Operation &op, IRMapping &values) {
    return llvm::all_of(getReadValues(&op), [&](Value operand) {
      Value mapped = values.lookupOrNull(operand);
      return mapped && mapped.getType() == operand.getType();
    });
  }

  /// Whether `op` makes a table that no vertex has for itself: all add to one.
  static bool isSummedOnly(Operation &op) {
    return isa<nn::ScatterRowsOp>(op) &&
           llvm::all_of(op.getUsers(), llvm::IsaPred<ReduceOp>);
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
      if (phaseOf(op) != phase)
        continue;
      // The children's states, or what is pulled of them.
      if (isa<MapChildrenOp, ScatterChildrenOp>(op)) {
        if (failed(emitChildren(op)))
          return failure();
        continue;
      }
      if (op.hasTrait<Gathers>() || op.hasTrait<Scatters>() ||
          op.hasTrait<Emits>() || isShared(op) || isSummedOnly(op))
        continue;
      if (auto pull = dyn_cast<PullOp>(op)) {
        mapping.map(pull.getRow(), buildPull(pull));
        continue;
      }
      if (auto pull = dyn_cast<PullChildOp>(op)) {
        Value all = pullAll(pull, pull.getNameAttr());
        mapping.map(pull.getRow(), ChildRowsOp::create(builder, pull.getLoc(),
                                                       apply.getGraph(), all,
                                                       pull.getSlot(), place));
        continue;
      }
      if (failed(emitBatched(op, mapping,
                             [&](Value operand) { return rowsOf(operand); })))
        return failure();
    }
    return success();
  }

  /// Emits `op` over rows and adds its results to `values`; `toRows` spreads
  /// out an operand that is the same for all.
  LogicalResult emitBatched(Operation &op, IRMapping &values,
                            llvm::function_ref<Value(Value)> toRows) {
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
      operands.push_back(batchable.needsRows() ? toRows(operand)
                                               : values.lookup(operand));
    FailureOr<SmallVector<Value>> results =
        batchable.buildBatched(builder, operands);
    if (failed(results))
      return failure();
    values.map(op.getResults(), *results);
    return success();
  }

  /// Emits the region of a map_children or scatter_children over edges, its
  /// arguments standing for children's rows of `rows`, and returns what it
  /// yields, a row an edge.
  FailureOr<SmallVector<Value>> emitOverEdges(Operation *op, ValueRange rows) {
    Block &body = op->getRegion(0).front();
    IRMapping edges;
    for (auto [argument, all] : llvm::zip(body.getArguments(), rows))
      if (!argument.use_empty())
        edges.map(argument, EdgeChildRowsOp::create(builder, op->getLoc(),
                                                    apply.getGraph(), all));
    auto ofParent = [&](Value value) -> Value {
      return EdgeParentRowsOp::create(builder, value.getLoc(), apply.getGraph(),
                                      rowsOf(value), place);
    };
    // What the vertex has is the same for all of its edges.
    for (Value value : getReadValues(op)) {
      Value mapped = mapping.lookup(value);
      edges.map(value,
                mapped.getType() == value.getType() ? mapped : ofParent(value));
    }
    auto toRows = [&](Value value) -> Value {
      Value mapped = edges.lookup(value);
      if (mapped.getType() != value.getType())
        return mapped;
      Value spread = SpreadRowsOp::create(builder, value.getLoc(),
                                          nn::getRowsType(value.getType()),
                                          apply.getGraph(), mapped, place);
      return EdgeParentRowsOp::create(builder, value.getLoc(), apply.getGraph(),
                                      spread, place);
    };
    for (Operation &nested : body.without_terminator()) {
      if (isSharedBy(nested, edges))
        builder.clone(nested, edges);
      else if (failed(emitBatched(nested, edges, toRows)))
        return failure();
    }
    SmallVector<Value> yielded;
    for (Value value : body.getTerminator()->getOperands())
      yielded.push_back(toRows(value));
    return yielded;
  }

  /// What `rows`, a row an edge, are for each vertex.
  Value reduceEdges(Location loc, Reduction reduction, Value rows) {
    return ReduceEdgeRowsOp::create(builder, loc, apply.getGraph(), reduction,
                                    rows, place);
  }

  /// The rows of all vertices that the apply binds `name` to.
  Value pullAll(Operation *pull, StringAttr name) {
    return pullAt(pull, boundTo(name), Place::all);
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

  /// Rows of zeros at the vertices of `at`.
  Value zerosAt(Location loc, Type row, Place at) {
    return SpreadRowsOp::create(builder, loc, nn::getRowsType(row),
                                apply.getGraph(),
                                nn::buildZeros(builder, loc, row), at);
  }

  /// `rows` at the leaves or the inner vertices, zeros at the others.
  Value atSome(Location loc, Type row, Place at, Value rows) {
    bool leaves = at == Place::leaves;
    Value others = zerosAt(loc, row, leaves ? Place::inner : Place::leaves);
    return JoinRowsOp::create(builder, loc, leaves ? rows : others,
                              leaves ? others : rows);
  }

  /// The rows that `push` pushes: zeros where it does not.
  Value pushedRows(PushOp push) {
    Value rows = rowsOf(push.getRow());
    if (push.getPlace() == Place::all || place != Place::all)
      return rows;
    return atSome(
        push.getLoc(), push.getRow().getType(), push.getPlace(),
        SelectRowsOp::create(builder, push.getLoc(), rows, push.getPlace()));
  }

  Place getPlace() const { return place; }

  IRMapping mapping;
  /// The states that regions over children read: those of all vertices done.
  SmallVector<Value> doneStates;
  /// What regions over children have scattered, a row an edge for each state.
  SmallVector<SmallVector<Value>> scattered;

private:
  LogicalResult emitChildren(Operation &op) {
    SmallVector<Value> rows(doneStates);
    if (auto scatter = dyn_cast<ScatterChildrenOp>(op)) {
      rows.clear();
      for (Attribute name : scatter.getNames())
        rows.push_back(pullAll(scatter, cast<StringAttr>(name)));
    }
    FailureOr<SmallVector<Value>> yielded = emitOverEdges(&op, rows);
    if (failed(yielded))
      return failure();
    Reduction reduction = Reduction::sum;
    if (auto map = dyn_cast<MapChildrenOp>(op)) {
      reduction = map.getReduction();
    } else {
      size_t states = yielded->size() - op.getNumResults();
      scattered.push_back(
          SmallVector<Value>(ArrayRef(*yielded).take_front(states)));
      yielded->erase(yielded->begin(), yielded->begin() + states);
    }
    for (auto [result, values] : llvm::zip(op.getResults(), *yielded))
      if (!result.use_empty())
        mapping.map(result, reduceEdges(op.getLoc(), reduction, values));
    return success();
  }

  /// What the apply binds `name` to.
  Value boundTo(StringAttr name) {
    for (auto [bound, rows] :
         llvm::zip(apply.getPullNames(), apply.getPulled()))
      if (bound == name)
        return rows;
    llvm_unreachable("the verifier of apply checks that names are bound");
  }

  Value buildPull(PullOp pull) {
    Value rows = boundTo(pull.getNameAttr());
    Type row = pull.getRow().getType();
    Place wanted = pull.getPlace();
    if (wanted == Place::all || wanted == place)
      return pullAt(pull, rows, place);
    if (place != Place::all)
      return zerosAt(pull->getLoc(), row, place);
    // Without variants, a pull at some vertices is zeros at the others.
    return atSome(pull.getLoc(), row, wanted, pullAt(pull, rows, wanted));
  }

  Value pullAt(Operation *pull, Value rows, Place at) {
    return PullRowsOp::create(builder, pull->getLoc(), apply.getGraph(), rows,
                              at);
  }

  OpBuilder &builder;
  ApplyOp apply;
  FuncOp function;
  Place place;
};

struct ApplyBatcher {
  ApplyBatcher(ApplyOp apply, FuncOp function, FuncOp leaf)
      : builder(apply), apply(apply), function(function), leaf(leaf),
        main(builder, apply, function, leaf ? Place::inner : Place::all) {
    if (leaf)
      leaves.emplace(builder, apply, leaf, Place::leaves);
  }

  LogicalResult run() {
    if (failed(function.getReversed() ? runReversed() : runForward()))
      return failure();
    llvm::StringMap<Value> results;
    for (Operation &op : function.getBody().front()) {
      if (auto push = dyn_cast<PushOp>(op))
        results[push.getName()] = PushRowsOp::create(
            builder, apply.getLoc(), apply.getGraph(), joinPush(push));
      else if (auto reduce = dyn_cast<ReduceOp>(op))
        results[reduce.getName()] = sum(reduce);
    }
    for (auto [name, result] :
         llvm::zip(apply.getPushNames(), apply.getPushed()))
      result.replaceAllUsesWith(
          results.lookup(cast<StringAttr>(name).getValue()));
    noteArity();
    apply.erase();
    return success();
  }

private:
  /// Emits everything but pushes and sums.
  LogicalResult runForward() {
    if (leaf) {
      leaves->emitShared();
      if (failed(emitAll(*leaves)))
        return failure();
      if (ScatterOp scatter = leaf.getScatter())
        for (Value state : scatter.getStates())
          leafStates.push_back(leaves->rowsOf(state));
    }
    main.emitShared();
    return success(succeeded(main.emit(Phase::eager)) &&
                   succeeded(emitTasks()) && succeeded(main.emit(Phase::lazy)));
  }

  LogicalResult runReversed() {
    main.emitShared();
    if (failed(main.emit(Phase::eager)) || failed(emitReversedTasks()) ||
        failed(main.emit(Phase::lazy)))
      return failure();
    if (!leaf)
      return success();
    leaves->emitShared();
    for (GatherParentsOp gather : leaf.getBody().getOps<GatherParentsOp>())
      mapParents(*leaves, gather, states);
    return emitAll(*leaves);
  }

  static LogicalResult emitAll(VariantBatcher &batcher) {
    for (Phase phase : {Phase::eager, Phase::path, Phase::lazy})
      if (failed(batcher.emit(phase)))
        return failure();
    return success();
  }

  /// The sum of what `reduce` has at all vertices.
  Value sum(ReduceOp reduce) {
    Value total;
    auto add = [&](VariantBatcher &batcher, ReduceOp op) {
      if (nn::isZeros(op.getValue()))
        return;
      Value part = sumOverVertices(batcher, op.getLoc(), op.getValue());
      total =
          total
              ? Value(arith::AddFOp::create(builder, op.getLoc(), total, part))
              : part;
    };
    add(main, reduce);
    if (leaf)
      for (ReduceOp other : leaf.getBody().getOps<ReduceOp>())
        if (other.getName() == reduce.getName())
          add(*leaves, other);
    return total ? total
                 : nn::buildZeros(builder, reduce.getLoc(),
                                  reduce.getValue().getType());
  }

  /// The sum of `value` over a variant's vertices: of a matrix put together,
  /// that of each piece, which may be the sum of outer products; of tables of
  /// one row, the table of all rows.
  Value sumOverVertices(VariantBatcher &batcher, Location loc, Value value) {
    if (nn::isZeros(value))
      return nn::buildZeros(builder, loc, value.getType());
    if (auto scatter = value.getDefiningOp<nn::ScatterRowsOp>())
      return nn::ScatterRowsOp::create(builder, loc, value.getType(),
                                       batcher.rowsOf(scatter.getRows()),
                                       batcher.rowsOf(scatter.getIds()));
    // Of what the loop puts together the pieces may never have left it; a row
    // is there as it is.
    auto concat = value.getDefiningOp<tensor::ConcatOp>();
    if (!concat || concat.getType().getRank() < 2 || isPath(concat))
      return nn::SumRowsOp::create(builder, loc, batcher.rowsOf(value));
    SmallVector<Value> pieces;
    for (Value piece : concat.getInputs())
      pieces.push_back(sumOverVertices(batcher, loc, piece));
    return tensor::ConcatOp::create(builder, loc, value.getType(),
                                    concat.getDim(), pieces);
  }

  /// Which structures an entry takes must not depend on what its functions
  /// read once they are optimised.
  void noteArity() {
    int64_t arity = function.getArity();
    if (auto reverse = apply.getGraph().getDefiningOp<ReverseOp>()) {
      if (auto known = reverse->getAttrOfType<IntegerAttr>(kArityAttrName))
        arity = std::max(arity, known.getInt());
      reverse->setAttr(kArityAttrName, builder.getI64IntegerAttr(arity));
      return;
    }
    auto graph = dyn_cast<BlockArgument>(apply.getGraph());
    auto entry = apply->getParentOfType<FunctionOpInterface>();
    if (!graph || !entry || graph.getOwner()->getParentOp() != entry)
      return;
    unsigned number = graph.getArgNumber();
    auto known = entry.getArgAttrOfType<IntegerAttr>(number, kArityAttrName);
    if (known)
      arity = std::max(arity, known.getInt());
    entry.setArgAttr(number, kArityAttrName, builder.getI64IntegerAttr(arity));
  }

  bool isPath(Operation *op) {
    return op && op->getBlock() == &function.getBody().front() &&
           main.phaseOf(*op) == Phase::path;
  }

  /// Values that enter the loop, and values of the loop, other than `states`,
  /// that are read after it.
  void findBorder(ValueRange states, llvm::SetVector<Value> &entering,
                  llvm::SetVector<Value> &leaving) {
    for (Operation &op : function.getBody().front()) {
      if (main.isShared(op))
        continue;
      for (Value operand : getReadValues(&op)) {
        Operation *producer = operand.getDefiningOp();
        bool isRows = producer && !main.isShared(*producer);
        if (!isRows)
          continue;
        if (isPath(&op) && !isPath(producer))
          entering.insert(operand);
        if (!isPath(&op) && isPath(producer) &&
            !llvm::is_contained(states, operand))
          leaving.insert(operand);
      }
    }
  }

  /// Emits the loop. `states` receives the states of all vertices; in the
  /// mapping, path values stand for the rows that the loop ran over.
  LogicalResult emitTasks() {
    ScatterOp scatter = function.getScatter();
    if (!scatter)
      return success();
    Location loc = scatter.getLoc();
    llvm::SetVector<Value> entering, leaving;
    findBorder(scatter.getStates(), entering, leaving);

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

    auto tasks =
        TasksOp::create(builder, loc, types, apply.getGraph(), leafStates,
                        eager, function.getArity(), stateCount);
    {
      OpBuilder::InsertionGuard guard(builder);
      Block *block = enterLoop(tasks.getBody(), loc, argumentTypes, entering);
      for (GatherOp gather : function.getBody().getOps<GatherOp>())
        for (auto [index, state] : llvm::enumerate(gather.getStates()))
          if (!state.use_empty())
            main.mapping.map(state,
                             GatherRowsOp::create(builder, gather.getLoc(),
                                                  block->getArgument(index),
                                                  gather.getSlot()));
      main.doneStates.assign(block->args_begin(),
                             block->args_begin() + stateCount);
      if (failed(main.emit(Phase::path)))
        return failure();
      SmallVector<Value> yielded;
      for (Value state : scatter.getStates())
        yielded.push_back(main.rowsOf(state));
      for (Value value : leaving)
        yielded.push_back(main.rowsOf(value));
      YieldOp::create(builder, loc, yielded);
    }

    leaveLoop(tasks.getOutputs().drop_front(stateCount), entering, eager,
              leaving);
    states.assign(tasks.getOutputs().begin(),
                  tasks.getOutputs().begin() + stateCount);
    main.doneStates = states;
    for (auto [value, rows] : llvm::zip(scatter.getStates(), states)) {
      if (!isPath(value.getDefiningOp()))
        continue; // An eager state: its rows are known already.
      main.mapping.map(value, leaf ? Value(SelectRowsOp::create(
                                         builder, loc, rows, Place::inner))
                                   : rows);
    }
    return success();
  }

  /// The same for a reversed function: `states` receives what each vertex that
  /// the loop ran over has scattered to its children.
  LogicalResult emitReversedTasks() {
    auto scatters =
        llvm::to_vector(function.getBody().getOps<ScatterChildOp>());
    bool overEdges = !function.getBody().getOps<ScatterChildrenOp>().empty();
    auto gathers =
        llvm::to_vector(function.getBody().getOps<GatherParentsOp>());
    if (scatters.empty() && !overEdges) {
      for (GatherParentsOp gather : gathers)
        mapParents(main, gather, {});
      return main.emit(Phase::path);
    }
    Location loc = function.getLoc();
    llvm::SetVector<Value> entering, leaving;
    findBorder({}, entering, leaving);
    SmallVector<Value> eager;
    for (Value value : entering)
      eager.push_back(main.mapping.lookup(value));
    // Slot after slot, so that a slot's rows lie where a product leaves them.
    SmallVector<Type> types;
    if (!scatters.empty())
      for (Type state : function.getStateTypes()) {
        auto row = cast<RankedTensorType>(state);
        SmallVector<int64_t> shape(row.getShape());
        shape.front() *= function.getArity();
        types.push_back(nn::getRowsType(
            RankedTensorType::get(shape, row.getElementType())));
      }
    size_t slotStates = types.size();
    if (overEdges)
      for (Type state : function.getStateTypes())
        types.push_back(nn::getRowsType(state));
    size_t stateCount = types.size();
    SmallVector<Type> argumentTypes(types);
    for (Value value : eager)
      argumentTypes.push_back(value.getType());
    for (Value value : leaving)
      types.push_back(nn::getRowsType(value.getType()));

    auto tasks = ReversedTasksOp::create(
        builder, loc, types, apply.getGraph(), eager, function.getArity(),
        slotStates, stateCount - slotStates, main.getPlace());
    this->slotStates = slotStates;
    {
      OpBuilder::InsertionGuard guard(builder);
      Block *block = enterLoop(tasks.getBody(), loc, argumentTypes, entering);
      for (GatherParentsOp gather : gathers)
        mapParents(main, gather, block->getArguments().take_front(stateCount));
      if (failed(main.emit(Phase::path)))
        return failure();
      SmallVector<Value> yielded;
      for (size_t state = 0; state < slotStates; ++state)
        yielded.push_back(slotsOf(scatters, state, types[state]));
      for (size_t state = slotStates; state < stateCount; ++state)
        yielded.push_back(edgesOf(state - slotStates));
      for (Value value : leaving)
        yielded.push_back(main.rowsOf(value));
      YieldOp::create(builder, loc, yielded);
    }
    leaveLoop(tasks.getOutputs().drop_front(stateCount), entering, eager,
              leaving);
    states.assign(tasks.getOutputs().begin(),
                  tasks.getOutputs().begin() + stateCount);
    return success();
  }

  /// A task's edges' rows of what is scattered of `state`, by all regions over
  /// children together.
  Value edgesOf(size_t state) {
    Value sum;
    for (ArrayRef<Value> part : main.scattered)
      sum = sum ? Value(arith::AddFOp::create(builder, function.getLoc(), sum,
                                              part[state]))
                : part[state];
    return sum;
  }

  /// A task's rows of what is scattered of `state`, slot after slot.
  Value slotsOf(ArrayRef<ScatterChildOp> scatters, size_t state, Type type) {
    Type row = function.getStateTypes()[state];
    SmallVector<Value> slots(function.getArity());
    for (ScatterChildOp scatter : scatters)
      slots[scatter.getSlot()] = scatter.getStates()[state];
    if (Value whole = wholeOf(slots))
      return main.rowsOf(whole);
    for (Value &slot : slots)
      if (slot)
        slot = main.rowsOf(slot);
    Location loc = function.getLoc();
    for (Value &slot : slots)
      if (!slot)
        slot = main.zerosAt(loc, row, main.getPlace());
    if (slots.size() == 1)
      return slots.front();
    return tensor::ConcatOp::create(builder, loc, type, /*dim=*/1, slots);
  }

  /// The value of which `slots` are all the slices, in order; null if there is
  /// none.
  static Value wholeOf(ArrayRef<Value> slots) {
    Value whole;
    int64_t end = 0;
    for (Value slot : slots) {
      auto slice =
          slot ? slot.getDefiningOp<tensor::ExtractSliceOp>() : nullptr;
      if (!slice || (whole && slice.getSource() != whole) ||
          slice.getType().getRank() != 1 ||
          slice.getStaticOffsets().front() != end ||
          slice.getStaticStrides().front() != 1)
        return Value();
      whole = slice.getSource();
      end += slice.getType().getDimSize(0);
    }
    bool all =
        whole && cast<RankedTensorType>(whole.getType()).getDimSize(0) == end;
    return all ? whole : Value();
  }

  /// Has what `gather` reads be the sums of `scattered`; zeros if nothing is.
  void mapParents(VariantBatcher &batcher, GatherParentsOp gather,
                  ValueRange scattered) {
    for (auto [index, state] : llvm::enumerate(gather.getStates())) {
      if (state.use_empty())
        continue;
      Location loc = gather.getLoc();
      Value rows;
      auto add = [&](Value part) {
        rows = rows ? Value(arith::AddFOp::create(builder, loc, rows, part))
                    : part;
      };
      if (index < std::min(slotStates, scattered.size()))
        add(GatherParentRowsOp::create(
            builder, loc, nn::getRowsType(state.getType()), apply.getGraph(),
            scattered[index], batcher.getPlace()));
      if (slotStates + index < scattered.size())
        add(GatherParentEdgeRowsOp::create(builder, loc, apply.getGraph(),
                                           scattered[slotStates + index],
                                           batcher.getPlace()));
      if (!rows)
        rows = batcher.zerosAt(loc, state.getType(), batcher.getPlace());
      batcher.mapping.map(state, rows);
    }
  }

  /// Starts the body of a loop; in the mapping, what enters it stands for the
  /// task's rows.
  Block *enterLoop(Region &region, Location loc, TypeRange types,
                   const llvm::SetVector<Value> &entering) {
    Block *block = builder.createBlock(
        &region, {}, types, SmallVector<Location>(types.size(), loc));
    for (auto [value, argument] :
         llvm::zip(entering, block->getArguments().take_back(entering.size())))
      main.mapping.map(value, argument);
    return block;
  }

  /// In the mapping, what entered the loop and what left it stands for all
  /// rows again.
  void leaveLoop(ValueRange results, const llvm::SetVector<Value> &entering,
                 ArrayRef<Value> eager, const llvm::SetVector<Value> &leaving) {
    for (auto [value, rows] : llvm::zip(entering, eager))
      main.mapping.map(value, rows);
    for (auto [value, rows] : llvm::zip(leaving, results))
      main.mapping.map(value, rows);
  }

  /// The pushed rows of all vertices.
  Value joinPush(PushOp push) {
    if (!leaf)
      return main.pushedRows(push);
    Value atLeaves = leaves->rowsOf(leaf.getPush(push.getName()).getRow());
    if (ScatterOp scatter = function.getScatter())
      for (auto [index, state] : llvm::enumerate(scatter.getStates()))
        if (state == push.getRow() && leaf.getPush(push.getName()).getRow() ==
                                          leaf.getScatter().getStates()[index])
          return states[index];
    return JoinRowsOp::create(builder, push.getLoc(), atLeaves,
                              main.rowsOf(push.getRow()));
  }

  OpBuilder builder;
  ApplyOp apply;
  FuncOp function, leaf;
  VariantBatcher main;
  std::optional<VariantBatcher> leaves;
  /// The states of the leaves; of all vertices once the loop is there.
  SmallVector<Value> leafStates, states;
  /// How many of a reversed function's states have a row's columns for each
  /// slot; the others have a row an edge.
  size_t slotStates = 0;
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
