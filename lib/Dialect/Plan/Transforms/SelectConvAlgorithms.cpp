//===- SelectConvAlgorithms.cpp - How convolutions are computed -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When every tensor has its place, the rest of the budget is free, at each
// step another part of it. What is fastest there lib/Planning knows; this makes
// it the function's, and says what was chosen and what else there was.
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Dialect/Plan/Transforms/Passes.h"
#include "espalier/Planning/ByteSize.h"
#include "espalier/Planning/MachineFile.h"
#include "espalier/Planning/SelectAlgorithms.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

namespace espalier::plan {
#define GEN_PASS_DEF_SELECTCONVALGORITHMSPASS
#include "espalier/Dialect/Plan/Transforms/Passes.h.inc"
} // namespace espalier::plan

/// Name and workspace of an algorithm; -1: none.
static std::string describe(const planning::Operator &op, int32_t algorithm) {
  if (algorithm < 0)
    return "none";
  const planning::Algorithm &described = op.algorithms[algorithm];
  return described.name + ", " +
         planning::formatByteSize(described.workspaceBytes);
}

static void remarkOn(const NetworkGraph &network,
                     const planning::AlgorithmChoice &choice) {
  planning::OperatorId number = network.plan.steps[choice.step].op;
  const planning::Operator &op = network.graph.operators[number];
  const planning::Algorithm &chosen = op.algorithms[choice.algorithm];
  remark::analysis(
      network.operatorAt(number)->getLoc(),
      remark::RemarkOpts::name("selected").category("select-conv-algorithms"))
      << remark::metric("operator", op.name)
      << remark::metric("step", choice.step)
      << remark::metric("algorithm", chosen.name)
      << remark::metric("workspace", chosen.workspaceBytes)
      << remark::metric("free", choice.freeBytes)
      << remark::metric("runnerUp", describe(op, choice.runnerUp))
      << remark::metric("tooLarge", describe(op, choice.fastestThatDoesNotFit));
}

static std::string noteOn(const NetworkGraph &network,
                          const planning::AlgorithmChoice &choice) {
  const planning::Operator &op =
      network.graph.operators[network.plan.steps[choice.step].op];
  std::string note = "step " + std::to_string(choice.step) + ", " + op.name +
                     ": " + describe(op, choice.algorithm) +
                     "; runner-up: " + describe(op, choice.runnerUp);
  if (choice.fastestThatDoesNotFit >= 0)
    note += "; too large: " + describe(op, choice.fastestThatDoesNotFit) +
            " of " + planning::formatByteSize(choice.freeBytes);
  return note;
}

namespace {
struct SelectConvAlgorithmsPass
    : espalier::plan::impl::SelectConvAlgorithmsPassBase<
          SelectConvAlgorithmsPass> {
  using SelectConvAlgorithmsPassBase::SelectConvAlgorithmsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto memory = function->getAttrOfType<MemoryAttr>(kMemoryAttrName);
    if (!isNetwork(function) || !memory)
      return;
    if (failed(select(function, memory)))
      signalPassFailure();
  }

  LogicalResult select(func::FuncOp function, MemoryAttr memory) {
    if (machine.empty())
      return function.emitError(
          "algorithms cannot be selected: which are fast is the machine's "
          "business; name the file of one, such as those of docs/machines, "
          "with "
          "the option 'machine'");
    std::string error;
    std::optional<planning::Machine> known =
        planning::readMachineFile(machine, error);
    if (!known)
      return function.emitError("algorithms cannot be selected: ") << error;
    FailureOr<NetworkGraph> network = NetworkGraph::read(function);
    if (failed(network))
      return failure();
    if (!network->isPlaced())
      return function.emitError("algorithms cannot be selected: not every "
                                "tensor has its place; run assign-buffers "
                                "before");
    int64_t budget =
        memory.getBudget() > 0 ? memory.getBudget() : known->device.memoryBytes;
    std::vector<planning::AlgorithmChoice> choices = planning::selectAlgorithms(
        network->graph, *known, network->plan, budget);
    Builder builder(&getContext());
    SmallVector<Attribute> notes;
    for (const planning::AlgorithmChoice &choice : choices) {
      remarkOn(*network, choice);
      notes.push_back(builder.getStringAttr(noteOn(*network, choice)));
    }
    if (!notes.empty())
      function->setAttr(kNotesAttrName, builder.getArrayAttr(notes));
    if (failed(network->write()))
      return failure();
    // The copies were written anew, too.
    int64_t host = assignHostOffsets(function);
    function->setAttr(kMemoryAttrName,
                      MemoryAttr::get(&getContext(), network->plan.arenaBytes,
                                      host, memory.getBudget(),
                                      memory.getMachine()));
    return success();
  }
};
} // namespace
