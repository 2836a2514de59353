//===- Graphs.h - The structures that graphs stand for ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry's graph arguments and their reverses.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_LIB_REFERENCE_GRAPHS_H
#define ESPALIER_LIB_REFERENCE_GRAPHS_H

#include "Operators.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace espalier::reference {

class Graphs {
public:
  /// The graph arguments of `entry` stand for `structures`, in order, which
  /// must outlive this. Reports an error unless there are as many, with
  /// children that make sense, and no more of them than applies of `entry`
  /// read.
  static mlir::FailureOr<Graphs> bind(mlir::func::FuncOp entry,
                                      llvm::ArrayRef<Structures> structures);

  const Structures &structures(mlir::Value graph) const {
    return known(graph).structures;
  }
  /// All vertices, each after its children.
  llvm::ArrayRef<int64_t> childrenFirst(mlir::Value graph) const {
    return known(graph).order;
  }

private:
  struct Graph {
    Structures structures;
    std::vector<int64_t> order;
  };
  const Graph &known(mlir::Value graph) const {
    return *graphs.find(graph)->second;
  }
  mlir::LogicalResult add(mlir::func::FuncOp entry, mlir::Value graph,
                          Structures structures);

  llvm::DenseMap<mlir::Value, std::shared_ptr<const Graph>> graphs;
};

//===----------------------------------------------------------------------===//
// Readouts.cpp
//===----------------------------------------------------------------------===//

/// Evaluates vertex.roots, at_roots, segment_sum, segment_max or
/// spread_structures on `rows`.
mlir::FailureOr<ArrayPtr> readStructures(mlir::Operation *op, const Array &rows,
                                         const Structures &structures);

} // namespace espalier::reference

#endif // ESPALIER_LIB_REFERENCE_GRAPHS_H
