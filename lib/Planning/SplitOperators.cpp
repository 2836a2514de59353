//===- SplitOperators.cpp - Layers a part of the batch at a time ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/SplitOperators.h"
#include "espalier/Planning/Liveness.h"

#include <algorithm>

using namespace espalier::planning;

static int64_t bytesOf(const Graph &graph, const Operator &op) {
  std::vector<TensorId> needed;
  for (TensorId t : op.inputs)
    needed.push_back(graph.storageOf(t));
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    bool isUpdate = i < op.updates.size() && op.updates[i] >= 0;
    bool isInPlace = i < op.inPlace.size() && op.inPlace[i] >= 0;
    if (!isUpdate && !isInPlace && graph.tensors[op.outputs[i]].viewOf < 0)
      needed.push_back(op.outputs[i]);
  }
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  int64_t bytes = leastWorkspace(op);
  for (TensorId t : needed)
    bytes += graph.tensors[t].bytes;
  return bytes;
}

int64_t espalier::planning::largestOperator(const Graph &graph) {
  int64_t most = 0;
  for (const Operator &op : graph.operators)
    most = std::max(most, bytesOf(graph, op));
  return most;
}

namespace {
class Splitter {
public:
  Splitter(const Graph &graph, int64_t limit, int32_t parts)
      : graph(graph), limit(limit), parts(parts) {}

  SplitGraph run() {
    forbidden.assign(graph.tensors.size(), false);
    do
      chooseTensors();
    while (forbidTornViews());
    result.parts = 1;
    result.graph.name = graph.name;
    whole.assign(graph.tensors.size(), -1);
    pieces.assign(graph.tensors.size(), {});
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (isGiven(TensorId(t)))
        whole[t] = addTensor(graph.tensors[t], {int32_t(t)});
    // Runs of operators that are split, piece by piece.
    for (size_t op = 0; op < graph.operators.size();) {
      size_t end = op;
      while (end < graph.operators.size() && isSplit[end] &&
             !readsSumSince(op, end))
        ++end;
      if (end == op) {
        addWhole(OperatorId(op++));
        continue;
      }
      result.parts = parts;
      for (int32_t part = 0; part < parts; ++part)
        for (size_t i = op; i < end; ++i)
          addPiece(OperatorId(i), part);
      op = end;
    }
    return std::move(result);
  }

private:
  bool isGiven(TensorId t) const {
    TensorKind kind = graph.tensors[t].kind;
    return graph.tensors[t].viewOf < 0 &&
           (kind == TensorKind::input || kind == TensorKind::parameter);
  }

  /// Which tensors are in pieces: batches that operators above the limit touch,
  /// made by what can make them in pieces.
  void chooseTensors() {
    std::vector<OperatorId> producers = producersOf(graph);
    inPieces.assign(graph.tensors.size(), false);
    isSplit.assign(graph.operators.size(), false);
    auto canBeInPieces = [&](TensorId t) {
      const Tensor &tensor = graph.tensors[t];
      return !forbidden[t] && tensor.kind == TensorKind::temporary &&
             tensor.batch >= parts && producers[t] >= 0 &&
             graph.operators[producers[t]].separable;
    };
    for (const Operator &op : graph.operators) {
      if (bytesOf(graph, op) <= limit || !gains(op))
        continue;
      for (const std::vector<TensorId> *tensors : {&op.inputs, &op.outputs})
        for (TensorId t : *tensors)
          if (canBeInPieces(t))
            inPieces[t] = true;
    }
    // All outputs of an operator are in pieces or none; views as what they are
    // of.
    for (bool changed = true; changed;) {
      changed = false;
      auto set = [&](TensorId t) {
        if (!inPieces[t] && canBeInPieces(t))
          changed = inPieces[t] = true;
      };
      for (const Operator &op : graph.operators)
        for (TensorId t : op.outputs) {
          TensorId viewed = graph.tensors[t].viewOf;
          if (viewed >= 0 && inPieces[viewed])
            set(t);
          if (viewed >= 0 && inPieces[t])
            set(viewed);
          if (inPieces[t])
            for (TensorId other : op.outputs)
              if (graph.tensors[other].batch > 0)
                set(other);
        }
    }
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      const Operator &op = graph.operators[i];
      bool touches = false, makesPieces = false, makesOnlyPieces = true;
      for (TensorId t : op.inputs)
        touches |= inPieces[t];
      for (TensorId t : op.outputs) {
        makesPieces |= inPieces[t];
        makesOnlyPieces &= inPieces[t] || canBeSummed(t);
      }
      isSplit[i] = op.separable && makesOnlyPieces &&
                   (makesPieces || (touches && gains(op)));
      // What is made as a whole is read as a whole.
      if (!isSplit[i])
        for (TensorId t : op.outputs)
          inPieces[t] = false;
    }
  }

