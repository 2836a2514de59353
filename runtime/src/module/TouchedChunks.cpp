//===- TouchedChunks.cpp --------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/TouchedChunks.h"

namespace espalier {

void TouchedChunks::reset(const char *begin, int64_t count,
                          int64_t chunkBytes) {
  first = begin;
  bytes = count * chunkBytes;
  shift = 0;
  while (int64_t(1) << shift < chunkBytes)
    ++shift;
  touched.clear();
  places.assign(count, 0);
}

void TouchedChunks::clear() {
  for (const Chunk &chunk : touched)
    places[chunk.number] = 0;
  touched.clear();
}

void TouchedChunks::add(const char *address, int64_t size, bool isWritten) {
  int64_t offset = address - first;
  if (size <= 0 || offset < 0 || offset >= bytes)
    return;
  for (int64_t c = offset >> shift; c <= (offset + size - 1) >> shift; ++c) {
    if (places[c] == 0) {
      touched.push_back({(int32_t)c, false});
      places[c] = (int32_t)touched.size();
    }
    touched[places[c] - 1].isWritten |= isWritten;
  }
}

void TouchedChunks::addRows(OperandRows rows, int64_t count, int64_t rowBytes,
                            bool isWritten) {
  if (count <= 0 || rowBytes == 0)
    return;
  if (!rows.index)
    return add(rows.base, (count - 1) * rows.stride + rowBytes, isWritten);
  for (int64_t r = 0; r < count; ++r)
    if (rows.index[r] >= 0)
      add(rows.base + rows.index[r] * rows.stride, rowBytes, isWritten);
}

void TouchedChunks::addOperand(const Batch &batch, const BatchGraph &graph,
                               const Program::Operand &operand, int64_t begin,
                               int64_t end, bool isWritten) {
  auto isScratch = [&](uint32_t buffer) {
    return batch.program.entry.buffers[buffer].kind == ESPALIER_BUFFER_SCRATCH;
  };
  if (operand.access == ESPALIER_ACCESS_ID) {
    // Its matrix is one row, which stays; the ids are read.
    if (isScratch(operand.slot))
      return;
    const View &ids = batch.views[operand.slot];
    return add(ids.base + (begin - ids.first) * ids.stride,
               (end - begin) * ids.stride, false);
  }
  if (isScratch(operand.buffer))
    return;
  addRows(locateRows(batch.program, batch.graphs, batch.views, graph, operand,
                     begin),
          end - begin, operand.rowBytes, isWritten);
}

/// The rows that a sum over parents, children or vertices adds up, which it
/// finds itself. False if `step` is none.
bool TouchedChunks::addSumOperand(const Batch &batch, const BatchGraph &graph,
                                  const Program::Step &step, int64_t begin,
                                  int64_t end) {
  const Program::Operand &in = step.operands[0];
  const espalier_buffer_desc &buffer = batch.program.entry.buffers[in.buffer];
  View view = batch.views[in.buffer];
  view.base += in.columnBytes;
  auto addRow = [&](int64_t row, int64_t column, int64_t rowBytes) {
    add(view.base + (row - view.first) * view.stride + column, rowBytes, false);
  };
  if (step.kind == ESPALIER_STEP_SUM_PARENTS && step.overIncoming) {
    const int64_t *offsets = graph.edges.incomingOffsets();
    for (int64_t i = offsets[begin]; i < offsets[end]; ++i)
      addRow(graph.edges.incoming()[i], 0, in.rowBytes);
    return true;
  }
  if (step.kind == ESPALIER_STEP_SUM_PARENTS) {
    int64_t part = step.operands[1].rowBytes;
    for (int64_t s = graph.schedule.parentsBegin(begin);
         s < graph.schedule.parentsBegin(end); ++s) {
      Schedule::ParentSlot slot = graph.schedule.parentSlots()[s];
      // Parents may have more slots than there are columns for.
      if (slot.slot * part < in.rowBytes)
        addRow(slot.row, slot.slot * part, part);
    }
    return true;
  }
  if (isReductionOfChildren(step.kind)) {
    const int64_t *offsets = graph.edges.offsets();
    addRows({view.base + offsets[begin] * view.stride, view.stride, nullptr},
            offsets[end] - offsets[begin], in.rowBytes, false);
    return true;
  }
  if (isReductionOfVertices(step.kind)) {
    const BatchGraph &own = batch.graphs[buffer.graph];
    int64_t from = own.forest->structureOffsets[begin];
    int64_t to = own.forest->structureOffsets[end];
    const int32_t *rows = buffer.rows == ESPALIER_ROWS_CALLER
                              ? nullptr
                              : own.schedule.rowOfVertex();
    for (int64_t v = from; v < to; ++v)
      addRow(rows ? rows[v] : v, 0, in.rowBytes);
    return true;
  }
  return false;
}

void TouchedChunks::addStep(const Batch &batch, const Program::Phase &phase,
                            const Program::Step &step, int64_t begin,
                            int64_t end) {
  const BatchGraph &graph = batch.graphs[phase.graph];
  if (step.overEdges) {
    const int64_t *offsets = graph.edges.offsets();
    begin = offsets[begin];
    end = offsets[end];
  }
  bool isSum = addSumOperand(batch, graph, step, begin, end);
  for (uint32_t o = isSum ? 1 : 0; o < step.operandCount; ++o)
    addOperand(batch, graph, step.operands[o], begin, end,
               o >= step.operandCount - step.resultCount);
}

void TouchedChunks::addFinding(const Batch &batch, const Program::Phase &phase,
                               const Program::Step &step, int64_t begin,
                               int64_t end) {
  const BatchGraph &graph = batch.graphs[phase.graph];
  addOperand(batch, graph, step.operands[0], begin, end, false);
  addOperand(batch, graph, step.operands[2], begin, end, true);
}

void TouchedChunks::addCombining(const Batch &batch,
                                 const Program::Phase &phase,
                                 const Program::Step &step, int64_t begin,
                                 const int32_t *firsts, int64_t from,
                                 int64_t to) {
  const BatchGraph &graph = batch.graphs[phase.graph];
  addOperand(batch, graph, step.operands[1], from, to, false);
  addOperand(batch, graph, step.operands[3], from, to, true);
  for (int64_t r = from; firsts && r < to; ++r)
    if (firsts[r - begin] >= 0)
      addOperand(batch, graph, step.operands[3], begin + firsts[r - begin],
                 begin + firsts[r - begin] + 1, true);
}

} // namespace espalier
