//===- Outputs.cpp - Files that a run will write --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Outputs.h"

#include "io/File.h"
#include "support/Error.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace espalier::run {

static bool isSameFile(const std::string &a, const std::string &b) {
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

void checkOutputs(const Options &options) {
  std::vector<std::string> taken{options.library, options.vocabulary,
                                 options.weights};
  for (const StructureFile &file : options.structures)
    taken.push_back(file.path);
  for (const auto &[name, path] : options.inputs)
    taken.push_back(path);
  std::vector<std::string> outputs{options.output, options.stats, options.trace,
                                   options.saveVocabulary, options.saveWeights};
  if (options.training) {
    const Training &training = *options.training;
    for (const StructureFile &file : training.validate)
      taken.push_back(file.path);
    for (const auto &[name, path] : training.validateInputs)
      taken.push_back(path);
    if (!isSameFile(training.resume, options.saveWeights))
      taken.push_back(training.resume);
    outputs.push_back(training.log);
  }
  for (const std::string &path : outputs) {
    if (path.empty())
      continue;
    for (const std::string &other : taken)
      if (isSameFile(path, other))
        fail(ESPALIER_INVALID_ARGUMENT,
             "'%s' would be written over '%s'; give every output a file of its "
             "own",
             path.c_str(), other.c_str());
    AtomicFile probe(path);
    taken.push_back(path);
  }
}

} // namespace espalier::run
