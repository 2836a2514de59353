//===- PlanModel.h - Entries with memory plans, written by hand -*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One kernel, out = a / 2 - b / 4 + 1, in phases of one step each, and copies
// between the device and the host. Tests add buffers and phases, or have a
// random plan made.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_PLANMODEL_H
#define ESPALIER_TEST_PLANMODEL_H

#include "TestModel.h"

#include <deque>
#include <string>
#include <vector>

struct PlanModel {
  explicit PlanModel(int64_t elements) : elements(elements) {}
  PlanModel(const PlanModel &) = delete;
  PlanModel &operator=(const PlanModel &) = delete;

  /// Of one row of `elements` f32.
  uint32_t buffer(const std::string &name, uint32_t kind, int64_t offset,
                  uint32_t firstPhase = 0, uint32_t lastPhase = 0);
  /// Each adds a phase.
  void combine(uint32_t a, uint32_t b, uint32_t out);
  void offload(uint32_t from, uint32_t to);
  void prefetch(uint32_t from, uint32_t to);
  /// Once all is there.
  void finish(int64_t deviceBytes, int64_t hostBytes);

  uint32_t phases() const { return (uint32_t)entry.phases.size(); }
  espalier_buffer_desc &desc(uint32_t b) { return entry.buffers[b]; }
  espalier_step &step(uint32_t p) { return entry.steps[p][0]; }
  espalier_step_operand &operand(uint32_t p, uint32_t o) {
    return entry.operands[p][o];
  }

  int64_t elements;
  TestModel::Entry entry;
  espalier_plan plan{};
  std::vector<espalier_entry> entries;
  espalier_model model{};
  std::deque<std::string> names;
};

/// The kernel.
void combineRows(const espalier_kernel_operand *operands, int64_t begin,
                 int64_t end);

/// A random network over the argument "x" and the parameter "w", with values
/// that are offloaded and fetched, or dropped and fetched again, at random. It
/// has the results "last", of the device's memory, and "early", of the host's,
/// and changes "w".
struct RandomPlan {
  RandomPlan(uint32_t seed, int64_t elements);

  PlanModel model;
  /// What a run does to these.
  struct Values {
    std::vector<float> last, early;
  };
  Values run(const std::vector<float> &x, std::vector<float> &w) const;
  /// Bytes that are copied each way in a run.
  int64_t offloaded = 0, prefetched = 0;

private:
  struct Operator {
    int a, b; // values; -2: x, -1: w
  };
  std::vector<Operator> operators;
  int early = 0;
};

#endif // ESPALIER_TEST_PLANMODEL_H
