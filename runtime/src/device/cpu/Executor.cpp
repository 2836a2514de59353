//===- Executor.cpp -------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Executor.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/ThreadPool.h"
#include "graph/Forest.h"
#include "schedule/Schedule.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstring>

namespace espalier {

/// Rows cost at least this much (see Program::Phase::costPerRow) before they
/// are shared between threads: some 10 us of one core at the rate of large
/// products and more for all else, several times what it takes to hand out
/// blocks and to wait for the last.
static constexpr int64_t kMinParallelCost = 1000 * 1000;

/// Rows are never cut finer than this: a matmul of fewer rows spends its time
/// reading the weight.
static constexpr int64_t kMinBlockRows = 16;

/// Where a step finds the rows of an operand, counted from the block's first.
struct Executor::Rows {
  char *base;
  int64_t stride;
  const int32_t *index;
};

Executor::Executor(const Program &program, const Forest &forest,
                   const Schedule &schedule, const std::vector<View> &views,
                   const char *zeros, std::vector<Worker> &workers,
                   ThreadPool *pool, ExecutorOptions options)
    : program(program), forest(forest), schedule(schedule), zeros(zeros),
      workers(workers), pool(pool), options(options) {
  size_t used = pool ? pool->threads() : 1;
  for (size_t w = 0; w < used; ++w) {
    workers[w].views = views;
    workers[w].times = {};
    workers[w].events.clear();
    workers[w].droppedEvents = 0;
  }
}

//===----------------------------------------------------------------------===//
// From phases to blocks
//===----------------------------------------------------------------------===//

void Executor::run() {
  int64_t vertices = schedule.vertices(), leaves = schedule.leaves();
  for (const Program::Phase &phase : program.phases) {
    switch (phase.rows) {
    case ESPALIER_ROWS_ONE:
      runRows(phase, 0, 1);
      break;
    case ESPALIER_ROWS_VERTICES:
      runRows(phase, 0, vertices);
      break;
    case ESPALIER_ROWS_LEAVES:
      runRows(phase, 0, leaves);
      break;
    case ESPALIER_ROWS_INNER:
      runRows(phase, leaves, vertices);
      break;
    case ESPALIER_ROWS_STRUCTURES:
      runRows(phase, 0, schedule.structures());
      break;
    case ESPALIER_ROWS_TASKS:
    case ESPALIER_ROWS_INNER_TASKS: {
      bool inner = phase.rows == ESPALIER_ROWS_INNER_TASKS;
      int64_t first = inner ? schedule.firstInnerTask() : 0;
      for (int64_t t = first; t < schedule.tasks(); ++t)
        runRows(phase, schedule.taskBegin(t), schedule.taskBegin(t + 1));
      break;
    }
    }
  }
}

/// Rows of one phase, as the threads of a pool share them.
struct Executor::Job {
  Executor *executor;
  const Program::Phase *phase;
  int64_t begin;
  int64_t end;
  int64_t blockRows;

