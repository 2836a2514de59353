//===- Train.cpp - Training from files to files ---------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a step depends on is in the weights or follows from the options, the
// epoch and the batch, so that a checkpoint need not hold anything else.
//
//===----------------------------------------------------------------------===//
#include "Train.h"

#include "Batches.h"
#include "Checkpoint.h"
#include "Interrupt.h"
#include "NetworkBatch.h"
#include "Outputs.h"
#include "Progress.h"
#include "Random.h"
#include "Report.h"
#include "Samples.h"
#include "Scalars.h"
#include "Tally.h"
#include "TrainEntries.h"
#include "TrainLog.h"

#include "support/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace espalier::run {

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// What a training starts from
//===----------------------------------------------------------------------===//

static Scalars makeScalars(const espalier_entry &step, const Options &options) {
  const Training &training = *options.training;
  Scalars scalars(step);
  for (const char *name :
       {"learning_rate", "weight_decay", "clip_norm", "gradient_scale", "seed"})
    for (const auto &input : options.inputs)
      if (input.first == name && scalars.has(name))
        fail(ESPALIER_INVALID_ARGUMENT,
             "--input %s: training sets this argument itself; see --help",
             name);

  auto expect = [&](const char *flag, bool given, const char *name) {
    if (given && !scalars.has(name))
      fail(ESPALIER_INVALID_ARGUMENT,
           "%s has no effect: the entry '%s' has no argument '%s', so the "
           "model was compiled without it",
           flag, step.name, name);
  };
  expect("--learning-rate", training.learningRate.has_value(), "learning_rate");
  expect("--weight-decay", training.weightDecay.value_or(0) != 0,
         "weight_decay");
  expect("--clip-norm", training.clipNorm.value_or(0) != 0, "clip_norm");
  expect("--mean", training.mean, "gradient_scale");
  if (scalars.has("learning_rate") && !training.learningRate)
    fail(ESPALIER_INVALID_ARGUMENT, "--train needs --learning-rate F");

  scalars.set("weight_decay", training.weightDecay.value_or(0));
  scalars.set("clip_norm", training.clipNorm.value_or(0));
  scalars.set("gradient_scale", 1);
  return scalars;
}

static Weights makeWeights(const Module &module, const espalier_entry &step,
                           const Options &options) {
  const Training &training = *options.training;
  if (!training.resume.empty())
    return Weights(training.resume);
  if (!options.weights.empty())
    return readParameters(options.weights);
  return Weights::random(module, options.randomWeights.value_or(training.seed),
                         step.name);
}

/// What the optimiser remembers starts at zero where a file does not have it,
/// which would be another training.
static void checkStates(const espalier_entry &step, const Weights &weights,
                        const std::string &path) {
  for (uint32_t b = 0; b != step.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = step.buffers[b];
    bool found = buffer.kind != ESPALIER_BUFFER_STATE;
    for (size_t i = 0; !found && i != weights.count(); ++i)
      found = !std::strcmp(weights.at(i).name, buffer.name);
    if (!found)
      fail(ESPALIER_NOT_FOUND,
           "cannot resume from '%s': it lacks '%s', which the optimiser of "
           "'%s' remembers; was the model compiled with another --train?",
           path.c_str(), buffer.name, step.name);
  }
}

/// FNV-1a of the tokens, one a line.
static std::string hashOf(const Vocabulary &vocabulary) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int64_t id = 0; id != vocabulary.size(); ++id)
    for (char c : vocabulary.token(id) + "\n")
      hash = (hash ^ (unsigned char)c) * 0x100000001b3u;
  return format("%016llx", (unsigned long long)hash);
}

