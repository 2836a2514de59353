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

#include "support/Error.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <iostream>

namespace espalier::run {

static const char kDescription[] =
    "Runs a compiled model on structures: trees, sequences, DAGs.";

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

/// "NAME=FILE" in two.
static std::pair<std::string, std::string> splitInput(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    fail(ESPALIER_INVALID_ARGUMENT, "--input expects NAME=FILE.npy, found '%s'",
         text.c_str());
  return {text.substr(0, equals), text.substr(equals + 1)};
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

/// Rules that concern several flags.
static void checkCombination(Options &options) {
  if (options.describe)
    return;
  if (options.structures.empty())
    fail(ESPALIER_INVALID_ARGUMENT,
         "--structures is required, unless --describe is given");
  if (options.format.empty())
    options.format = guessFormat(options.structures);
  for (size_t i = 0; i != options.inputs.size(); ++i)
    for (size_t j = 0; j != i; ++j)
      if (options.inputs[i].first == options.inputs[j].first)
        fail(ESPALIER_INVALID_ARGUMENT, "--input %s is given twice",
             options.inputs[i].first.c_str());
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
  std::vector<std::string> inputs;

  CLI::App app{kDescription, "espalier-run"};
  app.footer(kFooter);
  app.set_version_flag("--version", espalier_runtime_version());
  app.add_option("library", options.library, "The compiled model")
      ->required()
      ->type_name("MODEL.so");
  app.add_option("--entry", options.entry,
                 "The entry to run; the model's first if none is given")
      ->type_name("NAME");
  app.add_flag("--describe", options.describe,
               "Print the model's entries, arguments, parameters, results and "
               "steps, and do nothing else");

  const char *data = "Data";
  app.add_option("--structures", options.structures, "Structures to run on")
      ->group(data)
      ->type_name("FILE");
  app.add_option("--format", options.format,
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
  app.add_option("--input", inputs,
                 "An argument of the entry that is not a field of the "
                 "structures, with a row a vertex or a row a structure (of the "
                 "whole file) or as a whole, as the entry says; repeatable")
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
                 "Write the parameters that were used")
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
  for (const std::string &input : inputs)
    options.inputs.push_back(splitInput(input));
  checkCombination(options);
  return options;
}

} // namespace espalier::run