  static void runIndex(void *context, unsigned worker, int64_t index) {
    Job &job = *static_cast<Job *>(context);
    Executor &self = *job.executor;
    int64_t begin = job.begin + index * job.blockRows;
    int64_t end = std::min(job.end, begin + job.blockRows);
    try {
      self.runBlock(self.workers[worker], *job.phase, begin, end);
    } catch (...) {
      std::lock_guard<std::mutex> lock(self.failureMutex);
      if (index < self.failedBlock) {
        self.failedBlock = index;
        self.failure = std::current_exception();
      }
    }
  }
};

void Executor::runRows(const Program::Phase &phase, int64_t begin,
                       int64_t end) {
  int64_t rows = end - begin;
  if (rows == 0)
    return;
  int64_t limit = options.serial ? 1 : kBlockRows;
  bool shared = options.threads > 1 && rows > kMinBlockRows &&
                rows * phase.costPerRow >= kMinParallelCost;
  if (shared) {
    int64_t share = (rows + options.threads - 1) / options.threads;
    limit = std::min(limit, std::max(share, kMinBlockRows));
  }
  // Blocks of about equal size: a short last one would cost almost as much.
  int64_t blocks = (rows + limit - 1) / limit;
  int64_t blockRows = (rows + blocks - 1) / blocks;
  if (shared && pool) {
    Job job{this, &phase, begin, end, blockRows};
    pool->run(Job::runIndex, &job, (rows + blockRows - 1) / blockRows);
    if (failure)
      std::rethrow_exception(failure);
    return;
  }
  for (int64_t block = begin; block < end; block += blockRows)
    runBlock(workers[0], phase, block, std::min(end, block + blockRows));
}

void Executor::runBlock(Worker &worker, const Program::Phase &phase,
                        int64_t begin, int64_t end) {
  for (const Program::Scratch &scratch : phase.scratch)
    worker.views[scratch.buffer] = {worker.scratch.data() + scratch.offset,
                                    scratch.rowBytes, begin};
  for (const Program::Step &step : phase.steps)
    if (options.profile)
      recordStep(worker, phase, step, begin, end);
    else
      runStep(worker, phase, step, begin, end);
}

void Executor::recordStep(Worker &worker, const Program::Phase &phase,
                          const Program::Step &step, int64_t begin,
                          int64_t end) {
  int64_t start = now();
  runStep(worker, phase, step, begin, end);
  int64_t stop = now();
  int64_t &time = step.kind == ESPALIER_STEP_MATMUL   ? worker.times.matmul
                  : step.kind == ESPALIER_STEP_KERNEL ? worker.times.kernel
                                                      : worker.times.copy;
  time += stop - start;
  if (worker.events.size() < Trace::kMaxEvents)
    worker.events.push_back(
        {step.name, phase.name, start, stop, end - begin, worker.thread});
  else
    ++worker.droppedEvents;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Executor::runStep(Worker &worker, const Program::Phase &phase,
                       const Program::Step &step, int64_t begin, int64_t end) {
  switch (step.kind) {
  case ESPALIER_STEP_COPY:
    return copy(worker, step, begin, end);
  case ESPALIER_STEP_EMBED:
    return embed(worker, phase, step, begin, end);
  case ESPALIER_STEP_MATMUL:
    return matmul(worker, step, begin, end);
  case ESPALIER_STEP_KERNEL:
    return kernel(worker, step, begin, end);
  }
}

Executor::Rows Executor::locate(const Worker &worker,
                                const Program::Operand &operand,
                                int64_t begin) const {
  const View &view = worker.views[operand.buffer];
  char *base = view.base + operand.columnBytes;
  switch (operand.access) {
  case ESPALIER_ACCESS_ROW:
    return {base + (begin - view.first) * view.stride, view.stride, nullptr};
  case ESPALIER_ACCESS_CHILD:
    return {base, view.stride, schedule.childRows(operand.slot, begin)};
  case ESPALIER_ACCESS_CALLER:
    return {base, view.stride, schedule.vertexOfRow() + begin};
  case ESPALIER_ACCESS_ROOT:
    return {base, view.stride, schedule.rootRow() + begin};
  case ESPALIER_ACCESS_CALLER_ROOT:
    return {base, view.stride, schedule.rootVertex() + begin};
  default: // ESPALIER_ACCESS_SHARED
    return {base, 0, nullptr};
  }
}

void Executor::copy(Worker &worker, const Program::Step &step, int64_t begin,
                    int64_t end) {
  const Program::Operand &from = step.operands[0], &to = step.operands[1];
  Rows in = locate(worker, from, begin), out = locate(worker, to, begin);
  if (step.canAlias && schedule.contiguousChildren(from.slot, begin, end)) {
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
    int64_t source = in.index ? in.index[r] : r;
    int64_t target = out.index ? out.index[r] : r;
    if (target >= 0)
      std::memcpy(out.base + target * out.stride,
                  source < 0 ? zeros : in.base + source * in.stride, bytes);
  }
}

void Executor::embed(Worker &worker, const Program::Phase &phase,
                     const Program::Step &step, int64_t begin, int64_t end) {
  Rows ids = locate(worker, step.operands[0], begin);
  const char *table = locate(worker, step.operands[1], begin).base;
  Rows out = locate(worker, step.operands[2], begin);
  int64_t bytes = step.operands[2].rowBytes;
  for (int64_t r = 0; r < end - begin; ++r) {
    int32_t id;
    std::memcpy(&id, ids.base + (ids.index ? ids.index[r] : r) * ids.stride,
                sizeof(id));
    if (id >= step.tableRows)
      failId(phase, step, begin + r, id);
    std::memcpy(out.base + r * out.stride, id < 0 ? zeros : table + id * bytes,
                bytes);
  }
}

void Executor::failId(const Program::Phase &phase, const Program::Step &step,
                      int64_t row, int32_t id) const {
  const espalier_buffer_desc *buffers = program.entry.buffers;
  const espalier_buffer_desc &ids = buffers[step.operands[0].buffer];
  const espalier_buffer_desc &table = buffers[step.operands[1].buffer];
  std::string where;
  if (phase.rows == ESPALIER_ROWS_STRUCTURES) {
    where = format("structure %lld", (long long)row);
  } else if (phase.rows != ESPALIER_ROWS_ONE) {
    int64_t v = schedule.vertexOfRow()[row];
    int64_t k = forest.structureOf(v);
    where = format("structure %lld, vertex %lld", (long long)k,
                   (long long)(v - forest.structureOffsets[k]));
  }
  fail(ESPALIER_INVALID_ARGUMENT,
       "%s%sid %d of '%s' is outside the table '%s', which has %lld rows; ids "
       "and weights must come from the same vocabulary",
       where.c_str(), where.empty() ? "" : ": ", id, ids.name ? ids.name : "?",
       table.name ? table.name : "?", (long long)step.tableRows);
}

void Executor::matmul(Worker &worker, const Program::Step &step, int64_t begin,
                      int64_t end) {
  Rows in = locate(worker, step.operands[0], begin);
  Rows out = locate(worker, step.operands[1], begin);
  // The one row of a shared operand has no stride.
  int64_t inBytes = std::max(in.stride, step.operands[0].rowBytes);
  int64_t outBytes = std::max(out.stride, step.operands[1].rowBytes);
  step.weight->multiply(in.base, inBytes / step.elementBytes, out.base,
                        outBytes / step.elementBytes, end - begin);
}

void Executor::kernel(Worker &worker, const Program::Step &step, int64_t begin,
                      int64_t end) {
  espalier_kernel_operand *operands = worker.operands.data();
  for (uint32_t o = 0; o < step.operandCount; ++o) {
    Rows rows = locate(worker, step.operands[o], begin);
    operands[o] = {rows.base, rows.stride, rows.index,
                   const_cast<char *>(zeros)};
  }
  step.kernel(operands, 0, end - begin);
}

} // namespace espalier