/// What two trainings must have in common to give the same bits, by the names
/// that messages use. The number of threads does not matter.
static Json optionsThatMatter(const Module &module, const espalier_entry &step,
                              const Options &options, const Samples &samples,
                              const Vocabulary &vocabulary) {
  const Training &training = *options.training;
  return {
      {"the model", module.model().name},
      {"--entry", step.name},
      {"--batch-size", *options.batchSize},
      {"--learning-rate", training.learningRate.value_or(0)},
      {"--learning-rate-decay", training.learningRateDecay},
      {"--weight-decay", training.weightDecay.value_or(0)},
      {"--clip-norm", training.clipNorm.value_or(0)},
      {"--mean", training.mean},
      {"--shuffle", training.shuffle},
      {"--seed", training.seed},
      {"--policy",
       options.policy == ESPALIER_POLICY_SERIAL ? "serial" : "batched"},
      {"--ablate=sharing", (options.ablate & ESPALIER_SHARING) != 0},
      {"the number of structures", samples.count()},
      {"the number of vertices", samples.vertices()},
      {"the hash of the vocabulary", hashOf(vocabulary)},
  };
}

//===----------------------------------------------------------------------===//
// Epochs
//===----------------------------------------------------------------------===//

/// 0 ... count - 1.
static std::vector<int64_t> inOrder(int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), (int64_t)0);
  return order;
}

namespace {
/// Numbers of structures, cut into batches.
class BatchedOrder {
public:
  BatchedOrder(std::vector<int64_t> order, int64_t batchSize)
      : order(std::move(order)), size(batchSize) {
    if (size == 0)
      size = (int64_t)this->order.size();
  }
  int64_t count() const { return ((int64_t)order.size() + size - 1) / size; }
  std::vector<int64_t> operator[](int64_t batch) const {
    int64_t begin = batch * size;
    int64_t end = std::min(begin + size, (int64_t)order.size());
    return {order.begin() + begin, order.begin() + end};
  }

private:
  std::vector<int64_t> order;
  int64_t size;
};

class Trainer {
public:
  Trainer(const Options &options, const espalier_entry &step,
          const Samples &samples, const Weights &weights,
          const Session &session, Scalars &scalars, const Samples *validation,
          const Session *measure, Checkpoint &at)
      : options(options), training(*options.training), step(step),
        samples(samples), weights(weights), session(session), scalars(scalars),
        validation(validation), measure(measure), at(at),
        log(training.log, at.epoch) {}

  /// Returns the signal that ended it early, or 0.
  int run();

private:
  bool trainEpoch();
  void checkValidation();
  bool validate(Tally &tally);
  void finishEpoch(const Tally &measured);
  void save();
  std::string epochText() const;
  double learningRate() const;
  [[noreturn]] void failHere(const std::string &where, const Error &e) const;

  const Options &options;
  const Training &training;
  const espalier_entry &step;
  const Samples &samples;
  const Weights &weights;
  const Session &session;
  Scalars &scalars;
  const Samples *validation; // or null
  const Session *measure;    // if there is `validation`
  Checkpoint &at;
  TrainLog log;
  Interrupt interrupt;
  bool saved = false; // `at` as it is
  std::string lastCheckpoint = training.resume;
};
} // namespace

std::string Trainer::epochText() const {
  return format("epoch %lld", (long long)at.epoch + 1);
}

double Trainer::learningRate() const {
  double rate = training.learningRate.value_or(0);
  for (int64_t i = 0; i != at.epoch; ++i)
    rate *= training.learningRateDecay;
  return rate;
}

void Trainer::failHere(const std::string &where, const Error &e) const {
  std::string kept = lastCheckpoint.empty()
                         ? "nothing has been saved"
                         : "the last checkpoint is '" + lastCheckpoint + "'";
  fail(e.code(), "%s: %s; %s", where.c_str(), e.what(), kept.c_str());
}

bool Trainer::trainEpoch() {
  BatchedOrder order(training.shuffle
                         ? shuffled(samples.count(), training.seed, at.epoch)
                         : inOrder(samples.count()),
                     *options.batchSize);
  scalars.set("learning_rate", learningRate());
  Progress progress(epochText() +
                        format(" of %lld", (long long)training.epochs),
                    order.count(), at.batch);
  while (at.batch < order.count()) {
    if (interrupt.signal())
      return false;
    Clock::time_point start = Clock::now();
    std::vector<int64_t> numbers = order[at.batch];
    scalars.set("seed",
                seedOfStep(training.seed, at.epoch * order.count() + at.batch));
    if (training.mean)
      scalars.set("gradient_scale", 1 / (double)numbers.size());
    try {
      Result result = samples.run(session, numbers, scalars.views());
      at.tally.add(result, (int64_t)numbers.size());
    } catch (const Error &e) {
      failHere(epochText() + format(", batch %lld", (long long)at.batch + 1),
               e);
    }
    std::chrono::duration<double> passed = Clock::now() - start;
    at.tally.addSeconds(passed.count());
    ++at.batch;
    saved = false;
    if (progress.due())
      progress.update(at.batch, at.tally.text());
  }
  return !interrupt.signal();
}

