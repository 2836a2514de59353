//===- NetworkGraph.cpp - A layered network as planners see it ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

using planning::BufferId;
using planning::OperatorId;
using planning::TensorId;
using planning::TensorKind;

/// Which operator of the graph an operator is, of those that run several times.
static constexpr llvm::StringLiteral kOperatorAttrName = "plan.operator";

/// The value whose memory the result of `op` names; null if it has its own. A
/// transpose is read as it is by the products that it is an operand of.
static Value viewedBy(Operation *op) {
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return transpose.getMatrix();
  return nn::getViewed(op);
}

Value plan::storageOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    Value viewed = viewedBy(op);
    if (!viewed)
      break;
    value = viewed;
  }
  return value;
}

static int64_t bytesOf(Type type) {
  if (auto host = dyn_cast<HostType>(type))
    type = host.getTensor();
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

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

//===----------------------------------------------------------------------===//
// From IR
//===----------------------------------------------------------------------===//

class NetworkGraph::Reader {
public:
  explicit Reader(func::FuncOp function) : result(function) {}

  FailureOr<NetworkGraph> run() {
    result.graph.name = function().getName().str();
    readArguments();
    Block &body = function().getBody().front();
    if (failed(moveUpdatesLast(body)))
      return failure();
    for (Operation &op : body.without_terminator())
      if (failed(read(op)))
        return failure();
    if (failed(readResults(body.getTerminator())))
      return failure();
    markBackward(body.getTerminator());
    finishBuffers();
    if (std::string problem = planning::checkGraph(graph()); !problem.empty())
      return function().emitOpError("cannot be planned: ") << problem;
    return std::move(result);
  }

private:
  func::FuncOp function() { return result.function; }
  bool isPlanned() { return function()->hasAttr(kMemoryAttrName); }
  planning::Graph &graph() { return result.graph; }
  planning::Plan &plan() { return result.plan; }

  /// The parameter or state that a result of the function is the new value of.
  BlockArgument updatedByResult(unsigned number) {
    auto name = function().getResultAttrOfType<StringAttr>(number, "nn.update");
    if (!name)
      return {};
    return parameters.lookup(name);
  }

  void readArguments() {
    for (BlockArgument argument : function().getArguments()) {
      unsigned number = argument.getArgNumber();
      auto name = [&](StringRef attribute) {
        return function().getArgAttrOfType<StringAttr>(number, attribute);
      };
      StringAttr input = name("nn.input"), parameter = name("nn.param"),
                 state = name("nn.state");
      StringAttr known = input ? input : parameter ? parameter : state;
      if (known && !input)
        parameters[known] = argument;
      std::string text = known ? known.getValue().str()
                               : "argument #" + std::to_string(number);
      if (isSliced(argument)) {
        readSlices(argument, text);
        continue;
      }
      TensorId tensor = addTensor(
          argument, text, input ? TensorKind::input : TensorKind::parameter);
      if (input)
        graph().tensors[tensor].batch = rowsOf(argument.getType());
      auto offset =
          function().getArgAttrOfType<IntegerAttr>(number, kOffsetAttrName);
      if (isPlanned() && !offset)
        continue; // on the host
      BufferId buffer = addBuffer(argument, tensor);
      resident.push_back(buffer);
      if (offset)
        plan().buffers[buffer].offset = offset.getInt();
    }
  }

  static bool isSliced(BlockArgument argument) {
    return !argument.use_empty() &&
           getSlicedInput(*argument.getUsers().begin()) == argument;
  }

  /// Each part of an input that is read in parts is an input.
  void readSlices(BlockArgument argument, const std::string &name) {
    int64_t row = cast<RankedTensorType>(argument.getType()).getNumElements() /
                  rowsOf(argument.getType());
    // As the function has them, and not the list of users.
    for (Operation &op : *argument.getOwner()) {
      if (getSlicedInput(&op) != argument)
        continue;
      Value part = op.getResult(0);
      int64_t first = getFirstElement(&op) / row, rows = rowsOf(part.getType());
      TensorId tensor = addTensor(part,
                                  name + "[" + std::to_string(first) + ":" +
                                      std::to_string(first + rows) + "]",
                                  TensorKind::input);
      graph().tensors[tensor].batch = rows;
      if (!isPlanned())
        resident.push_back(addBuffer(part, tensor));
    }
  }

  TensorId addTensor(Value value, const std::string &name, TensorKind kind) {
    planning::Tensor tensor;
    tensor.name = name;
    tensor.bytes = bytesOf(value.getType());
    tensor.kind = kind;
    graph().tensors.push_back(std::move(tensor));
    result.tensors.push_back(value);
    TensorId id = TensorId(graph().tensors.size() - 1);
    tensorOf[value] = id;
    return id;
  }

  BufferId addBuffer(Value value, TensorId tensor) {
    planning::Buffer buffer;
    buffer.tensor = tensor;
    buffer.bytes = graph().tensors[tensor].bytes;
    buffer.first = buffer.last = int32_t(plan().steps.size());
    plan().buffers.push_back(buffer);
    BufferId id = BufferId(plan().buffers.size() - 1);
    bufferOf[value] = id;
    return id;
  }

  /// New values of parameters are written where the old ones are, so the
  /// operators that make them come after all that read the old ones.
  LogicalResult moveUpdatesLast(Block &body) {
    Operation *terminator = body.getTerminator();
    llvm::SetVector<Operation *> updates;
    for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
      BlockArgument parameter = updatedByResult(number);
      Value made = storageOf(value);
      if (auto offload = made.getDefiningOp<OffloadOp>())
        made = storageOf(offload.getTensor());
      Operation *writer = made.getDefiningOp();
      if (!parameter || !writer)
        continue;
      updates.insert(writer);
      updatesOf[writer].push_back({made, parameter});
    }
    // Positions are asked for before anything moves.
    llvm::DenseMap<Operation *, int64_t> positions;
    for (Operation &op : body)
      positions[&op] = int64_t(positions.size());
    SmallVector<std::pair<Operation *, Operation *>> moves;
    for (Operation *writer : updates) {
      Operation *last = writer;
      for (auto [value, parameter] : updatesOf[writer])
        for (Operation *reader : readersOf(parameter))
          if (positions[last] < positions[reader])
            last = reader;
      if (last == writer)
        continue;
      for (Operation *user : writer->getUsers())
        if (user != terminator && positions[user] <= positions[last])
          return writer->emitOpError("cannot be planned: the new value of '")
                 << graph()
                        .tensors[tensorOf.lookup(
                            updatesOf[writer].front().second)]
                        .name
                 << "' is read before the last operator that reads the old one";
      moves.push_back({writer, last});
    }
    for (auto [writer, last] : moves)
      writer->moveAfter(last);
    return success();
  }

  /// Operators that read the memory of `value`, but for the terminator.
  static SmallVector<Operation *> readersOf(Value value) {
    SmallVector<Operation *> readers;
    SmallVector<Value> worklist{value};
    while (!worklist.empty()) {
      Value next = worklist.pop_back_val();
      for (Operation *user : next.getUsers()) {
        if (viewedBy(user))
          worklist.push_back(user->getResult(0));
        else if (!user->hasTrait<OpTrait::IsTerminator>())
          readers.push_back(user);
      }
    }
    return readers;
  }

  LogicalResult read(Operation &op) {
    if (viewedBy(&op) || getSlicedInput(&op))
      return success();
    if (op.hasTrait<OpTrait::ConstantLike>()) {
      TensorId tensor =
          addTensor(op.getResult(0), "constant", TensorKind::input);
      if (isPlanned() && !op.hasAttr(kOffsetsAttrName))
        return success(); // on the host
      BufferId buffer = addBuffer(op.getResult(0), tensor);
      resident.push_back(buffer);
      readOffsets(op, buffer);
      return success();
    }
    if (auto release = dyn_cast<ReleaseOp>(op)) {
      BufferId buffer = bufferOf.lookup(storageOf(release.getTensor()));
      plan().buffers[buffer].last =
          std::max(plan().buffers[buffer].last, lastStep());
      return success();
    }
    if (auto offload = dyn_cast<OffloadOp>(op)) {
      BufferId source = use(offload.getTensor());
      tensorOf[offload.getResult()] = plan().buffers[source].tensor;
      planning::Step step;
      step.kind = planning::Step::Kind::offload;
      step.inputs = {source};
      plan().steps.push_back(step);
      plan().buffers[source].last =
          std::max(plan().buffers[source].last, lastStep());
      return success();
    }
    if (auto prefetch = dyn_cast<PrefetchOp>(op)) {
      TensorId tensor = tensorOf.lookup(prefetch.getSource());
      planning::Step step;
      step.kind = planning::Step::Kind::prefetch;
      step.outputs = {addBuffer(prefetch.getResult(), tensor)};
      plan().steps.push_back(step);
      tensorOf[prefetch.getResult()] = tensor;
      readOffsets(op, step.outputs);
      return success();
    }
    return readOperator(op);
  }

  LogicalResult readOperator(Operation &op) {
    if (op.getNumResults() == 0)
      return op.emitOpError("cannot be planned: it has no result");
    planning::Step step;
    for (Value operand : op.getOperands()) {
      if (!bufferOf.contains(storageOf(operand)))
        return op.emitOpError("cannot be planned: it reads what is in the "
                              "host's memory");
      step.inputs.push_back(use(operand));
    }
    auto number = op.getAttrOfType<IntegerAttr>(kOperatorAttrName);
    auto [known, isNew] = operatorOf.try_emplace(
        number ? number.getInt() : -1 - int64_t(graph().operators.size()),
        OperatorId(graph().operators.size()));
    step.op = known->second;
    if (isNew)
      addOperator(op, step.inputs);
    const planning::Operator &described = graph().operators[step.op];
    for (auto [value, tensor] : llvm::zip(op.getResults(), described.outputs)) {
      step.outputs.push_back(addBuffer(value, tensor));
      tensorOf[value] = tensor;
    }
    for (auto [number, target] : llvm::enumerate(described.updates))
      if (target >= 0)
        shareUpdated(op, step, number, target);
    readAlgorithm(op, step);
    readOffsets(op, step.outputs);
    readInPlace(op, step);
    plan().steps.push_back(std::move(step));
    return success();
  }

  /// An operator that says nothing else is computed without a workspace.
  void readAlgorithm(Operation &op, planning::Step &step) {
    const planning::Operator &described = graph().operators[step.op];
    auto name = op.getAttrOfType<StringAttr>(kAlgorithmAttrName);
    if (auto workspace =
            op.getAttrOfType<DenseI64ArrayAttr>(kWorkspaceAttrName)) {
      step.workspaceBytes = workspace[0];
      step.workspaceOffset = workspace[1];
    }
    for (auto [number, algorithm] : llvm::enumerate(described.algorithms))
      if (algorithm.workspaceBytes == step.workspaceBytes &&
          (!name || name.getValue() == algorithm.name))
        step.algorithm = int32_t(number);
  }

  /// A result that lies where an operand did has taken over its memory.
  void readInPlace(Operation &op, const planning::Step &step) {
    for (OpResult result : op.getResults()) {
      unsigned number = result.getResultNumber();
      planning::Buffer &output = plan().buffers[step.outputs[number]];
      if (output.offset < 0 || output.sharesWith >= 0)
        continue;
      for (unsigned operand : nn::getInPlaceOperands(&op, number)) {
        BufferId input = step.inputs[operand];
        if (plan().buffers[input].offset != output.offset ||
            plan().buffers[input].bytes != output.bytes)
          continue;
        output.sharesWith = input;
        graph().operators[step.op].inPlace[number] = int32_t(operand);
        break;
      }
    }
  }

  void addOperator(Operation &op, ArrayRef<BufferId> inputs) {
    planning::Operator described;
    described.kind = op.getName().getStringRef().str();
    described.name = nameOf(op);
    for (BufferId input : inputs)
      described.inputs.push_back(plan().buffers[input].tensor);
    for (Value value : op.getResults()) {
      std::string name = described.name;
      if (op.getNumResults() > 1)
        name += "#" + std::to_string(cast<OpResult>(value).getResultNumber());
      described.outputs.push_back(
          addTensor(value, name, TensorKind::temporary));
    }
    described.flops = double(nn::getTotalFlops(&op));
    described.bytes = double(nn::getTotalBytes(&op));
    described.checkpoint = nn::isCheckpoint(&op);
    for (const nn::Algorithm &algorithm : nn::getAlgorithms(&op))
      described.algorithms.push_back(
          {nn::getName(algorithm.kind).str(), algorithm.workspaceBytes});
    described.separable = describeRows(op, described);
    described.inPlace = inPlaceOf(op);
    auto updates = updatesOf.find(&op);
    if (updates != updatesOf.end()) {
      described.pass = planning::Pass::update;
      described.recomputable = false;
      described.updates.assign(op.getNumResults(), -1);
      for (auto [value, parameter] : updates->second)
        described.updates[cast<OpResult>(value).getResultNumber()] =
            tensorOf.lookup(parameter);
    }
    result.operators.push_back(&op);
    graph().operators.push_back(std::move(described));
  }

  static int64_t rowsOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getRank() > 0 ? tensor.getDimSize(0) : 0;
  }

  /// Whether the rows of `value` are those of the value whose memory it names.
  static bool hasRowsOfStorage(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      Value viewed = viewedBy(op);
      if (!viewed)
        break;
      if (!nn::getCuts(op).areThere())
        return false;
      value = viewed;
    }
    return true;
  }

  /// Whether `op` works on the samples of a batch apart from each other; says
  /// of its results how many they are of, if so. What is given may be read as
  /// rows or as a whole; what has leading dimensions of other meanings
  /// (weights, numbers by channel) has no rows.
  bool describeRows(Operation &op, const planning::Operator &described) {
    nn::Cuts cuts = nn::getCuts(&op);
    int64_t rows = 0;
    if (!cuts.areThere()) {
      // It may mix samples, and still have a row for each.
      for (TensorId id : described.inputs)
        rows = std::max(rows, graph().tensors[id].batch);
      for (auto [value, id] : llvm::zip(op.getResults(), described.outputs))
        if (cast<RankedTensorType>(value.getType()).getRank() > 1 &&
            rowsOf(value.getType()) == rows)
          graph().tensors[id].batch = rows;
      return false;
    }
    for (auto [cut, value, id] :
         llvm::zip(cuts.operands, op.getOperands(), described.inputs)) {
      const planning::Tensor &tensor = graph().tensors[id];
      if (cut != nn::Cut::rows) {
        if (tensor.batch > 0 && tensor.kind != TensorKind::input)
          return false;
        continue;
      }
      bool isConstant = value.getDefiningOp<arith::ConstantOp>();
      bool known = isConstant || (tensor.batch > 0 && hasRowsOfStorage(value));
      if (!known || (rows > 0 && rowsOf(value.getType()) != rows))
        return false;
      rows = rowsOf(value.getType());
    }
    for (auto [cut, value] : llvm::zip(cuts.results, op.getResults()))
      if (cut == nn::Cut::rows) {
        if (rows > 0 && rowsOf(value.getType()) != rows)
          return false;
        rows = rowsOf(value.getType());
      }
    for (auto [cut, id] : llvm::zip(cuts.results, described.outputs))
      if (cut == nn::Cut::rows)
        graph().tensors[id].batch = rows;
    return true;
  }

  /// The place of the operator in the source, or what it is.
  static std::string nameOf(Operation &op) {
    if (auto named = dyn_cast<NameLoc>(op.getLoc()))
      return named.getName().str();
    StringRef name = op.getName().getStringRef();
    return name.substr(name.find('.') + 1).str();
  }

  /// By result: the operand that it may take the memory of, of those that the
  /// operator allows the first that nothing reads later. -1: none.
  static std::vector<int32_t> inPlaceOf(Operation &op) {
    std::vector<int32_t> inputs;
    for (OpResult result : op.getResults()) {
      int32_t chosen = -1;
      for (unsigned operand :
           nn::getInPlaceOperands(&op, result.getResultNumber())) {
        Value storage = storageOf(op.getOperand(operand));
        bool isLast = storage.getDefiningOp() &&
                      bytesOf(storage.getType()) == bytesOf(result.getType()) &&
                      llvm::none_of(readersOf(storage), [&](Operation *reader) {
                        return op.isBeforeInBlock(reader);
                      });
        if (isLast && !llvm::is_contained(inputs, int32_t(operand))) {
          chosen = int32_t(operand);
          break;
        }
      }
      inputs.push_back(chosen);
    }
    return inputs;
  }

  /// The new value lies where the old one does, if that is on the device.
  void shareUpdated(Operation &op, planning::Step &step, size_t number,
                    TensorId target) {
    for (auto [operand, buffer] : llvm::zip(op.getOperands(), step.inputs))
      if (plan().buffers[buffer].tensor == target) {
        plan().buffers[step.outputs[number]].sharesWith = buffer;
        return;
      }
    Value parameter = result.tensors[target];
    if (auto it = bufferOf.find(parameter); it != bufferOf.end())
      plan().buffers[step.outputs[number]].sharesWith = it->second;
  }

  void readOffsets(Operation &op, ArrayRef<BufferId> outputs) {
    auto offsets = op.getAttrOfType<DenseI64ArrayAttr>(kOffsetsAttrName);
    if (!offsets)
      return;
    for (auto [buffer, offset] : llvm::zip(outputs, offsets.asArrayRef()))
      plan().buffers[buffer].offset = offset;
  }

  /// The buffer of an operand, which lives at least until this step.
  BufferId use(Value operand) {
    BufferId buffer = bufferOf.lookup(storageOf(operand));
    plan().buffers[buffer].last = int32_t(plan().steps.size());
    return buffer;
  }

  int32_t lastStep() const {
    return std::max<int32_t>(0, int32_t(result.plan.steps.size()) - 1);
  }

  LogicalResult readResults(Operation *terminator) {
    for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
      Value storage = storageOf(value);
      bool isUpdate = bool(updatedByResult(number));
      if (isa<HostType>(value.getType()))
        continue;
      auto it = bufferOf.find(storage);
      if (it == bufferOf.end())
        return terminator->emitOpError("cannot be planned: result #")
               << number << " is in the host's memory";
      outputs.push_back(it->second);
      TensorId tensor = plan().buffers[it->second].tensor;
      if (!isUpdate && graph().tensors[tensor].kind == TensorKind::temporary)
        graph().tensors[tensor].kind = TensorKind::output;
    }
    return success();
  }

  /// Whatever no result but gradients and updates depends on is of the backward
  /// pass.
  void markBackward(Operation *terminator) {
    std::vector<bool> isForward(graph().tensors.size());
    for (auto [number, value] : llvm::enumerate(terminator->getOperands()))
      if (!updatedByResult(number) &&
          !function().getResultAttr(number, "nn.gradient"))
        isForward[tensorOf.lookup(storageOf(value))] = true;
    for (planning::Operator &op : llvm::reverse(graph().operators)) {
      bool isNeeded = llvm::any_of(
          op.outputs, [&](TensorId tensor) { return isForward[tensor]; });
      if (isNeeded)
        for (TensorId tensor : op.inputs)
          isForward[tensor] = true;
      else if (op.pass == planning::Pass::forward)
        op.pass = planning::Pass::backward;
    }
  }

  /// What never leaves the device is there from the first step to the last.
  void finishBuffers() {
    for (BufferId buffer : resident) {
      plan().buffers[buffer].first = 0;
      plan().buffers[buffer].last = lastStep();
    }
    for (BufferId buffer : outputs)
      plan().buffers[buffer].last = lastStep();
    for (planning::Buffer &buffer : plan().buffers) {
      int64_t end = buffer.offset < 0 ? 0 : buffer.offset + buffer.bytes;
      plan().arenaBytes = std::max(plan().arenaBytes, end);
    }
  }

  NetworkGraph result;
  llvm::DenseMap<Value, TensorId> &tensorOf = result.tensorOf;
  llvm::DenseMap<Value, BufferId> bufferOf;
  llvm::DenseMap<int64_t, OperatorId> operatorOf;
  /// And states, by name.
  llvm::DenseMap<StringAttr, BlockArgument> parameters;
  /// By operator: the values that it makes, and the parameters that they are
  /// new values of.
  llvm::DenseMap<Operation *, SmallVector<std::pair<Value, BlockArgument>>>
      updatesOf;
  SmallVector<BufferId> resident, outputs;
};

FailureOr<NetworkGraph> NetworkGraph::read(func::FuncOp function) {
  return Reader(function).run();
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

//===----------------------------------------------------------------------===//
// To IR
//===----------------------------------------------------------------------===//

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
  /// beginning are fetched first.
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
      if (!isMade[id] && op && getSlicedInput(op))
        fetch(BufferId(id));
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
    Value viewed = op ? viewedBy(op) : Value();
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
