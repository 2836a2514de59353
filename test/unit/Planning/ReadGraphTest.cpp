//===- ReadGraphTest.cpp - Graphs from files, and from broken ones --------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/ReadGraph.h"

#include <gtest/gtest.h>

using namespace espalier::planning;

namespace {

TEST(ReadGraph, Checkmate) {
  std::string error;
  auto graph = readGraph(R"({"directed": true, "graph": {"name": "two"},
    "nodes": [
      {"name": "conv", "backward": false, "cost_cpu": 12, "cost_ram": 800, "id": 0},
      {"name": "conv_backward", "backward": true, "cost_cpu": 2.5, "cost_ram": 40, "id": 1}],
    "links": [{"source": 0, "target": 1}, {"source": 0, "target": 1}]})",
                         error);
  ASSERT_TRUE(graph) << error;
  EXPECT_EQ(graph->name, "two");
  ASSERT_EQ(graph->operators.size(), 2U);
  EXPECT_EQ(graph->operators[1].name, "conv_backward");
  EXPECT_EQ(graph->operators[1].seconds, 2.5);
  EXPECT_EQ(graph->operators[1].pass, Pass::backward);
  EXPECT_EQ(graph->operators[1].inputs, std::vector<TensorId>{0});
  EXPECT_EQ(graph->tensors[0].bytes, 800);
  EXPECT_EQ(graph->tensors[0].kind, TensorKind::temporary);
  EXPECT_EQ(graph->tensors[1].kind, TensorKind::output);
}

TEST(ReadGraph, MoccasinWithAnOrder) {
  std::string error;
  auto graph = readGraph(R"({"graph": {"order": [0, 2, 1]}, "nodes": [
      {"out_cost": 7, "param_cost": 0, "duration": 0, "name": 0},
      {"out_cost": 5, "param_cost": 3, "duration": 4, "name": 1},
      {"out_cost": 6, "param_cost": 0, "duration": 2, "name": 2}],
    "links": [{"0": 0, "1": 2}, {"0": 2, "1": 1}]})",
                         error);
  ASSERT_TRUE(graph) << error;
  ASSERT_EQ(graph->operators.size(), 3U);
  EXPECT_EQ(graph->operators[1].name, "2");
  EXPECT_EQ(graph->operators[2].seconds, 4);
  // What 2 made, and its own parameter.
  EXPECT_EQ(graph->operators[2].inputs, (std::vector<TensorId>{1, 2}));
  EXPECT_EQ(graph->tensors[2].kind, TensorKind::parameter);
  EXPECT_EQ(graph->tensors[2].bytes, 3);
}

TEST(ReadGraph, SortsNodesThatAreInNoOrder) {
  std::string error;
  auto graph = readGraph(R"({"nodes": [
      {"id": "c", "cost_ram": 1, "cost_cpu": 1},
      {"id": "a", "cost_ram": 2, "cost_cpu": 1},
      {"id": "b", "cost_ram": 3, "cost_cpu": 1}],
    "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]})",
                         error);
  ASSERT_TRUE(graph) << error;
  EXPECT_EQ(graph->operators[0].name, "a");
  EXPECT_EQ(graph->operators[1].name, "b");
  EXPECT_EQ(graph->operators[2].name, "c");
}

std::string problemOf(const std::string &text) {
  std::string error;
  EXPECT_FALSE(readGraph(text, error));
  return error;
}

std::string withNodes(const std::string &nodes,
                      const std::string &links = "[]") {
  return R"({"nodes": )" + nodes + R"(, "links": )" + links + "}";
}

