//===- Simulate.cpp - espalier-plan simulate ------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks a plan, and runs it on the description of a machine.
//
//===----------------------------------------------------------------------===//
#include "SimulationReport.h"
#include "Subcommands.h"

#include "io/File.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace espalier::plan {

namespace {
struct Options {
  std::string path;
  std::string machine;
  std::string html;
  std::string trace;
  bool json = false;
};

void writeFile(const std::string &path, const std::string &text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void simulate(const Options &options) {
  checkOutputPaths({options.path, options.machine},
                   {options.html, options.trace});
  std::string problem;
  std::optional<planning::Machine> machine =
      planning::readMachineFile(options.machine, problem);
  if (!machine)
    fail(ESPALIER_MALFORMED, "%s", problem.c_str());
  SimulationReport report{readCheckedPlan(options.path, {}), *machine, {}};
  report.result =
      planning::simulate(report.file.graph, report.file.plan, report.machine);
  if (!options.html.empty())
    writeFile(options.html, report.html());
  if (!options.trace.empty())
    writeFile(options.trace, report.trace());
  std::cout << (options.json ? report.json() : report.text());
}
} // namespace

void addSimulate(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "simulate", "Run a plan on a machine's description: memory by step, "
                  "timeline, totals");
  command->add_option("file", options->path, "A plan")
      ->required()
      ->type_name("PLAN.json");
  command
      ->add_option("--machine", options->machine,
                   "The machine; docs/machines has some")
      ->required()
      ->type_name("FILE.json");
  command->add_flag("--json", options->json, "Print the totals as JSON");
  command
      ->add_option("--html", options->html,
                   "Write a page with the memory's curve and map, and the "
                   "timeline")
      ->type_name("FILE.html");
  command
      ->add_option("--trace", options->trace,
                   "Write the timeline in the Chrome trace format")
      ->type_name("FILE.json");
  command->callback([options] { simulate(*options); });
}

} // namespace espalier::plan
