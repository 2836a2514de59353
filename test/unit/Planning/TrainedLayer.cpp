//===- TrainedLayer.cpp - A small plan by hand ----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainedLayer.h"

using namespace espalier::planning;
using namespace espalier::planning::trained_layer;

RandomPlan espalier::planning::makeTrainedLayer() {
  using Kind = Step::Kind;
  RandomPlan made;
  Graph &graph = made.graph;
  graph.name = "layer";
  graph.tensors = {{"x", 40, TensorKind::input, -1},
                   {"w", 20, TensorKind::parameter, -1},
                   {"y", 30, TensorKind::temporary, -1},
                   {"r", 30, TensorKind::temporary, -1},
                   {"l", 4, TensorKind::output, -1},
                   {"d", 30, TensorKind::temporary, -1},
                   {"g", 30, TensorKind::temporary, -1},
                   {"dw", 20, TensorKind::temporary, -1},
                   {"w'", 20, TensorKind::temporary, -1}};
  auto add = [&](const char *name, double seconds, std::vector<TensorId> inputs,
                 std::vector<TensorId> outputs, std::vector<int32_t> inPlace) {
    Operator op;
    op.name = name;
    op.seconds = seconds;
    op.flops = seconds * 10;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.inPlace = std::move(inPlace);
    graph.operators.push_back(op);
  };
  add("dense", 2, {x, w}, {y}, {});
  add("relu", 2, {y}, {r}, {0});
  add("loss", 1, {r}, {l, d}, {-1, -1});
  add("adjoint", 3, {d, y}, {g}, {0});
  add("weights", 4, {g, x}, {dw}, {});
  add("update", 1, {w, dw}, {w2}, {});
  graph.operators[dense].algorithms = {{"fast", 10, 1}, {"small", 0, 2}};
  graph.operators[update].updates = {w};
  graph.operators[update].recomputable = false;

  Plan &plan = made.plan;
  //              tensor bytes first last offset shares
  plan.buffers = {{x, 40, 0, 7, 0, -1},   // 0
                  {w, 20, 0, 7, 40, -1},  // 1
                  {y, 30, 0, 2, 60, -1},  // 2
                  {r, 30, 2, 3, 60, 2},   // 3
                  {l, 4, 3, 7, 120, -1},  // 4
                  {d, 30, 3, 5, 90, -1},  // 5
                  {y, 30, 4, 5, 60, -1},  // 6
                  {g, 30, 5, 6, 90, 5},   // 7
                  {dw, 20, 6, 7, 60, -1}, // 8
                  {w2, 20, 7, 7, 40, 1}}; // 9
  plan.steps = {{Kind::compute, dense, {0, 1}, {2}, 0, 10, 90},
                {Kind::offload, -1, {2}, {}},
                {Kind::compute, relu, {2}, {3}},
                {Kind::compute, loss, {3}, {4, 5}},
                {Kind::prefetch, -1, {}, {6}},
                {Kind::compute, adjoint, {5, 6}, {7}},
                {Kind::compute, weights, {7, 0}, {8}},
                {Kind::compute, update, {1, 8}, {9}}};
  plan.arenaBytes = 124;
  plan.hostBytes = 30;
  return made;
}
