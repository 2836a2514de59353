//===- SequencePlan.cpp - A sequence of runs as a plan --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer for what each run makes, to the last step that reads it under any of
// its names.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Recompute.h"

#include <algorithm>

using namespace espalier::planning;

namespace {
class PlanMaker {
public:
  PlanMaker(const Graph &graph, const std::vector<OperatorId> &sequence)
      : graph(graph), sequence(sequence),
        lastStep(std::max<int32_t>(0, int32_t(sequence.size()) - 1)),
        current(graph.tensors.size(), -1) {}

  Plan make() {
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
        use(current[t], lastStep);
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
    if (!op.algorithms.empty()) {
      step.algorithm = int32_t(op.algorithms.size()) - 1;
      step.workspaceBytes = op.algorithms.back().workspaceBytes;
    }
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
    }
    for (size_t i = 0; i < op.outputs.size(); ++i)
      current[op.outputs[i]] = step.outputs[i];
    plan.steps.push_back(std::move(step));
  }

  const Graph &graph;
  const std::vector<OperatorId> &sequence;
  int32_t lastStep;
  /// By tensor: the buffer that has it now.
  std::vector<BufferId> current;
  Plan plan;
};
} // namespace

Plan espalier::planning::planOfSequence(
    const Graph &graph, const std::vector<OperatorId> &sequence) {
  return PlanMaker(graph, sequence).make();
}
