//===- memory_plan_bench.cpp - What plans of memory cost ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   espalier-memory-plan-bench table3|wide|wider|deep|fractions|policies
//   [titan-xp]
//
// The tables of docs/memory.md, "Keep, offload or recompute". Everything but
// the planning times (of the processor) is simulated by the machine's costs.
//
//===----------------------------------------------------------------------===//

#include "Networks.h"

#include "espalier/Planning/CheckPlan.h"
#include "espalier/Planning/PlanMemory.h"
#include "espalier/Planning/SplitOperators.h"

#include <cstdio>
#include <ctime>
#include <string>

using namespace espalier::planning;

namespace {

constexpr double mebibyte = 1048576.0;
constexpr int64_t cardBytes = int64_t(12) << 30;

double processorSeconds() {
  return double(std::clock()) / double(CLOCKS_PER_SEC);
}

class Bench {
public:
  explicit Bench(Machine machine) : machine(std::move(machine)) {}

  void row(const char *name, const Graph &graph, MemoryPlanner &planner,
           int64_t budget) {
    PlanMemoryReport report;
    std::string error;
    double start = processorSeconds();
    std::optional<Plan> plan = planner.plan(budget, report, error);
    double seconds = processorSeconds() - start;
    if (!plan) {
      std::printf("%s: %s\n", name, error.c_str());
      return;
    }
    CheckPlanOptions check;
    check.budgetBytes = budget;
    if (machine.hostMemoryBytes > 0)
      check.hostMemoryBytes = machine.hostMemoryBytes;
    std::string problem = checkPlan(graph, *plan, check);
    isWrong |= !problem.empty();
    std::printf(
        "%-14s %7zu operators, liveness %9.1f, budget %8.1f, arena "
        "%8.1f MiB, %8.4f s (%+.2f%%), %7.3f GB copied, host %6.2f "
        "GiB, %5lld run again, planned in %.2f s%s%s\n",
        name, graph.operators.size(), double(report.livenessBytes) / mebibyte,
        double(budget) / mebibyte, double(plan->arenaBytes) / mebibyte,
        report.seconds, 100 * (report.seconds / report.secondsUnlimited - 1),
        double(report.transferBytes) / 1e9,
        double(plan->hostBytes) / (1024 * mebibyte),
        static_cast<long long>(report.recomputedOperators), seconds,
        problem.empty() ? "" : " WRONG: ", problem.c_str());
    std::fflush(stdout);
  }

  void row(const char *name, const Graph &graph, int64_t budget = cardBytes) {
    MemoryPlanner planner(graph, machine, {});
    row(name, graph, planner, budget);
  }

  void wide(int64_t times) {
    auto batch = [&](int64_t count) {
      NetworkOptions options;
      options.batch = count * times;
      return options;
    };
    row("AlexNet", makeAlexNet(batch(1792)));
    Graph vgg = makeVGG16(batch(224));
    row("VGG16", vgg);
    if (largestOperator(vgg) > cardBytes)
      row("VGG16, split", splitToFit(vgg, int64_t(8) << 30).graph);
    row("Inception-v4", makeInceptionV4(batch(240)));
    row("ResNet-50", makeResNet({3, 4, 6, 3}, batch(384)));
    row("ResNet-101", makeResNet({3, 4, 23, 3}, batch(256)));
    row("ResNet-152", makeResNet({3, 8, 36, 3}, batch(176)));
  }

  void fractions(const char *name, const Graph &graph) {
    MemoryPlanner planner(graph, machine, {});
    PlanMemoryReport report;
    std::string error;
    planner.plan(INT64_MAX / 8, report, error);
    int64_t parameters = 0;
    for (const Tensor &tensor : graph.tensors)
      if (tensor.kind == TensorKind::parameter)
        parameters += tensor.bytes;
    for (int64_t divisor : {2, 3, 4, 6, 8})
      row(name, graph, planner,
          parameters + (report.livenessBytes - parameters) / divisor);
  }

  void policies(const char *name, const Graph &graph) {
    using Recompute = PaperPolicy::Recompute;
    auto show = [&](const char *what, bool offload, Recompute recompute) {
      PaperPolicy policy;
      policy.offload = offload;
      policy.recompute = recompute;
      policy.inPlace = true;
      PlanMemoryReport report;
      std::string error;
      std::optional<Plan> plan =
          planAsInThePaper(graph, machine, policy, report, error);
      if (!plan) {
        std::printf("%s, %s: %s\n", name, what, error.c_str());
        return;
      }
      isWrong |= !checkPlan(graph, *plan).empty();
      std::printf("%s, %-20s baseline %.2f, arena %.2f MiB at %s, %lld run "
                  "again\n",
                  name, what, double(report.baselineBytes) / mebibyte,
                  double(plan->arenaBytes) / mebibyte,
                  report.peakOperator.c_str(),
                  static_cast<long long>(report.recomputedOperators));
    };
    show("liveness", false, Recompute::none);
    show("+ offload", true, Recompute::none);
    show("+ speed-centric", true, Recompute::speedCentric);
    show("+ memory-centric", true, Recompute::memoryCentric);
    show("+ cost-aware", true, Recompute::costAware);
  }

  bool isWrong = false;

private:
  Machine machine;
};

} // namespace

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  Bench bench(argc > 2 && std::string(argv[2]) == "titan-xp" ? makeTitanXp()
                                                             : makeK40c());
  NetworkOptions options;
  if (what == "table3") {
    for (int64_t batch : {256, 384, 512, 640, 896, 1024}) {
      options.batch = batch;
      bench.row("AlexNet", makeAlexNet(options));
    }
  } else if (what == "wide" || what == "wider") {
    bench.wide(what == "wide" ? 1 : 2);
  } else if (what == "deep") {
    options.batch = 16;
    bench.row("ResNet-10004", makeResNet({6, 32, 3290, 6}, options));
  } else if (what == "fractions") {
    bench.fractions("ResNet-50", makeResNet({3, 4, 6, 3}, options));
    bench.fractions("ResNet-101", makeResNet({3, 4, 23, 3}, options));
    bench.fractions("chain", makeChain(50, options));
  } else if (what == "policies") {
    options.batch = 200;
    options.asInThePaper = true;
    bench.policies("as in the paper", makeAlexNet(options));
    options.asInThePaper = false;
    options.dataOnly = true;
    Graph graph = makeAlexNet(options);
    bench.policies("ours", graph);
    for (int64_t divisor : {2, 4, 8}) {
      SplitGraph split = splitToFit(graph, largestOperator(graph) / divisor);
      std::string error;
      int64_t smallest = smallestBudget(split.graph, makeK40c(), {}, error);
      std::printf("ours, in %d parts: %.2f MiB\n", split.parts,
                  double(smallest) / mebibyte);
    }
  } else {
    std::fprintf(stderr,
                 "usage: %s table3|wide|wider|deep|fractions|policies "
                 "[titan-xp]\n",
                 argv[0]);
    return 1;
  }
  return bench.isWrong ? 1 : 0;
}
