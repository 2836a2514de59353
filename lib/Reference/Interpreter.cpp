//===- Interpreter.cpp - Entries, applies and vertices ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Reference/Interpreter.h"

#include "Graphs.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

namespace {
/// The values of a function that are known so far.
class Values {
public:
  ArrayPtr get(Value value) const { return values.lookup(value); }
  SmallVector<ArrayPtr> get(ValueRange range) const {
    return llvm::map_to_vector(range, [&](Value v) { return get(v); });
  }
  void set(Value value, ArrayPtr array) { values[value] = std::move(array); }
  void set(ValueRange range, ArrayRef<ArrayPtr> arrays) {
    for (auto [value, array] : llvm::zip_equal(range, arrays))
      set(value, array);
  }

private:
  llvm::DenseMap<Value, ArrayPtr> values;
};
} // namespace

/// Evaluates an operator that knows nothing of vertices.
static LogicalResult evaluateInto(Values &values, Operation *op,
                                  const Context &context) {
  FailureOr<SmallVector<ArrayPtr>> results =
      evaluate(op, values.get(op->getOperands()), context);
  if (failed(results))
    return failure();
  values.set(op->getResults(), *results);
  return success();
}

static ArrayPtr zerosOf(Type type) {
  return std::make_shared<Array>(
      Array::zeros(cast<RankedTensorType>(type).getShape().vec()));
}

static bool hasChildren(const Structures &structures, int64_t vertex) {
  return llvm::any_of(structures.children[vertex],
                      [](int32_t child) { return child >= 0; });
}

//===----------------------------------------------------------------------===//
// One apply
//===----------------------------------------------------------------------===//

namespace {
class Application {
public:
  Application(vertex::ApplyOp op, const Structures &structures,
              const Values &outside);

  /// Evaluates the vertices, of which `order` has each after its children. The
  /// results are those of the apply.
  FailureOr<SmallVector<ArrayPtr>> run(ArrayRef<int64_t> order);

private:
  LogicalResult evaluateVertex(int64_t vertex);
  LogicalResult evaluateOperator(Operation *op, int64_t vertex, Values &values);
  /// The child of `vertex` in `slot`, or -1.
  int64_t childOf(int64_t vertex, uint64_t slot) const;
  /// Whether an operator `at place` does anything at `vertex`.
  bool isAt(vertex::Place place, int64_t vertex) const;
  /// A row of what is pulled under `name`; zeros for row -1.
  ArrayPtr rowOf(StringRef name, int64_t row, Type type) const;
  void gather(vertex::GatherOp op, int64_t vertex, Values &values);
  void gatherParents(vertex::GatherParentsOp op, int64_t vertex,
                     Values &values);
  void scatterChild(vertex::ScatterChildOp op, int64_t vertex,
                    const Values &values);
  /// Evaluates the region of `op` for one child; returns what it yields.
  FailureOr<SmallVector<ArrayPtr>> evaluateChild(Operation *op, int64_t vertex,
                                                 ArrayRef<ArrayPtr> arguments,
                                                 const Values &values);
  LogicalResult mapChildren(vertex::MapChildrenOp op, int64_t vertex,
                            Values &values);
  LogicalResult scatterChildren(vertex::ScatterChildrenOp op, int64_t vertex,
                                Values &values);
  void addToChild(int64_t child, ArrayRef<ArrayPtr> scattered);
  void push(vertex::PushOp op, int64_t vertex, const Values &values);
  void reduce(vertex::ReduceOp op, const Values &values);

  vertex::ApplyOp op;
  const Structures &structures;
  /// The functions applied, by type, and what vertices without children use.
  SmallVector<vertex::FuncOp> functions, leafFunctions;
  /// The type of each vertex; null if all are alike.
  const std::vector<int32_t> *types = nullptr;
  SmallVector<ArrayPtr> parameters;
  llvm::StringMap<ArrayPtr> pulled;
  llvm::StringMap<Array> pushed;
  /// By vertex.
  std::vector<SmallVector<ArrayPtr>> states;
  /// What the parents of each vertex have scattered to it, state by state;
  /// empty until one has.
  std::vector<SmallVector<Array>> fromParents;
};
} // namespace

