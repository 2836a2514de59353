//===- RowSpaces.cpp - Which rows a tensor has ------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Analysis/RowSpaces.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace espalier;

using model::Rows;

static Rows rowsAt(vertex::Place place) {
  switch (place) {
  case vertex::Place::all:
    return Rows::vertices;
  case vertex::Place::leaves:
    return Rows::leaves;
  case vertex::Place::inner:
    return Rows::inner;
  }
  llvm_unreachable("unknown place");
}

/// For messages.
static StringRef describe(Rows rows) {
  switch (rows) {
  case Rows::vertices:
    return "all vertices";
  case Rows::leaves:
    return "the leaves";
  case Rows::inner:
    return "the inner vertices";
  case Rows::caller:
    return "the vertices in the caller's order";
  case Rows::structures:
    return "the structures";
  case Rows::edges:
    return "the edges";
  default:
    return stringifyRows(rows);
  }
}

static std::string describe(const RowSpace &space) {
  std::string text = describe(space.rows).str();
  if (space.type)
    text += " of type " + std::to_string(*space.type);
  return text;
}

void RowSpaces::numberGraphs(func::FuncOp function) {
  for (Value argument : function.getArguments())
    if (isa<vertex::GraphType>(argument.getType()))
      graphs.try_emplace(argument, graphs.size());
  graphArguments = graphs.size();
  function.walk([&](vertex::ReverseOp reverse) {
    graphs.try_emplace(reverse.getResult(), graphs.size());
  });
}

RowSpace RowSpaces::at(Value graph, Rows rows,
                       std::optional<int64_t> type) const {
  if (rows == Rows::structures)
    return {rows, 0, {}};
  if (auto reverse = graph.getDefiningOp<vertex::ReverseOp>())
    if (rows == Rows::caller)
      graph = reverse.getGraph();
  return {rows, graphs.lookup(graph), type};
}

