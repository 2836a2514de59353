//===- Check.cpp - espalier-plan check ------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the checker of plans on a file.
//
//===----------------------------------------------------------------------===//
#include "SimulationReport.h"
#include "Subcommands.h"

#include "espalier/Planning/CheckPlan.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

namespace espalier::plan {

planning::PlanFile readCheckedPlan(const std::string &path,
                                   planning::CheckPlanOptions options) {
  std::string problem;
  std::optional<planning::PlanFile> file =
      planning::readPlanFile(path, problem);
  if (!file)
    fail(ESPALIER_MALFORMED, "%s", problem.c_str());
  if (options.budgetBytes < 0 && file->budgetBytes > 0)
    options.budgetBytes = file->budgetBytes;
  problem = planning::checkPlan(file->graph, file->plan, options);
  if (!problem.empty())
    fail(ESPALIER_MALFORMED, "%s: the plan is wrong: %s", path.c_str(),
         problem.c_str());
  return std::move(*file);
}

namespace {
struct Options {
  std::string path;
  std::string budget;
  std::string hostMemory;
};

void check(const Options &options) {
  planning::CheckPlanOptions limits;
  if (!options.budget.empty())
    limits.budgetBytes = byteSizeOption("--budget", options.budget);
  if (!options.hostMemory.empty())
    limits.hostMemoryBytes =
        byteSizeOption("--host-memory", options.hostMemory);
  planning::PlanFile file = readCheckedPlan(options.path, limits);
  std::printf("%s: the plan is right: %zu steps, %zu buffers, %lld bytes on "
              "the device, %lld on the host\n",
              options.path.c_str(), file.plan.steps.size(),
              file.plan.buffers.size(), (long long)file.plan.arenaBytes,
              (long long)file.plan.hostBytes);
}
} // namespace

void addCheck(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "check", "Check that a plan computes what its graph says, in its memory");
  command->add_option("file", options->path, "A plan")
      ->required()
      ->type_name("PLAN.json");
  command
      ->add_option("--budget", options->budget,
                   "What the arena must fit in, as 12GiB; without it, what the "
                   "plan was made for")
      ->type_name("BYTES");
  command
      ->add_option("--host-memory", options->hostMemory,
                   "What the host's part must fit in")
      ->type_name("BYTES");
  command->callback([options] { check(*options); });
}

} // namespace espalier::plan