Application::Application(vertex::ApplyOp op, const Structures &structures,
                         const Values &outside)
    : op(op), structures(structures),
      parameters(outside.get(op.getParameters())),
      states(structures.vertices()), fromParents(structures.vertices()) {
  auto lookup = [&](FlatSymbolRefAttr name) {
    return SymbolTable::lookupNearestSymbolFrom<vertex::FuncOp>(op, name);
  };
  for (auto name : op.getCallees().getAsRange<FlatSymbolRefAttr>()) {
    vertex::FuncOp function = lookup(name);
    functions.push_back(function);
    leafFunctions.push_back(
        function.getLeafAttr() ? lookup(function.getLeafAttr()) : function);
  }
  if (op.getTypeField())
    types = &structures.fields.at(op.getTypeField()->str());
  for (auto [name, value] : llvm::zip_equal(
           op.getPullNames().getAsValueRange<StringAttr>(), op.getPulled()))
    pulled[name] = outside.get(value);
  for (auto [name, value] : llvm::zip_equal(
           op.getPushNames().getAsValueRange<StringAttr>(), op.getPushed())) {
    std::vector<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape().vec();
    // What is reduced has no rows.
    if (nn::isRowsType(value.getType()))
      shape[0] = structures.vertices();
    pushed[name] = Array::zeros(shape);
  }
}

FailureOr<SmallVector<ArrayPtr>> Application::run(ArrayRef<int64_t> order) {
  for (auto &[name, rows] : pulled)
    if (rows->shape[0] != structures.vertices())
      return op.emitOpError("pulls \"")
             << name << "\" from a tensor of " << rows->shape[0]
             << " rows, expected one for each of " << structures.vertices()
             << " vertices";
  std::vector<int64_t> visited(order.begin(), order.end());
  if (functions.front().getReversed())
    std::reverse(visited.begin(), visited.end());
  for (int64_t vertex : visited)
    if (failed(evaluateVertex(vertex)))
      return failure();
  SmallVector<ArrayPtr> results;
  for (StringRef name : op.getPushNames().getAsValueRange<StringAttr>())
    results.push_back(std::make_shared<Array>(std::move(pushed[name])));
  return results;
}

LogicalResult Application::evaluateVertex(int64_t vertex) {
  int64_t type = types ? (*types)[vertex] : 0;
  vertex::FuncOp variant =
      (hasChildren(structures, vertex) ? functions : leafFunctions)[type];
  Values values;
  values.set(variant.getBody().getArguments(), parameters);
  for (Operation &inner : variant.getBody().front())
    if (failed(evaluateOperator(&inner, vertex, values)))
      return failure();
  return success();
}

LogicalResult Application::evaluateOperator(Operation *op, int64_t vertex,
                                            Values &values) {
  if (auto gathers = dyn_cast<vertex::GatherOp>(op)) {
    gather(gathers, vertex, values);
  } else if (auto gathers = dyn_cast<vertex::GatherParentsOp>(op)) {
    gatherParents(gathers, vertex, values);
  } else if (auto map = dyn_cast<vertex::MapChildrenOp>(op)) {
    return mapChildren(map, vertex, values);
  } else if (auto scatter = dyn_cast<vertex::ScatterChildrenOp>(op)) {
    return scatterChildren(scatter, vertex, values);
  } else if (auto scatter = dyn_cast<vertex::ScatterOp>(op)) {
    states[vertex] = values.get(scatter.getStates());
  } else if (auto scatter = dyn_cast<vertex::ScatterChildOp>(op)) {
    scatterChild(scatter, vertex, values);
  } else if (auto pull = dyn_cast<vertex::PullOp>(op)) {
    int64_t row = isAt(pull.getPlace(), vertex) ? vertex : -1;
    values.set(pull.getRow(),
               rowOf(pull.getName(), row, pull.getRow().getType()));
  } else if (auto pull = dyn_cast<vertex::PullChildOp>(op)) {
    values.set(pull.getRow(),
               rowOf(pull.getName(), childOf(vertex, pull.getSlot()),
                     pull.getRow().getType()));
  } else if (auto pushes = dyn_cast<vertex::PushOp>(op)) {
    push(pushes, vertex, values);
  } else if (auto reduces = dyn_cast<vertex::ReduceOp>(op)) {
    reduce(reduces, values);
  } else {
    return evaluateInto(values, op, Context{structures, vertex});
  }
  return success();
}

int64_t Application::childOf(int64_t vertex, uint64_t slot) const {
  const std::vector<int32_t> &children = structures.children[vertex];
  return slot < children.size() ? children[slot] : -1;
}

