//===- PlanMemory.cpp - Fits a network into a device's memory -------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is kept, offloaded or computed again is decided by lib/Planning; this
// makes the function what was decided. The passes that offload only, or
// compute again only, are the same with one of the two left out.
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Dialect/Plan/Transforms/Passes.h"
#include "espalier/Planning/ByteSize.h"
#include "espalier/Planning/MachineFile.h"
#include "espalier/Planning/PlanMemory.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

namespace espalier::plan {
#define GEN_PASS_DEF_PLANMEMORYPASS
#define GEN_PASS_DEF_PLANOFFLOADPASS
#define GEN_PASS_DEF_PLANRECOMPUTEPASS
#include "espalier/Dialect/Plan/Transforms/Passes.h.inc"
} // namespace espalier::plan

/// Says why there is no plan, and what there would be one for.
static LogicalResult reportInfeasible(NetworkGraph &network, int64_t budget,
                                      const planning::PlanMemoryReport &report,
                                      StringRef error) {
  InFlightDiagnostic diagnostic =
      network.function.emitError("@")
      << network.function.getName() << " has no plan within "
      << planning::formatByteSize(budget) << " (" << budget << " bytes)";
  if (report.smallestBudget <= 0)
    return diagnostic << ": " << error;
  diagnostic.attachNote() << "the smallest budget with a plan is "
                          << report.smallestBudget << " bytes ("
                          << planning::formatByteSize(report.smallestBudget)
                          << ")";
  if (!report.peakOperator.empty())
    diagnostic.attachNote()
        << "the most is needed at operator '" << report.peakOperator << "'";
  for (const auto &[name, bytes] : report.largest)
    diagnostic.attachNote()
        << "there is then '" << name << "' of " << bytes << " bytes";
  return diagnostic;
}

static LogicalResult planWithin(func::FuncOp function, StringRef budgetText,
                                StringRef machineFile, bool offload,
                                bool recompute, bool inPlace) {
  if (!isNetwork(function) || (budgetText.empty() && machineFile.empty()))
    return success();
  planning::Machine machine;
  std::string error;
  if (!machineFile.empty()) {
    std::optional<planning::Machine> read =
        planning::readMachineFile(machineFile.str(), error);
    if (!read)
      return function.emitError("cannot be planned: ") << error;
    machine = std::move(*read);
  }
  planning::PlanMemoryOptions options;
  options.offload = offload;
  options.recompute = recompute;
  options.inPlace = inPlace;
  options.reorder = false; // order-operators has done that
  if (!budgetText.empty()) {
    std::optional<int64_t> bytes = planning::parseByteSize(
        std::string_view(budgetText.data(), budgetText.size()));
    if (!bytes)
      return function.emitError("cannot be planned: '")
             << budgetText << "' is no number of bytes; expects one such as "
             << "12GiB, 500MB or 1048576";
    options.budget = *bytes;
  }
  int64_t budget =
      options.budget >= 0 ? options.budget : machine.device.memoryBytes;

  FailureOr<NetworkGraph> network = NetworkGraph::read(function);
  if (failed(network))
    return failure();
  if (network->plan.steps.size() != network->graph.operators.size())
    return function.emitOpError("is planned already, and cannot be planned "
                                "anew");
  planning::PlanMemoryReport report;
  std::optional<planning::Plan> plan =
      planning::planMemory(network->graph, machine, options, report, error);
  if (!plan)
    return reportInfeasible(*network, budget, report, error);
  network->plan = std::move(*plan);
  int64_t host = network->plan.hostBytes;
  remark::analysis(function.getLoc(),
                   remark::RemarkOpts::name("planned").category("plan-memory"))
      << remark::metric("baseline", report.baselineBytes)
      << remark::metric("liveness", report.livenessBytes)
      << remark::metric("arena", network->plan.arenaBytes)
      << remark::metric("recomputed", report.recomputedOperators)
      << remark::metric("transferred", report.transferBytes);
  function->setAttr(kMemoryAttrName,
                    MemoryAttr::get(function.getContext(),
                                    network->plan.arenaBytes, host, budget,
                                    machine.name));
  return network->write();
}

namespace {
struct PlanMemoryPass
    : espalier::plan::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;
  void runOnOperation() override {
    if (failed(planWithin(getOperation(), budget, machine, /*offload=*/true,
                          /*recompute=*/true, inPlace)))
      signalPassFailure();
  }
};

struct PlanRecomputePass
    : espalier::plan::impl::PlanRecomputePassBase<PlanRecomputePass> {
  using PlanRecomputePassBase::PlanRecomputePassBase;
  void runOnOperation() override {
    if (failed(planWithin(getOperation(), budget, machine, /*offload=*/false,
                          /*recompute=*/true, inPlace)))
      signalPassFailure();
  }
};

struct PlanOffloadPass
    : espalier::plan::impl::PlanOffloadPassBase<PlanOffloadPass> {
  using PlanOffloadPassBase::PlanOffloadPassBase;
  void runOnOperation() override {
    if (failed(planWithin(getOperation(), budget, machine, /*offload=*/true,
                          /*recompute=*/false, inPlace)))
      signalPassFailure();
  }
};
} // namespace
