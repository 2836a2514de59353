//===- MemoryWalk.h - What leaves the device when -----------------*- C++ -*-=//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the order once with a device of the budget's size. While there is room
// nothing leaves: what the paper's tensor cache does when it runs, decided
// ahead of time, and with the future known. When an operator finds no room,
// what costs the least for the bytes and the time that it frees leaves: a copy
// goes to the host, or the tensor is dropped and computed again. What an
// operator finds missing is fetched or computed again just before.
//
// A dropped tensor can always be computed again when it is next needed: what
// its operator reads is held (on the device, on the host, or as something that
// can be computed again itself) until then, and is not overwritten before. So a
// walk fails only where what one operator reads and writes (and what is being
// computed again for it) exceeds the budget.
//
// Copies are not in steps yet: PlaceCopies.h starts them early enough to be
// hidden behind computation.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_MEMORYWALK_H
#define ESPALIER_LIB_PLANNING_MEMORYWALK_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Machine.h"

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::planning {

/// A storage's time on the device, in numbers of computations.
struct Stay {
  /// The tensor whose value it starts with, and the memory's owner.
  TensorId tensor = -1;
  TensorId storage = -1;
  int64_t bytes = 0;
  int32_t first = 0;
  int32_t last = -1;
  /// The stay whose memory it takes over.
  int32_t takesOver = -1;
  /// Comes from the host before computation `first`.
  bool fetched = false;
  /// Goes to the host, where it is final after this computation; -1: it does
  /// not.
  int32_t copiedAfter = -1;
  /// There before the first computation and after the last.
  bool isResident = false;
};

/// What a walk decided.
struct Schedule {
  struct Computation {
    OperatorId op = -1;
    /// By input and output, in `stays` of the operator's tensors.
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
  };
  std::vector<Computation> computations;
  std::vector<Stay> stays;
  /// Inputs and parameters that are on the host before the first computation.
  std::vector<bool> startsOnHost;
  /// By stay that is fetched: what computing it again would have cost, where it
  /// could have been; else infinite.
  std::vector<double> secondsToRecompute;
};

struct Eviction {
  TensorId storage = -1;
  /// Else it is dropped.
  bool offload = false;
};

/// What a policy other than the walk's own decides.
struct FixedDecisions {
  /// By position in the order: what leaves after it, and what is fetched
  /// before.
  std::vector<std::vector<Eviction>> evictAfter;
  std::vector<std::vector<TensorId>> fetchBefore;
};

struct WalkOptions {
  int64_t budget = 0;
  int64_t hostBudget = 0;
  int64_t alignment = 64;
  bool offload = true;
  bool recompute = true;
  bool inPlace = true;
  /// What a second of the link's is worth in seconds of computation.
  double linkPrice = 0.25;
  /// By storage: what fetching it cost that could not be hidden, last time.
  const std::vector<double> *stalls = nullptr;
  const FixedDecisions *fixed = nullptr;
};

struct WalkFailure {
  /// The position in the order.
  int32_t step = 0;
  /// What it needs at least.
  int64_t bytesNeeded = 0;
  /// What cannot leave meanwhile, largest first.
  std::vector<TensorId> largest;
};

/// What does not depend on the budget, made once for many walks.
struct WalkInput {
  WalkInput(const Graph &graph, const Machine &machine,
            const std::vector<OperatorId> &order, int64_t alignment);

  const Graph &graph;
  const Machine &machine;
  const std::vector<OperatorId> &order;
  /// By tensor: whose memory it lies in (views, and new values of parameters).
  std::vector<TensorId> storage;
  std::vector<OperatorId> producer;
  /// By storage: its bytes, rounded up, and its uses as positions in the order;
  /// those of storage s are at [useStart[s], useStart[s + 1]). What is there
  /// after the last operator has a use at the end.
  std::vector<int64_t> bytes;
  std::vector<int32_t> useStart;
  std::vector<int32_t> uses;
  /// By operator: the storages that it reads, each once.
  std::vector<int32_t> readStart;
  std::vector<TensorId> reads;
  /// By operator: the last position at which it can run again.
  std::vector<int32_t> validUntil;
  std::vector<double> seconds;
  /// By position, and at the end.
  std::vector<double> startTime;
};

/// Nothing, and why, if it does not fit.
bool walkMemory(const WalkInput &input, const WalkOptions &options,
                Schedule &schedule, WalkFailure &failure);

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_MEMORYWALK_H
