//===- ExportPlan.cpp - Planned functions as plan files -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Plan/Transforms/ExportPlan.h"

#include "NetworkGraph.h"

#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Planning/Simulate.h"

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
  // With what is at home there, which the host's pool does not hold.
  file.plan.hostBytes =
      planning::simulate(file.graph, file.plan, planning::Machine()).hostBytes;
  file.budgetBytes = memory.getBudget();
  file.machine = memory.getMachine().str();
  if (auto notes = function->getAttrOfType<ArrayAttr>(kNotesAttrName))
    for (StringAttr note : notes.getAsRange<StringAttr>())
      file.notes.push_back(note.str());
  return file;
}