  /// Whether pieces of the batches that `op` touches need less, with the sum
  /// that each adds to, than the whole does: not so where weights are most.
  bool gains(const Operator &op) const {
    int64_t batches = 0, sums = 0;
    for (TensorId t : op.inputs)
      if (graph.tensors[t].batch > 0)
        batches += graph.tensors[t].bytes;
    for (TensorId t : op.outputs)
      (graph.tensors[t].batch > 0 ? batches : sums) += graph.tensors[t].bytes;
    return batches - batches / parts > sums;
  }

  /// Whether some view was in pieces and what it is of was not, or the other
  /// way round; both are whole from now on.
  bool forbidTornViews() {
    bool found = false;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      TensorId viewed = graph.tensors[t].viewOf;
      if (viewed >= 0 && inPieces[viewed] != inPieces[t])
        found = forbidden[viewed] = forbidden[t] = true;
    }
    return found;
  }

  bool canBeSummed(TensorId t) const {
    return graph.tensors[t].batch == 0 && graph.tensors[t].viewOf < 0 &&
           graph.tensors[t].kind == TensorKind::temporary;
  }

  /// Whether operator `at` reads what a run since `from` only sums up.
  bool readsSumSince(size_t from, size_t at) const {
    for (TensorId t : graph.operators[at].inputs)
      if (graph.tensors[t].batch == 0)
        for (size_t i = from; i < at; ++i)
          for (TensorId made : graph.operators[i].outputs)
            if (made == t)
              return true;
    return false;
  }

  TensorId addTensor(Tensor tensor, const Piece &piece) {
    result.graph.tensors.push_back(std::move(tensor));
    result.tensors.push_back(piece);
    return TensorId(result.graph.tensors.size() - 1);
  }

  static std::string pieceName(const std::string &name, int32_t part,
                               int32_t parts) {
    return name + "[" + std::to_string(part) + "/" + std::to_string(parts) +
           "]";
  }

  void appendWhole(TensorId t, std::vector<TensorId> &to) const {
    if (whole[t] >= 0)
      to.push_back(whole[t]);
    else
      to.insert(to.end(), pieces[t].begin(), pieces[t].end());
  }

  void addWhole(OperatorId id) {
    Operator op = graph.operators[id];
    std::vector<TensorId> inputs;
    // Where the old number of an input is now; in pieces it cannot be taken
    // over by something whole.
    std::vector<int32_t> numberOf;
    for (TensorId t : op.inputs) {
      numberOf.push_back(whole[t] >= 0 ? int32_t(inputs.size()) : -1);
      appendWhole(t, inputs);
    }
    for (int32_t &from : op.inPlace)
      if (from >= 0)
        from = numberOf[from];
    op.inputs = std::move(inputs);
    for (TensorId &t : op.outputs) {
      Tensor tensor = graph.tensors[t];
      if (tensor.viewOf >= 0)
        tensor.viewOf = whole[tensor.viewOf];
      whole[t] = addTensor(std::move(tensor), {t});
      t = whole[t];
    }
    for (TensorId &parameter : op.updates)
      if (parameter >= 0)
        parameter = whole[parameter];
    result.graph.operators.push_back(std::move(op));
    result.operators.push_back({id});
  }

  void addPiece(OperatorId id, int32_t part) {
    const Operator &old = graph.operators[id];
    Operator op = old;
    op.name = pieceName(old.name, part, parts);
    op.inputs.clear();
    double share = 1.0 / parts;
    op.flops *= share;
    op.seconds *= share;
    for (Algorithm &algorithm : op.algorithms) {
      algorithm.seconds *= share;
      // Some workspaces grow with the batch, others do not.
    }
    for (TensorId t : old.inputs)
      op.inputs.push_back(whole[t] >= 0 ? whole[t] : pieces[t][part]);
    op.inPlace.assign(old.outputs.size(), -1);
    for (size_t i = 0; i < old.outputs.size(); ++i) {
      TensorId t = old.outputs[i];
      Tensor tensor = graph.tensors[t];
      Piece piece{t, part, parts};
      if (tensor.batch == 0) {
        bool isLast = part == parts - 1;
        if (!isLast)
          tensor.name = pieceName(tensor.name, part, parts);
        TensorId sum = addTensor(std::move(tensor), piece);
        if (part > 0) {
          op.inPlace[i] = int32_t(op.inputs.size());
          op.inputs.push_back(sums[t]);
        }
        if (sums.size() < graph.tensors.size())
          sums.resize(graph.tensors.size(), -1);
        sums[t] = sum;
        if (isLast)
          whole[t] = sum;
        op.outputs[i] = sum;
        continue;
      }
      int64_t rowBytes = tensor.bytes / tensor.batch;
      tensor.name = pieceName(tensor.name, part, parts);
      tensor.batch = piece.rows(tensor.batch);
      tensor.bytes = rowBytes * tensor.batch;
      if (tensor.viewOf >= 0)
        tensor.viewOf = pieces[tensor.viewOf][part];
      pieces[t].push_back(addTensor(std::move(tensor), piece));
      op.outputs[i] = pieces[t].back();
      // A piece does not take over the whole.
      if (i < old.inPlace.size() && old.inPlace[i] >= 0 &&
          whole[old.inputs[old.inPlace[i]]] < 0)
        op.inPlace[i] = old.inPlace[i];
    }
    op.bytes = 0;
    if (old.bytes > 0) {
      // Batches in part, weights each time.
      double batches = 0, rest = 0, total = 0;
      for (const std::vector<TensorId> *tensors : {&old.inputs, &old.outputs})
        for (TensorId t : *tensors) {
          double bytes = double(graph.tensors[t].bytes);
          (graph.tensors[t].batch > 0 ? batches : rest) += bytes;
          total += bytes;
        }
      op.bytes = total > 0 ? old.bytes * (batches * share + rest) / total
                           : old.bytes * share;
    }
    result.graph.operators.push_back(std::move(op));
    result.operators.push_back({id, part, parts});
  }

  const Graph &graph;
  int64_t limit;
  int32_t parts;
  SplitGraph result;
  std::vector<bool> inPieces, isSplit, forbidden;
  std::vector<TensorId> whole, sums;
  std::vector<std::vector<TensorId>> pieces;
};
} // namespace

SplitGraph espalier::planning::splitOperators(const Graph &graph, int64_t limit,
                                              int32_t parts) {
  return Splitter(graph, limit, std::max(parts, 1)).run();
}

int64_t espalier::planning::largestBatch(const Graph &graph) {
  int64_t batch = 1;
  for (const Tensor &tensor : graph.tensors)
    batch = std::max(batch, tensor.batch);
  return batch;
}

SplitGraph espalier::planning::splitToFit(const Graph &graph, int64_t limit) {
  const int64_t batch = largestBatch(graph);
  SplitGraph best = splitOperators(graph, limit, 1);
  int64_t least = largestOperator(best.graph);
  for (int32_t parts = 2; parts <= batch && least > limit; parts *= 2) {
    SplitGraph split = splitOperators(graph, limit, parts);
    int64_t most = largestOperator(split.graph);
    if (most < least) {
      least = most;
      best = std::move(split);
    }
  }
  return best;
}
