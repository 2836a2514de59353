//===- Recompute.cpp - espalier-plan recompute ----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans which operators of a graph to run again so that it fits a budget. What
// was planned is replayed by an independent checker before anything is written.
//
//===----------------------------------------------------------------------===//
#include "Subcommands.h"

#include "espalier/Planning/AssignBuffers.h"
#include "espalier/Planning/ByteSize.h"
#include "espalier/Planning/CheckPlan.h"
#include "espalier/Planning/CheckRecomputation.h"
#include "espalier/Planning/PlanFile.h"
#include "espalier/Planning/ReadGraph.h"
#include "espalier/Planning/Recompute.h"
#include "io/File.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>

namespace espalier::plan {

namespace {
struct Options {
  std::string path;
  std::vector<std::string> budgets;
  std::string output;
  int64_t changes = -1;
  double secondsLimit = 0;
  bool inPlace = false;
  bool json = false;
};

class RecomputeCommand {
public:
  explicit RecomputeCommand(const Options &options) : options(options) {
    planOptions.changes = options.changes;
    planOptions.secondsLimit = options.secondsLimit;
    planOptions.inPlace = options.inPlace;
  }

  void run() {
    checkOutputPaths({options.path}, {options.output});
    readGraph();
    plain = planning::withoutRecomputation(graph, planOptions);
    lowerBound = planning::recomputationLowerBound(graph, planOptions);
    for (const std::string &budget : options.budgets)
      budgets.push_back(readBudget(budget));
    auto start = std::chrono::steady_clock::now();
    plans = planning::planRecomputations(graph, budgets, errors, planOptions);
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    planningSeconds = elapsed.count();
    // With one budget there is nothing else to say.
    if (plans.size() == 1 && !plans[0])
      fail(ESPALIER_OUT_OF_MEMORY, "%s: %s", options.path.c_str(),
           errors[0].c_str());
    for (size_t i = 0; i < plans.size(); ++i)
      if (plans[i])
        check(*plans[i], budgets[i]);
    if (!options.output.empty())
      write();
    if (options.json)
      reportJson();
    else
      report();
  }

private:
  void readGraph() {
    std::string error;
    std::optional<planning::Graph> read =
        planning::readGraph(readFile(options.path), error);
    if (!read)
      fail(ESPALIER_MALFORMED, "%s: %s", options.path.c_str(), error.c_str());
    graph = std::move(*read);
  }

  /// Bytes, or a part of what is needed without recomputation.
  int64_t readBudget(const std::string &text) const {
    if (!text.empty() && text.back() == '%') {
      char *end = nullptr;
      double percent = std::strtod(text.c_str(), &end);
      if (end == &text.back() && end != text.c_str() && percent >= 0 &&
          percent <= 1e6)
        return int64_t(std::min(double(plain.peakBytes) * (percent / 100),
                                double(int64_t(1) << 62)));
    } else if (std::optional<int64_t> bytes = planning::parseByteSize(text)) {
      return *bytes;
    }
    fail(ESPALIER_INVALID_ARGUMENT,
         "--budget: '%s' is no size, such as 4096, 12GiB, or 90%% of what is "
         "needed without recomputation",
         text.c_str());
  }

  void check(const planning::Recomputation &plan, int64_t budget) const {
    int64_t peak = 0;
    std::string problem = planning::checkRecomputation(
        graph, plan.sequence, budget, options.inPlace, &peak);
    if (problem.empty() && peak != plan.peakBytes)
      problem = "its peak is " + std::to_string(peak) + " bytes, not " +
                std::to_string(plan.peakBytes);
    if (!problem.empty())
      fail(ESPALIER_INTERNAL, "%s: the plan is wrong: %s", options.path.c_str(),
           problem.c_str());
  }

  /// With offsets. The arena can be a little larger than what is live at once;
  /// a file with a budget that is not kept would be refused by all who read it.
  void write() {
    planning::PlanFile file;
    file.graph = graph;
    file.plan =
        planning::planOfSequence(graph, plans[0]->sequence, options.inPlace);
    planning::AssignBuffersOptions assignOptions;
    assignOptions.capacity = budgets[0];
    std::string error;
    if (!planning::assignBuffers(file.plan, error, assignOptions))
      fail(ESPALIER_INTERNAL, "%s: %s", options.path.c_str(), error.c_str());
    arenaBytes = file.plan.arenaBytes;
    if (arenaBytes <= budgets[0])
      file.budgetBytes = budgets[0];
    std::string problem = planning::checkPlan(graph, file.plan);
    if (!problem.empty())
      fail(ESPALIER_INTERNAL, "%s: the plan is wrong: %s", options.path.c_str(),
           problem.c_str());
    if (!planning::writePlanFile(options.output, file, error))
      fail(ESPALIER_IO_ERROR, "%s", error.c_str());
  }

