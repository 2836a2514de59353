//===- RunProblem.cpp - A graph as recomputation sees it ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunProblem.h"

#include "espalier/Planning/Liveness.h"

#include <algorithm>
#include <numeric>

using namespace espalier::planning;

namespace {
bool contains(const std::vector<ValueId> &values, ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

TensorId updatedBy(const Operator &op, size_t output) {
  return op.updates.empty() ? -1 : op.updates[output];
}
} // namespace

RunProblem::RunProblem(const Graph &graph, const RecomputeOptions &options)
    : graph(graph) {
  findViews();
  makeValues();
  makeRunners(options);
  for (const Tensor &tensor : graph.tensors)
    if (tensor.viewOf < 0 && (tensor.kind == TensorKind::parameter ||
                              tensor.kind == TensorKind::input))
      fixedBytes += tensor.bytes;
}

void RunProblem::findViews() {
  for (const Operator &op : graph.operators) {
    bool view = !op.outputs.empty();
    for (TensorId output : op.outputs) {
      view &= graph.tensors[output].viewOf >= 0;
      // What reads more than it names is not free to come and go with it.
      for (TensorId input : op.inputs)
        view &= graph.storageOf(input) == graph.storageOf(output);
    }
    isView.push_back(view);
  }
}

void RunProblem::makeValues() {
  valueOf.assign(graph.tensors.size(), -1);
  for (size_t number = 0; number < graph.operators.size(); ++number) {
    const Operator &op = graph.operators[number];
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const Tensor &tensor = graph.tensors[op.outputs[i]];
      if (tensor.viewOf >= 0 || updatedBy(op, i) >= 0)
        continue;
      valueOf[op.outputs[i]] = ValueId(values.size());
      Value value;
      value.bytes = tensor.bytes;
      value.tensor = op.outputs[i];
      values.push_back(value);
    }
  }
  for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    valueOf[tensor] = valueOf[graph.storageOf(TensorId(tensor))];
    if (valueOf[tensor] >= 0 &&
        graph.tensors[tensor].kind == TensorKind::output)
      values[valueOf[tensor]].keptToTheEnd = true;
  }
}

void RunProblem::makeRunners(const RecomputeOptions &options) {
  for (size_t number = 0; number < graph.operators.size(); ++number) {
    if (isView[number])
      continue;
    const Operator &op = graph.operators[number];
    RunnerId id = size();
    Runner runner;
    runner.op = OperatorId(number);
    runner.seconds = op.seconds;
    runner.workspaceBytes = leastWorkspace(op);
    runner.lastStage = op.recomputable ? RunnerId(graph.operators.size()) : -1;
    for (TensorId input : op.inputs) {
      ValueId value = valueOf[input];
      if (value < 0 || contains(runner.reads, value))
        continue;
      runner.reads.push_back(value);
      values[value].readers.push_back(id);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      ValueId value = valueOf[op.outputs[i]];
      if (updatedBy(op, i) >= 0)
        runner.lastStage = -1;
      if (graph.tensors[op.outputs[i]].viewOf < 0) {
        if (value < 0)
          continue;
        values[value].maker = id;
        runner.makes.push_back(value);
        continue;
      }
      // It changes what it names, or names it among other things: neither can
      // be had again without the other.
      runner.lastStage = -1;
      if (value < 0)
        continue;
      runners[values[value].maker].lastStage = -1;
      if (!contains(runner.reads, value)) {
        runner.reads.push_back(value);
        values[value].readers.push_back(id);
      }
    }
    if (options.inPlace)
      findTakeOvers(runner);
    hasTakeOvers |= !runner.takesOver.empty();
    runners.push_back(std::move(runner));
  }
  limitByUpdates();
  for (RunnerId id = 0; id < size(); ++id) {
    runners[id].lastStage = std::min(runners[id].lastStage, size());
    if (runners[id].lastStage <= id)
      runners[id].lastStage = -1;
  }
}

void RunProblem::limitByUpdates() {
  // By tensor: the parameter whose value it is, and when that changes.
  std::vector<TensorId> parameterOf(graph.tensors.size());
  std::iota(parameterOf.begin(), parameterOf.end(), TensorId(0));
  std::vector<std::vector<RunnerId>> updates(graph.tensors.size());
  for (RunnerId id = 0; id < size(); ++id) {
    const Operator &op = graph.operators[runners[id].op];
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (TensorId parameter = updatedBy(op, i); parameter >= 0) {
        parameterOf[op.outputs[i]] = parameter;
        updates[parameter].push_back(id);
      }
  }
  for (RunnerId id = 0; id < size(); ++id)
    for (TensorId input : graph.operators[runners[id].op].inputs) {
      const std::vector<RunnerId> &of =
          updates[parameterOf[graph.storageOf(input)]];
      auto next = std::upper_bound(of.begin(), of.end(), id);
      if (next != of.end())
        runners[id].lastStage = std::min(runners[id].lastStage, *next);
    }
}

void RunProblem::findTakeOvers(Runner &runner) {
  const Operator &op = graph.operators[runner.op];
  for (size_t i = 0; i < op.inPlace.size(); ++i) {
    if (op.inPlace[i] < 0 || graph.tensors[op.outputs[i]].viewOf >= 0)
      continue;
    ValueId output = valueOf[op.outputs[i]];
    ValueId input = valueOf[op.inputs[size_t(op.inPlace[i])]];
    // Under two names, the operator may still need one when it writes the
    // other.
    auto names =
        std::count_if(op.inputs.begin(), op.inputs.end(), [&](TensorId tensor) {
          return valueOf[tensor] == input;
        });
    if (output >= 0 && input >= 0 && names == 1 &&
        values[input].bytes == values[output].bytes &&
        !contains(runner.takesOver, input))
      runner.takesOver.push_back(input);
  }
}

