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
// A network that has no plan within the budget is split, so that no operator
// needs more than a half of what the largest did, then a quarter, and so on,
// until there is one. What is tried does not depend on the budget: a smaller
// one never leads to a plan that needs more than that for a larger one.
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"
#include "SplitLayers.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Dialect/Plan/Transforms/Passes.h"
#include "espalier/Planning/ByteSize.h"
#include "espalier/Planning/MachineFile.h"
#include "espalier/Planning/PlanMemory.h"
#include "espalier/Planning/SplitOperators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OwningOpRef.h"
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

namespace {
/// What the three passes differ in, and what they are given.
struct Request {
  std::string budget, machine;
  bool offload = true, recompute = true, inPlace = true, split = true;
};

/// Plans a network: as it is, or else split.
class NetworkPlanner {
public:
  NetworkPlanner(func::FuncOp function, const planning::Machine &machine,
                 const planning::PlanMemoryOptions &options)
      : function(function), machine(machine), options(options),
        budget(options.budget >= 0 ? options.budget
                                   : machine.device.memoryBytes) {}

  LogicalResult run(bool split) {
    FailureOr<NetworkGraph> network = NetworkGraph::read(function);
    if (failed(network))
      return failure();
    if (network->plan.steps.size() != network->graph.operators.size())
      return function.emitOpError("is planned already, and cannot be planned "
                                  "anew");
    if (plan(*network))
      return write(*network, 1);
    int64_t largest = planning::largestOperator(network->graph);
    const int64_t batch = planning::largestBatch(network->graph);
    options.reorder = true;
    for (int32_t parts = 2; split && parts <= batch; parts *= 2) {
      OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(function->clone());
      FailureOr<int64_t> count = splitLayers(*copy, largest / parts, parts);
      if (failed(count))
        return failure();
      if (*count == 0)
        continue;
      FailureOr<NetworkGraph> pieces = NetworkGraph::read(*copy);
      if (failed(pieces))
        return failure();
      if (!plan(*pieces))
        continue;
      if (failed(write(*pieces, parts)))
        return failure();
      function->setAttrs(copy.get()->getAttrs());
      function.getBody().takeBody(copy->getBody());
      return success();
    }
    return reportInfeasible();
  }

private:
  /// Makes the plan of `network`, or remembers what would do.
  bool plan(NetworkGraph &network) {
    planning::PlanMemoryReport found;
    std::string why;
    std::optional<planning::Plan> plan =
        planning::planMemory(network.graph, machine, options, found, why);
    if (plan) {
      network.plan = std::move(*plan);
      report = std::move(found);
      return true;
    }
    bool isBest = found.smallestBudget > 0 &&
                  (report.smallestBudget <= 0 ||
                   found.smallestBudget < report.smallestBudget);
    if (isBest || error.empty()) {
      report = std::move(found);
      error = std::move(why);
    }
    return false;
  }

  LogicalResult write(NetworkGraph &network, int32_t parts) {
    remark::analysis(
        function.getLoc(),
        remark::RemarkOpts::name("planned").category("plan-memory"))
        << remark::metric("baseline", report.baselineBytes)
        << remark::metric("liveness", report.livenessBytes)
        << remark::metric("arena", network.plan.arenaBytes)
        << remark::metric("recomputed", report.recomputedOperators)
        << remark::metric("transferred", report.transferBytes)
        << remark::metric("parts", int64_t(parts));
    network.function->setAttr(
        kMemoryAttrName,
        MemoryAttr::get(function.getContext(), network.plan.arenaBytes,
                        network.plan.hostBytes, budget, machine.name));
    return network.write();
  }

  /// Says why there is no plan, and what there would be one for.
  LogicalResult reportInfeasible() {
    InFlightDiagnostic diagnostic =
        function.emitError("@")
        << function.getName() << " has no plan within "
        << planning::formatByteSize(budget) << " (" << budget << " bytes)";
    if (report.smallestBudget <= 0)
      return diagnostic << ": " << error;
    diagnostic.attachNote()
        << "the smallest budget with a plan is " << report.smallestBudget
        << " bytes (" << planning::formatByteSize(report.smallestBudget) << ")";
    if (!report.peakOperator.empty())
      diagnostic.attachNote()
          << "the most is needed at operator '" << report.peakOperator << "'";
    for (const auto &[name, bytes] : report.largest)
      diagnostic.attachNote()
          << "there is then '" << name << "' of " << bytes << " bytes";
    return diagnostic;
  }

  func::FuncOp function;
  const planning::Machine &machine;
  planning::PlanMemoryOptions options;
  int64_t budget;
  planning::PlanMemoryReport report;
  std::string error;
};
} // namespace

static LogicalResult planWithin(func::FuncOp function, const Request &request) {
  if (!isNetwork(function) ||
      (request.budget.empty() && request.machine.empty()))
    return success();
  planning::Machine machine;
  std::string error;
  if (!request.machine.empty()) {
    std::optional<planning::Machine> read =
        planning::readMachineFile(request.machine, error);
    if (!read)
      return function.emitError("cannot be planned: ") << error;
    machine = std::move(*read);
  }
  planning::PlanMemoryOptions options;
  options.offload = request.offload;
  options.recompute = request.recompute;
  options.inPlace = request.inPlace;
  options.reorder = false; // order-operators has done that
  if (!request.budget.empty()) {
    std::optional<int64_t> bytes = planning::parseByteSize(request.budget);
    if (!bytes)
      return function.emitError("cannot be planned: '")
             << request.budget << "' is no number of bytes; expects one such "
             << "as 12GiB, 500MB or 1048576";
    options.budget = *bytes;
  }
  return NetworkPlanner(function, machine, options).run(request.split);
}

namespace {
struct PlanMemoryPass
    : espalier::plan::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;
  void runOnOperation() override {
    if (failed(planWithin(getOperation(), {budget, machine, offload, recompute,
                                           inPlace, split})))
      signalPassFailure();
  }
};

struct PlanRecomputePass
    : espalier::plan::impl::PlanRecomputePassBase<PlanRecomputePass> {
  using PlanRecomputePassBase::PlanRecomputePassBase;
  void runOnOperation() override {
    if (failed(
            planWithin(getOperation(), {budget, machine, /*offload=*/false,
                                        /*recompute=*/true, inPlace, split})))
      signalPassFailure();
  }
};

struct PlanOffloadPass
    : espalier::plan::impl::PlanOffloadPassBase<PlanOffloadPass> {
  using PlanOffloadPassBase::PlanOffloadPassBase;
  void runOnOperation() override {
    if (failed(
            planWithin(getOperation(), {budget, machine, /*offload=*/true,
                                        /*recompute=*/false, inPlace, split})))
      signalPassFailure();
  }
};
} // namespace
