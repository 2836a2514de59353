//===- Session.h - An entry with its weights, ready to run ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Any number of threads may run a session at a time. Each run has a context of
// its own (schedule, dynamic tensors, scratch), taken from a list and put back.
// The session's thread pool serves one run at a time; a run that finds it busy
// uses its own thread only, so that many callers never use more threads than
// they bring. A run of an entry that writes weights has them to itself: other
// runs with the same weights, of this or another session, wait.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_SESSION_H
#define ESPALIER_MODULE_SESSION_H

#include "device/Device.h"
#include "device/cpu/Executor.h"
#include "graph/Forest.h"
#include "memory/Arena.h"
#include "module/Module.h"
#include "module/Program.h"
#include "module/Weights.h"
#include "schedule/BatchGraph.h"
#include "trace/Trace.h"

#include <memory>
#include <mutex>
#include <vector>

namespace espalier {

class PlannedRun;
class ThreadPool;

/// The results of a run, in the entry's order.
using Results = std::vector<NamedTensor>;
/// The caller's arguments by name; their data stays where it is.
using Inputs = std::vector<NamedTensor>;
/// The structures of each of the entry's graph arguments, by name.
struct NamedForest {
  std::string name;
  const Forest *forest;
};
using Forests = std::vector<NamedForest>;

struct SessionOptions {
  espalier_policy policy = ESPALIER_POLICY_BATCHED;
  unsigned threads = 1;
  bool profile = false;
  /// espalier_optimisation, ored together.
  uint32_t ablate = 0;
  /// Which device the entry runs on, and how.
  DeviceOptions device = {};
};

class Session {
public:
  Session(const Module &module, const espalier_entry &entry,
          std::shared_ptr<SharedWeights> weights, SessionOptions options);
  /// The same with weights of its own.
  Session(const Module &module, const espalier_entry &entry,
          const Weights &weights, SessionOptions options)
      : Session(module, entry, std::make_shared<SharedWeights>(weights),
                options) {}
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  Results run(const Forests &forests, const Inputs &inputs);
  /// Bytes of dynamic tensors and results that `run` would need.
  int64_t bytesNeeded(const Forests &forests);

  /// The same for an entry with one graph argument, or none.
  Results run(const Forest &forest, const Inputs &inputs);
  int64_t bytesNeeded(const Forest &forest);

  /// All fields but struct_size.
  espalier_stats stats() const;
  void resetStats();
  void writeTrace(const std::string &path) const;
  /// The timeline; not to be read while a run is going on.
  const Trace &timeline() const { return trace; }

private:
  struct Context;
  class ContextLease;

  Forests onlyGraph(const Forest &forest) const;
  const Forest *findForest(const Forests &forests, uint32_t graph) const;
  void checkGraphNames(const Forests &forests) const;
  VertexTypes findTypes(const Forest &fieldsOf, uint32_t g) const;
  void setForests(Context &context, const Forests &forests) const;
  std::vector<VertexInput> readsOf(const Context &context, uint32_t g) const;
  bool areReadsBound(const Context &context, uint32_t g) const;
  void buildSchedule(Context &context, uint32_t g, bool share) const;
  void buildSchedules(Context &context, bool share) const;
  void checkStructureCounts(const Context &context) const;
  int64_t rowsOf(const espalier_buffer_desc &buffer,
                 const Context &context) const;
  ExecutorOptions executorOptions() const;
  void chooseStreams(Context &context) const;
  uint32_t firstBeside(const Context &context, uint32_t phase) const;
  uint32_t lastBeside(const Context &context, uint32_t phase) const;
  int64_t planMemory(Context &context) const;
  void keepOnHost(Context &context) const;
  void checkInputNames(const Inputs &inputs) const;
  void bindInputs(Context &context, const Inputs &inputs) const;
  Results placeBuffers(Context &context) const;
  void fillMultiplicities(const Context &context) const;
  void execute(Context &context, ThreadPool *pool);
  void executeOnDevice(Context &context, ThreadPool *pool);
  void spreadResults(const Context &context, ThreadPool *pool) const;
  void account(Context &context, int64_t start, int64_t scheduled,
               unsigned workers);
  void accountDevice(const Device &device);

  const espalier_entry &entry;
  SessionOptions options;
  BoundWeights weights;
  Program program;
  /// Null if the entry has no plan.
  std::unique_ptr<PlannedRun> planned;
  /// With memory of its own, for an entry without a plan; null: it runs in the
  /// host's. Used by one run at a time.
  std::unique_ptr<Device> device;
  std::mutex deviceMutex;
  std::vector<char> zeros;
  std::vector<char> noIds;

  std::unique_ptr<ThreadPool> pool;
  std::mutex poolMutex;

  mutable std::mutex contextMutex;
  std::vector<std::unique_ptr<Context>> freeContexts;
  uint32_t contextCount = 0;
  int64_t allocatedBytes = 0;

  mutable std::mutex statsMutex;
  espalier_stats totals{};
  /// What the device had done when they were last reset.
  DeviceCounts countsAtReset;
  Trace trace;
};

} // namespace espalier

#endif // ESPALIER_MODULE_SESSION_H
