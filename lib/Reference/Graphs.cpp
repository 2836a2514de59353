//===- Graphs.cpp - The structures that graphs stand for ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"

#include <deque>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

/// The function of most child slots that an apply over `graph` evaluates; null
/// if there is none.
static vertex::FuncOp widestOver(Value graph) {
  vertex::FuncOp widest;
  for (Operation *user : graph.getUsers()) {
    auto apply = dyn_cast<vertex::ApplyOp>(user);
    if (!apply)
      continue;
    for (auto callee : apply.getCallees().getAsRange<FlatSymbolRefAttr>()) {
      auto function =
          SymbolTable::lookupNearestSymbolFrom<vertex::FuncOp>(apply, callee);
      if (!widest || function.getArity() > widest.getArity())
        widest = function;
    }
  }
  return widest;
}

/// Checks that every vertex has a type for each apply over `graph` that chooses
/// by it.
static LogicalResult verifyTypes(func::FuncOp entry, Value graph,
                                 const Structures &structures) {
  Context context{structures};
  for (Operation *user : graph.getUsers()) {
    auto apply = dyn_cast<vertex::ApplyOp>(user);
    if (!apply || !apply.getTypeField())
      continue;
    auto found = structures.fields.find(apply.getTypeField()->str());
    if (found == structures.fields.end())
      return entry.emitError()
             << "needs the field '" << *apply.getTypeField()
             << "' of the structures, which has the type of each vertex";
    int64_t types = apply.getCallees().size();
    for (auto [v, type] : llvm::enumerate(found->second))
      if (type < 0 || type >= types)
        return entry.emitError()
               << context.describe(v, structures.vertices()) << " has type "
               << type << " in field '" << *apply.getTypeField()
               << "', expected one from 0 to " << types - 1;
  }
  return success();
}

/// Checks that children are vertices of the same structure, and that there are
/// no more of them than an apply over `graph` reads.
static LogicalResult verify(func::FuncOp entry, Value graph,
                            const Structures &structures) {
  vertex::FuncOp widest = widestOver(graph);
  Context context{structures};
  for (int64_t k = 0; k != structures.count(); ++k)
    for (int64_t v = structures.offsets[k]; v != structures.offsets[k + 1];
         ++v) {
      const std::vector<int32_t> &children = structures.children[v];
      std::string where = context.describe(v, structures.vertices());
      for (int32_t child : children)
        if (child != -1 && (child < structures.offsets[k] ||
                            child >= structures.offsets[k + 1]))
          return entry.emitError()
                 << where << " has a child outside of its structure";
      // A function without child slots takes any structure.
      if (widest && widest.getArity() != 0 &&
          children.size() > widest.getArity())
        return widest.emitError()
               << where << " has " << children.size() << " children, but @"
               << widest.getSymName() << " has arity " << widest.getArity();
    }
  return success();
}

/// The same vertices with every edge turned round.
static Structures reverse(const Structures &structures) {
  Structures reversed{structures.offsets, {}, structures.fields};
  reversed.children.resize(structures.vertices());
  for (int64_t v = 0; v != structures.vertices(); ++v)
    for (int32_t child : structures.children[v])
      if (child >= 0)
        reversed.children[child].push_back(v);
  return reversed;
}

/// All vertices, each after its children.
static FailureOr<std::vector<int64_t>> sort(func::FuncOp entry,
                                            const Structures &structures) {
  int64_t count = structures.vertices();
  std::vector<std::vector<int64_t>> parents(count);
  std::vector<int64_t> waiting(count, 0);
  for (int64_t v = 0; v != count; ++v)
    for (int32_t child : structures.children[v])
      if (child >= 0) {
        parents[child].push_back(v);
        ++waiting[v];
      }

  std::vector<int64_t> order;
  std::deque<int64_t> ready;
  for (int64_t v = 0; v != count; ++v)
    if (waiting[v] == 0)
      ready.push_back(v);
  while (!ready.empty()) {
    int64_t v = ready.front();
    ready.pop_front();
    order.push_back(v);
    for (int64_t parent : parents[v])
      if (--waiting[parent] == 0)
        ready.push_back(parent);
  }
  for (int64_t v = 0; v != count; ++v)
    if (waiting[v] != 0)
      return entry.emitError() << Context{structures}.describe(v, count)
                               << " is in a cycle or has one below it";
  return order;
}

LogicalResult Graphs::add(func::FuncOp entry, Value graph,
                          Structures structures) {
  if (failed(verify(entry, graph, structures)) ||
      failed(verifyTypes(entry, graph, structures)))
    return failure();
  FailureOr<std::vector<int64_t>> order = sort(entry, structures);
  if (failed(order))
    return failure();
  graphs[graph] =
      std::make_shared<Graph>(Graph{std::move(structures), std::move(*order)});
  return success();
}

FailureOr<Graphs> Graphs::bind(func::FuncOp entry,
                               ArrayRef<Structures> structures) {
  SmallVector<Value> arguments;
  for (BlockArgument argument : entry.getArguments())
    if (isa<vertex::GraphType>(argument.getType()))
      arguments.push_back(argument);
  if (arguments.size() != structures.size())
    return entry.emitOpError("runs over ")
           << arguments.size() << " graphs, but got structures for "
           << structures.size();
  Graphs graphs;
  for (auto [argument, given] : llvm::zip_equal(arguments, structures)) {
    if (failed(graphs.add(entry, argument, given)))
      return failure();
    // A row a structure goes with the structures of all graphs.
    if (given.count() != structures.front().count())
      return entry.emitOpError("runs over ")
             << structures.front().count() << " structures of one graph and "
             << given.count() << " of another; expects as many of each";
  }
  LogicalResult result = success();
  entry.walk([&](vertex::ReverseOp op) {
    if (succeeded(result))
      result = graphs.add(entry, op.getResult(),
                          reverse(graphs.structures(op.getGraph())));
  });
  if (failed(result))
    return failure();
  return graphs;
}
