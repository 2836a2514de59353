//===- Executor.h - Runs a program over a schedule --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Phases run one after another, and in a phase over tasks so do the tasks.
// What is left, rows of one phase or task, is cut into blocks that run in any
// order, on any worker; a worker runs all steps of a block before the next. The
// steps of a phase of reductions run over all its rows, one after another, each
// cut by columns of its result. Steps over edges run over those of the block's
// rows, a part of them at a time; the edges of a block with more than its share
// of them, a vertex with thousands of children, are shared between workers. In
// a stream workers take blocks of several phases, and tasks, at a time.
// Nothing here allocates, and names are only looked at to report a failure.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_EXECUTOR_H
#define ESPALIER_DEVICE_CPU_EXECUTOR_H

#include "device/cpu/LocateRows.h"
#include "device/cpu/Reductions.h"
#include "device/cpu/RowBlocks.h"
#include "device/cpu/StreamQueue.h"
#include "memory/Arena.h"
#include "module/Program.h"
#include "trace/Trace.h"

#include <exception>
#include <mutex>
#include <vector>

namespace espalier {

struct BatchGraph;
class Schedule;
class ThreadPool;

/// Times of steps by kind, in nanoseconds.
struct StepTimes {
  int64_t copy = 0;
  int64_t matmul = 0;
  int64_t kernel = 0;
  int64_t layer = 0;
};

/// What one thread of a run needs for itself.
struct Worker {
  std::vector<View> views;
  /// That of the phase it is at.
  const BatchGraph *graph = nullptr;
  /// program.scratchBytes, rounded up to kAlignment, then program.trashBytes.
  Arena scratch;
  std::vector<espalier_kernel_operand> operands;
  FirstRows firstRows;
  /// Of a reduction that was interrupted.
  std::vector<double> sumsSoFar;
  /// Threads that have nothing else to do while this one works on a block, and
  /// whether they help with the edges of its rows, too.
  ThreadPool *helpers = nullptr;
  bool sharesEdges = false;
  /// Filled if the run is profiled.
  StepTimes times;
  std::vector<TraceEvent> events;
  int64_t droppedEvents = 0;
  uint32_t thread = 0;
};

/// As many bytes as the longest row that may be read and not be there
/// (Program::zeroBytes): of zeros, and of ids that are none, -1.
struct AbsentRows {
  const char *zeros;
  const char *noIds;
};

class Executor {
public:
  /// One run over `graphs`, one for each of the entry's. `views` has the place
  /// of every buffer but scratch, then of every workspace of a layer; `absent`
  /// is what rows that are not there read as; `layerScratch` has
  /// program.layerScratchBytes.
  /// With a pool there is a worker for each of its threads; without one the
  /// calling thread is workers[0].
  Executor(const Program &program, const std::vector<BatchGraph> &graphs,
           const std::vector<View> &views, AbsentRows absent,
           char *layerScratch, std::vector<Worker> &workers, ThreadPool *pool,
           ExecutorOptions options);

  /// Whether `stream` would take less time run as one than phase by phase.
  static bool isWorthStreaming(const Program &program,
                               const std::vector<BatchGraph> &graphs,
                               const Stream &stream, ExecutorOptions options);

  /// `streams` says of each of the program's streams whether it is run as one.
  void run(const std::vector<char> &streams, StreamQueue &queue);
  /// Runs phases [first, last), one after another.
  void runPhases(uint32_t first, uint32_t last);

  /// Runs blocks [first, last) of rows of a phase that is no reduction; whoever
  /// does so with all of them, in order, has run the rows.
  void runBlocks(const Program::Phase &phase, const RowBlocks &blocks,
                 int64_t first, int64_t last);
  /// The same for a step that is a reduction, as cutReduction cut its rows.
  /// `firstRows` is what findFirstRows found for a COMBINE_ROWS.
  void runReduction(const Program::Phase &phase, const Program::Step &step,
                    const RowBlocks &blocks, int64_t first, int64_t last,
                    const int32_t *firstRows);
  /// Finds for each of rows [begin, end) of a COMBINE_ROWS the first with its
  /// id, counted from `begin` (-1: it has none), and writes their ids. The
  /// answer lives until the next call.
  const int32_t *findFirstRows(const Program::Phase &phase,
                               const Program::Step &step, int64_t begin,
                               int64_t end);

private:
  /// The columns of a product are never cut finer than this.
  static constexpr int64_t kMinPartColumns = 64;

  void runStream(const Stream &stream, StreamQueue &queue);
  void runStreamItem(Worker &worker, const Stream &stream,
                     const StreamQueue::Item &item);
  void runRows(const Program::Phase &phase, int64_t begin, int64_t end);
  void runBlock(Worker &worker, const Program::Phase &phase, int64_t begin,
                int64_t end);
  void runBlockAlone(const Program::Phase &phase, int64_t begin, int64_t end,
                     bool sharesEdges);
  void runEdges(Worker &worker, const Program::Phase &phase, size_t firstStep,
                size_t lastStep, int64_t begin, int64_t end);
  void runStep(Worker &worker, const Program::Phase &phase,
               const Program::Step &step, int64_t begin, int64_t end);
  void dispatch(Worker &worker, const Program::Phase &phase,
                const Program::Step &step, int64_t begin, int64_t end);
  void record(Worker &worker, const Program::Phase &phase,
              const Program::Step &step, int64_t start, int64_t rows);

  void copy(Worker &worker, const Program::Step &step, int64_t begin,
            int64_t end);
  void embed(Worker &worker, const Program::Phase &phase,
             const Program::Step &step, int64_t begin, int64_t end);
  void matmul(Worker &worker, const Program::Step &step, int64_t begin,
              int64_t end);
  void kernel(Worker &worker, const Program::Phase &phase,
              const Program::Step &step, int64_t begin, int64_t end);
  void batchKernel(Worker &worker, const Program::Step &step);
  void layer(Worker &worker, const Program::Step &step);
  void sumParents(Worker &worker, const Program::Step &step, int64_t begin,
                  int64_t end);
  void sumIncomingEdges(Worker &worker, const Program::Step &step,
                        int64_t begin, int64_t end);
  void reduceChildren(Worker &worker, const Program::Step &step, int64_t begin,
                      int64_t end);
  void reduceVertices(Worker &worker, const Program::Step &step, int64_t begin,
                      int64_t end);

  const char *absentRow(const Program::Operand &operand) const;
  OperandRows locate(const Worker &worker, const Program::Operand &operand,
                     int64_t begin) const;
  static bool isWorthSplitting(const Program::Step &step, int64_t rows);
  [[noreturn]] void failId(const Program::Phase &phase, uint32_t ids,
                           uint32_t table, int64_t tableRows, int64_t row,
                           int32_t id) const;
  const BatchGraph &graphOf(const Program::Operand &operand) const;
  void noteFailure(int64_t block);
  template <typename Body> void onPool(int64_t count, const Body &body);

  const Program &program;
  const std::vector<BatchGraph> &graphs;
  const char *zeros;
  const char *noIds;
  char *layerScratch;
  std::vector<Worker> &workers;
  ThreadPool *pool;
  ExecutorOptions options;

  /// The failure of the first block that failed, by row.
  std::mutex failureMutex;
  std::exception_ptr failure;
  int64_t failedBlock = INT64_MAX;
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_EXECUTOR_H