/// Has a first look at the data of validation before an epoch is spent.
void Trainer::checkValidation() {
  if (!validation)
    return;
  BatchedOrder order(inOrder(validation->count()), *options.batchSize);
  if (order.count() == 0)
    return;
  try {
    validation->run(*measure, order[0], {});
  } catch (const Error &e) {
    failHere("validation, before the first epoch", e);
  }
}

bool Trainer::validate(Tally &tally) {
  BatchedOrder order(inOrder(validation->count()), *options.batchSize);
  Progress progress(epochText() + ", validation", order.count());
  for (int64_t batch = 0; batch != order.count(); ++batch) {
    if (interrupt.signal())
      return false;
    Clock::time_point start = Clock::now();
    std::vector<int64_t> numbers = order[batch];
    try {
      tally.add(validation->run(*measure, numbers, {}),
                (int64_t)numbers.size());
    } catch (const Error &e) {
      failHere(epochText() + ", validation", e);
    }
    std::chrono::duration<double> passed = Clock::now() - start;
    tally.addSeconds(passed.count());
    if (progress.due())
      progress.update(batch + 1, tally.text());
  }
  return true;
}

void Trainer::finishEpoch(const Tally &measured) {
  Json line = {{"epoch", at.epoch + 1}, {"learning_rate", learningRate()}};
  std::string text = at.tally.text();
  at.tally.log(line, "");
  if (validation) {
    text += "; validation " + measured.text();
    measured.log(line, "validation_");
  }
  std::cout << epochText() << ": " << text
            << format("; %.2f s", at.tally.seconds()) << std::endl;
  // A line whose epoch is not in the checkpoint is dropped by a resume; it
  // would never write one that is missing.
  log.write(line);
  std::string where = "after " + epochText();
  ++at.epoch;
  at.batch = 0;
  at.tally = Tally();
  try {
    save();
  } catch (const Error &e) {
    failHere(where, e);
  }
}

void Trainer::save() {
  at.save(options.saveWeights, weights, step);
  lastCheckpoint = options.saveWeights;
  saved = true;
}

int Trainer::run() {
  if (at.epoch >= training.epochs) {
    std::cout << "all " << training.epochs << " epochs are done" << std::endl;
    save();
    return 0;
  }
  checkValidation();
  while (at.epoch < training.epochs) {
    Tally measured;
    if (!trainEpoch() || (validation && !validate(measured))) {
      if (!saved)
        save();
      std::fprintf(
          stderr,
          "espalier-run: interrupted in epoch %lld after %lld batches; "
          "go on with --resume '%s'\n",
          (long long)at.epoch + 1, (long long)at.batch,
          options.saveWeights.c_str());
      return interrupt.signal();
    }
    finishEpoch(measured);
  }
  return 0;
}

//===----------------------------------------------------------------------===//
// Everything
//===----------------------------------------------------------------------===//

static void printHead(const Module &module, const espalier_entry &step,
                      const Options &options, const Samples &samples,
                      const Samples *validation, const Vocabulary &vocabulary,
                      const Checkpoint &at) {
  auto sizes = [](const Samples &of) {
    return countText(of.count(), "structure", "structures") + ", " +
           countText(of.vertices(), "vertex", "vertices");
  };
  std::cout << module.model().name << ": " << step.name << " on "
            << samples.file() << "\n  " << sizes(samples)
            << "\n  vocabulary of "
            << countText(vocabulary.size(), "token", "tokens")
            << (options.vocabulary.empty() ? ", built from the structures" : "")
            << '\n';
  if (validation)
    std::cout << "  validation on " << validation->file() << ": "
              << sizes(*validation) << ", "
              << countText(validation->unseenTokens(), "word", "words")
              << " not in the vocabulary\n";
  if (at.epoch != 0 || at.batch != 0)
    std::cout << "  resumed from " << options.training->resume << ", after "
              << countText(at.epoch, "epoch", "epochs") << " and "
              << countText(at.batch, "batch", "batches") << '\n';
  std::cout << std::flush;
}

