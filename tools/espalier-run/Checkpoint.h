//===- Checkpoint.h - Where training stands ---------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a file of weights: parameters and what the optimiser
// remembers as tensors, and in the file's metadata, under
// "espalier.checkpoint", all else that training needs to go on as if it had
// never stopped.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_CHECKPOINT_H
#define ESPALIER_RUN_CHECKPOINT_H

#include "Tally.h"

#include "espalier/runtime.hpp"

#include <string>

namespace espalier::run {

struct Checkpoint {
  int64_t epoch = 0; // that many are complete
  int64_t batch = 0; // and that many batches of the next
  Tally tally;       // of these batches
  /// By name, all that must be the same for the same bits.
  Json options;

  /// Writes it with `weights`, atomically. Fails if they are not finite.
  /// `entry` tells which of the weights the optimiser owns.
  void save(const std::string &path, const Weights &weights,
            const espalier_entry &entry) const;
  static Checkpoint read(const std::string &path);

  /// Fails, and lists them all, if some of `now` are other than in this
  /// checkpoint, which was read from `path`.
  void checkOptions(const Json &now, const std::string &path) const;
};

/// The weights in a file. From a checkpoint, parameters only.
Weights readParameters(const std::string &path);

} // namespace espalier::run

#endif // ESPALIER_RUN_CHECKPOINT_H
