//===- CheckRecomputation.cpp - Whether a sequence of runs works ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/CheckRecomputation.h"

#include <algorithm>

using namespace espalier::planning;

namespace {

class Replay {
public:
  Replay(const Graph &graph, const std::vector<OperatorId> &sequence,
         bool inPlace)
      : graph(graph), sequence(sequence), inPlace(inPlace) {}

  std::string run(int64_t budget, int64_t *peakBytes) {
    begin();
    for (time = 0; time < int64_t(sequence.size()) && problem.empty(); ++time)
      step(sequence[size_t(time)]);
    if (problem.empty())
      finish();
    if (problem.empty())
      count(budget, peakBytes);
    return problem;
  }

private:
  /// Memory, from when it is written to when it is last read.
  struct Block {
    int64_t bytes = 0;
    int64_t from = 0;
    int64_t to = 0;
    bool isFixed = false;
  };
  static constexpr int64_t forever = INT64_MAX;

  bool isGiven(TensorId tensor) const {
    TensorKind kind = graph.tensors[tensor].kind;
    return graph.tensors[tensor].viewOf < 0 &&
           (kind == TensorKind::input || kind == TensorKind::parameter);
  }

  void fail(const std::string &text) {
    if (problem.empty())
      problem = "run " + std::to_string(time) + ": " + text;
  }

  const std::string &nameOf(OperatorId op) const {
    return graph.operators[op].name;
  }

  void begin() {
    blockOf.assign(graph.tensors.size(), -1);
    versions.assign(graph.tensors.size(), 0);
    runs.assign(graph.operators.size(), 0);
    seen.resize(graph.operators.size());
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (isGiven(TensorId(t))) {
        blockOf[t] = int64_t(blocks.size());
        blocks.push_back({graph.tensors[t].bytes, 0, forever, true});
      }
    originalReads();
  }

  /// By operator and input: how often what it names has been updated when the
  /// graph's own order comes there.
  void originalReads() {
    std::vector<TensorId> root(graph.tensors.size());
    for (size_t t = 0; t < root.size(); ++t) {
      TensorId at = TensorId(t);
      while (graph.tensors[at].viewOf >= 0)
        at = graph.tensors[at].viewOf;
      root[t] = at;
    }
    std::vector<TensorId> updated(graph.tensors.size(), -1);
    for (const Operator &op : graph.operators)
      for (size_t i = 0; i < op.updates.size(); ++i)
        updated[op.outputs[i]] = op.updates[i];
    for (TensorId of : root)
      parameterOf.push_back(updated[of] >= 0 ? updated[of] : of);
    std::vector<int32_t> updates(graph.tensors.size(), 0);
    for (size_t number = 0; number < graph.operators.size(); ++number) {
      const Operator &op = graph.operators[number];
      for (TensorId input : op.inputs)
        seen[number].push_back(updates[parameterOf[input]]);
      for (TensorId parameter : op.updates)
        if (parameter >= 0)
          ++updates[parameter];
    }
  }

