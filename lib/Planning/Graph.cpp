//===- Graph.cpp - Operators, tensors and what they cost ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Graph.h"

using namespace espalier::planning;

std::vector<OperatorId> espalier::planning::producersOf(const Graph &graph) {
  std::vector<OperatorId> producers(graph.tensors.size(), -1);
  for (size_t op = 0; op < graph.operators.size(); ++op)
    for (TensorId output : graph.operators[op].outputs)
      producers[output] = OperatorId(op);
  return producers;
}

std::vector<std::vector<OperatorId>>
espalier::planning::consumersOf(const Graph &graph) {
  std::vector<std::vector<OperatorId>> consumers(graph.tensors.size());
  for (size_t op = 0; op < graph.operators.size(); ++op)
    for (TensorId input : graph.operators[op].inputs)
      if (consumers[input].empty() || consumers[input].back() != OperatorId(op))
        consumers[input].push_back(OperatorId(op));
  return consumers;
}

namespace {
class GraphChecker {
public:
  explicit GraphChecker(const Graph &graph) : graph(graph) {}

  std::string check() {
    for (size_t t = 0; t < graph.tensors.size() && problem.empty(); ++t)
      checkTensor(graph.tensors[t]);
    made.assign(graph.tensors.size(), false);
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      made[t] = isGiven(TensorId(t));
    for (const Operator &op : graph.operators) {
      if (!problem.empty())
        return problem;
      checkOperator(op);
    }
    for (size_t t = 0; t < graph.tensors.size() && problem.empty(); ++t)
      if (!made[t])
        problem = "tensor '" + graph.tensors[t].name + "' is made by nothing";
    return problem;
  }

private:
  bool isGiven(TensorId tensor) const {
    TensorKind kind = graph.tensors[tensor].kind;
    return graph.tensors[tensor].viewOf < 0 &&
           (kind == TensorKind::input || kind == TensorKind::parameter);
  }

  bool isTensor(TensorId id) const {
    return id >= 0 && size_t(id) < graph.tensors.size();
  }

  void checkTensor(const Tensor &tensor) {
    if (tensor.bytes < 0) {
      problem = "tensor '" + tensor.name + "' has " +
                std::to_string(tensor.bytes) + " bytes";
      return;
    }
    if (__builtin_add_overflow(total, tensor.bytes, &total)) {
      problem = "the tensors have more than 2^63 bytes in all";
      return;
    }
    // As many steps as there are tensors lead to the end, or round a cycle.
    TensorId at = tensor.viewOf;
    for (size_t steps = 0; at >= 0; ++steps) {
      if (!isTensor(at)) {
        problem = "tensor '" + tensor.name + "' is a view of number " +
                  std::to_string(at) + ", which there is not";
        return;
      }
      if (steps == graph.tensors.size()) {
        problem = "tensor '" + tensor.name + "' is a view of itself";
        return;
      }
      at = graph.tensors[at].viewOf;
    }
    if (at < -1)
      problem = "tensor '" + tensor.name + "' is a view of number " +
                std::to_string(at) + ", which there is not";
  }

  void checkOperator(const Operator &op) {
    auto fail = [&](const std::string &text) {
      if (problem.empty())
        problem = "operator '" + op.name + "' " + text;
    };
    auto isCost = [](double cost) { return cost >= 0 && cost <= kMaxCost; };
    if (!isCost(op.flops) || !isCost(op.bytes) || !isCost(op.seconds))
      fail("has a cost that is not from 0 to 1e24");
    for (const Algorithm &algorithm : op.algorithms)
      if (algorithm.workspaceBytes < 0 || !isCost(algorithm.seconds))
        fail("has the algorithm '" + algorithm.name +
             "', whose cost is not from 0 to 1e24");
      else if (algorithm.workspaceBytes < op.algorithms.back().workspaceBytes)
        fail("has the algorithm '" + algorithm.name +
             "' with less workspace than its last, '" +
             op.algorithms.back().name + "'");
    for (TensorId input : op.inputs) {
      if (!isTensor(input))
        fail("reads tensor number " + std::to_string(input) +
             ", which there is not");
      else if (!made[input])
        fail("reads tensor '" + graph.tensors[input].name +
             "' before it is made");
    }
    for (TensorId output : op.outputs) {
      if (!isTensor(output)) {
        fail("makes tensor number " + std::to_string(output) +
             ", which there is not");
        continue;
      }
      if (made[output])
        fail("makes tensor '" + graph.tensors[output].name +
             "', which is there already");
      made[output] = true;
    }
    if (!op.inPlace.empty() && op.inPlace.size() != op.outputs.size())
      fail("has " + std::to_string(op.outputs.size()) +
           " outputs, but says of " + std::to_string(op.inPlace.size()) +
           " where they may lie");
    for (int32_t input : op.inPlace)
      if (input < -1 || input >= int32_t(op.inputs.size()))
        fail("has no input number " + std::to_string(input));
    if (!op.updates.empty() && op.updates.size() != op.outputs.size())
      fail("has " + std::to_string(op.outputs.size()) +
           " outputs, but says of " + std::to_string(op.updates.size()) +
           " what they update");
    for (size_t i = 0; i < op.updates.size() && problem.empty(); ++i) {
      TensorId parameter = op.updates[i];
      if (parameter == -1)
        continue;
      if (!isTensor(parameter) ||
          graph.tensors[parameter].kind != TensorKind::parameter)
        fail("updates number " + std::to_string(parameter) +
             ", which is no parameter");
      else if (graph.tensors[parameter].bytes !=
               graph.tensors[op.outputs[i]].bytes)
        fail("updates '" + graph.tensors[parameter].name +
             "' with a tensor of another size");
    }
  }

  const Graph &graph;
  std::vector<bool> made;
  int64_t total = 0;
  std::string problem;
};
} // namespace

std::string espalier::planning::checkGraph(const Graph &graph) {
  return GraphChecker(graph).check();
}
