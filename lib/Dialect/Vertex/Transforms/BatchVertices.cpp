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
// Where functions are applied by type, each has leaves and other vertices of
// its own, and the loop a body for each. A function without a leaf variant is
// its own there: what it gathers is zeros.
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
/// Emits one variant of F over the rows of `place`, of `type` if vertices have
/// types.
class VariantBatcher {
public:
  VariantBatcher(OpBuilder &builder, ApplyOp apply, FuncOp function,
                 Place place, IntegerAttr type)
      : builder(builder), apply(apply), function(function), place(place),
        type(type) {
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

  static bool readsChildren(Operation &op) {
    return isa<GatherOp, MapChildrenOp, PullChildOp, ScatterChildrenOp>(op);
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
      if (place == Place::leaves && readsChildren(op)) {
        for (Value result : op.getResults())
          if (!result.use_empty())
            mapping.map(result, zerosAt(op.getLoc(), result.getType(), place));
        continue;
      }
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
        mapping.map(pull.getRow(), ChildRowsOp::create(
                                       builder, pull.getLoc(), apply.getGraph(),
                                       all, pull.getSlot(), place, type));
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
        edges.map(argument,
                  EdgeChildRowsOp::create(builder, op->getLoc(),
                                          apply.getGraph(), all, type));
    auto ofParent = [&](Value value) -> Value {
      return atEdges(value.getLoc(), rowsOf(value));
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
      Value spread = SpreadRowsOp::create(
          builder, value.getLoc(), nn::getRowsType(value.getType()),
          apply.getGraph(), mapped, place, type);
      return atEdges(value.getLoc(), spread);
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
                                    rows, place, type);
  }

  /// For each edge, its parent's row of `rows`.
  Value atEdges(Location loc, Value rows) {
    return EdgeParentRowsOp::create(builder, loc, apply.getGraph(), rows, place,
                                    type);
  }

  /// The rows of all vertices that the apply binds `name` to.
  Value pullAll(Operation *pull, StringAttr name) {
    return PullRowsOp::create(builder, pull->getLoc(), apply.getGraph(),
                              boundTo(name), Place::all, IntegerAttr());
  }

  /// The rows that stand for `value`, spread out if it is shared.
  Value rowsOf(Value value) {
    Value mapped = mapping.lookup(value);
    if (mapped.getType() != value.getType())
      return mapped;
    return SpreadRowsOp::create(builder, value.getLoc(),
                                nn::getRowsType(value.getType()),
                                apply.getGraph(), mapped, place, type);
  }

  /// Rows of zeros at the vertices of `at`.
  Value zerosAt(Location loc, Type row, Place at) {
    return SpreadRowsOp::create(builder, loc, nn::getRowsType(row),
                                apply.getGraph(),
                                nn::buildZeros(builder, loc, row), at, type);
  }

  /// `rows` at the leaves or the inner vertices, zeros at the others.
  Value atSome(Location loc, Type row, Place at, Value rows) {
    bool leaves = at == Place::leaves;
    Value others = zerosAt(loc, row, leaves ? Place::inner : Place::leaves);
    return JoinRowsOp::create(builder, loc,
                              leaves ? ValueRange{rows, others}
                                     : ValueRange{others, rows});
  }

  /// The rows pushed under `name`: zeros, of type `row`, where there are none.
  Value pushedRows(Location loc, StringRef name, Type row) {
    PushOp push = function.getPush(name);
    if (!push)
      return zerosAt(loc, row, place);
    Place wanted = push.getPlace();
    if (wanted == Place::all || wanted == place)
      return rowsOf(push.getRow());
    if (place != Place::all)
      return zerosAt(loc, row, place);
    return atSome(loc, row, wanted,
                  SelectRowsOp::create(builder, loc, rowsOf(push.getRow()),
                                       wanted, type));
  }

  FuncOp getFunction() const { return function; }
  Place getPlace() const { return place; }
  IntegerAttr getType() const { return type; }

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
                              at, type);
  }

  OpBuilder &builder;
  ApplyOp apply;
  FuncOp function;
  Place place;
  IntegerAttr type;
};

