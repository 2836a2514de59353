//===- OrderOperators.cpp - An order that needs little memory -------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The orders are algorithms of lib/Planning; this makes one the function's.
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Dialect/Plan/Transforms/Passes.h"
#include "espalier/Planning/Liveness.h"
#include "espalier/Planning/OrderOperators.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

namespace espalier::plan {
#define GEN_PASS_DEF_ORDEROPERATORSPASS
#include "espalier/Dialect/Plan/Transforms/Passes.h.inc"
} // namespace espalier::plan

namespace {
struct OrderOperatorsPass
    : espalier::plan::impl::OrderOperatorsPassBase<OrderOperatorsPass> {
  using OrderOperatorsPassBase::OrderOperatorsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isNetwork(function))
      return;
    std::vector<planning::OperatorId> (*choose)(const planning::Graph &) =
        order == "best"            ? planning::bestOrder
        : order == "route"         ? planning::routeOf
        : order == "updates-first" ? planning::updatesFirst
        : order == "freeing-first" ? planning::freeingFirst
                                   : nullptr;
    if (!choose) {
      function.emitOpError("cannot be ordered: there is no order '")
          << order << "'; there are best, route, updates-first, freeing-first";
      return signalPassFailure();
    }
    FailureOr<NetworkGraph> network = NetworkGraph::read(function);
    if (failed(network))
      return signalPassFailure();
    const planning::Graph &graph = network->graph;
    if (network->plan.steps.size() != graph.operators.size()) {
      function.emitOpError("is planned already, and cannot be ordered anew");
      return signalPassFailure();
    }
    int64_t before =
        planning::analyzeLiveness(graph, planning::givenOrder(graph)).peakBytes;
    std::vector<planning::OperatorId> chosen = choose(graph);
    planning::Liveness after = planning::analyzeLiveness(graph, chosen);

    // Steps are read in the operators' order, one each.
    std::vector<planning::Step> steps;
    for (planning::OperatorId op : chosen)
      steps.push_back(network->plan.steps[op]);
    network->plan.steps = std::move(steps);
    network->updateLifetimes();
    if (!chosen.empty())
      remark::analysis(
          network->operatorAt(chosen[after.peakStep])->getLoc(),
          remark::RemarkOpts::name("ordered").category("order-operators"))
          << remark::metric("peakBefore", before)
          << remark::metric("peak", after.peakBytes);
    if (failed(network->write()))
      return signalPassFailure();
  }
};
} // namespace
