//===- SequencePlan.cpp - A sequence of runs as a plan --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer for what each run makes, to the last step that reads it under any of
// its names. When all of these are known, so is what outputs can take over.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Liveness.h"
#include "espalier/Planning/Recompute.h"

#include <algorithm>

using namespace espalier::planning;

namespace {
class PlanMaker {
public:
  PlanMaker(const Graph &graph, const std::vector<OperatorId> &sequence)
      : graph(graph), sequence(sequence),
        lastStep(std::max<int32_t>(0, int32_t(sequence.size()) - 1)),
        current(graph.tensors.size(), -1), updates(graph.tensors.size(), -1) {}

  Plan make(bool inPlace) {
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const Tensor &tensor = graph.tensors[t];
      if (tensor.viewOf < 0 && (tensor.kind == TensorKind::input ||
                                tensor.kind == TensorKind::parameter))
        current[t] = addBuffer(TensorId(t), 0, lastStep, -1);
    }
    for (size_t i = 0; i < sequence.size(); ++i)
      addStep(int32_t(i));
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.tensors[t].kind == TensorKind::output)
        use(current[t], afterwards);
    for (BufferId update : updates)
      use(update, afterwards);
    if (inPlace)
      takeOver();
    for (Buffer &buffer : plan.buffers)
      buffer.last = std::min(buffer.last, lastStep);
    return std::move(plan);
  }

private:
  BufferId addBuffer(TensorId tensor, int32_t first, int32_t last,
                     BufferId sharesWith) {
    Buffer buffer;
    buffer.tensor = tensor;
    buffer.bytes = graph.tensors[tensor].bytes;
    buffer.first = first;
    buffer.last = last;
    buffer.sharesWith = sharesWith;
    plan.buffers.push_back(buffer);
    return BufferId(plan.buffers.size()) - 1;
  }

  /// What the buffer is a name of is used with it.
  void use(BufferId buffer, int32_t step) {
    for (; buffer >= 0; buffer = plan.buffers[buffer].sharesWith)
      plan.buffers[buffer].last = std::max(plan.buffers[buffer].last, step);
  }

  void addStep(int32_t number) {
    const Operator &op = graph.operators[sequence[size_t(number)]];
    Step step;
    step.op = sequence[size_t(number)];
    if (!op.algorithms.empty())
      step.algorithm = int32_t(op.algorithms.size()) - 1;
    step.workspaceBytes = leastWorkspace(op);
    for (TensorId input : op.inputs) {
      step.inputs.push_back(current[input]);
      use(current[input], number);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      TensorId tensor = op.outputs[i];
      TensorId over = graph.tensors[tensor].viewOf;
      if (!op.updates.empty() && op.updates[i] >= 0)
        over = op.updates[i];
      BufferId shares = over < 0 ? -1 : current[over];
      use(shares, number);
      step.outputs.push_back(addBuffer(tensor, number, number, shares));
      if (!op.updates.empty() && op.updates[i] >= 0)
        updates[op.updates[i]] = step.outputs.back();
    }
    for (size_t i = 0; i < op.outputs.size(); ++i)
      current[op.outputs[i]] = step.outputs[i];
    plan.steps.push_back(std::move(step));
  }

  /// What a buffer names, by views and updates alone.
  static BufferId rootOf(const std::vector<BufferId> &sharesWith,
                         BufferId buffer) {
    while (sharesWith[buffer] >= 0)
      buffer = sharesWith[buffer];
    return buffer;
  }

  void takeOver() {
    std::vector<BufferId> names;
    for (const Buffer &buffer : plan.buffers)
      names.push_back(buffer.sharesWith);
    for (size_t number = 0; number < plan.steps.size(); ++number) {
      const Step &step = plan.steps[number];
      const Operator &op = graph.operators[step.op];
      std::vector<BufferId> roots;
      for (BufferId input : step.inputs)
        roots.push_back(rootOf(names, input));
      for (size_t i = 0; i < op.inPlace.size(); ++i) {
        Buffer &output = plan.buffers[step.outputs[i]];
        if (op.inPlace[i] < 0 || output.sharesWith >= 0)
          continue;
        BufferId &root = roots[size_t(op.inPlace[i])];
        if (root < 0 || !isOver(root, int32_t(number)) ||
            plan.buffers[root].bytes != output.bytes ||
            std::count(roots.begin(), roots.end(), root) != 1)
          continue;
        output.sharesWith = step.inputs[size_t(op.inPlace[i])];
        // Once only.
        root = -1;
      }
    }
  }

  /// Whether nothing needs the buffer after the step.
  bool isOver(BufferId buffer, int32_t step) const {
    const Buffer &of = plan.buffers[buffer];
    TensorKind kind = graph.tensors[of.tensor].kind;
    return of.last == step && kind != TensorKind::input &&
           kind != TensorKind::parameter;
  }

  const Graph &graph;
  const std::vector<OperatorId> &sequence;
  int32_t lastStep;
  static constexpr int32_t afterwards = INT32_MAX;
  /// By tensor: the buffer that has it now.
  std::vector<BufferId> current;
  /// By parameter: the buffer that has its last value, if it is another.
  std::vector<BufferId> updates;
  Plan plan;
};
} // namespace

Plan espalier::planning::planOfSequence(const Graph &graph,
                                        const std::vector<OperatorId> &sequence,
                                        bool inPlace) {
  return PlanMaker(graph, sequence).make(inPlace);
}
