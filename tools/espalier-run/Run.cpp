//===- Run.cpp - A run from files to files --------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads everything, runs, and writes at the end, so that a run that fails
// leaves no results behind.
//
//===----------------------------------------------------------------------===//
#include "Run.h"

#include "Batches.h"
#include "Checkpoint.h"
#include "Describe.h"
#include "NetworkBatch.h"
#include "Outputs.h"
#include "Report.h"

#include "io/Npy.h"
#include "support/Error.h"

#include <iostream>
#include <string>

namespace espalier::run {

static Weights makeWeights(const Module &module, const espalier_entry &entry,
                           const Options &options) {
  if (!options.weights.empty())
    return readParameters(options.weights);
  if (options.randomWeights)
    return Weights::random(module, *options.randomWeights, entry.name);
  if (options.dry)
    return Weights(std::vector<NamedView>{});
  for (uint32_t i = 0; i != entry.buffer_count; ++i)
    if (entry.buffers[i].kind == ESPALIER_BUFFER_PARAMETER)
      fail(ESPALIER_INVALID_ARGUMENT,
           "the entry '%s' has parameters, such as '%s'; give --weights FILE "
           "or --random-weights SEED",
           entry.name, entry.buffers[i].name);
  return Weights(std::vector<NamedView>{});
}

/// Measures without a profile, then takes the profile from a session of its
/// own.
static void benchmark(const Options &options, const Batches &batches,
                      const Session &session, const Session &profiled,
                      Report &report) {
  for (unsigned i = 0; i != options.repeat; ++i)
    report.passes.push_back(batches.pass(session, nullptr));
  batches.pass(profiled, nullptr); // warms up
  profiled.resetStats();
  batches.pass(profiled, nullptr);
}

void run(const Module &module, Options options) {
  checkOutputs(options);
  const espalier_entry &entry = findEntry(module.model(), options.entry);
  options.batchSize = batchSizeOf(entry, options.batchSize);

  bool grow = options.vocabulary.empty();
  Vocabulary vocabulary = grow ? Vocabulary() : Vocabulary(options.vocabulary);
  bool isNetwork = networkBatch(entry) != 0 && options.structures.empty();
  Graphs graphs =
      isNetwork
          ? Graphs::ofSamples(
                Arguments::countSamples(entry, "--input", options.inputs))
          : Graphs::read(entry, "--structures", options.structures, vocabulary,
                         grow ? ESPALIER_UNSEEN_ADD : options.unseenWords);
  Arguments arguments(entry, "--input", options.inputs, graphs);
  Batches batches(graphs, arguments, *options.batchSize);
  Weights weights = makeWeights(module, entry, options);

  SessionOptions how;
  how.policy = options.policy;
  how.threads = options.threads;
  how.ablate = options.ablate;
  how.entry = entry.name;
  how.device = options.device;
  how.machine = options.machine;
  how.memoryLimit = options.memoryLimit;
  how.dry = options.dry;
  how.profile =
      !options.benchmark && !(options.stats.empty() && options.trace.empty());
  Session session(module, weights, how);

  Report report;
  report.model = module.model().name;
  report.entry = entry.name;
  report.structures = graphs.count();
  report.vertices = graphs.vertices();
  report.batches = batches.count();
  report.vocabulary = vocabulary.size();
  report.profiled = how.profile;
  report.hasGraphs = entry.graph_count > 0;
  report.plan = entry.plan;

  Collector collector(entry, graphs, batches.count());
  report.seconds = batches.pass(session, &collector);
  report.stats = session.stats();
  if (options.benchmark) {
    how.profile = true;
    Session profiled(module, weights, how);
    benchmark(options, batches, session, profiled, report);
    report.stats = profiled.stats();
    report.profiled = true;
    if (!options.trace.empty())
      profiled.writeTrace(options.trace);
  } else if (!options.trace.empty()) {
    session.writeTrace(options.trace);
  }

  if (!options.saveVocabulary.empty())
    vocabulary.save(options.saveVocabulary);
  if (!options.saveWeights.empty())
    weights.save(options.saveWeights);
  if (!options.stats.empty())
    writeStats(options, report);
  if (!options.output.empty())
    writeNpz(options.output, collector.tensors());
  print(std::cout, options, report, collector.tensors());
}

} // namespace espalier::run
