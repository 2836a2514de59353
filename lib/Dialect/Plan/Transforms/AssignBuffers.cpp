//===- AssignBuffers.cpp - Every tensor gets its place --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function at this stage says when each tensor is made and read last, and
// what is copied to the host and back. What is left is arithmetic: offsets in
// the device's memory, and in the host's pool, that keep tensors apart as long
// as they are needed.
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Dialect/Plan/Transforms/Passes.h"
#include "espalier/Planning/AssignBuffers.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

namespace espalier::plan {
#define GEN_PASS_DEF_ASSIGNBUFFERSPASS
#include "espalier/Dialect/Plan/Transforms/Passes.h.inc"
} // namespace espalier::plan

/// Results take over the memory of operands that end at their operator, where
/// it allows that and the operand's memory is not somebody's for longer.
static void shareInPlace(NetworkGraph &network) {
  planning::Plan &plan = network.plan;
  // The last step at which the memory of a buffer is needed, by any that share.
  SmallVector<int32_t> last(plan.buffers.size());
  for (auto [id, buffer] : llvm::enumerate(plan.buffers))
    last[id] = buffer.last;
  SmallVector<bool> isTaken(plan.buffers.size(), false);
  for (const planning::Buffer &buffer : plan.buffers)
    if (buffer.sharesWith >= 0)
      isTaken[buffer.sharesWith] = true;
  for (auto [number, step] : llvm::enumerate(plan.steps)) {
    if (step.kind != planning::Step::Kind::compute)
      continue;
    const planning::Operator &op = network.graph.operators[step.op];
    for (auto [output, input] : llvm::zip(step.outputs, op.inPlace)) {
      if (input < 0 || plan.buffers[output].sharesWith >= 0)
        continue;
      planning::BufferId source = step.inputs[input];
      bool readTwice =
          llvm::count(step.inputs, source) > 1 && op.outputs.size() > 1;
      bool isOwn = network.graph.tensors[plan.buffers[source].tensor].kind ==
                   planning::TensorKind::temporary;
      if (isTaken[source] || readTwice || !isOwn ||
          last[source] != int32_t(number))
        continue;
      plan.buffers[output].sharesWith = source;
      isTaken[source] = true;
    }
  }
}

int64_t plan::assignHostOffsets(func::FuncOp function) {
  Block &body = function.getBody().front();
  llvm::DenseMap<Operation *, int64_t> numbers;
  for (auto [number, op] : llvm::enumerate(body))
    numbers[&op] = int64_t(number);
  SmallVector<OffloadOp> offloads(body.getOps<OffloadOp>());
  std::vector<planning::BufferInterval> intervals;
  for (OffloadOp offload : offloads) {
    int64_t last = numbers[offload];
    for (Operation *user : offload->getUsers())
      last = std::max(last, numbers[user]);
    // What a result of the function is has its place there.
    bool isResult =
        llvm::is_contained(offload->getUsers(), body.getTerminator());
    auto type = cast<HostType>(offload.getType()).getTensor();
    int64_t bytes =
        isResult ? 0
                 : type.getNumElements() * type.getElementTypeBitWidth() / 8;
    intervals.push_back({numbers[offload], last + 1, bytes, 64});
  }
  planning::BufferAssignment assigned = planning::assignBuffers(intervals);
  OpBuilder builder(function.getContext());
  for (auto [offload, offset, interval] :
       llvm::zip(offloads, assigned.offsets, intervals))
    offload->setAttr(kOffsetsAttrName, builder.getDenseI64ArrayAttr(
                                           {interval.size == 0 ? -1 : offset}));
  return assigned.peak;
}

/// A second or so of search, where the fast packers are not good enough.
static constexpr int64_t kSearchSteps = 1000000;

namespace {
struct AssignBuffersPass
    : espalier::plan::impl::AssignBuffersPassBase<AssignBuffersPass> {
  using AssignBuffersPassBase::AssignBuffersPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isNetwork(function))
      return;
    FailureOr<NetworkGraph> network = NetworkGraph::read(function);
    if (failed(network))
      return signalPassFailure();
    // A plan within a budget has its places already.
    if (!network->isPlaced()) {
      if (inPlace)
        shareInPlace(*network);
      std::string error;
      planning::AssignBuffersOptions options;
      options.searchSteps = kSearchSteps;
      if (!planning::assignBuffers(network->plan, error, options)) {
        function.emitOpError("cannot be planned: ") << error;
        return signalPassFailure();
      }
    }
    if (failed(network->write()))
      return signalPassFailure();
    int64_t budget = 0;
    StringRef machine;
    if (auto known = function->getAttrOfType<MemoryAttr>(kMemoryAttrName)) {
      budget = known.getBudget();
      machine = known.getMachine();
    }
    if (budget > 0 && network->plan.arenaBytes > budget) {
      function.emitOpError("cannot be planned: it needs ")
          << network->plan.arenaBytes << " bytes of a budget of " << budget;
      return signalPassFailure();
    }
    int64_t host = assignHostOffsets(function);
    function->setAttr(kMemoryAttrName,
                      MemoryAttr::get(&getContext(), network->plan.arenaBytes,
                                      host, budget, machine));
    remark::analysis(
        function.getLoc(),
        remark::RemarkOpts::name("assigned").category("assign-buffers"))
        << remark::metric("arena", network->plan.arenaBytes)
        << remark::metric("host", host)
        << remark::metric("buffers", network->plan.buffers.size());
  }
};
} // namespace
