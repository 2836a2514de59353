//===- OrderOperators.cpp - In which order operators run ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/OrderOperators.h"
#include "espalier/Planning/Liveness.h"

#include <algorithm>
#include <queue>
#include <set>

using namespace espalier::planning;

namespace {
/// Who runs after whom: readers after makers, updates after the other readers
/// of what they overwrite.
struct Dependencies {
  std::vector<std::vector<OperatorId>> after;
  std::vector<int32_t> waitsFor;

  explicit Dependencies(const Graph &graph)
      : after(graph.operators.size()), waitsFor(graph.operators.size(), 0) {
    std::vector<OperatorId> producers = producersOf(graph);
    std::vector<std::vector<OperatorId>> readers(graph.tensors.size());
    for (size_t op = 0; op < graph.operators.size(); ++op)
      for (TensorId t : graph.operators[op].inputs) {
        readers[graph.storageOf(t)].push_back(OperatorId(op));
        if (producers[t] >= 0)
          after[producers[t]].push_back(OperatorId(op));
      }
    for (size_t op = 0; op < graph.operators.size(); ++op)
      for (TensorId parameter : graph.operators[op].updates)
        if (parameter >= 0)
          for (OperatorId reader : readers[parameter])
            if (reader != OperatorId(op))
              after[reader].push_back(OperatorId(op));
    for (std::vector<OperatorId> &ops : after) {
      std::sort(ops.begin(), ops.end());
      ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
      for (OperatorId op : ops)
        ++waitsFor[op];
    }
  }
};

/// How many operators still need each memory, and what running one frees.
class Freeing {
public:
  explicit Freeing(const Graph &graph) : graph(graph) {
    readers.assign(graph.tensors.size(), 0);
    for (const Operator &op : graph.operators)
      for (TensorId storage : storagesOf(op.inputs))
        ++readers[storage];
  }

  /// Bytes made less bytes freed.
  int64_t growth(const Operator &op) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      bool update = i < op.updates.size() && op.updates[i] >= 0;
      const Tensor &tensor = graph.tensors[op.outputs[i]];
      if (tensor.viewOf < 0 && !update)
        bytes += tensor.bytes;
    }
    for (TensorId storage : storagesOf(op.inputs))
      if (readers[storage] == 1 &&
          graph.tensors[storage].kind == TensorKind::temporary)
        bytes -= graph.tensors[storage].bytes;
    return bytes;
  }

  /// The storages that one reader is left to.
  std::vector<TensorId> run(const Operator &op) {
    std::vector<TensorId> last;
    for (TensorId storage : storagesOf(op.inputs))
      if (--readers[storage] == 1)
        last.push_back(storage);
    return last;
  }

private:
  std::vector<TensorId> storagesOf(const std::vector<TensorId> &tensors) const {
    std::vector<TensorId> storages;
    for (TensorId t : tensors)
      storages.push_back(graph.storageOf(t));
    std::sort(storages.begin(), storages.end());
    storages.erase(std::unique(storages.begin(), storages.end()),
                   storages.end());
    return storages;
  }

  const Graph &graph;
  std::vector<int32_t> readers;
};
} // namespace

std::vector<OperatorId> espalier::planning::routeOf(const Graph &graph) {
  Dependencies dependencies(graph);
  std::vector<OperatorId> route, stack;
  for (size_t op = graph.operators.size(); op-- > 0;)
    if (dependencies.waitsFor[op] == 0)
      stack.push_back(OperatorId(op));
  while (!stack.empty()) {
    OperatorId op = stack.back();
    stack.pop_back();
    route.push_back(op);
    const std::vector<OperatorId> &after = dependencies.after[op];
    for (auto next = after.rbegin(); next != after.rend(); ++next)
      if (--dependencies.waitsFor[*next] == 0)
        stack.push_back(*next);
  }
  return route;
}

