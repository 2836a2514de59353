//===- Options.cpp - The command line of espalier-run ---------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every flag with its help, and the rules for combining them.
//
//===----------------------------------------------------------------------===//
#include "Options.h"

#include "support/ByteSize.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iostream>
#include <map>

namespace espalier::run {

static const char kDescription[] =
    "Runs a compiled model on structures (trees, sequences, DAGs), or trains "
    "it.";

static const std::map<std::string, uint32_t> kOptimisations = {
    {"elision", ESPALIER_ELISION},
    {"streaming", ESPALIER_STREAMING},
    {"sub-batches", ESPALIER_SUB_BATCHES},
    {"sharing", ESPALIER_SHARING},
};

static const char kFooter[] =
    "Structures are run in batches, in the order of the file, and the results "
    "of\nall batches are written one after another, so that they do not depend "
    "on the\nbatch size. A result that is neither per vertex nor per structure "
    "has one value a\nbatch: these are stacked, with the batches as first "
    "dimension.\n\nFormats of structures:\n"
    "  ptb       bracketed trees, \"(label token)\", \"(label tree tree "
    "...)\"\n"
    "  sequence  one sequence of tokens a line; an empty line has length 0\n"
    "  conllu    dependency trees; a sentence with several roots is one "
    "structure\n"
    "  jsonl     {\"children\": [[], [], [0, 1]], \"fields\": {\"word\": "
    "[...]}}"
    " a line";

/// Every "NAME=FILE" in two.
static std::vector<std::pair<std::string, std::string>>
splitInputs(const char *flag, const std::vector<std::string> &texts) {
  std::vector<std::pair<std::string, std::string>> inputs;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      fail(ESPALIER_INVALID_ARGUMENT, "%s expects NAME=FILE.npy, found '%s'",
           flag, text.c_str());
    std::string name = text.substr(0, equals);
    for (const auto &other : inputs)
      if (other.first == name)
        fail(ESPALIER_INVALID_ARGUMENT, "%s %s is given twice", flag,
             name.c_str());
    inputs.emplace_back(name, text.substr(equals + 1));
  }
  return inputs;
}

/// The format that a file's name tells.
static std::string guessFormat(const std::string &path) {
  static const char *const formats[] = {"ptb", "conllu", "jsonl"};
  for (std::string format : formats) {
    std::string extension = "." + format;
    if (path.size() > extension.size() &&
        !path.compare(path.size() - extension.size(), extension.size(),
                      extension))
      return format;
  }
  fail(ESPALIER_INVALID_ARGUMENT,
       "--format is required for '%s': only the extensions .ptb, .conllu and "
       ".jsonl tell it; expected ptb, sequence, conllu or jsonl",
       path.c_str());
}

/// Every "FILE" or "NAME=FILE"; a '=' behind a '/' is part of a path.
static std::vector<StructureFile>
splitStructures(const char *flag, const std::vector<std::string> &texts,
                const std::string &format) {
  std::vector<StructureFile> files;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    bool named = equals < text.find('/') && equals != std::string::npos;
    if (named && (equals == 0 || equals + 1 == text.size()))
      fail(ESPALIER_INVALID_ARGUMENT,
           "%s expects FILE or NAME=FILE, found '%s'", flag, text.c_str());
    std::string path = named ? text.substr(equals + 1) : text;
    files.push_back({named ? text.substr(0, equals) : "", path,
                     format.empty() ? guessFormat(path) : format});
  }
  return files;
}

/// Rules that concern several flags.
static void checkCombination(const Options &options) {
  if (options.describe)
    return;
  if (options.training) {
    if (options.training->epochs == 0)
      fail(ESPALIER_INVALID_ARGUMENT, "--train needs --epochs N");
    if (options.saveWeights.empty())
      fail(ESPALIER_INVALID_ARGUMENT,
           "--train needs --save-weights FILE; what it learns would be lost");
  }
}

/// A number that is neither negative nor infinite nor NaN.
static std::string checkFactor(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && std::isfinite(value) &&
      value >= 0)
    return "";
  return "expected a number that is not negative, found '" + text + "'";
}

/// Makes a size such as "512MiB" a number.
static std::string readByteSize(std::string &text) {
  std::optional<int64_t> bytes = parseByteSize(text);
  if (!bytes)
    return "'" + text + "' is no size such as 12884901888 or 12GiB";
  text = std::to_string(*bytes);
  return "";
}

namespace {
/// The options of --train while they are being parsed.
struct TrainingFlags {
  bool train = false;
  Training training;
  std::vector<std::string> validate;
  std::vector<std::string> validateInputs;

  void add(CLI::App &app);
  /// `format` is that of all files of structures; empty: their names tell.
  std::optional<Training> get(const std::string &format) const;
};
} // namespace

