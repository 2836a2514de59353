//===- ReadNetwork.cpp - From a function to its graph and plan ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NetworkGraph.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

using planning::BufferId;
using planning::OperatorId;
using planning::TensorId;
using planning::TensorKind;

static int64_t bytesOf(Type type) {
  if (auto host = dyn_cast<HostType>(type))
    type = host.getTensor();
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

class NetworkGraph::Reader {
public:
  explicit Reader(func::FuncOp function) : result(function) {}

  FailureOr<NetworkGraph> run() {
    result.graph.name = function().getName().str();
    if (failed(readArguments()))
      return failure();
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

  LogicalResult readArguments() {
    for (BlockArgument argument : function().getArguments()) {
      if (!isa<RankedTensorType>(argument.getType()))
        return function().emitOpError("cannot be planned: argument #")
               << argument.getArgNumber() << " is " << argument.getType()
               << ", expected a tensor";
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
    return success();
  }

  static bool isSliced(BlockArgument argument) {
    return !argument.use_empty() &&
           getSlicedInput(*argument.getUsers().begin()) == argument;
  }

  /// Each part of an input that is read in parts is an input.
  void readSlices(BlockArgument argument, const std::string &name) {
    // As the function has them, and not the list of users.
    for (Operation &op : *argument.getOwner()) {
      if (getSlicedInput(&op) != argument)
        continue;
      Value part = op.getResult(0);
      int64_t first = getFirstRow(&op), rows = rowsOf(part.getType());
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
        if (getViewed(user))
          worklist.push_back(user->getResult(0));
        else if (!user->hasTrait<OpTrait::IsTerminator>())
          readers.push_back(user);
      }
    }
    return readers;
  }

  LogicalResult read(Operation &op) {
    if (getViewed(&op) || getSlicedInput(&op))
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
    // All others read or release what is on the device.
    if (!isa<PrefetchOp>(op))
      for (Value operand : op.getOperands())
        if (!bufferOf.contains(storageOf(operand)))
          return op.emitOpError("cannot be planned: it reads what is in the "
                                "host's memory");
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
      fetched[tensor] = prefetch.getResult();
      readOffsets(op, step.outputs);
      return success();
    }
    return readOperator(op);
  }

  LogicalResult readOperator(Operation &op) {
    if (op.getNumResults() == 0)
      return op.emitOpError("cannot be planned: it has no result");
    planning::Step step;
    for (Value operand : op.getOperands())
      step.inputs.push_back(use(operand));
    auto number = op.getAttrOfType<IntegerAttr>(kOperatorAttrName);
    auto [known, isNew] = operatorOf.try_emplace(
        number ? number.getInt() : -1 - int64_t(graph().operators.size()),
        OperatorId(graph().operators.size()));
    step.op = known->second;
    if (isNew)
      addOperator(op, step.inputs);
    else if (!areAlike(op, *result.operators[step.op]))
      return op.emitOpError("cannot be planned: it runs again as '")
             << kOperatorAttrName << "' " << number.getInt()
             << ", which is another operator";
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

  /// Whether both compute the same of operands of the same types.
  static bool areAlike(Operation &a, Operation &b) {
    return a.getName() == b.getName() &&
           a.getOperandTypes() == b.getOperandTypes() &&
           a.getResultTypes() == b.getResultTypes();
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
    described.name = getOperatorName(&op);
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
    described.separable = describeRows(op, described) && !isEmpty(op);
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

  /// Whether something that `op` reads or makes has no elements to share out.
  static bool isEmpty(Operation &op) {
    auto hasNone = [](Type type) { return bytesOf(type) == 0; };
    return llvm::any_of(op.getOperandTypes(), hasNone) ||
           llvm::any_of(op.getResultTypes(), hasNone);
  }

  static int64_t rowsOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getRank() > 0 ? tensor.getDimSize(0) : 0;
  }

  /// Whether the rows of `value` are those of the value whose memory it names.
  static bool hasRowsOfStorage(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      Value viewed = getViewed(op);
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
    // An operator that does not read the old value writes over it where it is.
    Value parameter = fetched.lookup(target);
    if (!parameter || !llvm::any_of(parameter.getUsers(), [&](Operation *user) {
          return op.isBeforeInBlock(user);
        }))
      parameter = result.tensors[target];
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
      if (isUpdate && storage == updatedByResult(number))
        continue; // stays what it was
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
  /// By tensor: what was fetched last.
  llvm::DenseMap<TensorId, Value> fetched;
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
