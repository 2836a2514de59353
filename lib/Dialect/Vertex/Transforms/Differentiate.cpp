//===- Differentiate.cpp - Gradients of losses ----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reverse-mode differentiation, once over the dataflow around the applies, once
// over each vertex function applied. For F it makes two functions:
//
//   F.primal    F that also pushes what the backward pass keeps of it
//   F.adjoint   dF, reversed: it gathers the adjoint of its state from its
//               parents, pulls the adjoints of what F pushed and what was kept,
//               scatters to its children, pushes the adjoints of what F pulled,
//               and reduces those of F's parameters
//
// gather <-> scatter, pull <-> push, as in Xu et al., "Cavs" (USENIX ATC 2018,
// section 3.4). dF is first built together with a copy of F, so that formulas
// read F's values where they are; then the copy is cut down to what is computed
// again, and the rest is pulled (SavedValues.cpp chooses).
//
// Functions that are applied by type have their derivatives applied by it: what
// they keep of states, each keeps, since its vertices may be children of
// others.
//
//===----------------------------------------------------------------------===//

#include "SavedValues.h"
#include "WeightedRows.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <list>
#include <map>

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

static bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

//===----------------------------------------------------------------------===//
// Adjoints of the values of one block
//===----------------------------------------------------------------------===//

namespace {
class BlockAdjoints : public nn::Adjoints {
public:
  /// A contribution to the elements from `offset` on in dimension `dim`; to all
  /// of them if `dim` is -1.
  struct Part {
    Value adjoint;
    int64_t dim, offset;
    int64_t size() const {
      return cast<RankedTensorType>(adjoint.getType()).getDimSize(dim);
    }
  };

  explicit BlockAdjoints(OpBuilder &builder) : builder(builder) {}

  /// Asks for the adjoint of `value`, which no operator here defines, or whose
  /// operator is not differentiated.
  void ask(Value value) {
    if (isFloat(value))
      active.insert(value);
  }
  /// The results of `op` have adjoints if some operand has. That of a fill only
  /// says how many.
  void follow(Operation *op) {
    if (isa<nn::FillOp>(op))
      return;
    if (llvm::any_of(getReadValues(op),
                     [&](Value operand) { return active.contains(operand); }))
      for (Value result : op->getResults())
        ask(result);
  }

  bool wants(Value operand) override { return active.contains(operand); }

  void add(Value operand, Value adjoint) override {
    if (wants(operand))
      parts[operand].push_back({adjoint, -1, 0});
  }
  void addSlice(Value operand, int64_t dim, int64_t offset,
                Value adjoint) override {
    if (wants(operand))
      parts[operand].push_back({adjoint, dim, offset});
  }

  Value of(Value result) override {
    auto it = parts.find(result);
    if (it == parts.end())
      return Value();
    Value sum = combine(result, it->second);
    it->second = {{sum, -1, 0}};
    return sum;
  }

  /// What `of` would put together.
  ArrayRef<Part> partsOf(Value value) {
    auto it = parts.find(value);
    return it == parts.end() ? ArrayRef<Part>() : ArrayRef<Part>(it->second);
  }

  /// Visits `op`, all of whose readers have been visited.
  LogicalResult visit(Operation *op) {
    bool reached = llvm::any_of(op->getResults(), [&](Value result) {
      return active.contains(result) && parts.contains(result);
    });
    if (!reached)
      return success();
    auto differentiable = dyn_cast<nn::DifferentiableOpInterface>(op);
    if (!differentiable) {
      InFlightDiagnostic diagnostic = op->emitOpError("has no derivative");
      if (isa<nn::ElementwiseOp>(op))
        diagnostic.attachNote()
            << "differentiate before fuse-elementwise makes groups";
      return diagnostic;
    }
    differentiable.buildAdjoint(builder, *this);
    return success();
  }

private:
  Value sum(Value left, Value right) {
    if (!left)
      return right;
    return arith::AddFOp::create(builder, right.getLoc(), left, right);
  }

  Value combine(Value value, SmallVector<Part> all) {
    Value total;
    SmallVector<Part> slices;
    for (const Part &part : all)
      if (part.dim < 0)
        total = sum(total, part.adjoint);
      else
        slices.push_back(part);
    // Slices of one dimension that do not overlap are one concatenation; what
    // overlaps starts another.
    llvm::sort(slices, [](const Part &left, const Part &right) {
      return std::pair(left.dim, left.offset) <
             std::pair(right.dim, right.offset);
    });
    while (!slices.empty()) {
      SmallVector<Part> row, rest;
      for (const Part &part : slices)
        if (row.empty() ||
            (row.back().dim == part.dim &&
             row.back().offset + row.back().size() <= part.offset))
          row.push_back(part);
        else
          rest.push_back(part);
      total = sum(total, concatenate(value, row));
      slices = std::move(rest);
    }
    return total;
  }