bool Application::isAt(vertex::Place place, int64_t vertex) const {
  return place == vertex::Place::all ||
         (place == vertex::Place::inner) == hasChildren(structures, vertex);
}

ArrayPtr Application::rowOf(StringRef name, int64_t row, Type type) const {
  if (row < 0)
    return zerosOf(type);
  const Array &rows = *pulled.lookup(name);
  Array result = Array::zeros({rows.shape.begin() + 1, rows.shape.end()});
  std::copy_n(rows.data.begin() + row * result.data.size(), result.data.size(),
              result.data.begin());
  return std::make_shared<Array>(std::move(result));
}

void Application::gather(vertex::GatherOp op, int64_t vertex, Values &values) {
  int64_t child = childOf(vertex, op.getSlot());
  for (auto [index, state] : llvm::enumerate(op.getStates()))
    values.set(state,
               child >= 0 ? states[child][index] : zerosOf(state.getType()));
}

void Application::gatherParents(vertex::GatherParentsOp op, int64_t vertex,
                                Values &values) {
  for (auto [index, state] : llvm::enumerate(op.getStates()))
    values.set(state,
               fromParents[vertex].empty()
                   ? zerosOf(state.getType())
                   : std::make_shared<Array>(fromParents[vertex][index]));
}

/// Adds `term`, element by element.
static void addTo(Array &sum, const Array &term) {
  for (auto [element, other] : llvm::zip_equal(sum.data, term.data))
    element += other;
}

void Application::scatterChild(vertex::ScatterChildOp op, int64_t vertex,
                               const Values &values) {
  int64_t child = childOf(vertex, op.getSlot());
  if (child >= 0)
    addToChild(child, values.get(op.getStates()));
}

void Application::addToChild(int64_t child, ArrayRef<ArrayPtr> scattered) {
  SmallVector<Array> &sums = fromParents[child];
  for (auto [index, state] : llvm::enumerate(scattered)) {
    if (index == sums.size())
      sums.push_back(Array::zeros(state->shape));
    addTo(sums[index], *state);
  }
}

FailureOr<SmallVector<ArrayPtr>>
Application::evaluateChild(Operation *op, int64_t vertex,
                           ArrayRef<ArrayPtr> arguments, const Values &values) {
  Block &body = op->getRegion(0).front();
  Values inside = values;
  inside.set(body.getArguments(), arguments);
  for (Operation &nested : body.without_terminator())
    if (failed(evaluateInto(inside, &nested, Context{structures, vertex})))
      return failure();
  return inside.get(body.getTerminator()->getOperands());
}

LogicalResult Application::mapChildren(vertex::MapChildrenOp op, int64_t vertex,
                                       Values &values) {
  SmallVector<Array> results;
  for (Type type : op.getResultTypes())
    results.push_back(
        Array::zeros(cast<RankedTensorType>(type).getShape().vec()));
  int64_t count = 0;
  for (int32_t child : structures.children[vertex]) {
    if (child < 0)
      continue;
    FailureOr<SmallVector<ArrayPtr>> yielded =
        evaluateChild(op, vertex, states[child], values);
    if (failed(yielded))
      return failure();
    for (auto [result, value] : llvm::zip(results, *yielded)) {
      if (op.getReduction() != vertex::Reduction::max)
        addTo(result, *value);
      else if (count == 0)
        result = *value;
      else
        for (auto [largest, other] : llvm::zip_equal(result.data, value->data))
          if (std::isnan(other) || other > largest)
            largest = other;
    }
    ++count;
  }
  for (auto [value, result] : llvm::zip(op.getCombined(), results)) {
    if (op.getReduction() == vertex::Reduction::mean && count > 0)
      for (double &element : result.data)
        element /= count;
    values.set(value, std::make_shared<Array>(std::move(result)));
  }
  return success();
}

