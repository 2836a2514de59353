//===- Liveness.cpp - How long tensors are needed -------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Liveness.h"

#include "StableSort.h"

#include <algorithm>
#include <numeric>

using namespace espalier::planning;

int64_t espalier::planning::leastWorkspace(const Operator &op) {
  return op.algorithms.empty() ? 0 : op.algorithms.back().workspaceBytes;
}

std::vector<OperatorId> espalier::planning::givenOrder(const Graph &graph) {
  std::vector<OperatorId> order(graph.operators.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

namespace {
class Analysis {
public:
  Analysis(const Graph &graph, const std::vector<OperatorId> &order,
           const LivenessOptions &options)
      : graph(graph), order(order), options(options),
        steps(int32_t(order.size())) {}

  Liveness run() {
    size_t count = graph.tensors.size();
    live.first.assign(count, -1);
    live.last.assign(count, -1);
    live.home.resize(count);
    live.homeBytes.assign(count, 0);
    live.homeFirst.assign(count, steps);
    live.homeLast.assign(count, -1);
    for (size_t t = 0; t < count; ++t)
      live.home[t] = graph.storageOf(TensorId(t));
    findUses();
    findHomes();
    for (size_t t = 0; t < count; ++t) {
      TensorId home = live.home[t];
      live.homeFirst[home] = std::min(live.homeFirst[home], live.first[t]);
      live.homeLast[home] = std::max(live.homeLast[home], live.last[t]);
    }
    sumUp();
    return std::move(live);
  }

private:
  int64_t rounded(int64_t bytes) const {
    return (bytes + options.alignment - 1) / options.alignment *
           options.alignment;
  }

  void findUses() {
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const Tensor &tensor = graph.tensors[t];
      bool given = tensor.viewOf < 0 && (tensor.kind == TensorKind::input ||
                                         tensor.kind == TensorKind::parameter);
      if (given) {
        live.first[t] = 0;
        live.last[t] = steps - 1;
      }
    }
    for (int32_t s = 0; s < steps; ++s) {
      const Operator &op = graph.operators[order[s]];
      for (TensorId t : op.inputs)
        live.last[t] = std::max(live.last[t], s);
      for (TensorId t : op.outputs) {
        live.first[t] = s;
        live.last[t] = graph.tensors[t].kind == TensorKind::output
                           ? steps - 1
                           : std::max(live.last[t], s);
      }
    }
    // What a view is of is needed as long as the view.
    for (int32_t s = steps - 1; s >= 0; --s)
      for (TensorId t : graph.operators[order[s]].outputs)
        for (TensorId at = graph.tensors[t].viewOf; at >= 0;
             at = graph.tensors[at].viewOf)
          live.last[at] = std::max(live.last[at], live.last[t]);
  }

  void findHomes() {
    for (int32_t s = 0; s < steps; ++s) {
      const Operator &op = graph.operators[order[s]];
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        TensorId t = op.outputs[i];
        TensorId viewed = graph.tensors[t].viewOf;
        if (viewed >= 0) {
          live.home[t] = live.home[viewed];
          continue;
        }
        if (i < op.updates.size() && op.updates[i] >= 0)
          live.home[t] = live.home[op.updates[i]];
        else if (options.inPlace && i < op.inPlace.size() && op.inPlace[i] >= 0)
          takeOver(t, op, op.inputs[op.inPlace[i]], s);
        if (live.home[t] == t)
          live.homeBytes[t] = rounded(graph.tensors[t].bytes);
      }
    }
  }

  /// A memory is taken over once at a step, and only when all that lies in it
  /// dies there.
  void takeOver(TensorId output, const Operator &op, TensorId input,
                int32_t step) {
    TensorId storage = graph.storageOf(input);
    // What is read twice may be needed after a part of it is overwritten.
    int times = 0;
    for (TensorId t : op.inputs)
      times += graph.storageOf(t) == storage ? 1 : 0;
    if (times != 1)
      return;
    TensorKind kind = graph.tensors[storage].kind;
    TensorId home = live.home[storage];
    if (kind == TensorKind::input || kind == TensorKind::parameter ||
        graph.tensors[home].kind == TensorKind::input ||
        graph.tensors[home].kind == TensorKind::parameter ||
        live.last[storage] != step)
      return;
    if (graph.tensors[output].bytes > graph.tensors[input].bytes)
      return;
    if (takenAt.empty())
      takenAt.assign(graph.tensors.size(), -1);
    if (takenAt[home] == step)
      return;
    takenAt[home] = step;
    live.home[output] = home;
  }

  void sumUp() {
    std::vector<int64_t> change(size_t(steps) + 1, 0);
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      const Tensor &tensor = graph.tensors[t];
      if (live.home[t] != TensorId(t))
        continue;
      live.homeBytes[t] = rounded(tensor.bytes);
      live.baselineBytes += live.homeBytes[t];
      if (steps == 0)
        continue;
      change[live.homeFirst[t]] += live.homeBytes[t];
      change[live.homeLast[t] + 1] -= live.homeBytes[t];
    }
    live.liveBytes.resize(steps);
    int64_t bytes = 0;
    for (int32_t s = 0; s < steps; ++s) {
      bytes += change[s];
      live.liveBytes[s] =
          bytes + rounded(leastWorkspace(graph.operators[order[s]]));
      if (live.liveBytes[s] > live.peakBytes) {
        live.peakBytes = live.liveBytes[s];
        live.peakStep = s;
      }
    }
  }

  const Graph &graph;
  const std::vector<OperatorId> &order;
  const LivenessOptions &options;
  int32_t steps;
  Liveness live;
  std::vector<int32_t> takenAt;
};
} // namespace

Liveness
espalier::planning::analyzeLiveness(const Graph &graph,
                                    const std::vector<OperatorId> &order,
                                    const LivenessOptions &options) {
  return Analysis(graph, order, options).run();
}

std::vector<TensorId> Liveness::inSet(const Graph &graph, int32_t step) const {
  std::vector<TensorId> set;
  for (size_t t = 0; t < first.size(); ++t) {
    bool given = graph.tensors[t].kind == TensorKind::input ||
                 graph.tensors[t].kind == TensorKind::parameter;
    if (graph.tensors[t].viewOf < 0 && (given || first[t] < step) &&
        last[t] >= step)
      set.push_back(TensorId(t));
  }
  return set;
}

std::vector<TensorId> Liveness::outSet(const Graph &graph, int32_t step) const {
  std::vector<TensorId> set;
  int32_t end = int32_t(liveBytes.size()) - 1;
  for (size_t t = 0; t < first.size(); ++t) {
    bool stays = graph.tensors[t].kind != TensorKind::temporary;
    if (graph.tensors[t].viewOf < 0 && first[t] <= step &&
        (last[t] > step || (stays && step == end)))
      set.push_back(TensorId(t));
  }
  return set;
}

std::vector<TensorId> Liveness::largestAt(int32_t step, size_t count) const {
  std::vector<TensorId> largest;
  for (size_t t = 0; t < first.size(); ++t)
    if (home[t] == TensorId(t) && homeFirst[t] <= step && step <= homeLast[t])
      largest.push_back(TensorId(t));
  auto larger = [&](TensorId a, TensorId b) {
    return homeBytes[a] > homeBytes[b];
  };
  stableSort(largest, larger);
  if (largest.size() > count)
    largest.resize(count);
  return largest;
}