  /// The parts side by side, with zeros between them.
  Value concatenate(Value value, ArrayRef<Part> row) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t dim = row.front().dim, end = 0;
    SmallVector<Value> pieces;
    auto fillTo = [&](int64_t offset) {
      if (offset > end)
        pieces.push_back(
            buildGap(type, row.front().adjoint, dim, offset - end));
      end = offset;
    };
    for (const Part &part : row) {
      fillTo(part.offset);
      pieces.push_back(part.adjoint);
      end += part.size();
    }
    fillTo(type.getDimSize(dim));
    if (pieces.size() == 1)
      return pieces.front();
    return tensor::ConcatOp::create(builder, value.getLoc(), type, dim, pieces);
  }

  /// Zeros like `type`, but `size` wide; as many rows as `like`.
  Value buildGap(RankedTensorType type, Value like, int64_t dim, int64_t size) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    auto gap = RankedTensorType::get(shape, type.getElementType());
    Location loc = like.getLoc();
    if (!isRowsType(type))
      return nn::buildZeros(builder, loc, gap);
    Value scalars = nn::SumOp::create(builder, loc, like);
    Value zeros = nn::FillOp::create(builder, loc, scalars.getType(), scalars,
                                     builder.getF64FloatAttr(0));
    return nn::BroadcastOp::create(builder, loc, gap, zeros);
  }

  OpBuilder &builder;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, SmallVector<Part>> parts;
};

//===----------------------------------------------------------------------===//
// Vertex functions
//===----------------------------------------------------------------------===//

/// Names under which the derivatives of functions that are applied together
/// pull and push.
class Names {
public:
  explicit Names(ArrayRef<FuncOp> functions) {
    for (FuncOp function : functions) {
      for (PullOp pull : function.getBody().getOps<PullOp>())
        taken.insert(pull.getName());
      taken.insert_range(function.getResultsByName().keys());
    }
  }

  /// A name that no other value has.
  std::string makeUnique(std::string name) {
    while (!taken.insert(name).second)
      name += "_";
    return name;
  }

  /// The same name for every function that asks for `what`.
  std::string makeShared(const Twine &what, const std::string &name) {
    std::string &known = shared[what.str()];
    if (known.empty())
      known = makeUnique(name);
    return known;
  }

private:
  llvm::StringSet<> taken;
  llvm::StringMap<std::string> shared;
};

/// What the caller of a function wants differentiated.
struct Request {
  llvm::DenseSet<unsigned> parameters;
  llvm::StringSet<> pulls;
  /// Pushes whose adjoint is known not to be zero.
  llvm::StringSet<> pushes;
};

/// A part of the adjoint of a parameter, and the name it is reduced under.
struct ReducedPart {
  std::string name;
  int64_t dim, offset;
};

/// F.primal and F.adjoint, and the names that tie them together.
struct Derivative {
  FuncOp primal, adjoint;
  /// What the primal pushes besides F's own results.
  SmallVector<std::string> kept;
  /// Under which name the adjoint pulls the adjoint of a push.
  llvm::StringMap<std::string> adjointOfPush;
  /// Under which names the adjoint pushes the adjoint of a pull.
  llvm::StringMap<SmallVector<std::string>> adjointOfPull;
  /// What it reduces of the adjoint of a parameter. Parts are put together when
  /// they have been summed, or every vertex would have all of it.
  llvm::DenseMap<unsigned, SmallVector<ReducedPart>> adjointOfParameter;
};

class FunctionDifferentiator {
public:
  FunctionDifferentiator(FuncOp function, const Request &request, Names &names,
                         SymbolTable &symbols, bool recompute)
      : function(function), request(request), names(names), symbols(symbols),
        recompute(recompute), builder(function.getContext()),
        adjoints(builder) {}

  LogicalResult run() {
    if (function.getReversed())
      return function.emitOpError("is reversed; it cannot be differentiated");
    for (Type state : function.getStateTypes())
      if (cast<RankedTensorType>(state).getRank() == 0)
        return function.emitOpError("has a state of rank 0, ")
               << state << "; make it tensor<1x" << getElementTypeOrSelf(state)
               << "> to differentiate it";
    // The adjoint is written behind the primal.
    derivative.adjoint = clone(".adjoint");
    derivative.primal = clone(".primal");
    FuncOp adjoint = derivative.adjoint;
    adjoint.setReversed(!function.getState().empty());
    builder.setInsertionPointToEnd(&adjoint.getBody().front());
    expandReductions(adjoint);
    expandReductions(derivative.primal);
    for (auto [copy, op] : llvm::zip(adjoint.getBody().front(),
                                     derivative.primal.getBody().front())) {
      primalOps.push_back(&copy);
      for (auto [value, counterpart] :
           llvm::zip(copy.getResults(), op.getResults()))
        counterparts[value] = counterpart;
    }
    for (auto [value, counterpart] :
         llvm::zip(adjoint.getBody().getArguments(),
                   derivative.primal.getBody().getArguments()))
      counterparts[value] = counterpart;

    if (failed(buildAdjoints()))
      return failure();
    emitAdjoints();
    cutPrimal();
    return success();
  }

