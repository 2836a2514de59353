//===- Tally.h - Loss and accuracy over batches -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds up what the batches of an epoch, or of a validation, give:
//
//   loss                  f32 or f64: one value, the sum over the batch, or
//                         values to be summed (a row a vertex, a structure)
//   correct, X_correct    i32: 1 right, 0 wrong, -1 no label
//   gradient_norm         f32 or f64, one value, of a training step
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_TALLY_H
#define ESPALIER_RUN_TALLY_H

#include "espalier/runtime.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace espalier::run {

using namespace runtime;
using Json = nlohmann::ordered_json;

class Tally {
public:
  /// Adds the results of a batch of `structures`. Fails if the loss or the norm
  /// of the gradient is not finite, before anything is added.
  void add(const Result &result, int64_t structures);
  void addSeconds(double more) { passed += more; }
  double seconds() const { return passed; }

  /// Of a structure, on average; 0 without structures.
  double loss() const;
  /// "loss 1.2345, accuracy 67.80 %".
  std::string text() const;
  /// Sets "loss", "accuracy", ... of a line of the log, each after `prefix`.
  void log(Json &line, const std::string &prefix) const;

  /// All of it, exactly, and back.
  Json save() const;
  static Tally restore(const Json &saved);

private:
  struct Labels {
    int64_t right = 0, wrong = 0;
    std::optional<double> accuracy() const;
  };

  double lossSum = 0, normSum = 0, passed = 0;
  int64_t structures = 0, norms = 0;
  std::map<std::string, Labels> labels; // by the name of the result
};

} // namespace espalier::run

#endif // ESPALIER_RUN_TALLY_H