void TrainingFlags::add(CLI::App &app) {
  const char *group = "Training";
  CLI::Option *trains =
      app.add_flag("--train", train,
                   "Train instead: change the parameters so that the loss "
                   "falls. The model must have been compiled with --train; the "
                   "entry is 'train_step' unless --entry says otherwise")
          ->group(group);
  auto option = [&](const char *name, auto &value, const char *help) {
    return app.add_option(name, value, help)->group(group)->needs(trains);
  };
  auto factor = [&](const char *name, auto &value, const char *help) {
    return option(name, value, help)
        ->type_name("F")
        ->check(CLI::Validator(checkFactor, ""));
  };
  auto flag = [&](const char *name, bool &value, const char *help) {
    return app.add_flag(name, value, help)->group(group)->needs(trains);
  };

  option("--epochs", training.epochs,
         "Passes over all structures, with those that --resume has behind it")
      ->type_name("N")
      ->check(CLI::Range((int64_t)1, (int64_t)INT32_MAX));
  factor("--learning-rate", training.learningRate, "Step size");
  factor("--learning-rate-decay", training.learningRateDecay,
         "After every epoch the learning rate is multiplied by this")
      ->capture_default_str();
  factor("--weight-decay", training.weightDecay,
         "Pulls parameters towards zero; 0: off");
  factor("--clip-norm", training.clipNorm,
         "Greatest norm of the whole gradient; 0: any");
  flag("--mean", training.mean,
       "Follow the gradient of the mean over a batch's structures, not that of "
       "their sum");
  flag("--shuffle,!--no-shuffle", training.shuffle,
       "Visit the structures in another order in every epoch (the default), or "
       "always in that of the file");
  option("--seed", training.seed,
         "Of initial parameters, of the order of structures, and of dropout")
      ->type_name("N")
      ->capture_default_str();
  option("--validate", validate,
         "Structures to measure loss and accuracy on after every epoch; "
         "repeatable, as --structures")
      ->type_name("[NAME=]FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  option("--validate-entry", training.validateEntry,
         "The entry that measures; not needed if only one other has a 'loss'")
      ->type_name("NAME");
  option("--validate-input", validateInputs,
         "As --input, for the structures of --validate; repeatable")
      ->type_name("NAME=FILE.npy")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  option("--resume", training.resume,
         "Go on from a checkpoint as if training had never stopped; it may be "
         "the file of --save-weights")
      ->type_name("FILE.safetensors")
      ->excludes("--weights")
      ->excludes("--random-weights");
  option("--log", training.log, "Write a line of JSON an epoch")
      ->type_name("FILE.jsonl");
  for (const char *other : {"--output", "--benchmark", "--describe", "--dry"})
    trains->excludes(other);
}

std::optional<Training> TrainingFlags::get(const std::string &format) const {
  if (!train)
    return std::nullopt;
  Training all = training;
  all.validate = splitStructures("--validate", validate, format);
  all.validateInputs = splitInputs("--validate-input", validateInputs);
  return all;
}