int64_t RunProblem::lowerBound() const {
  // At the last run all outputs are there.
  int64_t bound = 0;
  for (const Value &value : values)
    if (value.keptToTheEnd)
      bound += value.bytes;
  // What cannot be made again is there from its run to its last reader's.
  std::vector<int64_t> ending(runners.size() + 1, 0);
  int64_t kept = 0;
  auto lastOf = [&](const Value &value) {
    if (value.keptToTheEnd)
      return size();
    return value.readers.empty() ? value.maker : value.readers.back();
  };
  auto isKeptBeside = [&](ValueId value, RunnerId id) {
    return runners[values[value].maker].lastStage < 0 &&
           values[value].maker < id && lastOf(values[value]) > id;
  };
  for (RunnerId id = 0; id < size(); ++id) {
    const Runner &runner = runners[id];
    kept -= ending[id];
    int64_t here = kept + runner.workspaceBytes;
    for (ValueId value : runner.reads)
      if (!isKeptBeside(value, id) && !contains(runner.takesOver, value))
        here += values[value].bytes;
    for (ValueId value : runner.makes) {
      here += values[value].bytes;
      if (runner.lastStage < 0 && lastOf(values[value]) > id + 1) {
        kept += values[value].bytes;
        ending[lastOf(values[value])] += values[value].bytes;
      }
    }
    bound = std::max(bound, here);
  }
  return bound + fixedBytes;
}

namespace {
/// Runs of runners in, runs of operators out, with the views among them.
class SequenceMaker {
public:
  explicit SequenceMaker(const RunProblem &problem)
      : problem(problem), graph(problem.graph), producers(producersOf(graph)),
        made(problem.values.size(), 0), named(graph.tensors.size(), -1) {}

  std::vector<OperatorId> make(const std::vector<RunnerId> &runs) {
    std::vector<std::vector<OperatorId>> unread = findUnreadViews();
    for (RunnerId run : runs) {
      const RunProblem::Runner &runner = problem.runners[run];
      const Operator &op = graph.operators[runner.op];
      nameWhatIsFixed(runner.op);
      for (TensorId input : op.inputs)
        makeView(input);
      sequence.push_back(runner.op);
      for (ValueId value : runner.makes)
        ++made[value];
      for (OperatorId view : unread[runner.op])
        makeView(graph.operators[view].outputs[0]);
      unread[runner.op].clear();
    }
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor)
      if (graph.tensors[tensor].kind == TensorKind::output)
        makeView(TensorId(tensor));
    nameWhatIsFixed(OperatorId(graph.operators.size()));
    return std::move(sequence);
  }

private:
  bool isThere(TensorId tensor) const {
    if (graph.tensors[tensor].viewOf < 0 || !problem.isView[producers[tensor]])
      return true;
    ValueId value = problem.valueOf[tensor];
    return named[tensor] == (value < 0 ? 0 : made[value]);
  }

  /// Views of what is there throughout come where the graph has them: before an
  /// update that they do not see.
  void nameWhatIsFixed(OperatorId before) {
    for (; nextOperator < before; ++nextOperator) {
      const Operator &op = graph.operators[nextOperator];
      if (problem.isView[nextOperator] && problem.valueOf[op.outputs[0]] < 0)
        makeView(op.outputs[0]);
    }
  }

  /// Names what is there now. A view of a view comes after that.
  void makeView(TensorId view) {
    std::vector<TensorId> open = {view};
    while (!open.empty()) {
      TensorId tensor = open.back();
      if (isThere(tensor)) {
        open.pop_back();
        continue;
      }
      const Operator &op = graph.operators[producers[tensor]];
      size_t before = open.size();
      for (TensorId input : op.inputs)
        if (!isThere(input))
          open.push_back(input);
      if (open.size() > before)
        continue;
      for (TensorId output : op.outputs) {
        ValueId value = problem.valueOf[output];
        named[output] = value < 0 ? 0 : made[value];
      }
      sequence.push_back(producers[tensor]);
      open.pop_back();
    }
  }

  /// By operator: the views of what it makes that makeView() will not meet.
  /// They run after its first run.
  std::vector<std::vector<OperatorId>> findUnreadViews() const {
    std::vector<bool> read(graph.tensors.size(), false);
    for (size_t tensor = 0; tensor < graph.tensors.size(); ++tensor)
      read[tensor] = graph.tensors[tensor].kind == TensorKind::output;
    std::vector<std::vector<OperatorId>> unread(graph.operators.size());
    for (size_t i = graph.operators.size(); i-- > 0;) {
      const Operator &op = graph.operators[i];
      bool met = !problem.isView[i];
      for (TensorId output : op.outputs)
        met |= read[output];
      if (met)
        for (TensorId input : op.inputs)
          read[input] = true;
      else if (problem.valueOf[op.outputs[0]] >= 0)
        unread[makerOf(op.outputs[0])].push_back(OperatorId(i));
    }
    return unread;
  }

  /// Who makes what the view is one of, in the end.
  OperatorId makerOf(TensorId tensor) const {
    while (problem.isView[producers[tensor]])
      tensor = graph.tensors[tensor].viewOf;
    return producers[tensor];
  }

  const RunProblem &problem;
  const Graph &graph;
  std::vector<OperatorId> producers;
  /// By value: how often it was made; by tensor: which of those it names.
  std::vector<int32_t> made;
  std::vector<int32_t> named;
  std::vector<OperatorId> sequence;
  /// Views before this one have been looked at by nameWhatIsFixed().
  OperatorId nextOperator = 0;
};
} // namespace

std::vector<OperatorId>
RunProblem::sequenceOf(const std::vector<RunnerId> &runs) const {
  return SequenceMaker(*this).make(runs);
}
