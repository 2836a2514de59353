//===- SimulationText.cpp - A simulation as text and JSON -----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SimulationReport.h"

#include "espalier/Planning/ByteSize.h"
#include "support/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace espalier::plan {

using planning::formatByteSize;
using planning::Step;

std::string SimulationReport::stepName(size_t step) const {
  const Step &at = file.plan.steps[step];
  switch (at.kind) {
  case Step::Kind::compute:
    return file.graph.operators[at.op].name;
  case Step::Kind::offload:
    return "offload " + tensorName(at.inputs.front());
  case Step::Kind::prefetch:
    return "prefetch " + tensorName(at.outputs.front());
  }
  return {};
}

/// The largest buffers of a step, each range of memory once, by name.
static std::string largestBuffers(const SimulationReport &report,
                                  int32_t step) {
  std::vector<planning::BufferId> there;
  const std::vector<planning::Buffer> &buffers = report.file.plan.buffers;
  for (size_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].first <= step && step <= buffers[b].last)
      there.push_back(planning::BufferId(b));
  std::stable_sort(there.begin(), there.end(), [&](auto a, auto b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  std::string text;
  std::vector<int64_t> offsets;
  for (planning::BufferId buffer : there) {
    int64_t offset = buffers[buffer].offset;
    if (std::find(offsets.begin(), offsets.end(), offset) != offsets.end())
      continue;
    if (offsets.size() == 5)
      break;
    text += (offsets.empty() ? "" : ", ") + report.tensorName(buffer) + " " +
            formatByteSize(buffers[buffer].bytes);
    offsets.push_back(offset);
  }
  return text;
}

/// Highest first, one column a share of the steps: # the plan's live bytes, .
/// those of liveness alone.
static std::string drawCurve(const SimulationReport &report) {
  const planning::Simulation &result = report.result;
  size_t steps = result.liveBytes.size();
  if (steps == 0)
    return "";
  constexpr size_t height = 14;
  // Few steps get some columns each, many steps share them.
  size_t width = steps <= 72 ? 72 / steps * steps : 72;
  std::vector<int64_t> live(width, 0);
  std::vector<int64_t> liveness(width, 0);
  for (size_t column = 0; column < width; ++column) {
    size_t end =
        std::max((column + 1) * steps / width, column * steps / width + 1);
    for (size_t s = column * steps / width; s < end; ++s) {
      live[column] = std::max(live[column], result.liveBytes[s]);
      liveness[column] = std::max(liveness[column], result.livenessCurve[s]);
    }
  }
  int64_t top = std::max(result.livenessBytes, result.lowerBoundBytes);
  std::string text = "memory by step (# the plan, . liveness alone)\n";
  for (size_t row = 0; row < height; ++row) {
    // What reaches the middle of the row is drawn in it.
    double level = double(top) * (double(height - row) - 0.5) / height;
    int64_t label = int64_t(double(top) * double(height - row) / height);
    text += row % 3 == 0 ? format("%11s |", formatByteSize(label).c_str())
                         : format("%11s |", "");
    for (size_t column = 0; column < width; ++column)
      text += double(live[column]) >= level       ? '#'
              : double(liveness[column]) >= level ? '.'
                                                  : ' ';
    while (text.back() == ' ')
      text.pop_back();
    text += '\n';
  }
  text += format("%11s +", "") + std::string(width, '-') + "\n";
  std::string end = std::to_string(steps - 1);
  text += format("%11s  0", "");
  if (width > end.size() + 1)
    text += std::string(width - 1 - end.size(), ' ') + end;
  return text + "\n";
}

/// Of the steps that have a choice, which have a workspace; empty if there are
/// none.
static std::string describeWorkspaces(const planning::PlanFile &file) {
  int64_t choices = 0;
  int64_t used = 0;
  int64_t largest = 0;
  for (const Step &step : file.plan.steps) {
    if (step.kind != Step::Kind::compute ||
        file.graph.operators[step.op].algorithms.size() < 2)
      continue;
    ++choices;
    used += step.workspaceBytes > 0 ? 1 : 0;
    largest = std::max(largest, step.workspaceBytes);
  }
  if (choices == 0)
    return "";
  return format("workspaces %lld of the %lld steps that may use one do",
                (long long)used, (long long)choices) +
         (used > 0 ? ", the largest of " + formatByteSize(largest) : "") + "\n";
}

std::string SimulationReport::text() const {
  size_t counts[3] = {0, 0, 0};
  for (const Step &step : file.plan.steps)
    ++counts[size_t(step.kind)];
  std::string text =
      format("plan       %s: %zu steps, ",
             file.graph.name.empty() ? "(no name)" : file.graph.name.c_str(),
             file.plan.steps.size());
  text += format(
      "%zu run an operator (%lld again), %zu offload, %zu prefetch\n",
      counts[0], (long long)result.recomputedOperators, counts[1], counts[2]);
  text += describeWorkspaces(file);
  text += format("machine    %s: %s, %s\n", machine.name.c_str(),
                 machine.device.name.c_str(),
                 formatByteSize(machine.device.memoryBytes).c_str());
  if (file.plan.arenaBytes > machine.device.memoryBytes)
    text +=
        format("           the plan does not fit: it needs %s, %s more\n",
               formatByteSize(file.plan.arenaBytes).c_str(),
               formatByteSize(file.plan.arenaBytes - machine.device.memoryBytes)
                   .c_str());
  if (!fitsHost())
    text += format("           the host has %s, and the plan needs %s there\n",
                   formatByteSize(machine.hostMemoryBytes).c_str(),
                   formatByteSize(file.plan.hostBytes).c_str());

  text += "\nmemory\n";
  auto bytes = [&](const char *name, int64_t number, const char *what) {
    double share = result.baselineBytes > 0
                       ? 100.0 * double(number) / double(result.baselineBytes)
                       : 0;
    text += format("  %-17s%12s %6.1f %%", name, formatByteSize(number).c_str(),
                   share);
    text += *what ? format("  %s\n", what) : "\n";
  };
  bytes("baseline", result.baselineBytes, "every tensor on its own");
  bytes("liveness", result.livenessBytes, "without copies and recomputation");
  bytes("plan", result.peakBytes, "the arena");
  bytes("lower bound", result.lowerBoundBytes, "live bytes of the plan's peak");
  bytes("largest operator", result.largestOperatorBytes,
        "its inputs and outputs");
  if (file.budgetBytes > 0)
    bytes("budget", file.budgetBytes, "");
  bytes("host", result.hostBytes, "");
  if (result.peakStep >= 0) {
    text += format("  peak at step %d, ", result.peakStep) +
            stepName(size_t(result.peakStep)) + "\n";
    text += "  largest there: " + largestBuffers(*this, result.peakStep) + "\n";
  }

  text += "\ntime\n";
  auto seconds = [&](const char *name, double number, const std::string &what) {
    text += format("  %-25s%12.6f s", name, number) +
            (what.empty() ? "" : "  " + what) + "\n";
  };
  seconds("with endless memory", result.secondsUnlimited, "");
  seconds("plan", result.seconds, format("%+.1f %%", 100 * overhead()));
  seconds("  operators", result.computeSeconds, "");
  seconds("    again", result.recomputedSeconds,
          format("%lld operators, %.3f GFLOP",
                 (long long)result.recomputedOperators,
                 result.recomputedFlops / 1e9));
  seconds("  waiting for prefetches", result.fetchStallSeconds, "");
  seconds("  waiting for offloads", result.memoryStallSeconds, "");
  seconds("  copies at the end", result.drainSeconds, "");
  text += format("  copies: %s to the host in %.6f s, ",
                 formatByteSize(result.offloadBytes).c_str(),
                 result.offloadSeconds);
  text += format("%s to the device in %.6f s\n",
                 formatByteSize(result.prefetchBytes).c_str(),
                 result.prefetchSeconds);
  std::string curve = drawCurve(*this);
  if (!curve.empty())
    text += "\n" + curve;
  if (!file.notes.empty()) {
    text += "\nnotes\n";
    for (const std::string &note : file.notes)
      text += "  " + note + "\n";
  }
  return text;
}

std::string SimulationReport::json() const {
  nlohmann::ordered_json algorithms = nlohmann::ordered_json::object();
  for (const Step &step : file.plan.steps) {
    if (step.kind != Step::Kind::compute)
      continue;
    const planning::Operator &op = file.graph.operators[step.op];
    if (op.algorithms.empty())
      continue;
    nlohmann::ordered_json &count =
        algorithms[op.algorithms[step.algorithm].name];
    count = count.is_null() ? 1 : count.get<int64_t>() + 1;
  }
  size_t offloads = 0;
  size_t prefetches = 0;
  for (const Step &step : file.plan.steps) {
    offloads += step.kind == Step::Kind::offload;
    prefetches += step.kind == Step::Kind::prefetch;
  }
  nlohmann::ordered_json json{
      {"graph", file.graph.name},
      {"machine", machine.name},
      {"baseline_bytes", result.baselineBytes},
      {"liveness_bytes", result.livenessBytes},
      {"peak_bytes", result.peakBytes},
      {"lower_bound_bytes", result.lowerBoundBytes},
      {"recomputed_operators", result.recomputedOperators},
      {"recomputed_flops", result.recomputedFlops},
      {"transfer_bytes", result.transferBytes()},
      {"seconds", result.seconds},
      {"seconds_unlimited", result.secondsUnlimited},
      {"largest_operator_bytes", result.largestOperatorBytes},
      {"budget_bytes", file.budgetBytes},
      {"host_bytes", result.hostBytes},
      {"fits", fits()},
      {"peak_step", result.peakStep},
      {"peak_step_name",
       result.peakStep < 0 ? "" : stepName(size_t(result.peakStep))},
      {"steps", file.plan.steps.size()},
      {"operators", file.graph.operators.size()},
      {"buffers", file.plan.buffers.size()},
      {"offloads", offloads},
      {"prefetches", prefetches},
      {"offload_bytes", result.offloadBytes},
      {"prefetch_bytes", result.prefetchBytes},
      {"compute_seconds", result.computeSeconds},
      {"recomputed_seconds", result.recomputedSeconds},
      {"fetch_stall_seconds", result.fetchStallSeconds},
      {"memory_stall_seconds", result.memoryStallSeconds},
      {"drain_seconds", result.drainSeconds},
      {"offload_seconds", result.offloadSeconds},
      {"prefetch_seconds", result.prefetchSeconds},
      {"overhead", overhead()},
      {"algorithms", std::move(algorithms)}};
  return json.dump(2) + "\n";
}

} // namespace espalier::plan
