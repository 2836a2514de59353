//===- Executor.cpp -------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Executor.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/OuterSum.h"
#include "device/cpu/RowReducer.h"
#include "device/cpu/ThreadPool.h"
#include "module/PhaseRows.h"
#include "schedule/BatchGraph.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace espalier {

/// Rows cost at least this much (see Program::Phase::costPerRow) before they
/// are shared between threads: some 10 us of one core at the rate of large
/// products and more for all else, several times what it takes to hand out
/// blocks and to wait for the last.
static constexpr int64_t kMinParallelCost = 1000 * 1000;

/// Rows are never cut finer than this: a matmul of fewer rows spends its time
/// reading the weight.
static constexpr int64_t kMinBlockRows = 16;

/// The columns of a product are never cut finer than this.
static constexpr int64_t kMinPartColumns = 64;

/// What a row weighs in edges where blocks are cut by both: a block has at most
/// kBlockRows rows, or four times as many edges.
static constexpr int64_t kRowWeight = 4;

Executor::Executor(const Program &program,
                   const std::vector<BatchGraph> &graphs,
                   const std::vector<View> &views, const char *zeros,
                   std::vector<Worker> &workers, ThreadPool *pool,
                   ExecutorOptions options)
    : program(program), graphs(graphs), zeros(zeros), workers(workers),
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

/// Runs phases [first, last), one after another.
void Executor::runPhases(uint32_t first, uint32_t last) {
  for (uint32_t p = first; p < last;) {
    const Program::Phase &phase = program.phases[p];
    const Schedule &schedule = graphs[phase.graph].schedule;
    if (isTasks(phase.rows)) {
      runTasks(phase, schedule);
    } else {
      PhaseRanges rows = phaseRanges(schedule, phase.rows, phase.type);
      runRows(phase, rows.first.begin, rows.first.end);
      // A reduction has one range, which may be empty.
      if (rows.second.begin != rows.second.end)
        runRows(phase, rows.second.begin, rows.second.end);
    }
    p = phase.lastOfLoop + 1;
  }
}

/// Runs a loop over tasks, of which `first` is the first phase.
void Executor::runTasks(const Program::Phase &first, const Schedule &schedule) {
  bool reversed = isReversedTasks(first.rows);
  int64_t begin = isInnerRows(first.rows) ? schedule.firstInnerTask() : 0;
  int64_t count = schedule.tasks() - begin;
  for (int64_t i = 0; i < count; ++i) {
    int64_t t = reversed ? schedule.tasks() - 1 - i : begin + i;
    uint32_t type = (uint32_t)schedule.taskType(t) + 1;
    uint32_t p = first.firstOfLoop;
    while (first.type != 0 && program.phases[p].type != type)
      ++p;
    runRows(program.phases[p], schedule.taskBegin(t), schedule.taskEnd(t));
  }
}

/// Rows [begin, end) of a phase, cut into `count` blocks of about equal weight
/// (a short last one would cost almost as much as a full one). A row weighs 1,
/// or, in a phase with steps over edges, kRowWeight and 1 for each of its
/// edges; there a block may be empty, where a row weighs more than a block.
struct Executor::Blocks {
  int64_t begin;
  int64_t end;
  const int64_t *edgeOffsets; // null: rows count alone
  int64_t count;

  int64_t weightBefore(int64_t row) const {
    return edgeOffsets ? (row - begin) * kRowWeight + edgeOffsets[row] -
                             edgeOffsets[begin]
                       : row - begin;
  }
  /// The first row of a block; `end` for the one after the last.
  int64_t firstRow(int64_t block) const {
    if (!edgeOffsets) {
      int64_t blockRows = (end - begin + count - 1) / count;
      return std::min(end, begin + block * blockRows);
    }
    int64_t target = weightBefore(end) * block / count;
    int64_t low = begin, high = end;
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      (weightBefore(middle) < target ? low = middle + 1 : high = middle);
    }
    return low;
  }
  /// Whether a block has more work than one of `threads` should do alone: then
  /// its edges are shared between them.
  bool isWide(int64_t first, int64_t last, unsigned threads) const {
    return edgeOffsets && edgeOffsets[last] - edgeOffsets[first] > kBlockRows &&
           (weightBefore(last) - weightBefore(first)) * threads >
               weightBefore(end);
  }
};