std::vector<OperatorId> espalier::planning::updatesFirst(const Graph &graph) {
  Dependencies dependencies(graph);
  auto isUpdate = [&](OperatorId op) {
    return graph.operators[op].pass == Pass::update;
  };
  // By whether it is no update, then by place.
  using Entry = std::pair<bool, OperatorId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (size_t op = 0; op < graph.operators.size(); ++op)
    if (dependencies.waitsFor[op] == 0)
      ready.emplace(!isUpdate(OperatorId(op)), OperatorId(op));
  std::vector<OperatorId> order;
  while (!ready.empty()) {
    OperatorId op = ready.top().second;
    ready.pop();
    order.push_back(op);
    for (OperatorId next : dependencies.after[op])
      if (--dependencies.waitsFor[next] == 0)
        ready.emplace(!isUpdate(next), next);
  }
  return order;
}

std::vector<OperatorId> espalier::planning::freeingFirst(const Graph &graph) {
  Dependencies dependencies(graph);
  Freeing freeing(graph);
  std::vector<std::vector<OperatorId>> readers(graph.tensors.size());
  for (size_t op = 0; op < graph.operators.size(); ++op)
    for (TensorId t : graph.operators[op].inputs)
      readers[graph.storageOf(t)].push_back(OperatorId(op));

  using Entry = std::pair<int64_t, OperatorId>;
  std::set<Entry> ready;
  std::vector<int64_t> growth(graph.operators.size());
  std::vector<bool> isReady(graph.operators.size(), false);
  auto insert = [&](OperatorId op) {
    growth[op] = freeing.growth(graph.operators[op]);
    ready.emplace(growth[op], op);
    isReady[op] = true;
  };
  for (size_t op = 0; op < graph.operators.size(); ++op)
    if (dependencies.waitsFor[op] == 0)
      insert(OperatorId(op));
  std::vector<OperatorId> order;
  while (!ready.empty()) {
    OperatorId op = ready.begin()->second;
    ready.erase(ready.begin());
    isReady[op] = false;
    order.push_back(op);
    // The last reader left would free what it reads now.
    for (TensorId storage : freeing.run(graph.operators[op]))
      for (OperatorId reader : readers[storage])
        if (isReady[reader]) {
          ready.erase({growth[reader], reader});
          insert(reader);
        }
    for (OperatorId next : dependencies.after[op])
      if (--dependencies.waitsFor[next] == 0)
        insert(next);
  }
  return order;
}

std::vector<OperatorId> espalier::planning::bestOrder(const Graph &graph) {
  std::vector<OperatorId> best = givenOrder(graph);
  int64_t peak =
      isOrder(graph, best) ? analyzeLiveness(graph, best).peakBytes : INT64_MAX;
  for (auto make : {updatesFirst, routeOf, freeingFirst}) {
    std::vector<OperatorId> order = make(graph);
    if (order.size() != best.size())
      continue;
    int64_t other = analyzeLiveness(graph, order).peakBytes;
    if (other < peak) {
      peak = other;
      best = std::move(order);
    }
  }
  return best;
}

bool espalier::planning::isOrder(const Graph &graph,
                                 const std::vector<OperatorId> &order) {
  if (order.size() != graph.operators.size())
    return false;
  std::vector<bool> ran(graph.operators.size(), false);
  std::vector<bool> overwritten(graph.tensors.size(), false);
  std::vector<OperatorId> producers = producersOf(graph);
  for (OperatorId id : order) {
    if (id < 0 || size_t(id) >= ran.size() || ran[id])
      return false;
    ran[id] = true;
    const Operator &op = graph.operators[id];
    for (TensorId t : op.inputs)
      if ((producers[t] >= 0 && !ran[producers[t]]) ||
          overwritten[graph.storageOf(t)])
        return false;
    for (TensorId parameter : op.updates)
      if (parameter >= 0)
        overwritten[parameter] = true;
  }
  return true;
}