  const Derivative &getDerivative() const { return derivative; }

  /// Keeps what `other` keeps of the states of vertices: they may be children
  /// of its vertices.
  void keepStatesOf(const FunctionDifferentiator &other) {
    for (unsigned index = 0; index < stateValues.size(); ++index)
      if (other.stateNames.contains(index))
        keepState(index);
  }

private:
  FuncOp clone(StringRef suffix) {
    FuncOp copy = function.clone();
    copy.setSymName((function.getSymName() + suffix).str());
    copy.setLeafAttr({});
    symbols.insert(copy, std::next(function->getIterator()));
    return copy;
  }

  /// 1 where `value` is `maximum`, 0 elsewhere.
  static Value isLargest(OpBuilder &builder, Value value, Value maximum) {
    Location loc = value.getLoc();
    auto type = cast<RankedTensorType>(value.getType());
    Value equal = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UEQ,
                                        value, maximum);
    Value one = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type,
                               builder.getFloatAttr(type.getElementType(), 1)));
    return arith::SelectOp::create(builder, loc, equal, one,
                                   nn::buildZeros(builder, loc, type));
  }

  /// Adds how many children have the largest value, of every element.
  void countLargest(MapChildrenOp map) {
    OpBuilder builder(map->getContext());
    builder.setInsertionPointAfter(map);
    auto count = cast<MapChildrenOp>(builder.clone(*map));
    count.setReduction(Reduction::sum);
    Operation *yield = count.getBody().front().getTerminator();
    builder.setInsertionPoint(yield);
    for (auto [operand, maximum, number] : llvm::zip(
             yield->getOpOperands(), map.getCombined(), count.getCombined())) {
      operand.set(isLargest(builder, operand.get(), maximum));
      largest[maximum] = number;
    }
  }

  /// A mean is a sum over the number of children, which is a sum, too. Of a
  /// maximum, the children that have it share the adjoint.
  void expandReductions(FuncOp function) {
    for (MapChildrenOp map : llvm::make_early_inc_range(
             function.getBody().getOps<MapChildrenOp>())) {
      if (map.getReduction() == Reduction::max)
        countLargest(map);
      if (map.getReduction() != Reduction::mean)
        continue;
      Location loc = map.getLoc();
      OpBuilder builder(map);
      auto one = [&](Type type) -> Value {
        auto tensor = cast<RankedTensorType>(type);
        return arith::ConstantOp::create(
            builder, loc,
            DenseElementsAttr::get(
                tensor, builder.getFloatAttr(tensor.getElementType(), 1)));
      };
      auto count = MapChildrenOp::create(builder, loc, map.getResultTypes(),
                                         Reduction::sum);
      builder.createBlock(
          &count.getBody(), {}, map.getBody().getArgumentTypes(),
          SmallVector<Location>(map.getBody().getNumArguments(), loc));
      SmallVector<Value> ones;
      for (Type type : map.getResultTypes())
        ones.push_back(one(type));
      YieldOp::create(builder, loc, ones);
      map.setReduction(Reduction::sum);
      builder.setInsertionPointAfter(map);
      for (auto [sum, number] :
           llvm::zip(map.getCombined(), count.getCombined())) {
        Value divisor = arith::MaximumFOp::create(builder, loc, number,
                                                  one(number.getType()));
        auto mean = arith::DivFOp::create(builder, loc, sum, divisor);
        sum.replaceAllUsesExcept(mean, mean);
      }
    }
  }

  LogicalResult buildAdjoints() {
    Block &body = derivative.adjoint.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (request.parameters.contains(argument.getArgNumber()))
        adjoints.ask(argument);
    for (Operation *op : primalOps) {
      if (auto pull = dyn_cast<PullOp>(op)) {
        if (request.pulls.contains(pull.getName()))
          adjoints.ask(pull.getRow());
      } else if (op->hasTrait<Gathers>()) {
        for (Value state : op->getResults())
          adjoints.ask(state);
      } else {
        adjoints.follow(op);
      }
    }

    // Where adjoints come in.
    Location loc = function.getLoc();
    if (derivative.adjoint.getReversed()) {
      auto gathered = GatherParentsOp::create(
          builder, loc, derivative.adjoint.getStateTypes());
      scatter = derivative.adjoint.getScatter();
      for (Value state : scatter.getStates())
        stateValues.push_back(counterparts.lookup(state));
      for (auto [state, adjoint] :
           llvm::zip(scatter.getStates(), gathered.getStates()))
        adjoints.add(state, adjoint);
    }
    for (Operation *op : primalOps)
      if (auto push = dyn_cast<PushOp>(op))
        if (request.pushes.contains(push.getName()) &&
            adjoints.wants(push.getRow())) {
          std::string name = names.makeShared(
              "push " + push.getName(), "adjoint." + push.getName().str());
          derivative.adjointOfPush[push.getName()] = name;
          adjoints.add(
              push.getRow(),
              PullOp::create(builder, op->getLoc(), push.getRow().getType(),
                             builder.getStringAttr(name), push.getPlace()));
        }

    for (Operation *op : llvm::reverse(primalOps)) {
      if (auto map = dyn_cast<MapChildrenOp>(op)) {
        if (failed(visit(map)))
          return failure();
      } else if (!isa<PullOp, GatherOp>(op) && failed(adjoints.visit(op))) {
        return failure();
      }
    }
    return success();
  }

  /// The adjoint of a region over children scatters to each child, and sums
  /// what comes out for the values that the region reads of the vertex.
  LogicalResult visit(MapChildrenOp map) {
    SmallVector<Value> incoming;
    for (Value result : map.getCombined())
      incoming.push_back(adjoints.of(result));
    if (llvm::all_of(incoming, [](Value value) { return !value; }))
      return success();

    Location loc = map.getLoc();
    Block &region = map.getBody().front();
    auto body = std::make_unique<Block>();
    OpBuilder inner(builder.getContext());
    inner.setInsertionPointToStart(body.get());
    BlockAdjoints inside(inner);
    IRMapping mapping;
    SmallVector<Attribute> names;
    for (auto [index, argument] : llvm::enumerate(region.getArguments())) {
      Value state = body->addArgument(argument.getType(), loc);
      mapping.map(argument, state);
      inside.ask(state);
      names.push_back(builder.getStringAttr(keepState(index)));
    }
    SmallVector<Value> outer;
    for (Value value : getReadValues(map))
      if (adjoints.wants(value)) {
        outer.push_back(value);
        inside.ask(value);
      }
    SmallVector<Operation *> clones;
    for (Operation &op : region.without_terminator()) {
      clones.push_back(inner.clone(op, mapping));
      inside.follow(clones.back());
    }
    for (auto [value, result, adjoint] :
         llvm::zip(region.getTerminator()->getOperands(), map.getCombined(),
                   incoming)) {
      if (!adjoint)
        continue;
      Value yielded = mapping.lookupOrDefault(value), share = adjoint;
      // Equal largest values share it: they may be of equal children.
      if (map.getReduction() == Reduction::max)
        share = arith::MulFOp::create(
            inner, loc, isLargest(inner, yielded, result),
            arith::DivFOp::create(inner, loc, adjoint, largest.lookup(result)));
      inside.add(yielded, share);
    }
    for (Operation *op : llvm::reverse(clones))
      if (failed(inside.visit(op)))
        return failure();

    SmallVector<Value> yielded, sums, targets;
    for (BlockArgument argument : body->getArguments()) {
      Value adjoint = inside.of(argument);
      yielded.push_back(
          adjoint ? adjoint : nn::buildZeros(inner, loc, argument.getType()));
    }
    for (Value value : outer)
      if (Value adjoint = inside.of(value)) {
        sums.push_back(adjoint);
        targets.push_back(value);
      }
    yielded.append(sums);
    YieldOp::create(inner, loc, yielded);
    auto scatter = ScatterChildrenOp::create(
        builder, loc, ValueRange(sums).getTypes(), builder.getArrayAttr(names));
    scatter.getBody().push_back(body.release());
    for (auto [target, sum] : llvm::zip(targets, scatter.getSums()))
      adjoints.add(target, sum);
    return success();
  }

  /// Where they go out.
  void emitAdjoints() {
    Block &body = derivative.adjoint.getBody().front();
    for (Operation *op : primalOps) {
      auto pull = dyn_cast<PullOp>(op);
      if (!pull)
        continue;
      Value adjoint = adjoints.of(pull.getRow());
      if (!adjoint)
        continue;
      auto &pushed = derivative.adjointOfPull[pull.getName()];
      std::string name = "adjoint." + pull.getName().str();
      if (!pushed.empty())
        name += "." + std::to_string(pushed.size());
      pushed.push_back(names.makeShared("pull " + name, name));
      PushOp::create(builder, op->getLoc(),
                     builder.getStringAttr(pushed.back()), adjoint,
                     pull.getPlace());
    }
    for (BlockArgument argument : body.getArguments())
      for (const BlockAdjoints::Part &part : adjoints.partsOf(argument)) {
        unsigned number = argument.getArgNumber();
        auto &reduced = derivative.adjointOfParameter[number];
        std::string name = "adjoint.parameter." + std::to_string(number);
        if (!reduced.empty())
          name += "." + std::to_string(reduced.size());
        // Functions add to one sum if they have the same part.
        std::string what;
        llvm::raw_string_ostream(what)
            << "reduce " << name << " " << part.dim << " " << part.offset << " "
            << part.adjoint.getType();
        name = names.makeShared(what, name);
        reduced.push_back({name, part.dim, part.offset});
        ReduceOp::create(builder, function.getLoc(),
                         builder.getStringAttr(name), part.adjoint);
      }

    // Several gathers of one slot share a scatter.
    std::map<int64_t, SmallVector<Value>> slots;
    for (GatherOp gather : body.getOps<GatherOp>()) {
      auto &sums = slots[gather.getSlot()];
      sums.resize(gather.getNumResults());
      for (auto [sum, state] : llvm::zip(sums, gather.getStates()))
        if (Value adjoint = adjoints.of(state))
          sum = sum ? Value(arith::AddFOp::create(builder, gather.getLoc(), sum,
                                                  adjoint))
                    : adjoint;
    }
    for (auto &[slot, sums] : slots) {
      if (llvm::all_of(sums, [](Value sum) { return !sum; }))
        continue;
      for (auto [sum, type] :
           llvm::zip(sums, derivative.adjoint.getStateTypes()))
        if (!sum)
          sum = nn::buildZeros(builder, function.getLoc(), type);
      ScatterChildOp::create(builder, function.getLoc(), slot, sums);
    }
  }

  /// Replaces the copy of F in the adjoint by what is kept of F, and what is
  /// computed again from that.
  void cutPrimal() {
    Block &body = derivative.adjoint.getBody().front();
    llvm::DenseSet<Operation *> primal(primalOps.begin(), primalOps.end());
    // What depends on parameters only is the same for all vertices, and never
    // kept by one.
    SmallVector<Operation *> operators;
    llvm::DenseSet<Value> shared;
    shared.insert_range(body.getArguments());
    for (Operation *op : primalOps) {
      if (isa<PullOp, GatherOp>(op))
        continue;
      bool isShared = !op->hasTrait<Gathers>() &&
                      llvm::all_of(getReadValues(op), [&](Value value) {
                        return shared.contains(value);
                      });
      if (isShared)
        shared.insert_range(op->getResults());
      else
        operators.push_back(op);
    }
    llvm::DenseSet<Operation *> computed(operators.begin(), operators.end());
    llvm::SetVector<Value> needed;
    for (Operation &op : body)
      if (!primal.contains(&op))
        for (Value operand : getReadValues(&op))
          if (computed.contains(operand.getDefiningOp()))
            needed.insert(operand);
    // The state of a vertex is there anyway, for its parents.
    SmallVector<Value> states;
    if (scatter)
      llvm::append_range(states, scatter.getStates());
    llvm::DenseSet<Value> free(states.begin(), states.end());
    llvm::SetVector<Value> saved =
        chooseSavedValues(operators, needed, free, recompute);

    // Anew each time: what stands first may be erased in between.
    auto pulls = [&] { return OpBuilder::atBlockBegin(&body); };
    int64_t savedBytes = 0;
    for (auto [index, kept] : llvm::enumerate(saved)) {
      Value value = kept;
      std::string name;
      if (free.contains(value)) {
        name = keepState(llvm::find(states, value) - states.begin());
      } else {
        name = keep(counterparts.lookup(value),
                    names.makeUnique("saved." + std::to_string(index)));
        auto type = cast<RankedTensorType>(value.getType());
        savedBytes += type.getNumElements() *
                      llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      }
      OpBuilder first = pulls();
      value.replaceAllUsesWith(PullOp::create(first, value.getLoc(),
                                              value.getType(),
                                              first.getStringAttr(name))
                                   .getRow());
    }
    auto eraseUnread = [&] {
      for (Operation *&op : llvm::reverse(primalOps))
        if (op && op->use_empty() && !isa<GatherOp>(op)) {
          op->erase();
          op = nullptr;
        }
    };
    // Everything whose only readers were F's own scatter and pushes goes.
    eraseUnread();
    for (Operation *&op : primalOps) {
      auto gather = dyn_cast_or_null<GatherOp>(op);
      if (!gather)
        continue;
      for (auto [index, state] : llvm::enumerate(gather.getStates()))
        if (!state.use_empty()) {
          OpBuilder first = pulls();
          state.replaceAllUsesWith(
              PullChildOp::create(first, gather.getLoc(), state.getType(),
                                  first.getStringAttr(keepState(index)),
                                  gather.getSlot())
                  .getRow());
        }
      gather.erase();
      op = nullptr;
    }

    remark::passed(function.getLoc(),
                   remark::RemarkOpts::name("saved").category("differentiate"))
        << remark::metric("function", function.getSymName())
        << remark::metric("values", saved.size())
        << remark::metric("bytes", savedBytes);
  }

  /// Has the primal push its `value` under `name`.
  std::string keep(Value value, std::string name) {
    OpBuilder pushes =
        OpBuilder::atBlockEnd(&derivative.primal.getBody().front());
    PushOp::create(pushes, value.getLoc(), pushes.getStringAttr(name), value);
    derivative.kept.push_back(name);
    return name;
  }

  /// The same for a state, once.
  std::string keepState(unsigned index) {
    std::string &name = stateNames[index];
    if (name.empty())
      name = keep(stateValues[index],
                  names.makeShared("state " + Twine(index),
                                   "state." + std::to_string(index)));
    return name;
  }

  FuncOp function;
  const Request &request;
  Names &names;
  SymbolTable &symbols;
  bool recompute;
  OpBuilder builder;
  BlockAdjoints adjoints;
  Derivative derivative;
  /// The adjoint's copy of F; null once erased.
  SmallVector<Operation *> primalOps;
  ScatterOp scatter;
  /// The primal's value for each value of the adjoint's copy of F.
  llvm::DenseMap<Value, Value> counterparts;
  /// For each largest value over children, how many have it.
  llvm::DenseMap<Value, Value> largest;
  /// The values that the primal scatters.
  SmallVector<Value> stateValues;
  llvm::DenseMap<unsigned, std::string> stateNames;
};

