//===- ExecutorSteps.cpp - What is done to a block of rows ----------------===//
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
#include "device/cpu/layers/Layer.h"
#include "module/PhaseRows.h"
#include "schedule/BatchGraph.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstring>

namespace espalier {

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
    return step.batchRows ? batchKernel(worker, step)
                          : kernel(worker, phase, step, begin, end);
  case ESPALIER_STEP_LAYER:
    return layer(worker, step);
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

/// What a row of `operand` reads as that is not there.
const char *Executor::absentRow(const Program::Operand &operand) const {
  bool ofRoot = operand.access == ESPALIER_ACCESS_ROOT ||
                operand.access == ESPALIER_ACCESS_CALLER_ROOT;
  bool ids = program.entry.buffers[operand.buffer].dtype == ESPALIER_I32;
  return ofRoot && ids ? noIds : zeros;
}

OperandRows Executor::locate(const Worker &worker,
                             const Program::Operand &operand,
                             int64_t begin) const {
  return locateRows(program, graphs, worker.views, *worker.graph, operand,
                    begin);
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
  if (in.base == out.base && !in.index && !out.index && in.stride == out.stride)
    return; // a view, by a plan
  if (!in.index && !out.index && in.stride == bytes && out.stride == bytes) {
    std::memcpy(out.base, in.base, count * bytes);
    return;
  }
  for (int64_t r = 0; r < count; ++r) {
    int64_t target = out.index ? out.index[r] : r;
    if (target >= 0)
      std::memcpy(out.base + target * out.stride, in.read(r, absentRow(from)),
                  bytes);
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
    std::memcpy(&id, ids.read(r, absentRow(step.operands[0])), sizeof(id));
    if (id >= step.tableRows)
      failId(phase, step.operands[0].buffer, step.operands[1].buffer,
             step.tableRows, begin + r, id);
    std::memcpy(out.base + r * out.stride, id < 0 ? zeros : table + id * bytes,
                bytes);
  }
}

/// For messages; what the model computes has no name.
static const char *nameOf(const espalier_buffer_desc &buffer) {
  return buffer.name && *buffer.name ? buffer.name : "computed";
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
       where.c_str(), where.empty() ? "" : ": ", id, nameOf(ids), nameOf(table),
       (long long)tableRows);
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
                   written ? trash : const_cast<char *>(absentRow(operand))};
  }
  step.kernel(operands, 0, end - begin);
}

//===----------------------------------------------------------------------===//
// Layered networks
//===----------------------------------------------------------------------===//

/// A kernel over rows of buffers that are one row each; threads share them.
void Executor::batchKernel(Worker &worker, const Program::Step &step) {
  espalier_kernel_operand *operands = worker.operands.data();
  for (uint32_t o = 0; o < step.operandCount; ++o) {
    const Program::Operand &operand = step.operands[o];
    bool isRow = operand.access == ESPALIER_ACCESS_ROW;
    operands[o] = {worker.views[operand.buffer].base + operand.columnBytes,
                   isRow ? operand.rowBytes : 0, nullptr, nullptr};
  }
  // A few parts a thread, so that none waits long for the last.
  int64_t parts = 1;
  if (worker.helpers && step.costPerRow >= kMinParallelCost)
    parts = std::min<int64_t>(step.batchRows, 4 * options.threads);
  forEachIndex(worker.helpers, parts, [&](unsigned, int64_t part) {
    step.kernel(operands, step.batchRows * part / parts,
                step.batchRows * (part + 1) / parts);
  });
}

