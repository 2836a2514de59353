//===- GraphTest.cpp - Graphs that make sense, and others -----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Machine.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace espalier::planning;

namespace {

/// x -> double -> y -> halve -> z
Graph makeChain() {
  Graph graph;
  graph.tensors = {{"x", 8, TensorKind::input, -1},
                   {"y", 16, TensorKind::temporary, -1},
                   {"z", 8, TensorKind::output, -1}};
  graph.operators.resize(2);
  graph.operators[0].name = "double";
  graph.operators[0].inputs = {0};
  graph.operators[0].outputs = {1};
  graph.operators[1].name = "halve";
  graph.operators[1].inputs = {1};
  graph.operators[1].outputs = {2};
  return graph;
}

TEST(Graph, MakersAndReaders) {
  Graph graph = makeChain();
  graph.operators[1].inputs = {1, 0, 1};
  EXPECT_EQ(checkGraph(graph), "");
  EXPECT_EQ(producersOf(graph), (std::vector<OperatorId>{-1, 0, 1}));
  EXPECT_EQ(consumersOf(graph),
            (std::vector<std::vector<OperatorId>>{{0, 1}, {1}, {}}));
}

TEST(Graph, FindsWhatIsWrong) {
  auto problem = [](auto spoil) {
    Graph graph = makeChain();
    spoil(graph);
    return checkGraph(graph);
  };
  EXPECT_EQ(
      problem([](Graph &g) { std::swap(g.operators[0], g.operators[1]); }),
      "operator 'halve' reads tensor 'y' before it is made");
  EXPECT_EQ(problem([](Graph &g) { g.operators[1].outputs = {1}; }),
            "operator 'halve' makes tensor 'y', which is there already");
  EXPECT_EQ(problem([](Graph &g) { g.operators.pop_back(); }),
            "tensor 'z' is made by nothing");
  EXPECT_EQ(problem([](Graph &g) { g.operators[0].inputs = {7}; }),
            "operator 'double' reads tensor number 7, which there is not");
  EXPECT_EQ(problem([](Graph &g) { g.tensors[1].bytes = -1; }),
            "tensor 'y' has -1 bytes");
  EXPECT_EQ(problem([](Graph &g) { g.tensors[1].bytes = INT64_MAX; }),
            "the tensors have more than 2^63 bytes in all");
  EXPECT_EQ(problem([](Graph &g) { g.tensors[1].viewOf = 1; }),
            "tensor 'y' is a view of itself");
  EXPECT_EQ(problem([](Graph &g) { g.operators[0].inPlace = {1}; }),
            "operator 'double' has no input number 1");
  EXPECT_EQ(problem([](Graph &g) { g.operators[1].updates = {0}; }),
            "operator 'halve' updates number 0, which is no parameter");
  EXPECT_EQ(problem([](Graph &g) { g.operators[0].flops = -1; }),
            "operator 'double' has a cost that is not from 0 to 1e24");
  for (double cost : {-1.0, 1.1e24, HUGE_VAL, double(NAN)}) {
    EXPECT_EQ(problem([&](Graph &g) { g.operators[0].seconds = cost; }),
              "operator 'double' has a cost that is not from 0 to 1e24");
    EXPECT_EQ(problem([&](Graph &g) {
                g.operators[0].algorithms = {{"fast", 0, cost}};
              }),
              "operator 'double' has the algorithm 'fast', whose cost is not "
              "from 0 to 1e24");
  }
  EXPECT_EQ(problem([](Graph &g) { g.operators[0].bytes = 1e24; }), "");
  EXPECT_EQ(problem([](Graph &g) {
              g.operators[0].algorithms = {{"direct", 0, 1}, {"fast", 64, 1}};
            }),
            "operator 'double' has the algorithm 'direct' with less workspace "
            "than its last, 'fast'");
}

TEST(Machine, TakesTheLongerOfArithmeticAndTraffic) {
  Machine machine;
  machine.device.flopsPerSecond = 100;
  machine.device.bytesPerSecond = 10;
  machine.device.launchSeconds = 0.5;
  machine.link.bytesPerSecond = 4;
  machine.link.latencySeconds = 0.25;
  Operator op;
  EXPECT_EQ(machine.secondsOf(op), 0);
  op.flops = 200;
  op.bytes = 10;
  EXPECT_EQ(machine.secondsOf(op), 2.5);
  op.bytes = 40;
  EXPECT_EQ(machine.secondsOf(op), 4.5);
  op.seconds = 3;
  EXPECT_EQ(machine.secondsOf(op), 3);
  Algorithm fast{"fast", 64, 1};
  EXPECT_EQ(machine.secondsOf(op, &fast), 1);
  EXPECT_EQ(machine.transferSeconds(8), 2.25);
}

} // namespace
