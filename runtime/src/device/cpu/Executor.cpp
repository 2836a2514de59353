//===- Executor.cpp - From phases to blocks of rows -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Executor.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/ThreadPool.h"
#include "module/PhaseRows.h"
#include "schedule/BatchGraph.h"

#include <algorithm>
#include <utility>

namespace espalier {

Executor::Executor(const Program &program,
                   const std::vector<BatchGraph> &graphs,
                   const std::vector<View> &views, AbsentRows absent,
                   char *layerScratch, std::vector<Worker> &workers,
                   ThreadPool *pool, ExecutorOptions options)
    : program(program), graphs(graphs), zeros(absent.zeros),
      noIds(absent.noIds), layerScratch(layerScratch), workers(workers),
      pool(pool), options(options) {
  size_t used = pool ? pool->threads() : 1;
  for (size_t w = 0; w < used; ++w) {
    workers[w].views = views;
    workers[w].times = {};
    workers[w].events.clear();
    workers[w].droppedEvents = 0;
    workers[w].helpers = nullptr;
  }
}

//===----------------------------------------------------------------------===//
// From phases to blocks
//===----------------------------------------------------------------------===//

void Executor::run(const std::vector<char> &streams, StreamQueue &queue) {
  uint32_t next = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (!streams[i])
      continue;
    const Stream &stream = program.streams[i];
    runPhases(next, stream.first);
    runStream(stream, queue);
    next = stream.last + 1;
  }
  runPhases(next, (uint32_t)program.phases.size());
}

void Executor::runPhases(uint32_t first, uint32_t last) {
  forEachRows(program, graphs, first, last,
              [&](const Program::Phase &phase, int64_t begin, int64_t end) {
                runRows(phase, begin, end);
              });
}

void Executor::noteFailure(int64_t block) {
  std::lock_guard<std::mutex> lock(failureMutex);
  if (block < failedBlock) {
    failedBlock = block;
    failure = std::current_exception();
  }
}

/// Calls body(worker, index) for every index in [0, count) on the threads of
/// the pool, and throws the failure of the least index.
template <typename Body>
void Executor::onPool(int64_t count, const Body &body) {
  forEachIndex(pool, count, [&](unsigned worker, int64_t index) {
    try {
      body(workers[worker], index);
    } catch (...) {
      noteFailure(index);
    }
  });
  if (failure)
    std::rethrow_exception(failure);
}

void Executor::runRows(const Program::Phase &phase, int64_t begin,
                       int64_t end) {
  if (phase.isReduction) {
    for (const Program::Step &step : phase.steps) {
      const int32_t *firstRows = nullptr;
      if (step.kind == ESPALIER_STEP_COMBINE_ROWS)
        firstRows = findFirstRows(phase, step, begin, end);
      RowBlocks blocks = cutReduction(step, begin, end);
      runReduction(phase, step, blocks, 0, blocks.count, firstRows);
    }
    return;
  }
  if (begin == end)
    return;
  RowBlocks blocks = cutRows(phase, graphs[phase.graph], options, begin, end);
  runBlocks(phase, blocks, 0, blocks.count);
}

