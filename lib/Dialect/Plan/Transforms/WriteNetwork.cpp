//===- WriteNetwork.cpp - From a graph and its plan to the function -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

using planning::BufferId;
using planning::OperatorId;
using planning::TensorId;
using planning::TensorKind;

/// Builds the body anew, step by step, and removes the old one.
class NetworkGraph::Writer {
public:
  explicit Writer(NetworkGraph &network)
      : network(network), function(network.function),
        body(function.getBody().front()), builder(&body, body.end()) {}

  LogicalResult run() {
    for (Operation &op : body)
      old.push_back(&op);
    Operation *terminator = old.back();
    findRuns();
    for (Operation *op : old)
      if (op->hasTrait<OpTrait::ConstantLike>())
        current[network.tensorOf.lookup(op->getResult(0))] =
            builder.clone(*op)->getResult(0);
    for (auto [tensor, constant] : current)
      host[tensor] = constant;
    for (auto [id, buffer] : llvm::enumerate(network.plan.buffers))
      if (Value constant = current.lookup(buffer.tensor))
        values[BufferId(id)] = constant;
    for (BlockArgument argument : function.getArguments()) {
      auto known = network.tensorOf.find(argument);
      if (known == network.tensorOf.end())
        continue; // read in parts
      current[known->second] = argument;
      host[known->second] = argument;
    }
    fetchSlices();
    releases.resize(network.plan.steps.size());
    for (auto [id, buffer] : llvm::enumerate(network.plan.buffers))
      if (lastUse(BufferId(id)) < buffer.last)
        releases[buffer.last].push_back(BufferId(id));
    for (auto [number, step] : llvm::enumerate(network.plan.steps)) {
      write(step);
      for (BufferId buffer : releases[number])
        release(buffer);
    }
    writeTerminator(terminator);
    for (Operation *op : llvm::reverse(old)) {
      op->dropAllUses();
      op->erase();
    }
    writeOffsets();
    return success();
  }

private:
  /// How often each operator runs, and where each buffer is used last by name.
  void findRuns() {
    lastUses.assign(network.plan.buffers.size(), -1);
    for (auto [number, step] : llvm::enumerate(network.plan.steps)) {
      if (step.kind == planning::Step::Kind::compute)
        ++runsOf[step.op];
      for (BufferId buffer : step.inputs)
        lastUses[buffer] = int32_t(number);
      for (BufferId buffer : step.outputs)
        lastUses[buffer] = int32_t(number);
    }
  }

  /// Parts of inputs are on the host; those that are on the device from the
  /// beginning are fetched first, once it is planned where they lie.
  void fetchSlices() {
    for (Operation *op : old)
      if (getSlicedInput(op))
        host[network.tensorOf.lookup(op->getResult(0))] =
            builder.clone(*op)->getResult(0);
    std::vector<bool> isMade(network.plan.buffers.size());
    for (const planning::Step &step : network.plan.steps)
      for (BufferId buffer : step.outputs)
        isMade[buffer] = true;
    for (auto [id, buffer] : llvm::enumerate(network.plan.buffers)) {
      Operation *op = network.tensors[buffer.tensor].getDefiningOp();
      if (isMade[id] || !op || !getSlicedInput(op))
        continue;
      if (network.isPlaced())
        fetch(BufferId(id));
      else
        define(BufferId(id), host.lookup(buffer.tensor));
    }
  }

  void fetch(BufferId target) {
    TensorId tensor = network.plan.buffers[target].tensor;
    Value source = host.lookup(tensor);
    auto prefetch = PrefetchOp::create(
        builder, source.getLoc(), network.tensors[tensor].getType(), source);
    define(target, prefetch.getResult());
  }

  int32_t lastUse(BufferId buffer) const {
    const planning::Buffer &stay = network.plan.buffers[buffer];
    TensorKind kind = network.graph.tensors[stay.tensor].kind;
    // What is there throughout needs no release.
    bool throughout = stay.first == 0 && kind != TensorKind::temporary &&
                      stay.last + 1 == int32_t(network.plan.steps.size());
    if (throughout || lastUses[buffer] < 0 || kind == TensorKind::output)
      return stay.last;
    return lastUses[buffer];
  }

  void write(const planning::Step &step) {
    switch (step.kind) {
    case planning::Step::Kind::compute:
      return compute(step);
    case planning::Step::Kind::offload: {
      BufferId source = step.inputs[0];
      TensorId tensor = network.plan.buffers[source].tensor;
      Value value = valueOf(source);
      auto offload = OffloadOp::create(
          builder, value.getLoc(),
          HostType::get(builder.getContext(),
                        cast<RankedTensorType>(value.getType())),
          value);
      host[tensor] = offload.getResult();
      return;
    }
    case planning::Step::Kind::prefetch:
      return fetch(step.outputs[0]);
    }
  }

