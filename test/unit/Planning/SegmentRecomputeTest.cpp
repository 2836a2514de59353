//===- SegmentRecomputeTest.cpp - Table 1 of the SuperNeurons paper -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/SegmentRecompute.h"
#include "espalier/Planning/CheckRecomputation.h"

#include <gtest/gtest.h>

using namespace espalier::planning;

namespace {

/// Networks as the paper counts them: data tensors and their gradients, without
/// parameters. A layer's backward operator reads the gradient of what the layer
/// made, and of the forward pass what its kind needs.
class Network {
public:
  /// Floats. -1: the first layer, which reads the images.
  int add(const std::string &name, const std::string &kind,
          std::vector<int> inputs, int64_t floats) {
    Operator op;
    op.name = name;
    op.kind = kind;
    op.checkpoint = kind == "conv" || kind == "fc";
    op.seconds = op.checkpoint ? 10 : 1;
    for (int input : inputs)
      if (input >= 0)
        op.inputs.push_back(input);
    op.outputs = {addTensor(name, 4 * floats)};
    graph.operators.push_back(op);
    return op.outputs[0];
  }

  void addBackward() {
    size_t layers = graph.operators.size();
    std::vector<std::vector<TensorId>> gradients(graph.tensors.size());
    for (size_t layer = layers; layer-- > 0;) {
      const Operator forward = graph.operators[layer];
      Operator op;
      op.name = forward.name + "'";
      op.pass = Pass::backward;
      op.seconds = 2 * forward.seconds;
      TensorId y = forward.outputs[0];
      if (kindReadsInput(forward.kind))
        op.inputs = forward.inputs;
      if (kindReadsOutput(forward.kind))
        op.inputs.push_back(y);
      if (!gradients[y].empty())
        op.inputs.push_back(sum(forward.name, gradients[y]));
      for (TensorId x : forward.inputs) {
        TensorId made =
            addTensor("d" + graph.tensors[x].name, graph.tensors[x].bytes);
        op.outputs.push_back(made);
        gradients[x].push_back(made);
      }
      graph.operators.push_back(op);
    }
    EXPECT_EQ(checkGraph(graph), "");
  }

  Graph graph;

private:
  static bool kindReadsInput(const std::string &kind) {
    return kind != "add" && kind != "drop" && kind != "softmax";
  }
  static bool kindReadsOutput(const std::string &kind) {
    return kind != "add" && kind != "conv" && kind != "fc";
  }

  TensorId addTensor(const std::string &name, int64_t bytes) {
    graph.tensors.push_back({name, bytes, TensorKind::temporary, -1});
    return TensorId(graph.tensors.size()) - 1;
  }

