//===- Interpreter.cpp - Entries, applies and vertices ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Reference/Interpreter.h"

#include "Graphs.h"

#include "llvm/ADT/TypeSwitch.h"

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

  /// Evaluates the vertices in `order`. The results are those of the apply.
  FailureOr<SmallVector<ArrayPtr>> run(ArrayRef<int64_t> order);

private:
  LogicalResult evaluateVertex(int64_t vertex);
  void gather(vertex::GatherOp op, int64_t vertex, Values &values);
  void pull(vertex::PullOp op, int64_t vertex, Values &values);
  void push(vertex::PushOp op, int64_t vertex, const Values &values);

  vertex::ApplyOp op;
  const Structures &structures;
  vertex::FuncOp function;
  /// What vertices without children use.
  vertex::FuncOp leafFunction;
  SmallVector<ArrayPtr> parameters;
  llvm::StringMap<ArrayPtr> pulled;
  llvm::StringMap<Array> pushed;
  /// By vertex.
  std::vector<SmallVector<ArrayPtr>> states;
};
} // namespace

Application::Application(vertex::ApplyOp op, const Structures &structures,
                         const Values &outside)
    : op(op), structures(structures),
      parameters(outside.get(op.getParameters())),
      states(structures.vertices()) {
  auto lookup = [&](FlatSymbolRefAttr name) {
    return SymbolTable::lookupNearestSymbolFrom<vertex::FuncOp>(op, name);
  };
  function = lookup(op.getCalleeAttr());
  leafFunction =
      function.getLeafAttr() ? lookup(function.getLeafAttr()) : function;
  for (auto [name, value] : llvm::zip_equal(
           op.getPullNames().getAsValueRange<StringAttr>(), op.getPulled()))
    pulled[name] = outside.get(value);
  for (auto [name, value] : llvm::zip_equal(
           op.getPushNames().getAsValueRange<StringAttr>(), op.getPushed())) {
    std::vector<int64_t> shape =
        cast<RankedTensorType>(value.getType()).getShape().vec();
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
  for (int64_t vertex : order)
    if (failed(evaluateVertex(vertex)))
      return failure();
  SmallVector<ArrayPtr> results;
  for (StringRef name : op.getPushNames().getAsValueRange<StringAttr>())
    results.push_back(std::make_shared<Array>(std::move(pushed[name])));
  return results;
}

LogicalResult Application::evaluateVertex(int64_t vertex) {
  vertex::FuncOp variant =
      hasChildren(structures, vertex) ? function : leafFunction;
  Context context{structures, vertex};
  Values values;
  values.set(variant.getBody().getArguments(), parameters);
  for (Operation &inner : variant.getBody().front()) {
    LogicalResult result = TypeSwitch<Operation *, LogicalResult>(&inner)
                               .Case([&](vertex::GatherOp op) {
                                 gather(op, vertex, values);
                                 return success();
                               })
                               .Case([&](vertex::ScatterOp op) {
                                 states[vertex] = values.get(op.getStates());
                                 return success();
                               })
                               .Case([&](vertex::PullOp op) {
                                 pull(op, vertex, values);
                                 return success();
                               })
                               .Case([&](vertex::PushOp op) {
                                 push(op, vertex, values);
                                 return success();
                               })
                               .Default([&](Operation *op) {
                                 return evaluateInto(values, op, context);
                               });
    if (failed(result))
      return failure();
  }
  return success();
}

void Application::gather(vertex::GatherOp op, int64_t vertex, Values &values) {
  const std::vector<int32_t> &children = structures.children[vertex];
  int32_t child = op.getSlot() < children.size() ? children[op.getSlot()] : -1;
  for (auto [index, state] : llvm::enumerate(op.getStates()))
    values.set(state,
               child >= 0 ? states[child][index] : zerosOf(state.getType()));
}

void Application::pull(vertex::PullOp op, int64_t vertex, Values &values) {
  bool inner = hasChildren(structures, vertex);
  vertex::Place place = op.getPlace();
  if (place == vertex::Place::all || (place == vertex::Place::inner) == inner) {
    const Array &rows = *pulled[op.getName()];
    Array row = Array::zeros({rows.shape.begin() + 1, rows.shape.end()});
    std::copy_n(rows.data.begin() + vertex * row.data.size(), row.data.size(),
                row.data.begin());
    values.set(op.getRow(), std::make_shared<Array>(std::move(row)));
    return;
  }
  values.set(op.getRow(), zerosOf(op.getRow().getType()));
}

void Application::push(vertex::PushOp op, int64_t vertex,
                       const Values &values) {
  const Array &row = *values.get(op.getRow());
  llvm::copy(row.data, pushed[op.getName()].data.begin() +
                           vertex * (int64_t)row.data.size());
}

//===----------------------------------------------------------------------===//
// roots
//===----------------------------------------------------------------------===//

static FailureOr<ArrayPtr> roots(vertex::RootsOp op, const Array &rows,
                                 const Structures &structures) {
  if (rows.shape[0] != structures.vertices())
    return op.emitOpError("expects a row for each of ")
           << structures.vertices() << " vertices, but got " << rows.shape[0]
           << " rows";
  std::vector<int64_t> shape = rows.shape;
  shape[0] = structures.count();
  Array result = Array::zeros(shape);
  int64_t elements = 1;
  for (size_t d = 1; d != shape.size(); ++d)
    elements *= shape[d];
  for (int64_t k = 0; k != structures.count(); ++k) {
    if (structures.offsets[k] == structures.offsets[k + 1])
      continue;
    int64_t root = structures.offsets[k + 1] - 1;
    std::copy_n(rows.data.begin() + root * elements, elements,
                result.data.begin() + k * elements);
  }
  return ArrayPtr(std::make_shared<Array>(std::move(result)));
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
    } else if (auto readout = dyn_cast<vertex::RootsOp>(op)) {
      FailureOr<ArrayPtr> rows = roots(readout, *values.get(readout.getRows()),
                                       graphs->structures(readout.getGraph()));
      if (failed(rows))
        return failure();
      values.set(readout.getResult(), *rows);
    } else if (isa<vertex::SegmentSumOp, vertex::SegmentMaxOp,
                   vertex::SpreadStructuresOp>(op)) {
      FailureOr<ArrayPtr> rows =
          readStructures(&op, *values.get(op.getOperand(1)),
                         graphs->structures(op.getOperand(0)));
      if (failed(rows))
        return failure();
      values.set(op.getResult(0), *rows);
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