  void step(OperatorId number) {
    if (number < 0 || size_t(number) >= graph.operators.size())
      return fail("there is no operator " + std::to_string(number));
    const Operator &op = graph.operators[number];
    if (++runs[number] > 1 && !op.recomputable)
      return fail("'" + op.name + "' must not run again");
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      TensorId input = op.inputs[i];
      if (blockOf[input] < 0)
        return fail("'" + op.name + "' reads '" + graph.tensors[input].name +
                    "', which is not made yet");
      Block &block = blocks[size_t(blockOf[input])];
      block.to = std::max(block.to, time);
      if (versions[parameterOf[input]] != seen[number][i])
        return fail("'" + op.name + "' reads '" + graph.tensors[input].name +
                    "' after an update that it must not see");
    }
    std::vector<int64_t> made;
    for (size_t i = 0; i < op.outputs.size(); ++i)
      made.push_back(blockFor(op, i));
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      blockOf[op.outputs[i]] = made[i];
      if (!op.updates.empty() && op.updates[i] >= 0)
        ++versions[op.updates[i]];
    }
  }

  int64_t blockFor(const Operator &op, size_t output) {
    TensorId tensor = op.outputs[output];
    if (!op.updates.empty() && op.updates[output] >= 0)
      return blockOf[op.updates[output]];
    if (TensorId named = graph.tensors[tensor].viewOf; named >= 0) {
      if (blockOf[named] < 0) {
        fail("'" + op.name + "' names '" + graph.tensors[named].name +
             "', which is not made yet");
        return -1;
      }
      Block &block = blocks[size_t(blockOf[named])];
      block.to = std::max(block.to, time);
      return blockOf[named];
    }
    blocks.push_back({graph.tensors[tensor].bytes, time, time, false});
    return int64_t(blocks.size()) - 1;
  }

  void finish() {
    for (size_t op = 0; op < runs.size(); ++op)
      if (runs[op] == 0)
        return fail("'" + nameOf(OperatorId(op)) + "' never runs");
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].kind != TensorKind::output)
        continue;
      blocks[size_t(blockOf[t])].to = forever;
      TensorId named = graph.tensors[t].viewOf;
      if (named >= 0 && blockOf[named] != blockOf[t])
        return fail("the output '" + graph.tensors[t].name +
                    "' names what has been made anew since");
    }
  }

  void count(int64_t budget, int64_t *peakBytes) {
    std::vector<int64_t> change(sequence.size() + 1, 0);
    for (const Block &block : blocks) {
      change[size_t(block.from)] += block.bytes;
      if (block.to != forever)
        change[size_t(block.to) + 1] -= block.bytes;
    }
    int64_t live = 0;
    int64_t most = 0;
    findSavings();
    for (size_t at = 0; at < sequence.size(); ++at) {
      live += change[at];
      const Operator &op = graph.operators[sequence[at]];
      int64_t here = live - saved[at];
      if (!op.algorithms.empty())
        here += op.algorithms.back().workspaceBytes;
      most = std::max(most, here);
      if (here > budget && problem.empty()) {
        time = int64_t(at);
        fail("'" + op.name + "' has " + std::to_string(here) +
             " bytes live, of " + std::to_string(budget));
      }
    }
    if (peakBytes)
      *peakBytes = most;
  }

  /// By run: the bytes of inputs whose place outputs take.
  void findSavings() {
    saved.assign(sequence.size(), 0);
    if (!inPlace)
      return;
    std::vector<int64_t> current(graph.tensors.size(), -1);
    size_t next = 0;
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (isGiven(TensorId(t)))
        current[t] = int64_t(next++);
    for (size_t at = 0; at < sequence.size(); ++at) {
      const Operator &op = graph.operators[sequence[at]];
      std::vector<int64_t> taken;
      for (size_t i = 0; i < op.inPlace.size(); ++i) {
        if (op.inPlace[i] < 0 || graph.tensors[op.outputs[i]].viewOf >= 0 ||
            (!op.updates.empty() && op.updates[i] >= 0))
          continue;
        int64_t place = current[op.inputs[size_t(op.inPlace[i])]];
        const Block &block = blocks[size_t(place)];
        int64_t reads = 0;
        for (TensorId input : op.inputs)
          reads += current[input] == place ? 1 : 0;
        if (reads != 1 || block.isFixed || block.to != int64_t(at) ||
            block.bytes != graph.tensors[op.outputs[i]].bytes ||
            std::find(taken.begin(), taken.end(), place) != taken.end())
          continue;
        taken.push_back(place);
        saved[at] += block.bytes;
      }
      std::vector<int64_t> made;
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        if (!op.updates.empty() && op.updates[i] >= 0)
          made.push_back(current[op.updates[i]]);
        else if (graph.tensors[op.outputs[i]].viewOf >= 0)
          made.push_back(current[graph.tensors[op.outputs[i]].viewOf]);
        else
          made.push_back(int64_t(next++));
      }
      for (size_t i = 0; i < op.outputs.size(); ++i)
        current[op.outputs[i]] = made[i];
    }
  }

  const Graph &graph;
  const std::vector<OperatorId> &sequence;
  bool inPlace;
  std::string problem;
  int64_t time = 0;
  std::vector<Block> blocks;
  /// By tensor: where it lies now; -1: nowhere yet.
  std::vector<int64_t> blockOf;
  std::vector<TensorId> parameterOf;
  std::vector<int32_t> versions;
  std::vector<int32_t> runs;
  /// By operator and input: the parameter's version in the graph's order.
  std::vector<std::vector<int32_t>> seen;
  std::vector<int64_t> saved;
};

} // namespace

std::string espalier::planning::checkRecomputation(
    const Graph &graph, const std::vector<OperatorId> &sequence,
    int64_t budgetBytes, bool inPlace, int64_t *peakBytes) {
  return Replay(graph, sequence, inPlace).run(budgetBytes, peakBytes);
}