  double percent(double of, double whole) const {
    return whole > 0 ? 100 * of / whole : 0;
  }

  void reportJson() const {
    nlohmann::ordered_json json{{"graph", graph.name},
                                {"operators", graph.operators.size()},
                                {"peak_bytes_before", plain.peakBytes},
                                {"lower_bound_bytes", lowerBound},
                                {"cost_before", plain.secondsOnce}};
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (size_t i = 0; i < plans.size(); ++i) {
      nlohmann::ordered_json entry{{"budget_bytes", budgets[i]}};
      if (plans[i]) {
        entry["peak_bytes"] = plans[i]->peakBytes;
        entry["cost"] = plain.secondsOnce + plans[i]->secondsAgain;
        entry["overhead_percent"] =
            percent(plans[i]->secondsAgain, plain.secondsOnce);
        entry["recomputed_operators"] = plans[i]->runsAgain;
      } else {
        entry["error"] = errors[i];
      }
      list.push_back(std::move(entry));
    }
    json["plans"] = std::move(list);
    if (arenaBytes >= 0)
      json["arena_bytes"] = arenaBytes;
    json["seconds"] = planningSeconds;
    std::cout << json.dump(2) << '\n';
  }

  void report() const {
    std::printf("operators    %zu\n"
                "peak before  %lld bytes\n"
                "lower bound  %lld bytes\n"
                "cost before  %.17g\n",
                graph.operators.size(), (long long)plain.peakBytes,
                (long long)lowerBound, plain.secondsOnce);
    for (size_t i = 0; i < plans.size(); ++i) {
      std::printf("budget       %lld bytes\n", (long long)budgets[i]);
      if (!plans[i]) {
        std::printf("             %s\n", errors[i].c_str());
        continue;
      }
      std::printf("peak         %lld bytes, at run %lld of %zu\n"
                  "cost         %.17g\n"
                  "overhead     %.2f%%\n"
                  "recomputed   %lld operators\n",
                  (long long)plans[i]->peakBytes, (long long)plans[i]->peakRun,
                  plans[i]->sequence.size(),
                  plain.secondsOnce + plans[i]->secondsAgain,
                  percent(plans[i]->secondsAgain, plain.secondsOnce),
                  (long long)plans[i]->runsAgain);
    }
    if (arenaBytes >= 0)
      std::printf("arena        %lld bytes\n", (long long)arenaBytes);
    std::printf("seconds      %.3f\n", planningSeconds);
  }

  const Options &options;
  planning::RecomputeOptions planOptions;
  planning::Graph graph;
  planning::Recomputation plain;
  int64_t lowerBound = 0;
  std::vector<int64_t> budgets;
  std::vector<std::optional<planning::Recomputation>> plans;
  std::vector<std::string> errors;
  double planningSeconds = 0;
  /// Of the plan that was written; -1: none was.
  int64_t arenaBytes = -1;
};
} // namespace

void addRecompute(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "recompute", "Plan which operators to run again to fit a budget");
  command
      ->add_option("file", options->path,
                   "A graph of Checkmate's or Moccasin's, or a log of Dynamic "
                   "Tensor Rematerialization")
      ->required()
      ->type_name("GRAPH.json");
  CLI::Option *budget =
      command
          ->add_option("--budget", options->budgets,
                       "The most bytes that may be live at once: 4096, 12GiB, "
                       "or 90% of what is needed without recomputation; with "
                       "several, a larger one never costs more")
          ->required()
          ->delimiter(',')
          ->type_name("BYTES");
  command
      ->add_option("-o,--output", options->output,
                   "Write the plan, of the only budget")
      ->type_name("PLAN.json");
  command
      ->add_option("--changes", options->changes,
                   "Changes to the plan that are tried to make it cheaper; -1: "
                   "by the size of the graph")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(-1), int64_t(INT64_MAX)));
  command
      ->add_option("--time-limit", options->secondsLimit,
                   "Seconds after which the search ends with the best that it "
                   "has; 0: none")
      ->type_name("S")
      ->capture_default_str()
      ->check(CLI::Validator(checkSeconds, ""));
  command->add_flag("--in-place", options->inPlace,
                    "Outputs may lie where inputs of the same size lay");
  command->add_flag("--json", options->json, "Print the report as JSON");
  command->callback([options, budget] {
    if (!options->output.empty() && options->budgets.size() != 1)
      throw CLI::ExcludesError(budget->get_name() + " with several values",
                               "--output");
    RecomputeCommand(*options).run();
  });
}

} // namespace espalier::plan
