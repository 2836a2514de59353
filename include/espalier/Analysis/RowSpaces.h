//===- RowSpaces.h - Which rows a tensor has --------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor of rows has the type tensor<?x...>; this analysis finds which
// rows those are: all vertices, leaves or inner ones in schedule order, perhaps
// of one type only, the vertices in the caller's order, or the structures, and
// of which graph. It
// follows the operators of a function that `batch-vertices` has been through
// and joins what must be equal.
//
// A graph and its reverse have the same vertices in the caller's order, so rows
// in that order are said to be of the graph that is an argument. Structures are
// the same of all graphs, and said to be of the first.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_ANALYSIS_ROWSPACES_H
#define ESPALIER_ANALYSIS_ROWSPACES_H

#include "espalier/Dialect/Model/IR/Model.h"
#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace espalier {

struct RowSpace {
  model::Rows rows = model::Rows::one;
  /// The graph's number: arguments first, then those that are reversed.
  int64_t graph = 0;
  /// The vertices' type, if they are of one; of edges, their parents'.
  std::optional<int64_t> type;
  bool operator==(const RowSpace &other) const {
    return rows == other.rows && graph == other.graph && type == other.type;
  }
  bool operator!=(const RowSpace &other) const { return !(*this == other); }
};

class RowSpaces {
public:
  /// Analyses `function`; reports an error where rows of different spaces
  /// meet.
  static mlir::FailureOr<RowSpaces> compute(mlir::func::FuncOp function);

  /// The rows of `value`; Rows::one if it is not batched.
  RowSpace of(mlir::Value value) const;
  /// The number of the graph `value`.
  int64_t graphNumber(mlir::Value value) const;

private:
  void numberGraphs(mlir::func::FuncOp function);
  /// `rows` of `graph`, and of `type` if that is given.
  RowSpace at(mlir::Value graph, model::Rows rows,
              std::optional<int64_t> type = {}) const;
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult visitTasks(vertex::TasksOp tasks);
  mlir::LogicalResult visitTasks(vertex::ReversedTasksOp tasks);
  mlir::LogicalResult fix(mlir::Value value, RowSpace space,
                          mlir::Operation *op);
  mlir::LogicalResult unite(mlir::Value left, mlir::Value right,
                            mlir::Operation *op);
  mlir::LogicalResult clash(mlir::Operation *op, RowSpace left,
                            RowSpace right) const;

  llvm::DenseMap<mlir::Value, int64_t> graphs;
  /// How many graphs are arguments.
  int64_t graphArguments = 0;
  llvm::EquivalenceClasses<void *> classes;
  /// By class leader.
  llvm::DenseMap<void *, RowSpace> spaces;
};

} // namespace espalier

#endif // ESPALIER_ANALYSIS_ROWSPACES_H
