//===- Executor.cpp -------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Executor.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/OuterSum.h"
#include "device/cpu/ThreadPool.h"
#include "graph/Forest.h"
#include "module/PhaseRows.h"
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
  int64_t tasks = schedule.tasks(), innerTask = schedule.firstInnerTask();
  auto runTask = [&](const Program::Phase &phase, int64_t t) {
    runRows(phase, schedule.taskBegin(t), schedule.taskBegin(t + 1));
  };
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
    case ESPALIER_ROWS_INNER_TASKS:
      for (int64_t t = isInnerRows(phase.rows) ? innerTask : 0; t < tasks; ++t)
        runTask(phase, t);
      break;
    case ESPALIER_ROWS_TASKS_REVERSED:
    case ESPALIER_ROWS_INNER_TASKS_REVERSED:
      for (int64_t t = tasks, first = isInnerRows(phase.rows) ? innerTask : 0;
           t > first; --t)
        runTask(phase, t - 1);
      break;
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
  if (phase.isReduction) {
    for (const Program::Step &step : phase.steps) {
      int64_t start = options.profile ? now() : 0;
      runReduction(step, begin, end);
      if (options.profile)
        record(workers[0], phase, step, start, rows);
    }
    return;
  }
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
  for (const Program::Step &step : phase.steps) {
    int64_t start = options.profile ? now() : 0;
    runStep(worker, phase, step, begin, end);
    if (options.profile)
      record(worker, phase, step, start, end - begin);
  }
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
    return kernel(worker, phase, step, begin, end);
  case ESPALIER_STEP_SUM_PARENTS:
    return sumParents(worker, step, begin, end);
  }
}

OperandRows Executor::locate(const Worker &worker,
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
  case ESPALIER_ACCESS_ROOT_STRUCTURE:
    return {base, view.stride, schedule.rootStructureOfRow() + begin};
  case ESPALIER_ACCESS_STRUCTURE:
    return {base, view.stride, schedule.structureOfRow() + begin};
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
    int64_t v = schedule.vertexOfRow()[row];
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

void Executor::matmul(Worker &worker, const Program::Step &step, int64_t begin,
                      int64_t end) {
  OperandRows in = locate(worker, step.operands[0], begin);
  OperandRows out = locate(worker, step.operands[1], begin);
  // The one row of a shared operand has no stride.
  int64_t inBytes = std::max(in.stride, step.operands[0].rowBytes);
  int64_t outBytes = std::max(out.stride, step.operands[1].rowBytes);
  step.weight->multiply(in.base, inBytes / step.elementBytes, out.base,
                        outBytes / step.elementBytes, end - begin);
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
  const View &view = worker.views[step.operands[0].buffer];
  const char *base = view.base + step.operands[0].columnBytes;
  const int64_t bytes = step.operands[1].rowBytes;
  const Schedule::ParentSlot *slots = schedule.parentSlots();
  auto place = [&](int64_t s) {
    return (slots[s].row - view.first) * view.stride + slots[s].slot * bytes;
  };

  // One parent each, at equal distances, as in chains and full trees: the sums
  // are there already.
  int64_t first = schedule.parentsBegin(begin), count = end - begin;
  if (step.canAlias && schedule.parentsBegin(end) - first == count) {
    int64_t origin = place(first);
    int64_t stride = count > 1 ? place(first + 1) - origin : bytes;
    bool regular = stride >= bytes;
    for (int64_t r = 0; regular && r < count; ++r)
      regular = schedule.parentsBegin(begin + r) == first + r &&
                place(first + r) == origin + r * stride;
    if (regular) {
      worker.views[step.operands[1].buffer] = {
          const_cast<char *>(base) + origin, stride, begin};
      return;
    }
  }

  OperandRows out = locate(worker, step.operands[1], begin);
  for (int64_t r = 0; r < count; ++r) {
    char *to = out.base + r * out.stride;
    int64_t s = schedule.parentsBegin(begin + r);
    int64_t last = schedule.parentsBegin(begin + r + 1);
    if (s == last) {
      std::memset(to, 0, bytes);
      continue;
    }
    std::memcpy(to, base + place(s), bytes);
    for (++s; s < last; ++s)
      step.dtype == ESPALIER_F32 ? addRow<float>(to, base + place(s), bytes)
                                 : addRow<double>(to, base + place(s), bytes);
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