FailureOr<RowSpaces> RowSpaces::compute(func::FuncOp function) {
  RowSpaces spaces;
  spaces.numberGraphs(function);
  WalkResult result = function.walk([&](Operation *op) {
    if (isa<nn::ElementwiseOp>(op->getParentOp()))
      return WalkResult::advance();
    return failed(spaces.visit(op)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  // What nothing constrains is per vertex if there is one graph.
  for (Value argument : function.getArguments())
    if (nn::isRowsType(argument.getType())) {
      void *leader =
          spaces.classes.getOrInsertLeaderValue(argument.getAsOpaquePointer());
      if (spaces.spaces.contains(leader))
        continue;
      if (spaces.graphArguments != 1)
        return function.emitOpError("has ")
               << spaces.graphArguments
               << " graph arguments, and nothing says whose rows argument #"
               << cast<BlockArgument>(argument).getArgNumber() << " has";
      spaces.spaces[leader] = RowSpace{Rows::caller, 0, {}};
    }
  return spaces;
}

RowSpace RowSpaces::of(Value value) const {
  if (!nn::isRowsType(value.getType()))
    return RowSpace();
  auto it = classes.findLeader(value.getAsOpaquePointer());
  if (it == classes.member_end())
    return RowSpace();
  return spaces.lookup(*it);
}

int64_t RowSpaces::graphNumber(Value value) const {
  return graphs.lookup(value);
}

LogicalResult RowSpaces::visit(Operation *op) {
  using namespace vertex;
  auto both = [&](LogicalResult a, LogicalResult b) {
    return success(succeeded(a) && succeeded(b));
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](PullRowsOp pull) {
        return both(fix(pull.getRows(), at(pull.getGraph(), Rows::caller), op),
                    fix(pull.getResult(),
                        at(pull.getGraph(), rowsAt(pull.getPlace()),
                           pull.getVertexType()),
                        op));
      })
      .Case([&](PushRowsOp push) {
        return both(
            fix(push.getRows(), at(push.getGraph(), Rows::vertices), op),
            fix(push.getResult(), at(push.getGraph(), Rows::caller), op));
      })
      .Case<RootsOp, SegmentSumOp, SegmentMaxOp>([&](auto readout) {
        return both(
            fix(readout.getRows(), at(readout.getGraph(), Rows::caller), op),
            fix(readout.getResult(), at(readout.getGraph(), Rows::structures),
                op));
      })
      .Case([&](RootRowsOp roots) {
        return both(
            fix(roots.getRows(), at(roots.getGraph(), Rows::vertices), op),
            fix(roots.getResult(), at(roots.getGraph(), Rows::structures), op));
      })
      .Case([&](SpreadRowsOp spread) {
        return fix(spread.getResult(),
                   at(spread.getGraph(), rowsAt(spread.getPlace()),
                      spread.getVertexType()),
                   op);
      })
      .Case([&](JoinRowsOp join) {
        int64_t graph = of(join.getPieces().front()).graph;
        LogicalResult result =
            fix(join.getResult(), RowSpace{Rows::vertices, graph, {}}, op);
        for (auto [index, piece] : llvm::enumerate(join.getPieces()))
          result = both(result, fix(piece,
                                    RowSpace{rowsAt(join.getPlace(index)),
                                             graph, join.getVertexType(index)},
                                    op));
        return result;
      })
      .Case([&](SelectRowsOp select) {
        int64_t graph = of(select.getRows()).graph;
        return both(
            fix(select.getRows(), RowSpace{Rows::vertices, graph, {}}, op),
            fix(select.getResult(),
                RowSpace{rowsAt(select.getPlace()), graph,
                         select.getVertexType()},
                op));
      })
      .Case([&](TasksOp tasks) { return visitTasks(tasks); })
      .Case([&](ReversedTasksOp tasks) { return visitTasks(tasks); })
      .Case([&](EdgeChildRowsOp child) {
        return both(
            fix(child.getRows(), at(child.getGraph(), Rows::vertices), op),
            fix(child.getResult(),
                at(child.getGraph(), Rows::edges, child.getVertexType()), op));
      })
      .Case([&](EdgeParentRowsOp parent) {
        return both(
            fix(parent.getRows(),
                at(parent.getGraph(), rowsAt(parent.getPlace()),
                   parent.getVertexType()),
                op),
            fix(parent.getResult(),
                at(parent.getGraph(), Rows::edges, parent.getVertexType()),
                op));
      })
      .Case([&](ReduceEdgeRowsOp reduce) {
        return both(
            fix(reduce.getRows(),
                at(reduce.getGraph(), Rows::edges, reduce.getVertexType()), op),
            fix(reduce.getResult(),
                at(reduce.getGraph(), rowsAt(reduce.getPlace()),
                   reduce.getVertexType()),
                op));
      })
      .Case([&](GatherParentEdgeRowsOp gather) {
        return both(
            fix(gather.getRows(), at(gather.getGraph(), Rows::edges), op),
            fix(gather.getResult(),
                at(gather.getGraph(), rowsAt(gather.getPlace()),
                   gather.getVertexType()),
                op));
      })
      .Case([&](GatherParentRowsOp gather) {
        return fix(gather.getResult(),
                   at(gather.getGraph(), rowsAt(gather.getPlace()),
                      gather.getVertexType()),
                   op);
      })
      .Case([&](ChildRowsOp child) {
        return both(
            fix(child.getRows(), at(child.getGraph(), Rows::vertices), op),
            fix(child.getResult(),
                at(child.getGraph(), rowsAt(child.getPlace()),
                   child.getVertexType()),
                op));
      })
      .Case<AtRootsOp, SpreadStructuresOp>([&](auto spread) {
        return both(
            fix(spread.getRows(), at(spread.getGraph(), Rows::structures), op),
            fix(spread.getResult(), at(spread.getGraph(), Rows::caller), op));
      })
      .Case([&](GatherRowsOp gather) {
        Region *body = gather->getParentRegion();
        auto tasks = cast<TasksOp>(body->getParentOp());
        return fix(gather.getResult(),
                   at(tasks.getGraph(), rowsAt(tasks.getPlace()),
                      tasks.getVertexType(body->getRegionNumber())),
                   op);
      })
      .Case<ReverseOp, vertex::YieldOp, func::ReturnOp, func::FuncOp,
            tensor::DimOp>([&](Operation *) { return success(); })
      .Case([&](tensor::ExtractSliceOp slice) {
        if (!nn::isRowsType(slice.getType()))
          return success();
        // As many rows as its source, and as what it takes their number from.
        for (Value size : slice.getSizes())
          if (auto dim = size.getDefiningOp<tensor::DimOp>())
            if (nn::isRowsType(dim.getSource().getType()) &&
                failed(unite(dim.getSource(), slice.getResult(), op)))
              return failure();
        return unite(slice.getSource(), slice.getResult(), op);
      })
      .Default([&](Operation *) {
        // All of its rows are the same rows.
        Value first;
        for (ValueRange values :
             {ValueRange(op->getOperands()), ValueRange(op->getResults())})
          for (Value value : values) {
            if (!nn::isRowsType(value.getType()))
              continue;
            if (first && failed(unite(first, value, op)))
              return failure();
            first = value;
          }
        return success();
      });
}

LogicalResult RowSpaces::visitTasks(vertex::TasksOp tasks) {
  RowSpace all = at(tasks.getGraph(), Rows::vertices);
  LogicalResult result = success();
  auto fixed = [&](Value value, RowSpace space) {
    if (failed(fix(value, space, tasks)))
      result = failure();
  };
  for (auto [index, body] : llvm::enumerate(tasks.getBodies())) {
    std::optional<int64_t> type = tasks.getVertexType(index);
    RowSpace ran = at(tasks.getGraph(), rowsAt(tasks.getPlace()), type);
    for (Value init : tasks.getInitsOf(index))
      fixed(init, at(tasks.getGraph(), Rows::leaves, type));
    for (Value eager : tasks.getEagerOf(index))
      fixed(eager, ran);
    for (auto [number, value] : llvm::enumerate(tasks.getOutputsOf(index)))
      fixed(value, number < tasks.getCarried() ? all : ran);
    for (auto [number, argument] : llvm::enumerate(body.getArguments()))
      fixed(argument, number < tasks.getCarried() ? all : ran);
    for (Value value : body.front().getTerminator()->getOperands())
      fixed(value, ran);
  }
  return result;
}

LogicalResult RowSpaces::visitTasks(vertex::ReversedTasksOp tasks) {
  LogicalResult result = success();
  size_t slots = tasks.getStates(), carried = tasks.getCarried();
  // What is carried has the rows, or the edges, of all types.
  auto fixed = [&](auto &&values, std::optional<int64_t> type,
                   std::optional<int64_t> carriedType) {
    for (auto [number, value] : llvm::enumerate(values)) {
      bool isEdge = slots <= number && number < carried;
      RowSpace space =
          at(tasks.getGraph(), isEdge ? Rows::edges : rowsAt(tasks.getPlace()),
             number < carried ? carriedType : type);
      if (failed(fix(value, space, tasks)))
        result = failure();
    }
  };
  for (auto [index, body] : llvm::enumerate(tasks.getBodies())) {
    std::optional<int64_t> type = tasks.getVertexType(index);
    fixed(tasks.getOutputsOf(index), type, {});
    fixed(body.getArguments(), type, {});
    fixed(body.front().getTerminator()->getOperands(), type, type);
    for (Value value : tasks.getEagerOf(index))
      if (failed(fix(value,
                     at(tasks.getGraph(), rowsAt(tasks.getPlace()), type),
                     tasks)))
        result = failure();
  }
  return result;
}

LogicalResult RowSpaces::fix(Value value, RowSpace space, Operation *op) {
  void *leader = classes.getOrInsertLeaderValue(value.getAsOpaquePointer());
  auto [it, inserted] = spaces.try_emplace(leader, space);
  if (!inserted && it->second != space)
    return clash(op, it->second, space);
  return success();
}

LogicalResult RowSpaces::unite(Value left, Value right, Operation *op) {
  void *a = classes.getOrInsertLeaderValue(left.getAsOpaquePointer());
  void *b = classes.getOrInsertLeaderValue(right.getAsOpaquePointer());
  auto known = spaces.contains(a) ? spaces.find(a) : spaces.find(b);
  std::optional<RowSpace> space;
  if (known != spaces.end())
    space = known->second;
  if (spaces.contains(a) && spaces.contains(b) && spaces[a] != spaces[b])
    return clash(op, spaces[a], spaces[b]);
  classes.unionSets(a, b);
  if (space)
    spaces[classes.getLeaderValue(a)] = *space;
  return success();
}

LogicalResult RowSpaces::clash(Operation *op, RowSpace left,
                               RowSpace right) const {
  InFlightDiagnostic diagnostic =
      op->emitOpError("mixes rows of ")
      << describe(left) << " of graph #" << left.graph << " with rows of "
      << describe(right) << " of graph #" << right.graph;
  if (left.rows != right.rows)
    diagnostic.attachNote() << "vertex.roots reads a row a structure from rows "
                               "of vertices; vertex.apply works row by row";
  return diagnostic;
}
