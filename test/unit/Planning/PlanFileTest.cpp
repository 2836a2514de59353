//===- PlanFileTest.cpp - Plans as JSON -----------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/PlanFile.h"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>
#include <limits>

using namespace espalier::planning;

namespace {

/// Every member of every struct has a value that is not its usual one.
PlanFile makeFile() {
  PlanFile file;
  file.budgetBytes = int64_t(12) << 30;
  file.machine = "k40c";
  file.notes = {"conv1: winograd", "odd: \"\\\n\x01\xc3\xa9"};
  file.graph.name = "net";
  file.graph.tensors = {{"x", (int64_t(1) << 53) + 1, TensorKind::input, -1},
                        {"w", 8, TensorKind::parameter, -1},
                        {"y", 16, TensorKind::temporary, -1},
                        {"v", 16, TensorKind::temporary, 2},
                        {"w'", 8, TensorKind::output, -1}};
  Operator conv;
  conv.name = "conv";
  conv.kind = "conv2d";
  conv.inputs = {0, 1, 1};
  conv.outputs = {2};
  conv.flops = 1.0 / 3;
  conv.bytes = 7e23;
  conv.seconds = 5e-324;
  conv.checkpoint = true;
  conv.inPlace = {0};
  conv.algorithms = {{"fast", 1024, 0.1}, {"small", 0, -0.0}};
  Operator view;
  view.name = "view";
  view.inputs = {2};
  view.outputs = {3};
  view.pass = Pass::backward;
  view.flops = -0.0;
  Operator step;
  step.name = "step";
  step.inputs = {3, 1};
  step.outputs = {4};
  step.pass = Pass::update;
  step.recomputable = false;
  step.updates = {1};
  step.flops = 18014398509481988.0; // A whole number beyond 2^54.
  step.bytes = 3e19;                // Beyond 2^64.
  file.graph.operators = {conv, view, step};
  file.plan.buffers = {{0, (int64_t(1) << 53) + 1, 0, 3, 64, -1},
                       {1, 8, 0, 3, 0, -1},
                       {2, 16, 0, 2, -1, -1},
                       {3, 16, 2, 3, -1, 2},
                       {4, 8, 3, 3, 0, 1}};
  file.plan.steps.resize(4);
  file.plan.steps[0] = {Step::Kind::compute, 0, {0, 1, 1}, {2}, 1, 128, 4096};
  file.plan.steps[1] = {Step::Kind::offload, -1, {2}, {}, 0, 0, -1};
  file.plan.steps[2] = {Step::Kind::prefetch, -1, {}, {3}, 0, 0, -1};
  file.plan.steps[3] = {Step::Kind::compute, 2, {3, 1}, {4}, 0, 0, -1};
  file.plan.arenaBytes = 1 << 20;
  file.plan.hostBytes = 16;
  return file;
}

void expectSame(const PlanFile &a, const PlanFile &b) {
  auto isSame = [](double x, double y) {
    return x == y && std::signbit(x) == std::signbit(y);
  };
  EXPECT_EQ(a.budgetBytes, b.budgetBytes);
  EXPECT_EQ(a.machine, b.machine);
  EXPECT_EQ(a.notes, b.notes);
  EXPECT_EQ(a.graph.name, b.graph.name);
  ASSERT_EQ(a.graph.tensors.size(), b.graph.tensors.size());
  for (size_t i = 0; i < a.graph.tensors.size(); ++i) {
    const Tensor &x = a.graph.tensors[i];
    const Tensor &y = b.graph.tensors[i];
    EXPECT_TRUE(x.name == y.name && x.bytes == y.bytes && x.kind == y.kind &&
                x.viewOf == y.viewOf)
        << i;
  }
  ASSERT_EQ(a.graph.operators.size(), b.graph.operators.size());
  for (size_t i = 0; i < a.graph.operators.size(); ++i) {
    const Operator &x = a.graph.operators[i];
    const Operator &y = b.graph.operators[i];
    EXPECT_TRUE(x.name == y.name && x.kind == y.kind && x.inputs == y.inputs &&
                x.outputs == y.outputs && isSame(x.flops, y.flops) &&
                isSame(x.bytes, y.bytes) && isSame(x.seconds, y.seconds) &&
                x.pass == y.pass && x.recomputable == y.recomputable &&
                x.checkpoint == y.checkpoint && x.inPlace == y.inPlace &&
                x.updates == y.updates)
        << i;
    ASSERT_EQ(x.algorithms.size(), y.algorithms.size());
    for (size_t j = 0; j < x.algorithms.size(); ++j)
      EXPECT_TRUE(x.algorithms[j].name == y.algorithms[j].name &&
                  x.algorithms[j].workspaceBytes ==
                      y.algorithms[j].workspaceBytes &&
                  isSame(x.algorithms[j].seconds, y.algorithms[j].seconds))
          << i << ' ' << j;
  }
  ASSERT_EQ(a.plan.buffers.size(), b.plan.buffers.size());
  for (size_t i = 0; i < a.plan.buffers.size(); ++i) {
    const Buffer &x = a.plan.buffers[i];
    const Buffer &y = b.plan.buffers[i];
    EXPECT_TRUE(x.tensor == y.tensor && x.bytes == y.bytes &&
                x.first == y.first && x.last == y.last &&
                x.offset == y.offset && x.sharesWith == y.sharesWith)
        << i;
  }
  ASSERT_EQ(a.plan.steps.size(), b.plan.steps.size());
  for (size_t i = 0; i < a.plan.steps.size(); ++i) {
    const Step &x = a.plan.steps[i];
    const Step &y = b.plan.steps[i];
    EXPECT_TRUE(x.kind == y.kind && x.op == y.op && x.inputs == y.inputs &&
                x.outputs == y.outputs && x.algorithm == y.algorithm &&
                x.workspaceBytes == y.workspaceBytes &&
                x.workspaceOffset == y.workspaceOffset)
        << i;
  }
  EXPECT_EQ(a.plan.arenaBytes, b.plan.arenaBytes);
  EXPECT_EQ(a.plan.hostBytes, b.plan.hostBytes);
}

TEST(PlanFile, ReadsBackWhatItWrites) {
  PlanFile file = makeFile();
  std::string error;
  std::string path = testing::TempDir() + "plan_file_test.json";
  ASSERT_TRUE(writePlanFile(path, file, error)) << error;
  std::optional<PlanFile> back = readPlanFile(path, error);
  std::remove(path.c_str());
  ASSERT_TRUE(back) << error;
  expectSame(file, *back);
  EXPECT_EQ(printPlan(file, error), printPlan(*back, error));
}

TEST(PlanFile, ReadsBackAnEmptyPlan) {
  std::string error;
  std::optional<std::string> text = printPlan({}, error);
  ASSERT_TRUE(text) << error;
  std::optional<PlanFile> back = parsePlan(*text, error);
  ASSERT_TRUE(back) << error;
  expectSame({}, *back);
}

TEST(PlanFile, SaysWhatJsonCannotWrite) {
  std::string error;
  PlanFile file = makeFile();
  file.graph.tensors[0].name = "\xff";
  EXPECT_FALSE(printPlan(file, error));
  EXPECT_EQ(error, "the name \"\\ufffd\" is not UTF-8");
  file = makeFile();
  file.graph.operators[0].flops = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(printPlan(file, error));
  EXPECT_EQ(error, "'flops' is not finite");
  EXPECT_FALSE(writePlanFile("/nowhere/plan.json", makeFile(), error));
  EXPECT_EQ(error,
            "cannot create '/nowhere/plan.json': No such file or directory");
}

TEST(PlanFile, SaysWhatIsWrongAndWhere) {
  std::string error;
  std::string text = *printPlan(makeFile(), error);
  auto problem = [&](const std::string &from, const std::string &to) {
    std::string wrong = text;
    size_t at = wrong.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    wrong.replace(at, from.size(), to);
    EXPECT_FALSE(parsePlan(wrong, error));
    return error;
  };
  EXPECT_EQ(problem("\"espalier_plan\":1", "\"espalier_plan\":2"),
            "'espalier_plan' is version 2, and this program reads version 1");
  EXPECT_EQ(problem("\"espalier_plan\":1,", ""), "'espalier_plan' is missing");
  EXPECT_EQ(problem("\"op\":2", "\"op\":3"),
            "'steps[3].op' is 3, and there are 3 operators");
  EXPECT_EQ(problem("\"op\":2", "\"op\":2.5"),
            "'steps[3].op' is 2.5, not a whole number");
  EXPECT_EQ(problem("\"op\":2", "\"op\":4294967296"),
            "'steps[3].op' is 4294967296, not a whole number");
  EXPECT_EQ(
      problem("\"op\":2,\"inputs\":[3,1]", "\"op\":2,\"inputs\":[3,\"w\"]"),
      "'steps[3].inputs[1]' is \"w\", not a whole number");
  EXPECT_EQ(problem("\"op\":2,\"inputs\":[3,1]", "\"op\":2,\"inputs\":[3,9]"),
            "'steps[3].inputs' is 9, and there are 5 buffers");
  EXPECT_EQ(problem("{\"tensor\":4", "{\"tensor\":-4"),
            "'buffers[4].tensor' is -4, and there are 5 tensors");
  EXPECT_EQ(problem("\"kind\":\"prefetch\"", "\"kind\":\"fetch\""),
            "'steps[2].kind' is \"fetch\", not one of compute, offload, "
            "prefetch");
  EXPECT_EQ(problem("\"first\":2", "\"frist\":2"),
            "'buffers[3].first' is missing");
  EXPECT_EQ(problem("\"workspace_offset\"", "\"workspace_place\""),
            "'steps[0].workspace_place' is not known here");
  EXPECT_EQ(problem("{\"name\":\"fast\"", "{\"nom\":\"fast\""),
            "'operators[0].algorithms[0].name' is missing");
  EXPECT_EQ(problem("\"machine\":", "\"budget\":"), "'budget' is there twice");
  EXPECT_EQ(problem("\"steps\":[", "\"steps\":[7,"),
            "'steps' has the entry 7, not an object");
  EXPECT_EQ(problem("\"view_of\":2", "\"view_of\":3"),
            "tensor 'v' is a view of itself");
  EXPECT_EQ(problem("\"bytes\":8,\"kind\":\"parameter\"",
                    "\"bytes\":99999999999999999999,\"kind\":\"parameter\"")
                .substr(0, 21),
            "'tensors[1].bytes' is");
  EXPECT_EQ(problem("\"first\":2", "\"first\" 2").substr(0, 26),
            "line 26, column 32: syntax");
  EXPECT_FALSE(readPlanFile("/nowhere/plan.json", error));
  EXPECT_EQ(error, "cannot open '/nowhere/plan.json': No such file or "
                   "directory");
}

/// No text makes the reader crash or stop without a word.
TEST(PlanFile, RefusesEveryTruncation) {
  std::string error;
  std::string text = *printPlan(makeFile(), error);
  for (size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(parsePlan(std::string_view(text).substr(0, size), error));
    EXPECT_NE(error, "") << size;
  }
}

} // namespace
