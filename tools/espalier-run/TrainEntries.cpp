//===- TrainEntries.cpp - Which entries train and which measure -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TrainEntries.h"

#include "Describe.h"
#include "Scalars.h"

#include "support/Error.h"

#include <cstring>

namespace espalier::run {

static bool hasLoss(const espalier_entry &entry) {
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind == ESPALIER_BUFFER_OUTPUT && buffer.dtype != ESPALIER_I32 &&
        !std::strcmp(buffer.name, "loss"))
      return true;
  }
  return false;
}

static bool writesParameters(const espalier_entry &entry) {
  for (uint32_t p = 0; p != entry.phase_count; ++p)
    for (uint32_t s = 0; s != entry.phases[p].step_count; ++s) {
      const espalier_step &step = entry.phases[p].steps[s];
      for (uint32_t r = 0; r != step.result_count; ++r) {
        uint32_t buffer = step.operands[step.operand_count - 1 - r].buffer;
        if (entry.buffers[buffer].kind == ESPALIER_BUFFER_PARAMETER)
          return true;
      }
    }
  return false;
}

const espalier_entry &findStep(const espalier_model &model,
                               const std::string &name) {
  static const char kCompile[] = "compile the model with espalier-compile "
                                 "--train=sgd, momentum, adam or adagrad";
  static const char kStep[] = "train_step";
  if (name.empty()) {
    for (uint32_t i = 0; i != model.entry_count; ++i)
      if (!std::strcmp(model.entries[i].name, kStep))
        return findEntry(model, kStep);
    fail(ESPALIER_NOT_FOUND, "the model '%s' has no entry '%s'; %s", model.name,
         kStep, kCompile);
  }
  const espalier_entry &entry = findEntry(model, name);
  if (!hasLoss(entry) || !writesParameters(entry))
    fail(ESPALIER_INVALID_ARGUMENT,
         "the entry '%s' is no step of training: it %s; %s", entry.name,
         hasLoss(entry) ? "changes no parameter" : "has no result 'loss'",
         kCompile);
  return entry;
}

/// Whether it has a seed, as dropout needs it, among its arguments.
static bool drawsNumbers(const espalier_entry &entry) {
  return Scalars(entry).has("seed");
}

const espalier_entry &findMeasure(const espalier_model &model,
                                  const std::string &name) {
  if (!name.empty()) {
    const espalier_entry &entry = findEntry(model, name);
    if (!hasLoss(entry) || writesParameters(entry))
      fail(ESPALIER_INVALID_ARGUMENT, "--validate-entry %s: this entry %s",
           entry.name,
           hasLoss(entry) ? "changes parameters" : "has no result 'loss'");
    return entry;
  }
  const espalier_entry *found = nullptr;
  std::string names, random;
  for (uint32_t i = 0; i != model.entry_count; ++i) {
    const espalier_entry &entry = model.entries[i];
    if (!hasLoss(entry) || writesParameters(entry))
      continue;
    if (drawsNumbers(entry)) {
      random += format("; '%s' draws random numbers, as its argument 'seed' "
                       "says",
                       entry.name);
      continue;
    }
    found = &entry;
    names += (names.empty() ? "'" : ", '") + std::string(entry.name) + "'";
  }
  if (!found)
    fail(ESPALIER_NOT_FOUND,
         "the model '%s' has no entry that gives a 'loss', changes nothing and "
         "draws nothing, which --validate needs%s",
         model.name, random.c_str());
  if (names.find(',') != std::string::npos)
    fail(ESPALIER_INVALID_ARGUMENT,
         "several entries of the model '%s' give a 'loss'; choose one with "
         "--validate-entry: %s",
         model.name, names.c_str());
  return *found;
}

} // namespace espalier::run
