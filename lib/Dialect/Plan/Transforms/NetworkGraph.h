//===- NetworkGraph.h - A layered network as planners see it ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Planners work on graphs, passes on IR: this translates one to the other. A
// function is read as its graph together with the plan that it is: the steps in
// the order of its operators, and a buffer for every value. A pass changes the
// order or the plan, and the function is written again from it.
//
// Values that only name others' memory (reshapes, transposes of weights) are no
// tensors of the graph: they are made where they are read. Operators that run
// again carry the number of the one that they repeat (`plan.operator`).
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_TRANSFORMS_NETWORKGRAPH_H
#define ESPALIER_DIALECT_PLAN_TRANSFORMS_NETWORKGRAPH_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace espalier::plan {

/// Whether `function` is a layered network: without graphs, every tensor of
/// static shape, and with at least one layer operator over a batch.
bool isNetwork(mlir::func::FuncOp function);

class NetworkGraph {
public:
  /// Reads `function`, or says what in it cannot be planned. New values of
  /// parameters are made after the last operator that reads the old ones: if
  /// the function has them in another order, the plan has not.
  static mlir::FailureOr<NetworkGraph> read(mlir::func::FuncOp function);

  /// Fits the lifetimes of buffers to the order of the plan's steps.
  void updateLifetimes();

  /// Whether every buffer has its place in the device's memory.
  bool isPlaced() const {
    return llvm::all_of(plan.buffers, [](const planning::Buffer &buffer) {
      return buffer.offset >= 0;
    });
  }

  /// Makes the function what `plan` says.
  mlir::LogicalResult write();

  mlir::func::FuncOp function;
  planning::Graph graph;
  planning::Plan plan;

  /// The operator of the function that one of the graph was read from.
  mlir::Operation *operatorAt(planning::OperatorId op) const {
    return operators[op];
  }

private:
  class Reader;
  class Writer;
  explicit NetworkGraph(mlir::func::FuncOp function) : function(function) {}

  /// By tensor: the parameter that it is the new value of; -1: none.
  std::vector<planning::TensorId> findUpdated() const;

  /// By operator of the graph: the one in the function that it was read from.
  llvm::SmallVector<mlir::Operation *> operators;
  /// By tensor of the graph: the value that it was read from.
  llvm::SmallVector<mlir::Value> tensors;
  llvm::DenseMap<mlir::Value, planning::TensorId> tensorOf;
};

/// What is offloaded lies in the host's pool until it is fetched last: gives
/// each offload its place there, and returns the pool's bytes.
int64_t assignHostOffsets(mlir::func::FuncOp function);

} // namespace espalier::plan

#endif // ESPALIER_DIALECT_PLAN_TRANSFORMS_NETWORKGRAPH_H