  void compute(const planning::Step &step) {
    Operation *op = network.operators[step.op];
    IRMapping mapping;
    for (auto [operand, buffer] : llvm::zip(op->getOperands(), step.inputs))
      mapping.map(operand, viewLike(operand, valueOf(buffer)));
    Operation *clone = builder.clone(*op, mapping);
    clone->removeAttr(kOperatorAttrName);
    clone->removeAttr(kAgainAttrName);
    if (runsOf[step.op] > 1)
      clone->setAttr(kOperatorAttrName, builder.getI64IntegerAttr(step.op));
    if (int64_t again = runs[step.op]++)
      clone->setAttr(kAgainAttrName, builder.getI64IntegerAttr(again));
    // Whatever the first run of the operator uses.
    clone->removeAttr(kAlgorithmAttrName);
    clone->removeAttr(kWorkspaceAttrName);
    if (step.workspaceBytes > 0) {
      const planning::Operator &described = network.graph.operators[step.op];
      clone->setAttr(
          kAlgorithmAttrName,
          builder.getStringAttr(described.algorithms[step.algorithm].name));
      clone->setAttr(kWorkspaceAttrName,
                     builder.getDenseI64ArrayAttr(
                         {step.workspaceBytes, step.workspaceOffset}));
    }
    for (auto [buffer, value] : llvm::zip(step.outputs, clone->getResults()))
      define(buffer, value);
  }

  void define(BufferId buffer, Value value) {
    TensorId tensor = network.plan.buffers[buffer].tensor;
    values[buffer] = value;
    current[tensor] = value;
  }

  /// What a buffer holds: the value that was made in it, or an argument or a
  /// constant, which are there throughout.
  Value valueOf(BufferId buffer) {
    if (Value value = values.lookup(buffer))
      return value;
    return current.lookup(network.plan.buffers[buffer].tensor);
  }

  /// `value`, which stands for the storage of `like`, in the shape of `like`.
  Value viewLike(Value like, Value value) {
    Operation *op = like.getDefiningOp();
    Value viewed = op ? getViewed(op) : Value();
    if (!viewed)
      return value;
    IRMapping mapping;
    mapping.map(viewed, viewLike(viewed, value));
    return builder.clone(*op, mapping)->getResult(0);
  }

  void release(BufferId buffer) {
    Value value = valueOf(buffer);
    ReleaseOp::create(builder, value.getLoc(), value);
  }

  void writeTerminator(Operation *terminator) {
    IRMapping mapping;
    SmallVector<Type> types;
    std::vector<TensorId> updated = network.findUpdated();
    std::vector<bool> staysToTheEnd(updated.size()), isResident(updated.size());
    for (const planning::Buffer &buffer : network.plan.buffers)
      if (buffer.last + 1 >= int32_t(network.plan.steps.size())) {
        staysToTheEnd[buffer.tensor] = true;
        if (buffer.first == 0)
          isResident[buffer.tensor] = true;
      }
    for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
      Value storage = storageOf(value);
      TensorId tensor = network.tensorOf.lookup(storage);
      Value last = viewLike(value, current.lookup(tensor));
      // A parameter whose home is the host has its new value there.
      TensorId target = updated[tensor];
      // And so has a result that could not stay.
      bool isAtHome =
          isa<HostType>(value.getType()) ||
          !(target >= 0 ? isResident[target] : staysToTheEnd[tensor]);
      if (Value offloaded = isAtHome ? host.lookup(tensor) : Value())
        last = offloaded;
      mapping.map(value, last);
      types.push_back(last.getType());
    }
    builder.clone(*terminator, mapping);
    function.setType(
        builder.getFunctionType(function.getArgumentTypes(), types));
  }

  void writeOffsets() {
    SmallVector<NamedAttrList> ofArguments(function.getNumArguments());
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      ofArguments[i] = function.getArgAttrDict(i);
    // By value, then by operator.
    for (auto [id, buffer] : llvm::enumerate(network.plan.buffers)) {
      Value value = values.lookup(BufferId(id));
      if (!value) {
        auto argument = dyn_cast<BlockArgument>(network.tensors[buffer.tensor]);
        if (argument && buffer.offset >= 0)
          ofArguments[argument.getArgNumber()].set(
              kOffsetAttrName, builder.getI64IntegerAttr(buffer.offset));
        continue;
      }
      Operation *op = value.getDefiningOp();
      unsigned number = cast<OpResult>(value).getResultNumber();
      SmallVector<int64_t> offsets(op->getNumResults(), -1);
      if (auto known = op->getAttrOfType<DenseI64ArrayAttr>(kOffsetsAttrName))
        offsets.assign(known.asArrayRef().begin(), known.asArrayRef().end());
      offsets[number] = buffer.offset;
      if (buffer.offset >= 0)
        op->setAttr(kOffsetsAttrName, builder.getDenseI64ArrayAttr(offsets));
    }
    SmallVector<DictionaryAttr> attributes;
    for (NamedAttrList &list : ofArguments)
      attributes.push_back(list.getDictionary(builder.getContext()));
    function.setAllArgAttrs(attributes);
  }

  NetworkGraph &network;
  func::FuncOp function;
  Block &body;
  OpBuilder builder;
  SmallVector<Operation *> old;
  SmallVector<int32_t> lastUses;
  SmallVector<SmallVector<BufferId, 1>> releases;
  llvm::DenseMap<BufferId, Value> values;
  /// By tensor: its last value on the device, and on the host.
  llvm::DenseMap<TensorId, Value> current, host;
  /// How often an operator has run so far, and how often it does in all.
  llvm::DenseMap<OperatorId, int64_t> runs, runsOf;
};

LogicalResult NetworkGraph::write() { return Writer(*this).run(); }
