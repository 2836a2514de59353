//===- Graph.h - Operators, tensors and what they cost ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What planners plan: one iteration of a layered network, or any other list of
// operators over tensors, free of IR. Passes translate IR to it, readers make
// it from files, and a Plan answers it.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_GRAPH_H
#define ESPALIER_PLANNING_GRAPH_H

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::planning {

using TensorId = int32_t;
using OperatorId = int32_t;

/// Where a tensor comes from, and how long it has to be there.
enum class TensorKind : uint8_t {
  /// Made by an operator, gone after its last use.
  temporary,
  /// Given by the caller before the first operator: images, labels.
  input,
  /// There before and after an iteration: weights, running statistics, what an
  /// optimiser remembers. An operator may write its new value (`updates`).
  parameter,
  /// Made by an operator, and still there after the last one.
  output,
};

struct Tensor {
  std::string name;
  int64_t bytes = 0;
  TensorKind kind = TensorKind::temporary;
  /// Another tensor whose memory this one names: a reshape. -1: none. A view
  /// has an operator that makes it, which costs nothing.
  TensorId viewOf = -1;
  /// How many samples its rows are of, one after the other; 0: it is not of
  /// single samples (weights, statistics of a batch).
  int64_t batch = 0;
};

/// One of the ways to compute an operator.
struct Algorithm {
  std::string name;
  int64_t workspaceBytes = 0;
  /// 0: what the machine says of the operator's flops and bytes.
  double seconds = 0;
};

enum class Pass : uint8_t { forward, backward, update };

struct Operator {
  std::string name;
  /// What it is, e.g. "conv2d". For people: planners decide nothing by it.
  std::string kind;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  double flops = 0;
  /// Bytes that it reads and writes.
  double bytes = 0;
  /// Measured, of the algorithm that needs no workspace; 0: unknown.
  double seconds = 0;
  Pass pass = Pass::forward;
  /// May be run again, with the same result. Updates may not.
  bool recomputable = true;
  /// Too expensive to run again where the paper's rules decide (SuperNeurons,
  /// section 3.2): convolutions and dense layers.
  bool checkpoint = false;
  /// May be computed for a part of the batch at a time: rows of outputs with a
  /// batch need only the same rows of inputs with one, and outputs without
  /// (gradients of weights) are sums over the rows.
  bool separable = false;
  /// By output: the number of the input whose memory it may take over, if that
  /// is not needed any more; -1: none. Empty: none of them.
  std::vector<int32_t> inPlace;
  /// By output: the parameter whose new value it is, written where the old one
  /// is; -1: none. Empty: none of them.
  std::vector<TensorId> updates;
  /// The last needs the least workspace. Empty: one, without.
  std::vector<Algorithm> algorithms;
};

/// Operators are in an order in which they can run. Every tensor that is no
/// input and no parameter is an output of exactly one operator.
struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;

  /// The tensor whose memory `tensor` names: itself, if it is no view.
  TensorId storageOf(TensorId tensor) const {
    while (tensors[tensor].viewOf >= 0)
      tensor = tensors[tensor].viewOf;
    return tensor;
  }
};

/// By tensor: the operator that makes it, -1 if none does.
std::vector<OperatorId> producersOf(const Graph &graph);
/// By tensor: the operators that read it, in order, each once.
std::vector<std::vector<OperatorId>> consumersOf(const Graph &graph);

/// The most that flops, bytes and seconds may be, so that their sums are
/// finite.
constexpr double kMaxCost = 1e24;

/// What is wrong with the graph, with names; empty if nothing is: ids out of
/// range, tensors read before they are made, made twice or never, negative or
/// overflowing sizes, costs that are not from 0 to kMaxCost, attributes of the
/// wrong length, cyclic views.
std::string checkGraph(const Graph &graph);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_GRAPH_H