/// Where the time of the training steps went.
static void writeReports(const Module &module, const espalier_entry &step,
                         const Options &options, const Session &session,
                         const Vocabulary &vocabulary) {
  if (!options.trace.empty())
    session.writeTrace(options.trace);
  if (options.stats.empty())
    return;
  Report report;
  report.model = module.model().name;
  report.entry = step.name;
  report.stats = session.stats();
  report.structures = report.stats.structures;
  report.vertices = report.stats.vertices;
  report.hasGraphs = step.graph_count > 0;
  report.plan = step.plan;
  report.batches = report.stats.runs;
  report.vocabulary = vocabulary.size();
  report.seconds = report.stats.total_seconds;
  report.profiled = true;
  writeStats(options, report);
}

int train(const Module &module, Options options) {
  checkOutputs(options);
  const Training &training = *options.training;
  bool validates = !training.validate.empty();
  const espalier_entry &step = findStep(module.model(), options.entry);
  const espalier_entry *measureEntry =
      validates ? &findMeasure(module.model(), training.validateEntry)
                : nullptr;
  Scalars scalars = makeScalars(step, options);
  options.batchSize = batchSizeOf(step, options.batchSize);

  bool grow = options.vocabulary.empty();
  Vocabulary vocabulary = grow ? Vocabulary() : Vocabulary(options.vocabulary);
  bool isNetwork = networkBatch(step) != 0 && options.structures.empty();
  Samples samples(
      step,
      isNetwork
          ? Graphs::ofSamples(
                Arguments::countSamples(step, "--input", options.inputs))
          : Graphs::read(step, "--structures", options.structures, vocabulary,
                         grow ? ESPALIER_UNSEEN_ADD : options.unseenWords),
      isNetwork ? textOf(options.inputs) : textOf(options.structures),
      "--input", options.inputs);
  std::optional<Samples> validation;
  if (validates)
    validation.emplace(
        *measureEntry,
        Graphs::read(*measureEntry, "--validate", training.validate, vocabulary,
                     ESPALIER_UNSEEN_NONE),
        textOf(training.validate), "--validate-input", training.validateInputs);

  Checkpoint at;
  Json matters = optionsThatMatter(module, step, options, samples, vocabulary);
  if (!training.resume.empty()) {
    at = Checkpoint::read(training.resume);
    at.checkOptions(matters, training.resume);
  }
  at.options = matters;

  Weights weights = makeWeights(module, step, options);
  if (!training.resume.empty())
    checkStates(step, weights, training.resume);
  SessionOptions how;
  how.policy = options.policy;
  how.threads = options.threads;
  how.ablate = options.ablate;
  how.entry = step.name;
  how.device = options.device;
  how.machine = options.machine;
  how.memoryLimit = options.memoryLimit;
  how.profile = !(options.stats.empty() && options.trace.empty());
  Session session(module, weights, how);
  std::optional<Session> measure;
  if (validates) {
    how.entry = measureEntry->name;
    how.device = "cpu"; // the measure need not fit where the training does
    how.machine.clear();
    how.profile = false;
    measure.emplace(module, weights, how);
  }

  printHead(module, step, options, samples, validates ? &*validation : nullptr,
            vocabulary, at);
  if (!options.saveVocabulary.empty())
    vocabulary.save(options.saveVocabulary);
  Trainer trainer(options, step, samples, weights, session, scalars,
                  validates ? &*validation : nullptr,
                  validates ? &*measure : nullptr, at);
  int signal = trainer.run();
  writeReports(module, step, options, session, vocabulary);
  return signal == 0 ? 0 : 128 + signal;
}

} // namespace espalier::run