TEST(ReadGraph, SaysWhatIsWrongWithAGraph) {
  EXPECT_NE(problemOf("{\"nodes\": [").find("line 1, column 12"),
            std::string::npos);
  EXPECT_EQ(problemOf("[]"), "there is no list 'nodes'");
  EXPECT_EQ(problemOf(R"({"nodes": []})"), "there is no list 'links'");
  EXPECT_EQ(problemOf(withNodes("[]")),
            "there are no operators, and so nothing to plan");
  EXPECT_EQ(problemOf(withNodes("[3]")), "node 0 is no object");
  EXPECT_EQ(problemOf(withNodes(R"([{"cost_ram": 1}])")),
            "node 0 has no 'id' that is a number or a string");
  EXPECT_EQ(problemOf(withNodes(R"([{"id": 0, "name": "x", "cost_cpu": 1}])")),
            "node 0 ('x') has no 'cost_ram'");
  EXPECT_EQ(problemOf(withNodes(
                R"([{"id": 0, "name": "x", "cost_ram": -4, "cost_cpu": 1}])")),
            "node 0 ('x'): a cost is -4, which is no number from 0");
  EXPECT_EQ(
      problemOf(withNodes(R"([{"id": 0, "cost_ram": 0.5, "cost_cpu": 1}])")),
      "node 0 ('0'): 0.5 is no whole number of bytes below 2^62");
  std::string two = R"([{"id": 0, "cost_ram": 1, "cost_cpu": 1},
                        {"id": 1, "cost_ram": 1, "cost_cpu": 1}])";
  EXPECT_EQ(problemOf(withNodes(two, R"([{"source": 0, "target": 7}])")),
            "link 0: there is no node 7");
  EXPECT_EQ(problemOf(withNodes(two, R"([{"source": 0}])")),
            "link 0 has no 'target'");
  EXPECT_EQ(problemOf(withNodes(two, R"([{"source": 1, "target": 1}])")),
            "link 0: node '1' reads itself");
  EXPECT_EQ(problemOf(withNodes(two, R"([{"source": 0, "target": 1},
                                         {"source": 1, "target": 0}])")),
            "node '0' is in or behind a cycle of links");
  EXPECT_EQ(problemOf(withNodes(R"([{"id": 0, "cost_ram": 1, "cost_cpu": 1},
                                    {"id": 0, "cost_ram": 1, "cost_cpu": 1}])")),
            "node 1 ('0') has the id 0, as another node has");
  EXPECT_EQ(problemOf(R"({"graph": {"order": [1, 0]}, "nodes": )" + two +
                      R"(, "links": [{"source": 0, "target": 1}]})"),
            "'graph.order': node 1 comes before node '0', which it reads");
}

/// w -> t -> (view) ; y = f(x, view); y += x; x is released.
const char *const log =
    R"({"INSTRUCTION":"ANNOTATE","ANNOTATION":"START"}
{"INSTRUCTION":"CONSTANT","NAME":"w"}
{"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"64"}
{"INSTRUCTION":"COPY","SRC":"w","DST":"w2"}
{"INSTRUCTION":"RELEASE","NAME":"w"}
{"INSTRUCTION":"CALL","NAME":"t","ARGS":["w2"],"RESULT":["v"],"TIME":"10"}
{"INSTRUCTION":"MEMORY","NAME":"v","MEMORY":"64"}
{"INSTRUCTION":"ALIAS","NAME":"v","ALIAS":"0"}
{"INSTRUCTION":"CALL","NAME":"f","ARGS":["v","v"],"RESULT":["x","m"],"TIME":"2000"}
{"INSTRUCTION":"MEMORY","NAME":"x","MEMORY":"32"}
{"INSTRUCTION":"ALIAS","NAME":"x","ALIAS":"-1"}
{"INSTRUCTION":"MEMORY","NAME":"m","MEMORY":"8"}
{"INSTRUCTION":"ALIAS","NAME":"m","ALIAS":"-1"}
{"INSTRUCTION":"RELEASE","NAME":"m"}
{"INSTRUCTION":"ANNOTATE","ANNOTATION":"BACKWARD"}
{"INSTRUCTION":"COPY","SRC":"x","DST":"y"}
{"INSTRUCTION":"MUTATE","NAME":"add_","ARGS":["y","v"],"MUTATE":[0],"TIME":"7"}
{"INSTRUCTION":"MUTATE","NAME":"step_","ARGS":["v","x"],"MUTATE":[0],"TIME":"5"}
{"INSTRUCTION":"COPY_FROM","DST":"y","SRC":"w2"}
)";

