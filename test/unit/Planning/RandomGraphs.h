//===- RandomGraphs.h - Small graphs with everything in them ----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs without a meaning for fuzzing planners: joins, fans, views, views of
// views, outputs in the middle, operators in place, several outputs, what may
// not run again, workspaces, parameters that are updated and others, inputs
// read early, late and never.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_UNIT_PLANNING_RANDOMGRAPHS_H
#define ESPALIER_TEST_UNIT_PLANNING_RANDOMGRAPHS_H

#include "espalier/Planning/Graph.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace espalier::planning {

inline Graph makeRandomGraph(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t bound) { return random() % bound; };
  auto chance = [&](uint32_t percent) { return below(100) < percent; };
  Graph graph;
  graph.name = "random" + std::to_string(seed);
  auto addTensor = [&](TensorKind kind, int64_t bytes, TensorId viewOf = -1) {
    Tensor tensor;
    tensor.name = "t" + std::to_string(graph.tensors.size());
    tensor.kind = kind;
    tensor.bytes = bytes;
    tensor.viewOf = viewOf;
    graph.tensors.push_back(tensor);
    return TensorId(graph.tensors.size() - 1);
  };
  auto someBytes = [&] {
    return chance(5) ? 0 : chance(60) ? 1024 : int64_t(1 + below(4000));
  };
  std::vector<TensorId> readable, parameters;
  for (uint32_t i = 1 + below(3); i > 0; --i)
    readable.push_back(addTensor(TensorKind::input, someBytes()));
  for (uint32_t i = below(5); i > 0; --i) {
    parameters.push_back(addTensor(TensorKind::parameter, someBytes()));
    readable.push_back(parameters.back());
  }
  auto pick = [&] {
    // Recent ones more often, so that chains arise, and old ones too.
    size_t back = chance(60) ? below(3) : below(uint32_t(readable.size()));
    return readable[readable.size() - 1 - std::min(back, readable.size() - 1)];
  };

  uint32_t count = 3 + below(25);
  for (uint32_t i = 0; i < count; ++i) {
    Operator op;
    op.name = "o" + std::to_string(i);
    op.flops = below(1000);
    op.bytes = below(20000);
    op.recomputable = !chance(10);
    op.checkpoint = chance(20);
    if (chance(12)) {
      TensorId x = pick();
      TensorId view = addTensor(TensorKind::temporary,
                                graph.tensors[graph.storageOf(x)].bytes, x);
      if (chance(10) &&
          graph.tensors[graph.storageOf(x)].kind == TensorKind::temporary)
        graph.tensors[view].kind = TensorKind::output;
      op.flops = op.bytes = 0;
      op.recomputable = true;
      op.inputs = {x};
      op.outputs = {view};
      readable.push_back(view);
      graph.operators.push_back(op);
      continue;
    }
    for (uint32_t n = 1 + below(3); n > 0; --n)
      op.inputs.push_back(pick());
    for (uint32_t n = chance(20) ? 2 : 1; n > 0; --n) {
      int32_t from =
          chance(50) ? int32_t(below(uint32_t(op.inputs.size()))) : -1;
      int64_t bytes =
          from >= 0 && chance(80)
              ? graph.tensors[graph.storageOf(op.inputs[from])].bytes
              : someBytes();
      op.outputs.push_back(addTensor(
          chance(8) ? TensorKind::output : TensorKind::temporary, bytes));
      op.inPlace.push_back(from);
    }
    if (chance(20))
      op.algorithms = {{"fast", int64_t(1024 + below(2000)), 1e-6},
                       {"slow", chance(50) ? 0 : int64_t(below(1000)), 3e-6}};
    for (TensorId output : op.outputs)
      readable.push_back(output);
    graph.operators.push_back(op);
  }
  // Updates after all readers.
  for (TensorId parameter : parameters) {
    if (!chance(60))
      continue;
    Operator op;
    op.name = "update" + std::to_string(parameter);
    op.pass = Pass::update;
    op.recomputable = false;
    op.flops = below(100);
    op.bytes = below(1000);
    op.inputs = {parameter};
    TensorId gradient = pick();
    if (graph.storageOf(gradient) >= TensorId(readable.front()) &&
        graph.tensors[graph.storageOf(gradient)].kind == TensorKind::temporary)
      op.inputs.push_back(gradient);
    op.outputs = {
        addTensor(chance(50) ? TensorKind::output : TensorKind::temporary,
                  graph.tensors[parameter].bytes)};
    op.inPlace = {0};
    op.updates = {parameter};
    graph.operators.push_back(op);
  }
  return graph;
}

} // namespace espalier::planning

#endif // ESPALIER_TEST_UNIT_PLANNING_RANDOMGRAPHS_H