//===----------------------------------------------------------------------===//
// The dataflow around them
//===----------------------------------------------------------------------===//

class EntryDifferentiator {
public:
  EntryDifferentiator(func::FuncOp entry, SymbolTable &symbols, bool recompute)
      : entry(entry), symbols(symbols), recompute(recompute),
        builder(entry.getContext()), adjoints(builder) {}

  /// Makes `@entry.gradient`, with a result `gradient.NAME` for each parameter.
  LogicalResult run() {
    gradient = entry.clone();
    gradient.setSymName((entry.getSymName() + ".gradient").str());
    symbols.insert(gradient, std::next(entry->getIterator()));
    Block &body = gradient.getBody().front();
    Operation *terminator = body.getTerminator();
    builder.setInsertionPoint(terminator);

    SmallVector<BlockArgument> parameters;
    for (BlockArgument argument : body.getArguments()) {
      auto name = gradient.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        "nn.param");
      if (!name || !isFloat(argument) || isUpdated(name))
        continue;
      parameters.push_back(argument);
      adjoints.ask(argument);
    }
    SmallVector<Operation *> operators;
    for (Operation &op : body.without_terminator()) {
      adjoints.follow(&op);
      operators.push_back(&op);
    }

    std::optional<unsigned> loss = findLoss();
    if (!loss)
      return failure();
    Value value = seed(terminator->getOperand(*loss));
    terminator->setOperand(*loss, value);
    for (Operation *op : llvm::reverse(operators)) {
      if (auto apply = dyn_cast<ApplyOp>(op)) {
        if (failed(visit(apply)))
          return failure();
      } else if (failed(adjoints.visit(op))) {
        return failure();
      }
    }

