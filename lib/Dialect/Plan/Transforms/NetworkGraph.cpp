//===- NetworkGraph.cpp - A layered network as planners see it ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

using planning::BufferId;
using planning::TensorId;
using planning::TensorKind;

bool plan::isNetwork(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return false;
  auto isStatic = [](Type type) {
    if (isa<HostType>(type))
      return true;
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (!llvm::all_of(function.getArgumentTypes(), isStatic))
    return false;
  bool layers = false;
  for (Operation &op : function.getBody().front()) {
    if (!llvm::all_of(op.getResultTypes(), isStatic))
      return false;
    layers |= isa<nn::LayerOpInterface>(op);
  }
  return layers;
}

void NetworkGraph::updateLifetimes() {
  int32_t end = std::max<int32_t>(0, int32_t(plan.steps.size()) - 1);
  std::vector<bool> isMade(plan.buffers.size(), false);
  for (planning::Buffer &buffer : plan.buffers)
    buffer.first = buffer.last = 0;
  for (auto [number, step] : llvm::enumerate(plan.steps)) {
    for (BufferId id : step.outputs) {
      plan.buffers[id].first = plan.buffers[id].last = int32_t(number);
      isMade[id] = true;
    }
    for (BufferId id : step.inputs)
      plan.buffers[id].last = int32_t(number);
  }
  std::vector<TensorId> updated = findUpdated();
  for (auto [id, buffer] : llvm::enumerate(plan.buffers))
    if (!isMade[id] ||
        graph.tensors[buffer.tensor].kind == TensorKind::output ||
        updated[buffer.tensor] >= 0)
      buffer.last = end;
}

std::vector<TensorId> NetworkGraph::findUpdated() const {
  std::vector<TensorId> updated(graph.tensors.size(), -1);
  for (const planning::Operator &op : graph.operators)
    for (size_t i = 0; i < op.updates.size(); ++i)
      updated[op.outputs[i]] = op.updates[i];
  return updated;
}
