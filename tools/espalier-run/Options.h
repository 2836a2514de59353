//===- Options.h - The command line of espalier-run -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the user asked for.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_OPTIONS_H
#define ESPALIER_RUN_OPTIONS_H

#include "espalier/runtime.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// A file of structures.
struct StructureFile {
  std::string graph; // whose structures; empty: of the entry's only one
  std::string path;
  std::string format;
};

/// What --train is to do.
struct Training {
  int64_t epochs = 0;
  std::optional<double> learningRate;
  double learningRateDecay = 1; // factor an epoch
  std::optional<double> weightDecay;
  std::optional<double> clipNorm;
  bool mean = false; // gradients of a batch's mean loss, not of its sum
  bool shuffle = true;
  uint64_t seed = 1;

  std::vector<StructureFile> validate; // empty: no validation
  std::string validateEntry;           // empty: the other entry that has a loss
  std::vector<std::pair<std::string, std::string>> validateInputs;

  std::string resume;
  std::string log;
};

struct Options {
  std::string library;
  std::string entry; // empty: the library's only one; "train_step" to train
  bool describe = false;

  std::vector<StructureFile> structures;
  std::string vocabulary; // empty: built from the structures
  std::string saveVocabulary;
  /// Of words that a given vocabulary lacks.
  espalier_unseen unseenWords = ESPALIER_UNSEEN_FAIL;
  /// Names of arguments and .npy files.
  std::vector<std::pair<std::string, std::string>> inputs;

  std::string weights;
  std::optional<uint64_t> randomWeights;
  std::string saveWeights;

  /// 0: all structures in one batch; none: 64, or the network's.
  std::optional<int64_t> batchSize;
  espalier_policy policy = ESPALIER_POLICY_BATCHED;
  unsigned threads = 1;
  /// espalier_optimisation, ored together.
  uint32_t ablate = 0;
  /// Of entries with a memory plan.
  std::string device = "cpu";
  std::string machine;
  int64_t memoryLimit = 0; // 0: what the device has
  bool dry = false;

  std::optional<Training> training;

  std::string output;
  std::string stats;
  std::string trace;
  bool benchmark = false;
  unsigned repeat = 10;
};

/// Parses the command line. Returns nothing if all has been done already
/// (--help, --version); throws an exception if it makes no sense.
std::optional<Options> parseOptions(int argc, char **argv);

} // namespace espalier::run

#endif // ESPALIER_RUN_OPTIONS_H