  TensorId sum(const std::string &name, const std::vector<TensorId> &of) {
    if (of.size() == 1)
      return of[0];
    Operator op;
    op.name = name + ".sum";
    op.pass = Pass::backward;
    op.inputs = of;
    op.outputs = {addTensor("d" + name, graph.tensors[of[0]].bytes)};
    graph.operators.push_back(op);
    return op.outputs[0];
  }
};

Graph makeAlexNet(int64_t batch) {
  Network network;
  int at = -1;
  auto add = [&](const char *name, const char *kind, int64_t floats) {
    at = network.add(name, kind, {at}, batch * floats);
  };
  constexpr int64_t c1 = 96 * 55 * 55, p1 = 96 * 27 * 27, c2 = 256 * 27 * 27,
                    p2 = 256 * 13 * 13, c3 = 384 * 13 * 13, c5 = 256 * 13 * 13,
                    p5 = 256 * 6 * 6;
  add("conv1", "conv", c1), add("relu1", "relu", c1), add("lrn1", "lrn", c1);
  add("pool1", "pool", p1);
  add("conv2", "conv", c2), add("relu2", "relu", c2), add("lrn2", "lrn", c2);
  add("pool2", "pool", p2);
  add("conv3", "conv", c3), add("relu3", "relu", c3);
  add("conv4", "conv", c3), add("relu4", "relu", c3);
  add("conv5", "conv", c5), add("relu5", "relu", c5), add("pool5", "pool", p5);
  add("fc1", "fc", 4096), add("relu6", "relu", 4096),
      add("drop1", "drop", 4096);
  add("fc2", "fc", 4096), add("relu7", "relu", 4096),
      add("drop2", "drop", 4096);
  add("fc3", "fc", 1000), add("softmax", "softmax", 1000);
  network.addBackward();
  return network.graph;
}

/// `normalisedShortcuts`: whether a batch norm follows the convolutions beside
/// the blocks, as it does in He et al.'s networks.
Graph makeResNet(const std::vector<int> &blocks, int64_t batch,
                 bool normalisedShortcuts) {
  Network network;
  int count = 0;
  auto add = [&](const std::string &kind, std::vector<int> inputs,
                 int64_t floats) {
    return network.add(kind + std::to_string(++count), kind, std::move(inputs),
                       batch * floats);
  };
  auto normalise = [&](int of, int64_t floats) {
    return add("relu", {add("bn", {of}, floats)}, floats);
  };
  int at = normalise(add("conv", {-1}, 64 * 112 * 112), 64 * 112 * 112);
  at = add("pool", {at}, 64 * 56 * 56);
  for (size_t stage = 0; stage < blocks.size(); ++stage)
    for (int block = 0; block < blocks[stage]; ++block) {
      int64_t area = (56 >> stage) * (56 >> stage);
      int64_t inner = (64 << stage) * area;
      int64_t outer = 4 * inner;
      int shortcut = at;
      if (block == 0) {
        shortcut = add("conv", {at}, outer);
        if (normalisedShortcuts)
          shortcut = add("bn", {shortcut}, outer);
      }
      at = normalise(add("conv", {at}, inner), inner);
      at = normalise(add("conv", {at}, inner), inner);
      at = add("bn", {add("conv", {at}, outer)}, outer);
      at = add("add", {at, shortcut}, outer);
      at = add("relu", {at}, outer);
    }
  at = add("pool", {at}, 2048);
  at = add("fc", {at}, 1000);
  add("softmax", {at}, 1000);
  network.addBackward();
  return network.graph;
}

int64_t runsAgain(const Graph &graph, SegmentPolicy policy) {
  SegmentRecomputation plan = recomputeSegments(graph, policy);
  int64_t peak = 0;
  EXPECT_EQ(
      checkRecomputation(graph, plan.runs.sequence, INT64_MAX, false, &peak),
      "");
  EXPECT_EQ(peak, plan.runs.peakBytes);
  return plan.runs.runsAgain;
}

double mebibytes(int64_t bytes) { return double(bytes) / (1 << 20); }

TEST(SegmentRecompute, AlexNetOfTheTable) {
  Graph graph = makeAlexNet(200);
  EXPECT_NEAR(mebibytes(graph.tensors[0].bytes), 221.56, 0.01);
  EXPECT_EQ(runsAgain(graph, SegmentPolicy::speedCentric), 14);
  EXPECT_EQ(runsAgain(graph, SegmentPolicy::memoryCentric), 23);
  EXPECT_EQ(runsAgain(graph, SegmentPolicy::costAware), 17);
  SegmentRecomputation plan =
      recomputeSegments(graph, SegmentPolicy::costAware);
  // lrn1's backward: four tensors of conv1's size.
  EXPECT_NEAR(mebibytes(plan.largestOperatorBytes), 886.23, 0.01);
  EXPECT_NEAR(mebibytes(plan.offloadedPeakBytes), 886.23, 0.01);
  EXPECT_EQ(plan.memoryCentric.size(), 7U);
  EXPECT_EQ(plan.memoryCentric[0], true);
  EXPECT_EQ(plan.memoryCentric[1], false);
}

TEST(SegmentRecompute, AlexNetBelowTheTable) {
  // The paper keeps pool1 and its gradient to the end of the segment, so that
  // to compute it once takes 993.02 MiB. They are free before that.
  Graph graph = makeAlexNet(200);
  SegmentRecomputation once =
      recomputeSegments(graph, SegmentPolicy::speedCentric);
  EXPECT_NEAR(mebibytes(once.offloadedPeakBytes), 886.23, 0.01);
  SegmentRecomputation plan = recomputeSegments(graph, SegmentPolicy::measured);
  EXPECT_EQ(plan.runs.runsAgain, 14);
  EXPECT_NEAR(mebibytes(plan.offloadedPeakBytes), 886.23, 0.01);
}

TEST(SegmentRecompute, ResNetsOfTheTable) {
  struct Row {
    std::vector<int> blocks;
    int64_t speed, memory, cost;
  };
  for (const Row &row :
       {Row{{3, 4, 6, 3}, 84, 118, 85}, Row{{3, 4, 23, 3}, 169, 237, 170}}) {
    Graph graph = makeResNet(row.blocks, 32, false);
    EXPECT_EQ(runsAgain(graph, SegmentPolicy::speedCentric), row.speed);
    EXPECT_EQ(runsAgain(graph, SegmentPolicy::memoryCentric), row.memory);
    // Equal to the largest operator is still speed-centric.
    EXPECT_LE(runsAgain(graph, SegmentPolicy::costAware), row.cost);
    EXPECT_LE(runsAgain(graph, SegmentPolicy::measured), row.cost);
    // What He et al.'s networks have besides: four batch norms.
    Graph full = makeResNet(row.blocks, 32, true);
    EXPECT_EQ(runsAgain(full, SegmentPolicy::speedCentric), row.speed + 4);
    int64_t least = recomputeSegments(graph, SegmentPolicy::memoryCentric)
                        .offloadedPeakBytes;
    SegmentRecomputation plan =
        recomputeSegments(graph, SegmentPolicy::costAware);
    // Above the largest operator: the gradient of a shortcut waits for that of
    // the block beside it.
    EXPECT_EQ(plan.offloadedPeakBytes, least);
    EXPECT_GT(least, plan.largestOperatorBytes);
  }
}

TEST(SegmentRecompute, LeavesAloneWhatMayNotRunAgain) {
  Graph graph = makeAlexNet(1);
  for (Operator &op : graph.operators)
    op.recomputable = op.kind != "lrn" && op.kind != "drop";
  SegmentRecomputation plan =
      recomputeSegments(graph, SegmentPolicy::memoryCentric);
  EXPECT_EQ(checkRecomputation(graph, plan.runs.sequence, plan.runs.peakBytes),
            "");
  for (size_t op = 0; op < graph.operators.size(); ++op)
    EXPECT_TRUE(plan.segmentOf[op] < 0 || graph.operators[op].recomputable);
}

} // namespace