/// The vertices that one function is applied to: all, or those of a type.
struct Part {
  FuncOp function;
  /// Vertices without children, if they are worked on apart.
  std::optional<VariantBatcher> leaves;
  /// The others, or all.
  std::optional<VariantBatcher> main;
  /// The states of the leaves.
  SmallVector<Value> leafStates;
  /// Values that enter the loop, what stands for them outside, and values that
  /// leave it.
  llvm::SetVector<Value> entering, leaving;
  SmallVector<Value> eager;

  bool isPath(Operation *op) {
    return op && op->getBlock() == &function.getBody().front() &&
           main->phaseOf(*op) == Phase::path;
  }

  /// Finds values that enter the loop, and values of the loop, other than
  /// `states`, that are read after it.
  void findBorder(ValueRange states) {
    for (Operation &op : function.getBody().front()) {
      if (main->isShared(op))
        continue;
      for (Value operand : getReadValues(&op)) {
        Operation *producer = operand.getDefiningOp();
        bool isRows = producer && !main->isShared(*producer);
        if (!isRows)
          continue;
        if (isPath(&op) && !isPath(producer))
          entering.insert(operand);
        if (!isPath(&op) && isPath(producer) &&
            !llvm::is_contained(states, operand))
          leaving.insert(operand);
      }
    }
    for (Value value : entering)
      eager.push_back(main->mapping.lookup(value));
  }

  SmallVector<Type> leavingTypes() const {
    SmallVector<Type> types;
    for (Value value : leaving)
      types.push_back(nn::getRowsType(value.getType()));
    return types;
  }

  /// Starts a body of a loop that carries `states` from task to task; in the
  /// mapping, what enters it stands for the task's rows.
  Block *enterLoop(OpBuilder &builder, Region &region, Location loc,
                   TypeRange states) {
    SmallVector<Type> types(states);
    llvm::append_range(types, ValueRange(eager).getTypes());
    Block *block = builder.createBlock(
        &region, {}, types, SmallVector<Location>(types.size(), loc));
    for (auto [value, argument] :
         llvm::zip(entering, block->getArguments().take_back(entering.size())))
      main->mapping.map(value, argument);
    return block;
  }

  /// In the mapping, what entered the loop and what left it, `results`, stands
  /// for all rows again.
  void leaveLoop(ValueRange results) {
    for (auto [value, rows] : llvm::zip(entering, eager))
      main->mapping.map(value, rows);
    for (auto [value, rows] : llvm::zip(leaving, results))
      main->mapping.map(value, rows);
  }
};

class ApplyBatcher {
public:
  ApplyBatcher(ApplyOp apply, SymbolTable &symbols)
      : builder(apply), apply(apply) {
    SmallVector<FuncOp> callees = lookupCallees(apply, symbols);
    bool typed = callees.size() > 1;
    parts.reserve(callees.size());
    for (auto [number, function] : llvm::enumerate(callees)) {
      Part &part = parts.emplace_back();
      part.function = function;
      IntegerAttr type = typed ? builder.getI64IntegerAttr(number) : nullptr;
      FuncOp leaf = typed ? function : nullptr;
      if (auto reference = function.getLeafAttr())
        leaf = symbols.lookup<FuncOp>(reference.getValue());
      part.main.emplace(builder, apply, function,
                        leaf ? Place::inner : Place::all, type);
      if (leaf)
        part.leaves.emplace(builder, apply, leaf, Place::leaves, type);
    }
  }

  LogicalResult run() {
    if (failed(noteTypes()))
      return failure();
    noteArity();
    if (failed(first().getReversed() ? runReversed() : runForward()))
      return failure();
    llvm::StringMap<Value> results;
    for (Part &part : parts)
      for (Operation &op : part.function.getBody().front()) {
        if (auto push = dyn_cast<PushOp>(op)) {
          Value &result = results[push.getName()];
          if (!result)
            result = PushRowsOp::create(builder, apply.getLoc(),
                                        apply.getGraph(), joinPush(push));
        } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
          Value &result = results[reduce.getName()];
          if (!result)
            result = sum(reduce);
        }
      }
    for (auto [name, result] :
         llvm::zip(apply.getPushNames(), apply.getPushed()))
      result.replaceAllUsesWith(
          results.lookup(cast<StringAttr>(name).getValue()));
    apply.erase();
    return success();
  }

