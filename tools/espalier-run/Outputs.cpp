//===- Outputs.cpp - Files that a run will write --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Outputs.h"

#include "io/File.h"

#include <string>
#include <vector>

namespace espalier::run {

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
  checkOutputPaths(taken, outputs);
  for (const std::string &path : outputs)
    if (!path.empty())
      AtomicFile probe(path);
}

} // namespace espalier::run