    // The function's results, then a gradient for each parameter.
    SmallVector<Value> results(terminator->getOperands());
    SmallVector<DictionaryAttr> attributes;
    for (unsigned i = 0; i < results.size(); ++i)
      attributes.push_back(DictionaryAttr::get(builder.getContext(),
                                               gradient.getResultAttrs(i)));
    for (BlockArgument parameter : parameters) {
      Value adjoint = adjoints.of(parameter);
      if (!adjoint)
        adjoint =
            nn::buildZeros(builder, gradient.getLoc(), parameter.getType());
      results.push_back(adjoint);
      auto name = cast<StringAttr>(
          gradient.getArgAttr(parameter.getArgNumber(), "nn.param"));
      attributes.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "nn.output",
               builder.getStringAttr("gradient." + name.getValue())),
           builder.getNamedAttr("nn.gradient", name)}));
    }
    terminator->setOperands(results);
    gradient.setType(builder.getFunctionType(gradient.getArgumentTypes(),
                                             ValueRange(results).getTypes()));
    gradient.setAllResultAttrs(attributes);
    return success();
  }

private:
  /// Whether the entry itself returns a new value of the parameter `name`, as
  /// of running statistics: it is not trained.
  bool isUpdated(StringAttr name) {
    auto updates = [&](unsigned result) {
      return gradient.getResultAttr(result, "nn.update") == name;
    };
    return llvm::any_of(llvm::seq(gradient.getNumResults()), updates);
  }

  std::optional<unsigned> findLoss() {
    for (unsigned i = 0; i < gradient.getNumResults(); ++i) {
      auto name = gradient.getResultAttrOfType<StringAttr>(i, "nn.output");
      if (!name || name.getValue() != "loss")
        continue;
      auto type = dyn_cast<RankedTensorType>(gradient.getResultTypes()[i]);
      bool scalars = type && isa<FloatType>(type.getElementType()) &&
                     type.getRank() == (isRowsType(type) ? 1 : 0);
      if (scalars)
        return i;
      entry.emitOpError("has the result 'loss' of type ")
          << gradient.getResultTypes()[i]
          << "; expects a float, or a batch of them";
      return std::nullopt;
    }
    entry.emitOpError("has no result named 'loss' to differentiate");
    return std::nullopt;
  }

  /// Starts with an adjoint of 1; the loss of a batch is the sum of its rows,
  /// each as often as there are vertices that share it.
  Value seed(Value loss) {
    Location loc = gradient.getLoc();
    Value weighted = loss, sum = loss;
    if (isRowsType(loss.getType())) {
      adjoints.ask(loss);
      if (hasSharedVertices(gradient) && !isOfStructures(loss))
        weighted = weighRows(builder, loc, loss);
      adjoints.ask(weighted);
      sum = nn::SumRowsOp::create(builder, loc, weighted);
    }
    adjoints.ask(sum);
    auto type = cast<RankedTensorType>(sum.getType());
    auto one = SplatElementsAttr::get(
        type, builder.getFloatAttr(type.getElementType(), 1));
    adjoints.add(sum, arith::ConstantOp::create(builder, loc, one));
    if (sum != loss)
      (void)adjoints.visit(sum.getDefiningOp());
    if (weighted != loss)
      (void)adjoints.visit(weighted.getDefiningOp());
    return sum;
  }

  LogicalResult visit(ApplyOp apply) {
    Request request;
    for (auto [number, parameter] : llvm::enumerate(apply.getParameters()))
      if (adjoints.wants(parameter))
        request.parameters.insert(number);
    for (auto [name, rows] : llvm::zip(apply.getPullNames(), apply.getPulled()))
      if (adjoints.wants(rows))
        request.pulls.insert(cast<StringAttr>(name).getValue());
    llvm::StringMap<Value> adjointOfPush;
    for (auto [attribute, rows] :
         llvm::zip(apply.getPushNames(), apply.getPushed())) {
      StringRef name = cast<StringAttr>(attribute).getValue();
      if (Value adjoint = adjoints.of(rows)) {
        request.pushes.insert(name);
        adjointOfPush[name] = adjoint;
      }
    }
    if (request.pushes.empty())
      return success();

    SmallVector<FuncOp> callees = lookupCallees(apply, symbols);
    Names names(callees);
    std::list<FunctionDifferentiator> differentiators;
    for (FuncOp callee : callees)
      if (failed(differentiators
                     .emplace_back(callee, request, names, symbols, recompute)
                     .run()))
        return failure();
    for (FunctionDifferentiator &differentiator : differentiators)
      for (const FunctionDifferentiator &other : differentiators)
        differentiator.keepStatesOf(other);

    // What they push, once for all of them.
    SmallVector<Attribute> primals, adjointFunctions;
    llvm::StringMap<Type> primalTypes, adjointTypes;
    llvm::SetVector<StringRef> kept;
    llvm::MapVector<StringRef, StringRef> pulledAdjoints;
    for (const FunctionDifferentiator &differentiator : differentiators) {
      const Derivative &derivative = differentiator.getDerivative();
      FuncOp primal = derivative.primal, adjoint = derivative.adjoint;
      primals.push_back(FlatSymbolRefAttr::get(primal.getSymNameAttr()));
      adjointFunctions.push_back(
          FlatSymbolRefAttr::get(adjoint.getSymNameAttr()));
      for (auto &[name, type] : primal.getResultsByName())
        primalTypes[name] = type;
      for (auto &[name, type] : adjoint.getResultsByName())
        adjointTypes[name] = type;
      kept.insert_range(derivative.kept);
      for (auto &[push, name] : derivative.adjointOfPush)
        pulledAdjoints.insert({push, name});
    }

    // The primals, with what they keep among their results.
    SmallVector<Attribute> keptNames(apply.getPushNames().getValue());
    SmallVector<Type> types(apply.getResultTypes());
    for (StringRef name : kept) {
      keptNames.push_back(builder.getStringAttr(name));
      types.push_back(primalTypes.lookup(name));
    }
    OpBuilder before(apply);
    auto primal = ApplyOp::create(
        before, apply.getLoc(), types, before.getArrayAttr(primals),
        apply.getTypeFieldAttr(), apply.getParameters(), apply.getGraph(),
        apply.getPulled(), apply.getPullNames(),
        before.getArrayAttr(keptNames));

    // The adjoints pull what F pulls, what was kept, and adjoints of pushes.
    SmallVector<Attribute> pullNames(apply.getPullNames().getValue());
    SmallVector<Value> pulled(apply.getPulled());
    for (auto [name, rows] :
         llvm::zip(kept, primal.getPushed().take_back(kept.size()))) {
      pullNames.push_back(builder.getStringAttr(name));
      pulled.push_back(rows);
    }
    for (auto [push, name] : pulledAdjoints) {
      pullNames.push_back(builder.getStringAttr(name));
      pulled.push_back(adjointOfPush.lookup(push));
    }
    SmallVector<Attribute> pushNames;
    SmallVector<Type> pushTypes;
    SmallVector<std::function<void(Value)>> uses;
    llvm::StringSet<> listed;
    auto push = [&](StringRef name, std::function<void(Value)> use) {
      if (!listed.insert(name).second)
        return;
      pushNames.push_back(builder.getStringAttr(name));
      pushTypes.push_back(adjointTypes.lookup(name));
      uses.push_back(use);
    };
    for (auto [attribute, rows] :
         llvm::zip(apply.getPullNames(), apply.getPulled()))
      for (const FunctionDifferentiator &differentiator : differentiators)
        for (const std::string &name :
             differentiator.getDerivative().adjointOfPull.lookup(
                 cast<StringAttr>(attribute).getValue()))
          push(name,
               [this, rows = rows](Value value) { adjoints.add(rows, value); });
    for (auto [number, parameter] : llvm::enumerate(apply.getParameters()))
      for (const FunctionDifferentiator &differentiator : differentiators)
        for (const ReducedPart &part :
             differentiator.getDerivative().adjointOfParameter.lookup(number))
          push(part.name, [this, part, parameter = parameter](Value value) {
            if (part.dim < 0)
              adjoints.add(parameter, value);
            else
              adjoints.addSlice(parameter, part.dim, part.offset, value);
          });
    auto adjoint = ApplyOp::create(
        builder, apply.getLoc(), pushTypes,
        builder.getArrayAttr(adjointFunctions), apply.getTypeFieldAttr(),
        apply.getParameters(), apply.getGraph(), pulled,
        builder.getArrayAttr(pullNames), builder.getArrayAttr(pushNames));
    for (auto [use, result] : llvm::zip(uses, adjoint.getPushed()))
      use(result);

    apply.replaceAllUsesWith(
        primal.getPushed().take_front(apply.getNumResults()));
    apply.erase();
    return success();
  }

  func::FuncOp entry, gradient;
  SymbolTable &symbols;
  bool recompute;
  OpBuilder builder;
  BlockAdjoints adjoints;
};

struct DifferentiatePass
    : espalier::vertex::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    func::FuncOp function = findEntry(module);
    if (!function ||
        failed(EntryDifferentiator(function, symbols, recompute).run()))
      signalPassFailure();
  }

private:
  func::FuncOp findEntry(ModuleOp module) {
    SmallVector<func::FuncOp> found;
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.getBody().hasOneBlock())
        continue;
      if (!entry.empty()) {
        if (function.getSymName() == entry)
          return function;
        continue;
      }
      for (unsigned i = 0; i < function.getNumResults(); ++i) {
        auto name = function.getResultAttrOfType<StringAttr>(i, "nn.output");
        if (name && name.getValue() == "loss")
          found.push_back(function);
      }
    }
    if (found.size() == 1)
      return found.front();
    if (!entry.empty())
      module.emitError("has no function @") << entry << " to differentiate";
    else if (found.empty())
      module.emitError("has no function with a result named 'loss' "
                       "(nn.output = \"loss\") to differentiate");
    else
      module.emitError("has several functions with a result named 'loss', @")
          << found[0].getSymName() << " and @" << found[1].getSymName()
          << "; name one with the option `entry`";
    return {};
  }
};
} // namespace