LogicalResult Application::scatterChildren(vertex::ScatterChildrenOp op,
                                           int64_t vertex, Values &values) {
  SmallVector<Array> sums;
  for (Type type : op.getResultTypes())
    sums.push_back(Array::zeros(cast<RankedTensorType>(type).getShape().vec()));
  Block &body = op.getBody().front();
  for (int32_t child : structures.children[vertex]) {
    if (child < 0)
      continue;
    SmallVector<ArrayPtr> rows;
    for (auto [name, argument] : llvm::zip(
             op.getNames().getAsValueRange<StringAttr>(), body.getArguments()))
      rows.push_back(rowOf(name, child, argument.getType()));
    FailureOr<SmallVector<ArrayPtr>> yielded =
        evaluateChild(op, vertex, rows, values);
    if (failed(yielded))
      return failure();
    size_t scattered = yielded->size() - sums.size();
    addToChild(child, ArrayRef(*yielded).take_front(scattered));
    for (auto [sum, value] :
         llvm::zip(sums, ArrayRef(*yielded).drop_front(scattered)))
      addTo(sum, *value);
  }
  for (auto [value, sum] : llvm::zip(op.getSums(), sums))
    values.set(value, std::make_shared<Array>(std::move(sum)));
  return success();
}

void Application::push(vertex::PushOp op, int64_t vertex,
                       const Values &values) {
  if (!isAt(op.getPlace(), vertex))
    return;
  const Array &row = *values.get(op.getRow());
  llvm::copy(row.data, pushed[op.getName()].data.begin() +
                           vertex * (int64_t)row.data.size());
}

void Application::reduce(vertex::ReduceOp op, const Values &values) {
  addTo(pushed[op.getName()], *values.get(op.getValue()));
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static LogicalResult bindArguments(func::FuncOp entry,
                                   std::vector<Array> arguments,
                                   Values &values) {
  size_t next = 0;
  unsigned graphs = 0;
  for (BlockArgument argument : entry.getArguments()) {
    if (isa<vertex::GraphType>(argument.getType())) {
      ++graphs;
      continue;
    }
    if (next == arguments.size())
      break;
    Array &array = arguments[next++];
    if (failed(verifyValue(array, argument.getType(), [&] {
          return entry.emitOpError("argument #")
                 << argument.getArgNumber() << " ";
        })))
      return failure();
    values.set(argument, std::make_shared<Array>(std::move(array)));
  }
  if (next != arguments.size() || next + graphs != entry.getNumArguments())
    return entry.emitOpError("expects ")
           << entry.getNumArguments() - graphs
           << " arguments besides graphs, but got " << arguments.size();
  return success();
}

FailureOr<std::vector<Array>>
reference::interpret(func::FuncOp entry, ArrayRef<Structures> structures,
                     std::vector<Array> arguments) {
  if (entry.isExternal() || !entry.getBody().hasOneBlock())
    return entry.emitOpError("has ")
           << (entry.isExternal() ? "no body" : "control flow")
           << ", which the interpreter does not support";
  Values values;
  if (failed(bindArguments(entry, std::move(arguments), values)))
    return failure();
  FailureOr<Graphs> graphs = Graphs::bind(entry, structures);
  if (failed(graphs))
    return failure();

  // Of rows outside of applies nothing says whose they are.
  Structures none;
  Context context{structures.size() == 1 ? structures.front() : none};
  for (Operation &op : entry.getBody().front().without_terminator()) {
    if (isa<vertex::ReverseOp>(op))
      continue;
    if (auto apply = dyn_cast<vertex::ApplyOp>(op)) {
      FailureOr<SmallVector<ArrayPtr>> pushed =
          Application(apply, graphs->structures(apply.getGraph()), values)
              .run(graphs->childrenFirst(apply.getGraph()));
      if (failed(pushed))
        return failure();
      values.set(apply.getResults(), *pushed);
    } else if (isa<vertex::RootsOp, vertex::AtRootsOp, vertex::SegmentSumOp,
                   vertex::SegmentMaxOp, vertex::SpreadStructuresOp>(op)) {
      FailureOr<ArrayPtr> rows =
          readStructures(&op, *values.get(op.getOperand(1)),
                         graphs->structures(op.getOperand(0)));
      if (failed(rows))
        return failure();
      values.set(op.getResult(0), *rows);
    } else if (auto multiplicity = dyn_cast<vertex::MultiplicityOp>(op)) {
      // Here every vertex stands for itself.
      Array ones = Array::zeros({values.get(multiplicity.getRows())->shape[0]});
      std::fill(ones.data.begin(), ones.data.end(), 1);
      values.set(multiplicity.getResult(),
                 std::make_shared<Array>(std::move(ones)));
    } else if (failed(evaluateInto(values, &op, context))) {
      return failure();
    }
  }

  std::vector<Array> results;
  Operation *terminator = entry.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    ArrayPtr result = values.get(value);
    if (!result)
      return terminator->emitOpError("returns a graph as result #") << index;
    results.push_back(*result);
  }
  return results;
}