TEST(ReadGraph, DtrLog) {
  std::string error;
  auto graph = readGraph(log, error);
  ASSERT_TRUE(graph) << error;
  ASSERT_EQ(graph->operators.size(), 4U);
  ASSERT_EQ(graph->tensors.size(), 6U);
  EXPECT_EQ(graph->tensors[0].kind, TensorKind::parameter);
  EXPECT_EQ(graph->tensors[1].viewOf, 0);
  EXPECT_EQ(graph->operators[1].name, "f.1");
  EXPECT_EQ(graph->operators[1].inputs, std::vector<TensorId>{1});
  EXPECT_EQ(graph->operators[1].outputs, (std::vector<TensorId>{2, 3}));
  EXPECT_DOUBLE_EQ(graph->operators[1].seconds, 2e-6);
  EXPECT_EQ(graph->operators[1].pass, Pass::forward);
  EXPECT_EQ(graph->tensors[3].kind, TensorKind::temporary);
  // y is x under another name; both are the new tensor afterwards.
  EXPECT_EQ(graph->operators[2].pass, Pass::backward);
  EXPECT_EQ(graph->operators[2].inputs, (std::vector<TensorId>{2, 1}));
  EXPECT_EQ(graph->operators[2].outputs, std::vector<TensorId>{4});
  EXPECT_EQ(graph->operators[2].inPlace, std::vector<int32_t>{0});
  EXPECT_EQ(graph->operators[2].updates, std::vector<TensorId>{-1});
  EXPECT_EQ(graph->tensors[4].bytes, 32);
  EXPECT_EQ(graph->tensors[4].kind, TensorKind::output);
  // A constant's view is changed, and so the constant.
  EXPECT_EQ(graph->operators[3].inputs, (std::vector<TensorId>{1, 4}));
  EXPECT_EQ(graph->operators[3].updates, std::vector<TensorId>{0});
  EXPECT_EQ(graph->tensors[5].bytes, 64);
}

TEST(ReadGraph, SaysWhatIsWrongWithALog) {
  auto after = [](const std::string &line) {
    return problemOf(std::string(R"({"INSTRUCTION":"CONSTANT","NAME":"w"})") +
                     "\n\n" + line);
  };
  EXPECT_EQ(after(R"({"INSTRUCTION":"JUMP"})"),
            "line 3: there is no instruction 'JUMP'");
  EXPECT_EQ(after(R"({"INSTRUCTION":"RELEASE","NAME":"x"})"),
            "line 3: there is no 'x', or not any more");
  EXPECT_EQ(after(R"({"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"1k"})"),
            "line 3: 'MEMORY' is '1k', which is no number");
  EXPECT_EQ(after(R"({"INSTRUCTION":"MEMORY","NAME":"w","MEMORY":"-1"})"),
            "line 3: 'MEMORY' is -1");
  EXPECT_EQ(after(R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":["w"]})"),
            "line 3: there is no string 'TIME'");
  EXPECT_EQ(
      after(
          R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":["q"],"RESULT":[],"TIME":"1"})"),
      "line 3: there is no 'q', or not any more");
  EXPECT_EQ(
      after(
          R"({"INSTRUCTION":"CALL","NAME":"f","ARGS":["w"],"RESULT":["w"],"TIME":"1"})"),
      "line 3: 'w' is there already");
  EXPECT_EQ(
      after(
          R"({"INSTRUCTION":"MUTATE","NAME":"f","ARGS":["w"],"MUTATE":[1],"TIME":"1"})"),
      "line 3: 'MUTATE' has something that is no argument's number");
  EXPECT_EQ(after(R"({"INSTRUCTION":"ALIAS","NAME":"w","ALIAS":"0"})"),
            "line 3: 'w' is no result of the last call");
  EXPECT_EQ(after("[]"), "line 3: not an object");
  EXPECT_NE(after("{").find("line 3: not JSON"), std::string::npos);
}

} // namespace