static std::string lowerFirst(std::string text) {
  // "--flag ..." and names in capitals stay as they are.
  if (text.size() > 1 && std::islower((unsigned char)text[1]))
    text[0] = (char)std::tolower((unsigned char)text[0]);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::optional<Options> parseOptions(int argc, char **argv) {
  Options options;
  std::string policy = "batched";
  std::vector<uint32_t> ablate;
  std::string unseenWords = "error";
  std::string format;
  std::vector<std::string> structures, inputs;
  TrainingFlags training;

  CLI::App app{kDescription, "espalier-run"};
  app.footer(kFooter);
  app.set_version_flag("--version", espalier_runtime_version());
  app.add_option("library", options.library, "The compiled model")
      ->required()
      ->type_name("MODEL.so");
  app.add_option("--entry", options.entry,
                 "The entry to run; the model's first if none is given, or "
                 "'train_step' to train")
      ->type_name("NAME");
  app.add_flag("--describe", options.describe,
               "Print the model's entries, arguments, parameters, results and "
               "steps, and do nothing else");

  const char *data = "Data";
  app.add_option("--structures", structures,
                 "Structures to run on; repeatable, with the name of the graph "
                 "that they are for, if the entry runs over several: the k-th "
                 "structures of all of these belong together")
      ->group(data)
      ->type_name("[NAME=]FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--format", format,
                 "Format of the structures; not needed for files that end in "
                 ".ptb, .conllu or .jsonl")
      ->group(data)
      ->check(CLI::IsMember({"ptb", "sequence", "conllu", "jsonl"}));
  CLI::Option *vocabulary =
      app.add_option("--vocabulary", options.vocabulary,
                     "Words, one a line; without it a vocabulary is built from "
                     "the structures")
          ->group(data)
          ->type_name("FILE");
  app.add_option("--save-vocabulary", options.saveVocabulary,
                 "Write the vocabulary that was built")
      ->group(data)
      ->type_name("FILE")
      ->excludes(vocabulary);
  app.add_option("--unseen-words", unseenWords,
                 "What to do about words that neither the vocabulary nor its "
                 "'<unk>' stands for: error, or none (as at a vertex without a "
                 "word)")
      ->group(data)
      ->capture_default_str()
      ->check(CLI::IsMember({"error", "none"}))
      ->needs(vocabulary);
  app.add_option("--input", inputs,
                 "An argument of the entry that is not a field of the "
                 "structures, with a row a vertex or a row a structure (of the "
                 "whole file) or as a whole, as the entry says; of a layered "
                 "network, with a part for each sample; repeatable")
      ->group(data)
      ->type_name("NAME=FILE.npy")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);

  const char *weights = "Weights";
  CLI::Option *file =
      app.add_option("--weights", options.weights, "Parameters by name")
          ->group(weights)
          ->type_name("FILE.safetensors");
  app.add_option("--random-weights", options.randomWeights,
                 "Random parameters; the same seed gives the same")
      ->group(weights)
      ->type_name("SEED")
      ->excludes(file);
  app.add_option("--save-weights", options.saveWeights,
                 "Write the parameters that were used; when training, a "
                 "checkpoint after every epoch")
      ->group(weights)
      ->type_name("FILE.safetensors");

  const char *execution = "Execution";
  app.add_option("--batch-size", options.batchSize,
                 "Structures in a batch; 0: all")
      ->group(execution)
      ->capture_default_str()
      ->check(CLI::Range((int64_t)0, (int64_t)INT32_MAX));
  app.add_option("--policy", policy,
                 "batched: all vertices whose children are done, together; "
                 "serial: one vertex at a time, for comparison")
      ->group(execution)
      ->capture_default_str()
      ->check(CLI::IsMember({"batched", "serial"}));
  app.add_option("--threads", options.threads, "Threads to use")
      ->group(execution)
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--ablate", ablate,
                 "Leave optimisations of the runtime out, for comparison: "
                 "elision, streaming, sub-batches, sharing")
      ->group(execution)
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(kOptimisations));
  CLI::Option *device =
      app.add_option("--device", options.device,
                     "What the entry runs on: cpu, or sim, which computes the "
                     "same and says how long the machine of --machine would "
                     "take")
          ->group(execution)
          ->capture_default_str()
          ->check(CLI::IsMember({"cpu", "sim"}));
  app.add_option("--machine", options.machine,
                 "Description of the machine that --device sim stands for")
      ->group(execution)
      ->type_name("FILE.json")
      ->needs(device);
  app.add_option("--memory-limit", options.memoryLimit,
                 "Bytes that the device may have, such as 512MiB; without a "
                 "memory plan, cpu counts dynamic tensors only and refuses "
                 "larger batches, sim offloads them")
      ->group(execution)
      ->type_name("BYTES")
      ->transform(CLI::Validator(readByteSize, ""));
  app.add_flag("--dry", options.dry,
               "With --device sim: do everything but compute. Parameters and "
               "arguments are not needed, and results mean nothing")
      ->group(execution)
      ->needs(device);

  const char *reports = "Results and reports";
  app.add_option("--output", options.output, "Write the results, by name")
      ->group(reports)
      ->type_name("FILE.npz");
  app.add_option("--stats", options.stats, "Write counts and times")
      ->group(reports)
      ->type_name("FILE.json");
  app.add_option("--trace", options.trace,
                 "Write a timeline of all steps, for Perfetto")
      ->group(reports)
      ->type_name("FILE.json");
  CLI::Option *benchmark =
      app.add_flag("--benchmark", options.benchmark,
                   "Measure passes over all structures, after one to warm up")
          ->group(reports);
  app.add_option("--repeat", options.repeat, "Passes of --benchmark")
      ->group(reports)
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->needs(benchmark);

  training.add(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() != 0)
      fail(ESPALIER_INVALID_ARGUMENT, "%s", lowerFirst(e.what()).c_str());
    app.exit(e, std::cout, std::cerr); // --help, --version
    return std::nullopt;
  }
  if (policy == "serial")
    options.policy = ESPALIER_POLICY_SERIAL;
  for (uint32_t optimisation : ablate)
    options.ablate |= optimisation;
  if (unseenWords == "none")
    options.unseenWords = ESPALIER_UNSEEN_NONE;
  options.structures = splitStructures("--structures", structures, format);
  options.inputs = splitInputs("--input", inputs);
  options.training = training.get(format);
  checkCombination(options);
  return options;
}

} // namespace espalier::run