private:
  /// One of the functions applied: all have the same states.
  FuncOp first() { return parts.front().function; }

  /// Whether the loop leaves vertices without children out.
  bool leavesApart() { return parts.front().leaves.has_value(); }

  /// Emits everything but pushes and sums.
  LogicalResult runForward() {
    for (Part &part : parts) {
      if (!part.leaves)
        continue;
      part.leaves->emitShared();
      if (failed(emitAll(*part.leaves)))
        return failure();
      if (ScatterOp scatter = part.leaves->getFunction().getScatter())
        for (Value state : scatter.getStates())
          part.leafStates.push_back(part.leaves->rowsOf(state));
    }
    return success(succeeded(emitEach(Phase::eager)) &&
                   succeeded(emitTasks()) && succeeded(emitEach(Phase::lazy)));
  }

  LogicalResult runReversed() {
    if (failed(emitEach(Phase::eager)) || failed(emitReversedTasks()) ||
        failed(emitEach(Phase::lazy)))
      return failure();
    for (Part &part : parts) {
      if (!part.leaves)
        continue;
      part.leaves->emitShared();
      for (GatherParentsOp gather :
           part.leaves->getFunction().getBody().getOps<GatherParentsOp>())
        mapParents(*part.leaves, gather, states);
      if (failed(emitAll(*part.leaves)))
        return failure();
    }
    return success();
  }

  /// Emits one phase of each part, but of the leaves.
  LogicalResult emitEach(Phase phase) {
    for (Part &part : parts) {
      if (phase == Phase::eager)
        part.main->emitShared();
      if (failed(part.main->emit(phase)))
        return failure();
    }
    return success();
  }

  static LogicalResult emitAll(VariantBatcher &batcher) {
    for (Phase phase : {Phase::eager, Phase::path, Phase::lazy})
      if (failed(batcher.emit(phase)))
        return failure();
    return success();
  }

  /// The sum of what is reduced under the name of `reduce` at all vertices.
  Value sum(ReduceOp reduce) {
    Value total;
    auto add = [&](Part &part, VariantBatcher &batcher) {
      for (ReduceOp op : batcher.getFunction().getBody().getOps<ReduceOp>()) {
        if (op.getName() != reduce.getName() || nn::isZeros(op.getValue()))
          continue;
        Value rows = sumOverVertices(part, batcher, op.getLoc(), op.getValue());
        total = total ? Value(arith::AddFOp::create(builder, op.getLoc(), total,
                                                    rows))
                      : rows;
      }
    };
    for (Part &part : parts) {
      add(part, *part.main);
      if (part.leaves)
        add(part, *part.leaves);
    }
    return total ? total
                 : nn::buildZeros(builder, reduce.getLoc(),
                                  reduce.getValue().getType());
  }

  /// The sum of `value` over a variant's vertices: of a matrix put together,
  /// that of each piece, which may be the sum of outer products; of tables of
  /// one row, the table of all rows.
  Value sumOverVertices(Part &part, VariantBatcher &batcher, Location loc,
                        Value value) {
    if (nn::isZeros(value))
      return nn::buildZeros(builder, loc, value.getType());
    if (auto scatter = value.getDefiningOp<nn::ScatterRowsOp>())
      return nn::ScatterRowsOp::create(builder, loc, value.getType(),
                                       batcher.rowsOf(scatter.getRows()),
                                       batcher.rowsOf(scatter.getIds()));
    // Of what the loop puts together the pieces may never have left it; a row
    // is there as it is.
    auto concat = value.getDefiningOp<tensor::ConcatOp>();
    if (!concat || concat.getType().getRank() < 2 || part.isPath(concat))
      return nn::SumRowsOp::create(builder, loc, batcher.rowsOf(value));
    SmallVector<Value> pieces;
    for (Value piece : concat.getInputs())
      pieces.push_back(sumOverVertices(part, batcher, loc, piece));
    return tensor::ConcatOp::create(builder, loc, value.getType(),
                                    concat.getDim(), pieces);
  }

  /// Sets `name` on the graph that is applied over, an argument of the entry or
  /// a reverse, or on the entry for it.
  template <typename Attr> Attr noted(StringRef name) {
    if (auto reverse = apply.getGraph().getDefiningOp<ReverseOp>())
      return reverse->getAttrOfType<Attr>(name);
    auto [entry, number] = findArgument();
    return entry ? entry.template getArgAttrOfType<Attr>(number, name) : Attr();
  }
  void note(StringRef name, Attribute value) {
    if (auto reverse = apply.getGraph().getDefiningOp<ReverseOp>())
      reverse->setAttr(name, value);
    else if (auto [entry, number] = findArgument(); entry)
      entry.setArgAttr(number, builder.getStringAttr(name), value);
  }

  /// The entry and the number of its argument that is the graph, if it is one.
  std::pair<FunctionOpInterface, unsigned> findArgument() {
    auto graph = dyn_cast<BlockArgument>(apply.getGraph());
    auto entry = apply->getParentOfType<FunctionOpInterface>();
    if (!graph || !entry || graph.getOwner()->getParentOp() != entry)
      return {FunctionOpInterface(), 0};
    return {entry, graph.getArgNumber()};
  }

  /// Which structures an entry takes must not depend on what its functions
  /// read once they are optimised.
  void noteArity() {
    int64_t arity = 0;
    if (auto known = noted<IntegerAttr>(kArityAttrName))
      arity = known.getInt();
    for (Part &part : parts)
      arity = std::max<int64_t>(arity, part.function.getArity());
    note(kArityAttrName, builder.getI64IntegerAttr(arity));
  }

  /// The vertices of a graph have one type each.
  LogicalResult noteTypes() {
    if (parts.size() == 1)
      return success();
    auto types = builder.getI64IntegerAttr(parts.size());
    StringAttr field = apply.getTypeFieldAttr();
    auto knownTypes = noted<IntegerAttr>(kTypesAttrName);
    auto knownField = noted<StringAttr>(kTypeFieldAttrName);
    if (knownTypes && (knownTypes != types || knownField != field))
      return apply.emitOpError("chooses one of ")
             << parts.size() << " functions by " << field
             << ", but another apply over this graph chooses one of "
             << knownTypes.getInt() << " by " << knownField
             << "; a vertex has one type";
    note(kTypesAttrName, types);
    note(kTypeFieldAttrName, field);
    return success();
  }

  int64_t largestArity() {
    int64_t arity = 0;
    for (Part &part : parts)
      arity = std::max<int64_t>(arity, part.function.getArity());
    return arity;
  }

  /// Emits the loop. `states` receives the states of all vertices; in the
  /// mapping, path values stand for the rows that the loop ran over.
  LogicalResult emitTasks() {
    if (!first().getScatter())
      return success();
    Location loc = first().getScatter().getLoc();
    SmallVector<Type> stateTypes;
    for (Type state : first().getStateTypes())
      stateTypes.push_back(nn::getRowsType(state));
    SmallVector<Type> types(stateTypes);
    SmallVector<Value> inits, eager;
    for (Part &part : parts) {
      part.findBorder(part.function.getScatter().getStates());
      llvm::append_range(inits, part.leafStates);
      llvm::append_range(eager, part.eager);
      llvm::append_range(types, part.leavingTypes());
    }
    auto tasks =
        TasksOp::create(builder, loc, types, apply.getGraph(), inits, eager,
                        largestArity(), stateTypes.size(), parts.size());
    for (auto [part, body] : llvm::zip(parts, tasks.getBodies()))
      if (failed(emitBody(part, body, stateTypes)))
        return failure();
    states.assign(tasks.getOutputs().begin(),
                  tasks.getOutputs().begin() + stateTypes.size());
    for (auto [index, part] : llvm::enumerate(parts))
      leaveTasks(
          part,
          ArrayRef(tasks.getOutputsOf(index)).drop_front(stateTypes.size()));
    return success();
  }

  LogicalResult emitBody(Part &part, Region &body, TypeRange stateTypes) {
    OpBuilder::InsertionGuard guard(builder);
    ScatterOp scatter = part.function.getScatter();
    Block *block = part.enterLoop(builder, body, scatter.getLoc(), stateTypes);
    for (GatherOp gather : part.function.getBody().getOps<GatherOp>())
      for (auto [index, state] : llvm::enumerate(gather.getStates()))
        if (!state.use_empty())
          part.main->mapping.map(state,
                                 GatherRowsOp::create(builder, gather.getLoc(),
                                                      block->getArgument(index),
                                                      gather.getSlot()));
    part.main->doneStates.assign(block->args_begin(),
                                 block->args_begin() + stateTypes.size());
    if (failed(part.main->emit(Phase::path)))
      return failure();
    SmallVector<Value> yielded;
    for (Value state : scatter.getStates())
      yielded.push_back(part.main->rowsOf(state));
    for (Value value : part.leaving)
      yielded.push_back(part.main->rowsOf(value));
    YieldOp::create(builder, scatter.getLoc(), yielded);
    return success();
  }

  void leaveTasks(Part &part, ValueRange results) {
    part.leaveLoop(results);
    part.main->doneStates = states;
    ScatterOp scatter = part.function.getScatter();
    for (auto [value, rows] : llvm::zip(scatter.getStates(), states)) {
      if (!part.isPath(value.getDefiningOp()))
        continue; // An eager state: its rows are known already.
      part.main->mapping.map(
          value,
          part.leaves
              ? Value(SelectRowsOp::create(builder, scatter.getLoc(), rows,
                                           Place::inner, part.main->getType()))
              : rows);
    }
  }

  static bool scattersToSlots(Part &part) {
    return !part.function.getBody().getOps<ScatterChildOp>().empty();
  }
  static bool scattersToEdges(Part &part) {
    return !part.function.getBody().getOps<ScatterChildrenOp>().empty();
  }

  /// The same for a reversed function: `states` receives what each vertex that
  /// the loop ran over has scattered to its children.
  LogicalResult emitReversedTasks() {
    bool toSlots = llvm::any_of(parts, scattersToSlots);
    bool toEdges = llvm::any_of(parts, scattersToEdges);
    if (!toSlots && !toEdges) {
      for (Part &part : parts)
        for (GatherParentsOp gather :
             part.function.getBody().getOps<GatherParentsOp>())
          mapParents(*part.main, gather, {});
      return emitEach(Phase::path);
    }
    Location loc = first().getLoc();
    // Slot after slot, so that a slot's rows lie where a product leaves them.
    SmallVector<Type> stateTypes;
    if (toSlots)
      for (Type state : first().getStateTypes()) {
        auto row = cast<RankedTensorType>(state);
        SmallVector<int64_t> shape(row.getShape());
        shape.front() *= largestArity();
        stateTypes.push_back(nn::getRowsType(
            RankedTensorType::get(shape, row.getElementType())));
      }
    slotStates = stateTypes.size();
    if (toEdges)
      for (Type state : first().getStateTypes())
        stateTypes.push_back(nn::getRowsType(state));
    SmallVector<Type> types(stateTypes);
    SmallVector<Value> eager;
    for (Part &part : parts) {
      part.findBorder({});
      llvm::append_range(eager, part.eager);
      llvm::append_range(types, part.leavingTypes());
    }
    auto tasks = ReversedTasksOp::create(
        builder, loc, types, apply.getGraph(), eager, largestArity(),
        slotStates, stateTypes.size() - slotStates,
        parts.front().main->getPlace(), parts.size());
    for (auto [part, body] : llvm::zip(parts, tasks.getBodies()))
      if (failed(emitReversedBody(part, body, stateTypes)))
        return failure();
    for (auto [index, part] : llvm::enumerate(parts))
      part.leaveLoop(
          ArrayRef(tasks.getOutputsOf(index)).drop_front(stateTypes.size()));
    states.assign(tasks.getOutputs().begin(),
                  tasks.getOutputs().begin() + stateTypes.size());
    return success();
  }

  LogicalResult emitReversedBody(Part &part, Region &body,
                                 TypeRange stateTypes) {
    OpBuilder::InsertionGuard guard(builder);
    Location loc = part.function.getLoc();
    Block *block = part.enterLoop(builder, body, loc, stateTypes);
    for (GatherParentsOp gather :
         part.function.getBody().getOps<GatherParentsOp>())
      mapParents(*part.main, gather,
                 block->getArguments().take_front(stateTypes.size()));
    if (failed(part.main->emit(Phase::path)))
      return failure();
    SmallVector<Value> yielded;
    for (auto [state, type] : llvm::enumerate(stateTypes))
      yielded.push_back(state < slotStates ? slotsOf(part, state, type)
                                           : edgesOf(part, state - slotStates));
    for (Value value : part.leaving)
      yielded.push_back(part.main->rowsOf(value));
    YieldOp::create(builder, loc, yielded);
    return success();
  }

  /// A task's edges' rows of what is scattered of `state`, by all regions over
  /// children together.
  Value edgesOf(Part &part, size_t state) {
    VariantBatcher &main = *part.main;
    Location loc = part.function.getLoc();
    if (main.scattered.empty())
      return main.atEdges(loc, main.zerosAt(loc, first().getStateTypes()[state],
                                            main.getPlace()));
    Value sum;
    for (ArrayRef<Value> scattered : main.scattered)
      sum = sum ? Value(arith::AddFOp::create(builder, loc, sum,
                                              scattered[state]))
                : scattered[state];
    return sum;
  }

  /// A task's rows of what is scattered of `state`, slot after slot.
  Value slotsOf(Part &part, size_t state, Type type) {
    VariantBatcher &main = *part.main;
    Type row = first().getStateTypes()[state];
    SmallVector<Value> slots(largestArity());
    for (ScatterChildOp scatter :
         part.function.getBody().getOps<ScatterChildOp>())
      slots[scatter.getSlot()] = scatter.getStates()[state];
    if (Value whole = wholeOf(slots))
      return main.rowsOf(whole);
    for (Value &slot : slots)
      if (slot)
        slot = main.rowsOf(slot);
    Location loc = part.function.getLoc();
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
            scattered[index], batcher.getPlace(), batcher.getType()));
      if (slotStates + index < scattered.size())
        add(GatherParentEdgeRowsOp::create(
            builder, loc, apply.getGraph(), scattered[slotStates + index],
            batcher.getPlace(), batcher.getType()));
      if (!rows)
        rows = batcher.zerosAt(loc, state.getType(), batcher.getPlace());
      batcher.mapping.map(state, rows);
    }
  }

  /// The state whose rows `push`, and what is pushed under its name at all
  /// other vertices, has; none if some have another value.
  std::optional<size_t> findPushedState(StringRef name) {
    auto isState = [&](FuncOp function, size_t index) {
      PushOp push = function.getPush(name);
      return push && push.getPlace() == Place::all &&
             push.getRow() == function.getScatter().getStates()[index];
    };
    for (size_t index = 0; index < states.size(); ++index)
      if (llvm::all_of(parts, [&](Part &part) {
            return isState(part.function, index) &&
                   isState(part.leaves->getFunction(), index);
          }))
        return index;
    return std::nullopt;
  }

  /// The rows of all vertices of what is pushed under the name of `push`.
  Value joinPush(PushOp push) {
    Location loc = push.getLoc();
    Type row = push.getRow().getType();
    if (!leavesApart())
      return parts.front().main->pushedRows(loc, push.getName(), row);
    if (!first().getReversed())
      if (auto state = findPushedState(push.getName()))
        return states[*state];
    SmallVector<Value> pieces;
    for (Part &part : parts)
      pieces.push_back(part.leaves->pushedRows(loc, push.getName(), row));
    for (Part &part : parts)
      pieces.push_back(part.main->pushedRows(loc, push.getName(), row));
    return JoinRowsOp::create(builder, loc, pieces);
  }

  OpBuilder builder;
  ApplyOp apply;
  /// By type.
  std::vector<Part> parts;
  /// The states of all vertices, or what they have scattered, once the loop is
  /// there.
  SmallVector<Value> states;
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
    for (ApplyOp apply : applies)
      if (failed(ApplyBatcher(apply, symbols).run()))
        return signalPassFailure();
    for (FuncOp function : llvm::make_early_inc_range(module.getOps<FuncOp>()))
      function.erase();
  }
};
} // namespace