void Executor::runBlocks(const Program::Phase &phase, const RowBlocks &blocks,
                         int64_t first, int64_t last) {
  bool onThreads = blocks.isShared && pool;
  if (onThreads) {
    onPool(last - first, [&](Worker &worker, int64_t index) {
      int64_t begin = blocks.firstRow(first + index);
      int64_t end = blocks.firstRow(first + index + 1);
      if (begin != end && !blocks.isWide(begin, end, options.threads))
        runBlock(worker, phase, begin, end);
    });
  }
  for (int64_t b = first; b < last; ++b) {
    int64_t begin = blocks.firstRow(b), end = blocks.firstRow(b + 1);
    bool wide = blocks.isShared && blocks.isWide(begin, end, options.threads);
    if (begin != end && (!onThreads || wide))
      runBlockAlone(phase, begin, end, wide);
  }
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

bool Executor::isWorthStreaming(const Program &program,
                                const std::vector<BatchGraph> &graphs,
                                const Stream &stream, ExecutorOptions options) {
  if (options.threads == 1)
    return false;
  const Program::Phase &loop = program.phases[stream.loop];
  const Schedule &schedule = graphs[loop.graph].schedule;
  bool split = false;
  for (const Program::Step &step : loop.steps)
    split |= options.subBatches && step.weight && isWorthSplitting(step, 1) &&
             step.weight->productParts(kMinPartColumns) > 1;
  int64_t beside = 0, tasks = 0, shared = 0, alone = 0;
  for (uint32_t p = stream.first; p <= stream.last; ++p) {
    const Program::Phase &phase = program.phases[p];
    if (p == stream.loop)
      continue;
    RowRange rows = phaseRanges(schedule, phase.rows, phase.type).first;
    beside += (rows.end - rows.begin) * phase.costPerRow;
  }
  for (int64_t t = isInnerRows(loop.rows) ? schedule.firstInnerTask() : 0;
       t < schedule.tasks(); ++t) {
    int64_t rows = schedule.taskEnd(t) - schedule.taskBegin(t);
    int64_t cost = rows * loop.costPerRow;
    bool isShared =
        options.subBatches && rows > kMinBlockRows && cost >= kMinParallelCost;
    tasks += cost;
    (isShared || split ? shared : alone) += cost;
  }
  // Tasks of a stream are not shared, but all else runs beside them.
  int64_t threads = options.threads;
  int64_t asStream = std::max(tasks, (beside + tasks) / threads);
  int64_t asPhases =
      options.subBatches ? (beside + shared) / threads + alone : beside + alone;
  return beside >= kMinParallelCost && asStream < asPhases;
}

void Executor::runStream(const Stream &stream, StreamQueue &queue) {
  const Program::Phase &loop = program.phases[stream.loop];
  queue.start(graphs[loop.graph].schedule,
              {isInnerRows(loop.rows), isReversedTasks(loop.rows),
               stream.first != stream.loop, stream.last != stream.loop},
              kBlockRows);
  // Without the pool the calling thread does the same, for the same bits.
  forEachIndex(pool, pool ? pool->threads() : 1, [&](unsigned w, int64_t) {
    for (;;) {
      StreamQueue::Item item = queue.next();
      if (item.kind == StreamQueue::Item::None)
        return;
      bool failed = false;
      try {
        runStreamItem(workers[w], stream, item);
      } catch (...) {
        noteFailure(item.number);
        failed = true;
      }
      queue.finish(item, failed);
    }
  });
  if (failure)
    std::rethrow_exception(failure);
}

void Executor::runStreamItem(Worker &worker, const Stream &stream,
                             const StreamQueue::Item &item) {
  uint32_t first = stream.loop, last = stream.loop;
  if (item.kind == StreamQueue::Item::Before) {
    first = stream.first;
    last = stream.loop - 1;
  } else if (item.kind == StreamQueue::Item::After) {
    first = stream.loop + 1;
    last = stream.last;
  }
  for (uint32_t p = first; p <= last; ++p) {
    const Program::Phase &phase = program.phases[p];
    RowRange all =
        phaseRanges(graphs[phase.graph].schedule, phase.rows, phase.type).first;
    int64_t end = std::min(item.rows.end, all.end);
    for (int64_t begin = std::max(item.rows.begin, all.begin); begin < end;) {
      int64_t blockEnd = std::min(end, begin + kBlockRows);
      runBlock(worker, phase, begin, blockEnd);
      begin = blockEnd;
    }
  }
}

/// Runs a block while the pool has nothing else to do: large products, and, if
/// it `sharesEdges`, steps over edges, are shared between its threads.
void Executor::runBlockAlone(const Program::Phase &phase, int64_t begin,
                             int64_t end, bool sharesEdges) {
  workers[0].helpers = options.subBatches ? pool : nullptr;
  workers[0].sharesEdges = sharesEdges;
  runBlock(workers[0], phase, begin, end);
  workers[0].helpers = nullptr;
}

void Executor::runBlock(Worker &worker, const Program::Phase &phase,
                        int64_t begin, int64_t end) {
  worker.graph = graphs.data() + phase.graph;
  for (const Program::Scratch &scratch : phase.scratch)
    worker.views[scratch.buffer] = {worker.scratch.data() + scratch.offset,
                                    scratch.rowBytes, begin};
  for (size_t s = 0; s < phase.steps.size();) {
    const Program::Step &step = phase.steps[s];
    if (!step.overEdges) {
      runStep(worker, phase, step, begin, end);
      ++s;
      continue;
    }
    size_t last = s + 1;
    while (last < phase.steps.size() && phase.steps[last].overEdges)
      ++last;
    const int64_t *offsets = worker.graph->edges.offsets();
    runEdges(worker, phase, s, last, offsets[begin], offsets[end]);
    s = last;
  }
}

/// Runs steps [firstStep, lastStep), all of them over edges, over the edges
/// [begin, end) of a block. Such a step touches nothing of another edge, so
/// that a part of the edges can take all steps before the next part does.
void Executor::runEdges(Worker &worker, const Program::Phase &phase,
                        size_t firstStep, size_t lastStep, int64_t begin,
                        int64_t end) {
  if (begin == end)
    return;
  int64_t limit = options.serial ? 1 : kBlockRows;
  int64_t parts = (end - begin + limit - 1) / limit;
  int64_t partEdges = (end - begin + parts - 1) / parts;
  parts = (end - begin + partEdges - 1) / partEdges;
  auto runPart = [&](Worker &runner, int64_t part) {
    int64_t first = begin + part * partEdges;
    int64_t last = std::min(end, first + partEdges);
    for (size_t step = firstStep; step < lastStep; ++step)
      runStep(runner, phase, phase.steps[step], first, last);
  };
  if (!worker.helpers || !worker.sharesEdges) {
    for (int64_t part = 0; part < parts; ++part)
      runPart(worker, part);
    return;
  }
  // The block's scratch is where its worker has it.
  for (Worker &other : workers) {
    other.graph = worker.graph;
    for (const Program::Scratch &scratch : phase.scratch)
      other.views[scratch.buffer] = worker.views[scratch.buffer];
  }
  ThreadPool *helpers = std::exchange(worker.helpers, nullptr);
  onPool(parts, runPart);
  worker.helpers = helpers;
}

void Executor::record(Worker &worker, const Program::Phase &phase,
                      const Program::Step &step, int64_t start, int64_t rows) {
  int64_t stop = now();
  bool isProduct =
      step.kind == ESPALIER_STEP_MATMUL || step.kind == ESPALIER_STEP_OUTER_SUM;
  int64_t &time = isProduct                           ? worker.times.matmul
                  : step.kind == ESPALIER_STEP_KERNEL ? worker.times.kernel
                  : step.kind == ESPALIER_STEP_LAYER  ? worker.times.layer
                                                      : worker.times.copy;
  time += stop - start;
  if (worker.events.size() < Trace::kMaxEvents)
    worker.events.push_back(
        {step.name, phase.name, start, stop, rows, worker.thread});
  else
    ++worker.droppedEvents;
}

} // namespace espalier