void Executor::layer(Worker &worker, const Program::Step &step) {
  constexpr uint32_t kUsual = 8;
  char *few[kUsual];
  std::vector<char *> many;
  char **operands = few;
  if (step.operandCount > kUsual) { // a concatenation of many
    many.resize(step.operandCount);
    operands = many.data();
  }
  for (uint32_t o = 0; o < step.operandCount; ++o)
    operands[o] = worker.views[step.operands[o].buffer].base;
  char *workspace = nullptr;
  if (step.workspace)
    workspace =
        worker.views[program.entry.buffer_count + step.workspace - 1].base;
  ThreadPool *used =
      step.costPerRow >= kMinParallelCost ? worker.helpers : nullptr;
  step.layer->run({operands, workspace, layerScratch, used});
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

void Executor::runReduction(const Program::Phase &phase,
                            const Program::Step &step, const RowBlocks &blocks,
                            int64_t first, int64_t last,
                            const int32_t *firstRows) {
  int64_t start = options.profile ? now() : 0;
  Worker &worker = workers[0];
  worker.graph = graphs.data() + phase.graph;
  int64_t begin = blocks.firstRow(first), end = blocks.firstRow(last);
  int64_t elementBytes = (int64_t)dtypeSize(step.dtype);
  auto operandAt = [&](uint32_t o, int64_t row) {
    return locate(worker, step.operands[o], row);
  };
  auto elements = [&](uint32_t o) {
    return step.operands[o].rowBytes / elementBytes;
  };
  // What one turn leaves for the next.
  auto sumsSoFar = [&](int64_t count) -> double * {
    if (first == 0 && last == blocks.count)
      return nullptr;
    worker.sumsSoFar.resize(count);
    return worker.sumsSoFar.data();
  };
  int64_t rows = blocks.end - blocks.begin;
  ThreadPool *used =
      rows * step.costPerRow >= kMinParallelCost ? pool : nullptr;
  int64_t threads = used ? used->threads() : 1;

  switch (step.kind) {
  case ESPALIER_STEP_SUM_ROWS: {
    SumRows sum(step.dtype, operandAt(0, begin), end - begin, elements(0),
                operandAt(1, begin).base, zeros, first,
                sumsSoFar(SumRows::stateDoubles(step.dtype, elements(0))));
    forEachIndex(used, sum.parts(),
                 [&](unsigned, int64_t part) { sum.run(part); });
    break;
  }
  case ESPALIER_STEP_OUTER_SUM: {
    OuterSum sum(step.dtype, operandAt(0, blocks.begin), elements(0),
                 operandAt(1, blocks.begin), elements(1), rows,
                 operandAt(2, begin).base, step.outerStride, zeros, threads);
    double *sums = sumsSoFar(sum.sumCount());
    forEachIndex(used, sum.parts(), [&](unsigned w, int64_t part) {
      sum.run(part, workers[w].scratch.data(), first, last, sums);
    });
    break;
  }
  case ESPALIER_STEP_COMBINE_ROWS: {
    CombineRows combine(step.dtype, firstRows, operandAt(1, blocks.begin),
                        operandAt(3, blocks.begin), elements(1), zeros,
                        threads);
    forEachIndex(used, combine.parts(), [&](unsigned, int64_t part) {
      combine.run(part, begin - blocks.begin, end - blocks.begin);
    });
    break;
  }
  }
  if (options.profile)
    record(worker, phase, step, start, end - begin);
}

const int32_t *Executor::findFirstRows(const Program::Phase &phase,
                                       const Program::Step &step, int64_t begin,
                                       int64_t end) {
  int64_t start = options.profile ? now() : 0;
  Worker &worker = workers[0];
  worker.graph = graphs.data() + phase.graph;
  OperandRows ids = locate(worker, step.operands[0], begin);
  OperandRows out = locate(worker, step.operands[2], begin);
  const char *absent = absentRow(step.operands[0]);
  const int32_t *firsts = worker.firstRows.find(ids, end - begin, absent);
  for (int64_t r = 0; r < end - begin; ++r) {
    int32_t id = -1;
    if (firsts[r] == r)
      std::memcpy(&id, ids.read(r, absent), sizeof(id));
    std::memcpy(out.base + r * out.stride, &id, sizeof(id));
  }
  if (options.profile)
    record(worker, phase, step, start, end - begin);
  return firsts;
}

} // namespace espalier
