//===- Report.cpp - What a run did and how long it took -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rates are structures per second over whole passes.
//
//===----------------------------------------------------------------------===//
#include "Report.h"

#include "Graphs.h"

#include "io/File.h"
#include "support/Error.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace espalier::run {

using Json = nlohmann::ordered_json;

namespace {
/// Median, least and greatest of the measured passes.
struct Rates {
  double median, min, max;
};
} // namespace

static Rates ratesOf(const Report &report) {
  std::vector<double> rates;
  for (double seconds : report.passes)
    rates.push_back((double)report.structures / std::max(seconds, 1e-9));
  std::sort(rates.begin(), rates.end());
  size_t n = rates.size();
  return {(rates[(n - 1) / 2] + rates[n / 2]) / 2, rates.front(), rates.back()};
}

/// Time that no kind of work accounts for.
static double restOf(const espalier_stats &stats) {
  return std::max(0.0, stats.total_seconds - stats.schedule_seconds -
                           stats.copy_seconds - stats.matmul_seconds -
                           stats.kernel_seconds - stats.layer_seconds);
}

static std::string bytesText(int64_t bytes) {
  if (bytes < 10000)
    return format("%lld bytes", (long long)bytes);
  if (bytes < 10000000)
    return format("%.1f kB", (double)bytes / 1e3);
  return format("%.1f MB", (double)bytes / 1e6);
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

std::string countText(int64_t count, const char *one, const char *many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

static std::string elementText(const Tensor &tensor, int64_t index) {
  switch (tensor.dtype) {
  case ESPALIER_F32:
    return format("%.6g", tensor.as<float>()[index]);
  case ESPALIER_F64:
    return format("%.6g", tensor.as<double>()[index]);
  default:
    return format("%d", tensor.as<int32_t>()[index]);
  }
}

/// The first rows, if a row fits a line.
static void printRows(std::ostream &out, const Tensor &tensor) {
  constexpr int64_t kRows = 3, kColumns = 10;
  int64_t rows = tensor.shape[0];
  int64_t columns = rows == 0 ? 0 : tensor.elements() / rows;
  if (columns > kColumns)
    return;
  for (int64_t r = 0; r != std::min(rows, kRows); ++r) {
    out << "   ";
    for (int64_t c = 0; c != columns; ++c)
      out << ' ' << elementText(tensor, r * columns + c);
    out << '\n';
  }
  if (rows > kRows)
    out << "    ...\n";
}

static void printSplit(std::ostream &out, const espalier_stats &stats) {
  double total = std::max(stats.total_seconds, 1e-12);
  auto line = [&](const char *what, double seconds) {
    out << format("  %-12s %10.6f s  %5.1f %%\n", what, seconds,
                  100 * seconds / total);
  };
  out << "where the time goes (one profiled pass)\n";
  line("scheduling", stats.schedule_seconds);
  line("gather, copy", stats.copy_seconds);
  line("gemm", stats.matmul_seconds);
  line("elementwise", stats.kernel_seconds);
  if (stats.layer_seconds > 0)
    line("layers", stats.layer_seconds);
  line("rest", restOf(stats));
  line("total", stats.total_seconds);
  if (stats.matmul_seconds > 0)
    out << format("  gemm rate    %10.3f GFLOP/s\n",
                  stats.matmul_flops / stats.matmul_seconds * 1e-9);
}

/// What was run over, and how fast.
static void printStructures(std::ostream &out, const Options &options,
                            const Report &report) {
  out << " on " << textOf(options.structures) << '\n'
      << "  " << countText(report.structures, "structure", "structures") << ", "
      << countText(report.vertices, "vertex", "vertices") << ", "
      << countText(report.batches, "batch", "batches") << ", "
      << countText(report.stats.tasks, "task", "tasks") << '\n'
      << "  vocabulary of " << countText(report.vocabulary, "token", "tokens")
      << (options.vocabulary.empty() ? ", built from the structures" : "")
      << '\n';
  if (report.stats.evaluated_vertices < report.vertices)
    out << "  "
        << countText(report.stats.evaluated_vertices, "vertex", "vertices")
        << " evaluated; the others are equal to one of these\n";
  out << format("  %.6f s, %.1f structures/s, %.1f vertices/s\n",
                report.seconds,
                (double)report.structures / std::max(report.seconds, 1e-9),
                (double)report.vertices / std::max(report.seconds, 1e-9));
}

/// Whether it ran on a device with memory of its own, or as a plan says.
static bool hasMemory(const Options &options, const Report &report) {
  return report.plan || options.device == "sim";
}

/// What the device's memory was used for, and what the plan had promised.
static void printMemory(std::ostream &out, const Options &options,
                        const Report &report) {
  const espalier_stats &stats = report.stats;
  out << "  on the device: " << bytesText(stats.device_peak_bytes) << " used";
  if (report.plan)
    out << ", " << bytesText(report.plan->device_bytes) << " planned";
  if (report.plan && report.plan->budget_bytes > 0)
    out << ", budget of " << bytesText(report.plan->budget_bytes);
  if (!report.plan && options.memoryLimit > 0)
    out << ", limit of " << bytesText(options.memoryLimit);
  out << "\n  in the host's pool: " << bytesText(stats.host_peak_bytes)
      << " used";
  if (report.plan)
    out << ", " << bytesText(report.plan->host_bytes) << " planned";
  out << "\n  copied: " << bytesText(stats.offloaded_bytes) << " to the host, "
      << bytesText(stats.prefetched_bytes) << " to the device";
  if (!report.plan)
    out << "; " << countText(stats.evictions, "eviction", "evictions");
  out << '\n';
  if (options.device == "sim")
    out << format("  simulated%s: %.6f s, of which %.6f s waiting for copies\n",
                  options.dry ? ", nothing computed" : "",
                  stats.simulated_seconds, stats.stall_seconds);
}

void print(std::ostream &out, const Options &options, const Report &report,
           const std::vector<NamedTensor> &results) {
  out << report.model << ": " << report.entry;
  if (report.hasGraphs)
    printStructures(out, options, report);
  else
    out << format("\n  %.6f s\n", report.seconds);
  if (hasMemory(options, report))
    printMemory(out, options, report);
  if (!report.plan)
    out << "  dynamic tensors of the largest batch: "
        << bytesText(report.stats.peak_bytes) << '\n';
  if (!report.passes.empty()) {
    Rates rates = ratesOf(report);
    out << "benchmark of "
        << countText((int64_t)report.passes.size(), "pass", "passes")
        << format(": median %.1f, min %.1f, max %.1f structures/s\n",
                  rates.median, rates.min, rates.max);
  }
  if (report.profiled)
    printSplit(out, report.stats);
  if (options.dry)
    return;
  out << "results\n";
  for (const NamedTensor &result : results) {
    out << "  " << result.name << "  "
        << shapeString(result.tensor.shape, result.tensor.dtype) << '\n';
    printRows(out, result.tensor);
  }
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

void writeStats(const Options &options, const Report &report) {
  const espalier_stats &stats = report.stats;
  Json json;
  json["runtime"] = espalier_runtime_version();
  json["library"] = options.library;
  json["model"] = report.model;
  json["entry"] = report.entry;
  json["data"] = textOf(options.structures);
  json["policy"] =
      options.policy == ESPALIER_POLICY_SERIAL ? "serial" : "batched";
  json["threads"] = options.threads;
  json["batch_size"] = *options.batchSize;
  json["structures"] = report.structures;
  json["vertices"] = report.vertices;
  json["evaluated_vertices"] = stats.evaluated_vertices;
  json["batches"] = report.batches;
  json["tasks"] = stats.tasks;
  json["vocabulary"] = report.vocabulary;
  json["seconds"] = report.seconds;
  if (report.profiled)
    json["profile"] = {{"total_seconds", stats.total_seconds},
                       {"schedule_seconds", stats.schedule_seconds},
                       {"copy_seconds", stats.copy_seconds},
                       {"gemm_seconds", stats.matmul_seconds},
                       {"elementwise_seconds", stats.kernel_seconds},
                       {"layer_seconds", stats.layer_seconds},
                       {"rest_seconds", restOf(stats)},
                       {"gemm_flops", stats.matmul_flops}};
  json["peak_bytes"] = stats.peak_bytes;
  json["allocated_bytes"] = stats.allocated_bytes;
  if (hasMemory(options, report)) {
    Json &memory = json["memory"] = {{"device", options.device}};
    if (report.plan) {
      memory["budget_bytes"] = report.plan->budget_bytes;
      memory["planned_device_bytes"] = report.plan->device_bytes;
    } else {
      memory["limit_bytes"] = options.memoryLimit;
    }
    memory["device_peak_bytes"] = stats.device_peak_bytes;
    if (report.plan)
      memory["planned_host_bytes"] = report.plan->host_bytes;
    memory["host_peak_bytes"] = stats.host_peak_bytes;
    memory["offloaded_bytes"] = stats.offloaded_bytes;
    memory["prefetched_bytes"] = stats.prefetched_bytes;
    if (!report.plan)
      memory["evictions"] = stats.evictions;
  }
  if (options.device == "sim")
    json["simulated"] = {{"machine", options.machine},
                         {"dry", options.dry},
                         {"seconds", stats.simulated_seconds},
                         {"stall_seconds", stats.stall_seconds}};
  if (!report.passes.empty()) {
    Rates rates = ratesOf(report);
    json["benchmark"] = {
        {"repeat", report.passes.size()},
        {"pass_seconds", report.passes},
        {"structures_per_second",
         {{"median", rates.median}, {"min", rates.min}, {"max", rates.max}}}};
  }
  AtomicFile file(options.stats);
  // Names and paths that are not UTF-8 must not make this fail.
  file.write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  file.commit();
}

} // namespace espalier::run
