//===- ExportPlan.cpp - Planned functions as plan files -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Plan/Transforms/ExportPlan.h"

#include "NetworkGraph.h"

#include "espalier/Dialect/Plan/IR/Plan.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

bool plan::isPlanned(func::FuncOp function) {
  return function->hasAttrOfType<MemoryAttr>(kMemoryAttrName);
}

FailureOr<planning::PlanFile> plan::exportPlan(func::FuncOp function) {
  FailureOr<NetworkGraph> network = NetworkGraph::read(function);
  if (failed(network))
    return failure();
  auto memory = function->getAttrOfType<MemoryAttr>(kMemoryAttrName);
  planning::PlanFile file;
  file.graph = std::move(network->graph);
  file.plan = std::move(network->plan);
  file.plan.arenaBytes = memory.getDevice();
  file.plan.hostBytes = memory.getHost();
  file.budgetBytes = memory.getBudget();
  file.machine = memory.getMachine().str();
  return file;
}