/// Blocks as the threads of a pool share them.
struct Executor::Job {
  Executor *executor;
  const Program::Phase *phase;
  Blocks blocks;

  static void runIndex(void *context, unsigned worker, int64_t index) {
    Job &job = *static_cast<Job *>(context);
    Executor &self = *job.executor;
    int64_t begin = job.blocks.firstRow(index);
    int64_t end = job.blocks.firstRow(index + 1);
    if (begin == end || job.blocks.isWide(begin, end, self.options.threads))
      return;
    try {
      self.runBlock(self.workers[worker], *job.phase, begin, end);
    } catch (...) {
      self.noteFailure(index);
    }
  }
};

void Executor::noteFailure(int64_t block) {
  std::lock_guard<std::mutex> lock(failureMutex);
  if (block < failedBlock) {
    failedBlock = block;
    failure = std::current_exception();
  }
}

void Executor::runRows(const Program::Phase &phase, int64_t begin,
                       int64_t end) {
  if (phase.isReduction) {
    workers[0].graph = graphs.data() + phase.graph;
    for (const Program::Step &step : phase.steps) {
      int64_t start = options.profile ? now() : 0;
      runReduction(step, begin, end);
      if (options.profile)
        record(workers[0], phase, step, start, end - begin);
    }
    return;
  }
  if (begin == end)
    return;
  Blocks blocks{begin, end, nullptr, 0};
  int64_t rowWeight = 1, cost = (end - begin) * phase.costPerRow;
  if (phase.hasEdgeSteps && !options.serial) {
    blocks.edgeOffsets = graphs[phase.graph].edges.offsets();
    rowWeight = kRowWeight;
    cost += (blocks.edgeOffsets[end] - blocks.edgeOffsets[begin]) *
            phase.costPerEdge;
  }
  int64_t weight = blocks.weightBefore(end);
  int64_t limit = (options.serial ? 1 : kBlockRows) * rowWeight;
  int64_t least = kMinBlockRows * rowWeight;
  bool shared = options.threads > 1 && options.subBatches && weight > least &&
                cost >= kMinParallelCost;
  if (shared) {
    int64_t share = (weight + options.threads - 1) / options.threads;
    limit = std::min(limit, std::max(share, least));
  }
  blocks.count = (weight + limit - 1) / limit;
  if (shared && pool) {
    Job job{this, &phase, blocks};
    pool->run(Job::runIndex, &job, blocks.count);
    if (failure)
      std::rethrow_exception(failure);
  }
  for (int64_t b = 0; b < blocks.count; ++b) {
    int64_t first = blocks.firstRow(b), last = blocks.firstRow(b + 1);
    bool wide = shared && blocks.isWide(first, last, options.threads);
    bool done = shared && pool && !wide;
    if (first != last && !done)
      runBlockAlone(phase, first, last, wide);
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

/// Parts of a block's edges as the threads of a pool share them.
struct Executor::EdgeJob {
  Executor *executor;
  const Program::Phase *phase;
  size_t firstStep;
  size_t lastStep;
  int64_t begin;
  int64_t end;
  int64_t partEdges;

  void run(Worker &worker, int64_t index) const {
    int64_t first = begin + index * partEdges;
    int64_t last = std::min(end, first + partEdges);
    for (size_t s = firstStep; s < lastStep; ++s)
      executor->runStep(worker, *phase, phase->steps[s], first, last);
  }
  static void runIndex(void *context, unsigned worker, int64_t index) {
    EdgeJob &job = *static_cast<EdgeJob *>(context);
    try {
      job.run(job.executor->workers[worker], index);
    } catch (...) {
      job.executor->noteFailure(index);
    }
  }
};

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
  EdgeJob job{this, &phase, firstStep, lastStep, begin, end, partEdges};
  if (!worker.helpers || !worker.sharesEdges) {
    for (int64_t part = 0; part < parts; ++part)
      job.run(worker, part);
    return;
  }
  // The block's scratch is where its worker has it.
  for (Worker &other : workers) {
    other.graph = worker.graph;
    for (const Program::Scratch &scratch : phase.scratch)
      other.views[scratch.buffer] = worker.views[scratch.buffer];
  }
  ThreadPool *helpers = std::exchange(worker.helpers, nullptr);
  helpers->run(EdgeJob::runIndex, &job, parts);
  worker.helpers = helpers;
  if (failure)
    std::rethrow_exception(failure);
}

void Executor::record(Worker &worker, const Program::Phase &phase,
                      const Program::Step &step, int64_t start, int64_t rows) {
  int64_t stop = now();
  bool isProduct =
      step.kind == ESPALIER_STEP_MATMUL || step.kind == ESPALIER_STEP_OUTER_SUM;
  int64_t &time = isProduct                           ? worker.times.matmul
                  : step.kind == ESPALIER_STEP_KERNEL ? worker.times.kernel
                                                      : worker.times.copy;
  time += stop - start;
  if (worker.events.size() < Trace::kMaxEvents)
    worker.events.push_back(
        {step.name, phase.name, start, stop, rows, worker.thread});
  else
    ++worker.droppedEvents;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Runs a step over rows [begin, end), or over these edges if it is one over
/// edges.
void Executor::runStep(Worker &worker, const Program::Phase &phase,
                       const Program::Step &step, int64_t begin, int64_t end) {
  int64_t start = options.profile ? now() : 0;
  dispatch(worker, phase, step, begin, end);
  if (options.profile)
    record(worker, phase, step, start, end - begin);
}

void Executor::dispatch(Worker &worker, const Program::Phase &phase,
                        const Program::Step &step, int64_t begin, int64_t end) {
  switch (step.kind) {
  case ESPALIER_STEP_COPY:
    return copy(worker, step, begin, end);
  case ESPALIER_STEP_EMBED:
    return embed(worker, phase, step, begin, end);
  case ESPALIER_STEP_MATMUL:
    return matmul(worker, step, begin, end);
  case ESPALIER_STEP_KERNEL:
    return kernel(worker, phase, step, begin, end);
  case ESPALIER_STEP_SUM_PARENTS:
    return step.overIncoming ? sumIncomingEdges(worker, step, begin, end)
                             : sumParents(worker, step, begin, end);
  case ESPALIER_STEP_SUM_CHILDREN:
  case ESPALIER_STEP_MAX_CHILDREN:
  case ESPALIER_STEP_MEAN_CHILDREN:
    return reduceChildren(worker, step, begin, end);
  case ESPALIER_STEP_SUM_VERTICES:
  case ESPALIER_STEP_MAX_VERTICES:
    return reduceVertices(worker, step, begin, end);
  }
}

/// The graph whose rows the operand's buffer has.
const BatchGraph &Executor::graphOf(const Program::Operand &operand) const {
  return graphs[program.entry.buffers[operand.buffer].graph];
}

OperandRows Executor::locate(const Worker &worker,
                             const Program::Operand &operand,
                             int64_t begin) const {
  const View &view = worker.views[operand.buffer];
  char *base = view.base + operand.columnBytes;
  const BatchGraph &graph = *worker.graph;
  switch (operand.access) {
  case ESPALIER_ACCESS_ROW:
    return {base + (begin - view.first) * view.stride, view.stride, nullptr};
  case ESPALIER_ACCESS_CHILD:
    return {base, view.stride, graph.schedule.childRows(operand.slot, begin)};
  case ESPALIER_ACCESS_CALLER:
    return {base, view.stride, graph.schedule.vertexOfRow() + begin};
  case ESPALIER_ACCESS_ROOT:
    return {base, view.stride, graphOf(operand).schedule.rootRow() + begin};
  case ESPALIER_ACCESS_CALLER_ROOT:
    return {base, view.stride, graphOf(operand).schedule.rootVertex() + begin};
  case ESPALIER_ACCESS_ROOT_STRUCTURE:
    return {base, view.stride, graph.schedule.rootStructureOfRow() + begin};
  case ESPALIER_ACCESS_STRUCTURE:
    return {base, view.stride, graph.schedule.structureOfRow() + begin};
  case ESPALIER_ACCESS_EDGE_CHILD:
    return {base, view.stride, graph.edges.childRow() + begin};
  case ESPALIER_ACCESS_EDGE_PARENT:
    return {base - view.first * view.stride, view.stride,
            graph.edges.parentRow() + begin};
  case ESPALIER_ACCESS_ID: {
    const View &ids = worker.views[operand.slot];
    return {base, operand.matrixRowBytes,
            reinterpret_cast<const int32_t *>(ids.base + (begin - ids.first) *
                                                             ids.stride)};
  }
  default: // ESPALIER_ACCESS_SHARED
    return {base, 0, nullptr};
  }
}

void Executor::copy(Worker &worker, const Program::Step &step, int64_t begin,
                    int64_t end) {
  const Program::Operand &from = step.operands[0], &to = step.operands[1];
  OperandRows in = locate(worker, from, begin);
  OperandRows out = locate(worker, to, begin);
  if (step.canAlias && options.elision &&
      worker.graph->schedule.contiguousChildren(from.slot, begin, end)) {
    worker.views[to.buffer] = {in.base + in.index[0] * in.stride, in.stride,
                               begin};
    return;
  }
  int64_t count = end - begin, bytes = from.rowBytes;
  if (!in.index && !out.index && in.stride == bytes && out.stride == bytes) {
    std::memcpy(out.base, in.base, count * bytes);
    return;
  }
  for (int64_t r = 0; r < count; ++r) {
    int64_t target = out.index ? out.index[r] : r;
    if (target >= 0)
      std::memcpy(out.base + target * out.stride, in.read(r, zeros), bytes);
  }
}

void Executor::embed(Worker &worker, const Program::Phase &phase,
                     const Program::Step &step, int64_t begin, int64_t end) {
  OperandRows ids = locate(worker, step.operands[0], begin);
  const char *table = locate(worker, step.operands[1], begin).base;
  OperandRows out = locate(worker, step.operands[2], begin);
  int64_t bytes = step.operands[2].rowBytes;
  for (int64_t r = 0; r < end - begin; ++r) {
    int32_t id;
    std::memcpy(&id, ids.read(r, zeros), sizeof(id));
    if (id >= step.tableRows)
      failId(phase, step.operands[0].buffer, step.operands[1].buffer,
             step.tableRows, begin + r, id);
    std::memcpy(out.base + r * out.stride, id < 0 ? zeros : table + id * bytes,
                bytes);
  }
}

void Executor::failId(const Program::Phase &phase, uint32_t idsBuffer,
                      uint32_t tableBuffer, int64_t tableRows, int64_t row,
                      int32_t id) const {
  const espalier_buffer_desc &ids = program.entry.buffers[idsBuffer];
  const espalier_buffer_desc &table = program.entry.buffers[tableBuffer];
  std::string where;
  if (phase.rows == ESPALIER_ROWS_STRUCTURES) {
    where = format("structure %lld", (long long)row);
  } else if (phase.rows != ESPALIER_ROWS_ONE) {
    const Forest &forest = *graphs[phase.graph].forest;
    int64_t v = graphs[phase.graph].schedule.vertexOfRow()[row];
    int64_t k = forest.structureOf(v);
    where = format("structure %lld, vertex %lld", (long long)k,
                   (long long)(v - forest.structureOffsets[k]));
  }
  fail(ESPALIER_INVALID_ARGUMENT,
       "%s%sid %d of '%s' is outside the table '%s', which has %lld rows; ids "
       "and weights must come from the same vocabulary",
       where.c_str(), where.empty() ? "" : ": ", id, ids.name ? ids.name : "?",
       table.name ? table.name : "?", (long long)tableRows);
}

/// Whether a product of so few rows that they are not shared is worth sharing
/// by its columns: it computes enough, or reads enough of the weight.
bool Executor::isWorthSplitting(const Program::Step &step, int64_t rows) {
  int64_t weightBytes = step.weight->k() * step.weight->n() * step.elementBytes;
  return std::max(rows * step.costPerRow, weightBytes * kFlopsPerByte) >=
         2 * kMinParallelCost;
}

void Executor::matmul(Worker &worker, const Program::Step &step, int64_t begin,
                      int64_t end) {
  OperandRows in = locate(worker, step.operands[0], begin);
  OperandRows out = locate(worker, step.operands[1], begin);
  // The one row of a shared operand has no stride.
  int64_t inBytes = std::max(in.stride, step.operands[0].rowBytes);
  int64_t outBytes = std::max(out.stride, step.operands[1].rowBytes);
  int64_t ldIn = inBytes / step.elementBytes;
  int64_t ldOut = outBytes / step.elementBytes;
  const PackedWeight &weight = *step.weight;
  int64_t parts = 1;
  if (worker.helpers && isWorthSplitting(step, end - begin))
    parts = std::min<int64_t>(weight.productParts(kMinPartColumns),
                              options.threads);
  if (parts == 1)
    return weight.multiply(in.base, ldIn, out.base, ldOut, end - begin);
  forEachIndex(worker.helpers, parts, [&](unsigned, int64_t part) {
    weight.multiplyPart(in.base, ldIn, out.base, ldOut, end - begin, part,
                        parts);
  });
}

void Executor::kernel(Worker &worker, const Program::Phase &phase,
                      const Program::Step &step, int64_t begin, int64_t end) {
  espalier_kernel_operand *operands = worker.operands.data();
  char *trash = worker.scratch.data() + alignUp(program.scratchBytes);
  for (uint32_t o = 0; o < step.operandCount; ++o) {
    const Program::Operand &operand = step.operands[o];
    OperandRows rows = locate(worker, operand, begin);
    if (operand.access == ESPALIER_ACCESS_ID)
      for (int64_t r = 0; r < end - begin; ++r)
        if (rows.index[r] >= operand.matrixRows)
          failId(phase, operand.slot, operand.buffer, operand.matrixRows,
                 begin + r, rows.index[r]);
    bool written = o >= step.operandCount - step.resultCount;
    operands[o] = {rows.base, rows.stride, rows.index,
                   written ? trash : const_cast<char *>(zeros)};
  }
  step.kernel(operands, 0, end - begin);
}

template <typename T>
static void addRow(char *to, const char *from, int64_t bytes) {
  T *__restrict sum = reinterpret_cast<T *>(to);
  const T *__restrict more = reinterpret_cast<const T *>(from);
  for (int64_t i = 0; i < bytes / (int64_t)sizeof(T); ++i)
    sum[i] += more[i];
}

void Executor::sumParents(Worker &worker, const Program::Step &step,
                          int64_t begin, int64_t end) {
  const Schedule &schedule = worker.graph->schedule;
  const View &view = worker.views[step.operands[0].buffer];
  const char *base = view.base + step.operands[0].columnBytes;
  const int64_t bytes = step.operands[1].rowBytes;
  const Schedule::ParentSlot *slots = schedule.parentSlots();
  auto place = [&](int64_t s) {
    return (slots[s].row - view.first) * view.stride + slots[s].slot * bytes;
  };
  // Parents may have more slots than there are columns for.
  auto isThere = [&](int64_t s) {
    return slots[s].slot * bytes < step.operands[0].rowBytes;
  };

  // One parent each, at equal distances, as in chains and full trees: the sums
  // are there already.
  int64_t first = schedule.parentsBegin(begin), count = end - begin;
  if (step.canAlias && options.elision &&
      schedule.parentsBegin(end) - first == count) {
    int64_t origin = place(first);
    int64_t stride = count > 1 ? place(first + 1) - origin : bytes;
    bool regular = stride >= bytes;
    for (int64_t r = 0; regular && r < count; ++r)
      regular = schedule.parentsBegin(begin + r) == first + r &&
                isThere(first + r) && place(first + r) == origin + r * stride;
    if (regular) {
      worker.views[step.operands[1].buffer] = {
          const_cast<char *>(base) + origin, stride, begin};
      return;
    }
  }

  OperandRows out = locate(worker, step.operands[1], begin);
  for (int64_t r = 0; r < count; ++r) {
    char *to = out.base + r * out.stride;
    bool isFirst = true;
    for (int64_t s = schedule.parentsBegin(begin + r),
                 last = schedule.parentsBegin(begin + r + 1);
         s < last; ++s) {
      if (!isThere(s))
        continue;
      if (isFirst)
        std::memcpy(to, base + place(s), bytes);
      else if (step.dtype == ESPALIER_F32)
        addRow<float>(to, base + place(s), bytes);
      else
        addRow<double>(to, base + place(s), bytes);
      isFirst = false;
    }
    if (isFirst)
      std::memset(to, 0, bytes);
  }
}

//===----------------------------------------------------------------------===//
// Sums over edges and over vertices
//===----------------------------------------------------------------------===//

void Executor::reduceChildren(Worker &worker, const Program::Step &step,
                              int64_t begin, int64_t end) {
  const Program::Operand &from = step.operands[0], &to = step.operands[1];
  const View &in = worker.views[from.buffer];
  OperandRows out = locate(worker, to, begin);
  const int64_t *offsets = worker.graph->edges.offsets();
  Reduction reduction = step.kind == ESPALIER_STEP_SUM_CHILDREN ? Reduction::Sum
                        : step.kind == ESPALIER_STEP_MAX_CHILDREN
                            ? Reduction::Max
                            : Reduction::Mean;
  RowReducer reducer(reduction, step.dtype, in.base + from.columnBytes,
                     in.stride, to.rowBytes);
  for (int64_t r = begin; r < end; ++r)
    reducer.reduceRange(offsets[r], offsets[r + 1],
                        out.base + (r - begin) * out.stride);
}

void Executor::sumIncomingEdges(Worker &worker, const Program::Step &step,
                                int64_t begin, int64_t end) {
  const Program::Operand &from = step.operands[0], &to = step.operands[1];
  const View &in = worker.views[from.buffer];
  OperandRows out = locate(worker, to, begin);
  const EdgeTable &edges = worker.graph->edges;
  const int64_t *offsets = edges.incomingOffsets();
  RowReducer reducer(Reduction::Sum, step.dtype, in.base + from.columnBytes,
                     in.stride, to.rowBytes);
  for (int64_t r = begin; r < end; ++r)
    reducer.reduceListed(edges.incoming() + offsets[r],
                         offsets[r + 1] - offsets[r],
                         out.base + (r - begin) * out.stride);
}

void Executor::reduceVertices(Worker &worker, const Program::Step &step,
                              int64_t begin, int64_t end) {
  const Program::Operand &from = step.operands[0], &to = step.operands[1];
  const View &in = worker.views[from.buffer];
  OperandRows out = locate(worker, to, begin);
  const BatchGraph &graph = graphOf(from);
  bool callerOrder =
      program.entry.buffers[from.buffer].rows == ESPALIER_ROWS_CALLER;
  RowReducer reducer(
      step.kind == ESPALIER_STEP_SUM_VERTICES ? Reduction::Sum : Reduction::Max,
      step.dtype, in.base + from.columnBytes, in.stride, to.rowBytes);
  for (int64_t k = begin; k < end; ++k) {
    int64_t first = graph.forest->structureOffsets[k];
    int64_t last = graph.forest->structureOffsets[k + 1];
    char *row = out.base + (k - begin) * out.stride;
    if (callerOrder)
      reducer.reduceRange(first, last, row);
    else
      reducer.reduceListed(graph.schedule.rowOfVertex() + first, last - first,
                           row);
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void Executor::runReduction(const Program::Step &step, int64_t begin,
                            int64_t end) {
  Worker &worker = workers[0];
  OperandRows operands[4];
  for (uint32_t o = 0; o < step.operandCount; ++o)
    operands[o] = locate(worker, step.operands[o], begin);
  int64_t rows = end - begin;
  int64_t elementBytes = (int64_t)dtypeSize(step.dtype);
  auto elements = [&](uint32_t o) {
    return step.operands[o].rowBytes / elementBytes;
  };
  ThreadPool *used =
      rows * step.costPerRow >= kMinParallelCost ? pool : nullptr;
  int64_t threads = used ? used->threads() : 1;
  auto runParts = [&](const auto &reduction) {
    forEachIndex(used, reduction.parts(),
                 [&](unsigned, int64_t part) { reduction.run(part); });
  };

  switch (step.kind) {
  case ESPALIER_STEP_SUM_ROWS:
    return runParts(SumRows(step.dtype, operands[0], rows, elements(0),
                            operands[1].base, zeros));
  case ESPALIER_STEP_OUTER_SUM: {
    OuterSum sum(step.dtype, operands[0], elements(0), operands[1], elements(1),
                 rows, operands[2].base, step.outerStride, zeros, threads);
    return forEachIndex(used, sum.parts(), [&](unsigned w, int64_t part) {
      sum.run(part, workers[w].scratch.data());
    });
  }
  case ESPALIER_STEP_COMBINE_ROWS: {
    const int32_t *first = worker.firstRows.find(operands[0], rows, zeros);
    for (int64_t r = 0; r < rows; ++r) {
      int32_t id = -1;
      if (first[r] == r)
        std::memcpy(&id, operands[0].read(r, zeros), sizeof(id));
      std::memcpy(operands[2].base + r * operands[2].stride, &id, sizeof(id));
    }
    return runParts(CombineRows(step.dtype, first, operands[1], operands[3],
                                rows, elements(1), zeros, threads));
  }
  }
}

} // namespace espalier
