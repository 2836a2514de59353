//===- SavedValues.cpp - What a backward pass keeps -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A minimum cut. Every value is an edge as wide as its bytes; data flows from
// the operators that are too expensive to run again, through those that are
// not, to the values that are needed. The narrowest cut that separates the two
// is the least that has to be kept (Ford and Fulkerson 1956). Of all narrowest
// cuts the one closest to the needed values leaves the least to compute again.
//
// Bodies of vertex functions hold tens of operators, so augmenting along
// shortest paths is fast enough.
//
//===----------------------------------------------------------------------===//

#include "SavedValues.h"

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <deque>

using namespace mlir;
using namespace espalier;

/// Up to so many operations for an element of the result are worth less than
/// writing and reading it once; so is reading this many elements of operands.
static constexpr int64_t kCheapFlops = 16;
static constexpr int64_t kCheapReads = 4;

bool vertex::isCheap(Operation *op) {
  if (!isPure(op) || op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  if (OpTrait::hasElementwiseMappableTraits(op) ||
      op->hasTrait<OpTrait::ConstantLike>() ||
      isa<nn::BroadcastOp, tensor::ConcatOp, tensor::ExtractSliceOp>(op))
    return true;
  auto cost = dyn_cast<nn::CostOpInterface>(op);
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!cost || !type || !type.hasStaticShape())
    return false;
  int64_t reads = 0;
  for (Type operand : op->getOperandTypes())
    reads += cast<RankedTensorType>(operand).getNumElements();
  return cost.getFlops() <= kCheapFlops * type.getNumElements() &&
         reads <= kCheapReads * type.getNumElements();
}

namespace {
constexpr int64_t kInfinite = INT64_MAX / 4;

class FlowGraph {
public:
  int addNode() {
    edges.emplace_back();
    return edges.size() - 1;
  }

  void addEdge(int from, int to, int64_t capacity) {
    edges[from].push_back({to, static_cast<int>(edges[to].size()), capacity});
    edges[to].push_back({from, static_cast<int>(edges[from].size()) - 1, 0});
  }

  void maximizeFlow(int source, int sink) {
    while (true) {
      // The edge that each node was reached by: its index in `from`'s list.
      std::vector<std::pair<int, int>> reachedBy(edges.size(), {-1, -1});
      std::deque<int> queue{source};
      reachedBy[source] = {source, -1};
      while (!queue.empty() && reachedBy[sink].first < 0) {
        int node = queue.front();
        queue.pop_front();
        for (auto [index, edge] : llvm::enumerate(edges[node]))
          if (edge.capacity > 0 && reachedBy[edge.to].first < 0) {
            reachedBy[edge.to] = {node, static_cast<int>(index)};
            queue.push_back(edge.to);
          }
      }
      if (reachedBy[sink].first < 0)
        return;
      int64_t amount = kInfinite;
      for (int node = sink; node != source; node = reachedBy[node].first) {
        auto [from, index] = reachedBy[node];
        amount = std::min(amount, edges[from][index].capacity);
      }
      for (int node = sink; node != source; node = reachedBy[node].first) {
        auto [from, index] = reachedBy[node];
        Edge &edge = edges[from][index];
        edge.capacity -= amount;
        edges[edge.to][edge.back].capacity += amount;
      }
    }
  }

  /// The nodes from which the sink can still be reached.
  std::vector<bool> reaching(int sink) const {
    std::vector<bool> reached(edges.size(), false);
    std::deque<int> queue{sink};
    reached[sink] = true;
    while (!queue.empty()) {
      int node = queue.front();
      queue.pop_front();
      for (const Edge &edge : edges[node])
        // The edge that leads here is the other one of the pair.
        if (edges[edge.to][edge.back].capacity > 0 && !reached[edge.to]) {
          reached[edge.to] = true;
          queue.push_back(edge.to);
        }
    }
    return reached;
  }

private:
  struct Edge {
    int to, back;
    int64_t capacity;
  };
  std::vector<std::vector<Edge>> edges;
};
} // namespace

/// What keeping a value costs; conditions live in registers only.
static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType().isInteger(1))
    return kInfinite;
  return std::max<int64_t>(1, type.getNumElements()) *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

llvm::SetVector<Value>
vertex::chooseSavedValues(ArrayRef<Operation *> operators,
                          const llvm::SetVector<Value> &needed,
                          const llvm::DenseSet<Value> &free, bool recompute) {
  FlowGraph graph;
  int source = graph.addNode(), sink = graph.addNode();
  // Flow enters a value at its first node and leaves it at its second.
  llvm::DenseMap<Value, std::pair<int, int>> nodes;
  for (Operation *op : operators)
    for (Value result : op->getResults()) {
      int in = graph.addNode(), out = graph.addNode();
      nodes[result] = {in, out};
      graph.addEdge(in, out, free.contains(result) ? 0 : bytesOf(result));
      bool view = isa<tensor::ConcatOp, tensor::ExtractSliceOp>(op) ||
                  op->hasTrait<OpTrait::ConstantLike>() ||
                  bytesOf(result) == kInfinite;
      if (!isCheap(op) || (!recompute && !view)) {
        graph.addEdge(source, in, kInfinite);
        continue;
      }
      for (Value operand : op->getOperands())
        if (auto it = nodes.find(operand); it != nodes.end())
          graph.addEdge(it->second.second, in, kInfinite);
    }
  for (Value value : needed)
    graph.addEdge(nodes.lookup(value).second, sink, kInfinite);

  graph.maximizeFlow(source, sink);
  std::vector<bool> reaching = graph.reaching(sink);
  llvm::SetVector<Value> saved;
  for (Operation *op : operators)
    for (Value result : op->getResults()) {
      auto [in, out] = nodes.lookup(result);
      if (reaching[out] && !reaching[in])
        saved.insert(result);
    }
  return saved;
}
