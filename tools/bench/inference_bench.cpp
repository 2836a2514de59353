//===- inference_bench.cpp - A compiled model against its bare GEMMs ------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   espalier-inference-bench MODEL.so STRUCTURES FORMAT [repeat [batch ...]]
//
// For each batch size, in one process and in turn: the model over all
// structures; the same matrix products, row counts and order, and nothing else,
// by the built-in kernels and by oneDNN (the bound); and, once, the serial
// policy. Prints medians, and where the time goes from a profiled pass.
//
//===----------------------------------------------------------------------===//

#include "device/cpu/Gemm.h"
#include "graph/Forest.h"
#include "io/Readers.h"
#include "module/Module.h"
#include "module/Session.h"
#include "module/Weights.h"
#include "support/Error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace espalier;

namespace {

/// The matrix products of one pass over the data.
class BareProducts {
public:
  BareProducts(const espalier_entry &entry, const Trace &trace,
               const char *backend) {
    setenv("ESPALIER_GEMM", backend, 1);
    std::map<const char *, size_t> products;
    for (uint32_t p = 0; p < entry.phase_count; ++p)
      for (uint32_t s = 0; s < entry.phases[p].step_count; ++s) {
        const espalier_step &step = entry.phases[p].steps[s];
        if (step.kind != ESPALIER_STEP_MATMUL || products.count(step.name))
          continue;
        const espalier_weight &weight = entry.weights[step.weight];
        std::vector<float> values(weight.k * weight.n, 0.01f);
        products[step.name] = weights.size();
        weights.push_back(PackedWeight::pack(ESPALIER_F32, weight.k, weight.n,
                                             values.data()));
        in.resize(std::max<size_t>(in.size(), weight.k * kBlockRows), 0.5f);
        out.resize(std::max<size_t>(out.size(), weight.n * kBlockRows));
      }
    for (const TraceEvent &event : trace.all()) {
      auto it = products.find(event.name);
      if (it != products.end())
        calls.push_back({weights[it->second].get(), event.rows});
    }
    unsetenv("ESPALIER_GEMM");
  }

  double run() {
    int64_t start = now();
    for (auto [weight, rows] : calls)
      weight->multiply(in.data(), weight->k(), out.data(), weight->n(), rows);
    return (now() - start) * 1e-9;
  }

  double flops() const {
    double sum = 0;
    for (auto [weight, rows] : calls)
      sum += 2.0 * weight->k() * weight->n() * rows;
    return sum;
  }

private:
  std::vector<std::unique_ptr<PackedWeight>> weights;
  std::vector<std::pair<const PackedWeight *, int64_t>> calls;
  std::vector<float> in, out;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<Forest> cut(const Forest &forest, int64_t batch) {
  std::vector<Forest> batches;
  for (int64_t k = 0; k < forest.structures(); k += batch)
    batches.push_back(
        forest.slice(k, std::min(k + batch, forest.structures())));
  return batches;
}

double pass(Session &session, const std::vector<Forest> &batches) {
  int64_t start = now();
  for (const Forest &batch : batches)
    session.run(batch, {});
  return (now() - start) * 1e-9;
}

void measure(const Module &module, const Weights &weights, const Forest &forest,
             int64_t batch, int repeat) {
  const espalier_entry &entry = module.entry(nullptr);
  std::vector<Forest> batches = cut(forest, batch);
  Session session(module, entry, weights, {});
  SessionOptions profiling, serialOptions;
  profiling.profile = true;
  serialOptions.policy = ESPALIER_POLICY_SERIAL;
  Session profiled(module, entry, weights, profiling);
  Session serial(module, entry, weights, serialOptions);

  pass(session, batches);
  pass(profiled, batches);
  profiled.resetStats();
  pass(profiled, batches);
  espalier_stats stats = profiled.stats();
  BareProducts builtin(entry, profiled.timeline(), "builtin");
  BareProducts onednn(entry, profiled.timeline(), "onednn");
  builtin.run();
  onednn.run();

  std::vector<double> ours, bareBuiltin, bareOneDnn;
  for (int i = 0; i < repeat; ++i) {
    ours.push_back(pass(session, batches));
    bareBuiltin.push_back(builtin.run());
    bareOneDnn.push_back(onednn.run());
  }
  double total = median(ours);
  double serialTime = pass(serial, batches);
  double percent = 100 / stats.total_seconds;
  double rest = stats.total_seconds - stats.schedule_seconds -
                stats.copy_seconds - stats.matmul_seconds -
                stats.kernel_seconds;
  double vertices = forest.vertices(), structures = forest.structures();
  std::printf("| %5ld | %8.0f | %6.3f | %6.3f | %7.2f | %5.1f | %5.1f | %5.1f "
              "| %5.1f | %5.1f | %5.1f | %8.0f |\n",
              (long)batch, structures / total, total / median(bareOneDnn),
              total / median(bareBuiltin), builtin.flops() / total * 1e-9,
              stats.schedule_seconds / vertices * 1e9,
              stats.schedule_seconds * percent, stats.copy_seconds * percent,
              stats.matmul_seconds * percent, stats.kernel_seconds * percent,
              rest * percent, structures / serialTime);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: %s MODEL.so STRUCTURES FORMAT [repeat "
                 "[batch ...]]\n",
                 argv[0]);
    return 1;
  }
  try {
    int repeat = argc > 4 ? std::atoi(argv[4]) : 7;
    std::vector<int64_t> sizes;
    for (int i = 5; i < argc; ++i)
      sizes.push_back(std::atoi(argv[i]));
    if (sizes.empty())
      sizes = {1, 16, 64, 256};
    Vocabulary vocabulary;
    Forest forest =
        readStructures(argv[2], argv[3], vocabulary, ESPALIER_UNSEEN_ADD);
    double start = now() * 1e-6;
    std::unique_ptr<Module> module = Module::load(argv[1]);
    double loaded = now() * 1e-6;
    const espalier_entry &entry = module->entry(nullptr);
    Weights weights = randomWeights(entry, 1);
    double filled = now() * 1e-6;
    {
      Session session(*module, entry, weights, {});
      session.run(forest.slice(0, 1), {});
    }
    double called = now() * 1e-6;
    std::printf("%s, %ld structures, %ld vertices, median of %d passes; load "
                "and first call %.1f ms\n\n",
                module->model().name, (long)forest.structures(),
                (long)forest.vertices(), repeat,
                loaded - start + called - filled);
    std::printf("| batch | struct/s | /oneDNN | /builtin | GFLOP/s | ns/vertex "
                "scheduling | sched %% | copy %% | GEMM %% | kernel %% | rest "
                "%% | serial struct/s |\n"
                "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int64_t batch : sizes)
      measure(*module, weights, forest, batch, repeat);
  } catch (const Error &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
