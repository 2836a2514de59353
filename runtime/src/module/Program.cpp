//===- Program.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Program.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/OuterSum.h"
#include "device/cpu/layers/Layer.h"
#include "memory/Arena.h"
#include "module/PhaseRows.h"
#include "tensor/Tensor.h"

#include <algorithm>

namespace espalier {

int64_t rowBytes(const espalier_buffer_desc &buffer) {
  return buffer.row_elements * (int64_t)dtypeSize(buffer.dtype);
}

/// How many operands of the phase's steps write `buffer`.
static int writersOf(uint32_t buffer, const espalier_phase &phase) {
  int writers = 0;
  for (uint32_t s = 0; s < phase.step_count; ++s) {
    const espalier_step &step = phase.steps[s];
    for (uint32_t o = step.operand_count - step.result_count;
         o < step.operand_count; ++o)
      writers += step.operands[o].buffer == buffer;
  }
  return writers;
}

/// Whether `step` sums over edges to parents, not over slots of these.
static bool sumsIncoming(const espalier_entry &entry,
                         const espalier_step &step) {
  return step.kind == ESPALIER_STEP_SUM_PARENTS &&
         entry.buffers[step.operands[0].buffer].rows == ESPALIER_ROWS_EDGES;
}

static bool canAlias(const espalier_entry &entry, const espalier_phase &phase,
                     const espalier_step &step) {
  bool copiesChildren = step.kind == ESPALIER_STEP_COPY &&
                        step.operands[0].access == ESPALIER_ACCESS_CHILD;
  bool sumsSlots =
      step.kind == ESPALIER_STEP_SUM_PARENTS && !sumsIncoming(entry, step);
  if (!copiesChildren && !sumsSlots)
    return false;
  const espalier_step_operand &out = step.operands[1];
  const espalier_buffer_desc &buffer = entry.buffers[out.buffer];
  // Ids are read without a stride.
  return buffer.kind == ESPALIER_BUFFER_SCRATCH &&
         buffer.dtype != ESPALIER_I32 && out.column == 0 &&
         out.elements == buffer.row_elements &&
         writersOf(out.buffer, phase) == 1;
}

/// Places the scratch buffers of a phase: each lives from the first step that
/// names it to the last.
void Program::layOutScratch(const espalier_phase &desc, Phase &phase) {
  std::vector<Placement> placements;
  for (uint32_t s = 0; s < desc.step_count; ++s)
    for (uint32_t o = 0; o < desc.steps[s].operand_count; ++o) {
      uint32_t b = desc.steps[s].operands[o].buffer;
      if (entry.buffers[b].kind != ESPALIER_BUFFER_SCRATCH)
        continue;
      auto known =
          std::find_if(phase.scratch.begin(), phase.scratch.end(),
                       [&](const Scratch &other) { return other.buffer == b; });
      if (known != phase.scratch.end()) {
        placements[known - phase.scratch.begin()].last = s;
        continue;
      }
      int64_t bytes = rowBytes(entry.buffers[b]);
      phase.scratch.push_back({b, 0, bytes});
      placements.push_back({bytes * kBlockRows, s, s, 0});
    }
  scratchBytes = std::max(scratchBytes, OffsetAssigner().assign(placements));
  for (size_t i = 0; i < placements.size(); ++i)
    phase.scratch[i].offset = placements[i].offset;
}

uint32_t sourceGraph(const espalier_entry &entry, uint32_t graph) {
  uint32_t source = entry.graphs[graph].reverse_of;
  return source ? source - 1 : graph;
}

uint32_t lastOfLoop(const espalier_entry &entry, uint32_t first) {
  const espalier_phase &phase = entry.phases[first];
  uint32_t last = first;
  if (phase.type == 0 || !isTasks(phase.rows))
    return last;
  auto hasType = [&](uint32_t type) {
    for (uint32_t p = first; p <= last; ++p)
      if (entry.phases[p].type == type)
        return true;
    return false;
  };
  while (last + 1 < entry.phase_count) {
    const espalier_phase &next = entry.phases[last + 1];
    if (next.rows != phase.rows || next.graph != phase.graph ||
        next.type == 0 || hasType(next.type))
      break;
    ++last;
  }
  return last;
}

/// Notes an operand with a row a structure in a phase over another graph.
void Program::noteMeeting(const espalier_phase &phase,
                          const espalier_step_operand &operand) {
  const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
  if (buffer.rows == ESPALIER_ROWS_ONE ||
      buffer.kind == ESPALIER_BUFFER_SCRATCH)
    return;
  std::pair<uint32_t, uint32_t> pair{sourceGraph(entry, phase.graph),
                                     sourceGraph(entry, buffer.graph)};
  if (pair.first != pair.second &&
      std::find(sameStructures.begin(), sameStructures.end(), pair) ==
          sameStructures.end())
    sameStructures.push_back(pair);
}

/// Notes what `step` reads of the schedule of its phase's graph.
void Program::noteNeeds(const espalier_phase &phase,
                        const espalier_step &step) {
  if (phase.rows == ESPALIER_ROWS_ONE)
    return;
  Graph &graph = graphs[phase.graph];
  graph.edges |= step.over_edges != 0;
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    const espalier_step_operand &operand = step.operands[o];
    noteMeeting(phase, operand);
    graph.leafChildren |=
        operand.access == ESPALIER_ACCESS_CHILD && !isInnerRows(phase.rows);
    graph.structuresOfRows |= operand.access == ESPALIER_ACCESS_STRUCTURE;
    graph.rootStructures |= operand.access == ESPALIER_ACCESS_ROOT_STRUCTURE;
    graph.edges |= entry.buffers[operand.buffer].rows == ESPALIER_ROWS_EDGES;
  }
  if (step.kind == ESPALIER_STEP_SUM_PARENTS)
    (sumsIncoming(entry, step) ? graph.incomingEdges : graph.parents) = true;
}

/// Notes which rows in the caller's order `step` reads.
void Program::noteReads(const espalier_phase &phase,
                        const espalier_step &step) {
  for (uint32_t o = 0; o < step.operand_count - step.result_count; ++o) {
    const espalier_step_operand &operand = step.operands[o];
    const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
    if (buffer.rows != ESPALIER_ROWS_CALLER)
      continue;
    Graph &graph = graphs[buffer.graph];
    if (buffer.kind != ESPALIER_BUFFER_INPUT)
      graph.readsCallerRows = true;
    if (operand.access != ESPALIER_ACCESS_CALLER)
      continue; // By structures, which are not shared.
    auto known = std::find_if(graph.reads.begin(), graph.reads.end(),
                              [&](const VertexRead &other) {
                                return other.buffer == operand.buffer;
                              });
    if (known == graph.reads.end())
      known = graph.reads.insert(known, {operand.buffer, false, false});
    known->atLeaves |= !isInnerRows(phase.rows);
    known->atInner |= phase.rows != ESPALIER_ROWS_LEAVES;
  }
}

/// Whether equal vertices of `graph` can share a row: nothing tells them apart
/// but what was noted.
bool Program::isShared(uint32_t graph) const {
  bool shared = entry.graphs[graph].shared && !entry.graphs[graph].reverse_of &&
                !graphs[graph].structuresOfRows &&
                !graphs[graph].readsCallerRows;
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    shared &= entry.graphs[g].reverse_of != graph + 1;
  for (uint32_t b = 0; b < entry.buffer_count; ++b)
    shared &= entry.buffers[b].kind != ESPALIER_BUFFER_OUTPUT ||
              entry.buffers[b].rows != ESPALIER_ROWS_VERTICES ||
              entry.buffers[b].graph != graph;
  return shared;
}

/// Works out what `from` costs a row, or an edge.
void Program::addCost(const espalier_step &from, Step &step, Phase &phase) {
  bool perEdge = from.over_edges || isReductionOfChildren(from.kind);
  step.costPerRow = from.flops_per_row + from.bytes_per_row * kFlopsPerByte;
  int64_t flops = 0;
  if (from.kind == ESPALIER_STEP_MATMUL) {
    const espalier_weight &weight = entry.weights[from.weight];
    flops = step.costPerRow = 2 * weight.k * weight.n;
  } else if (from.kind == ESPALIER_STEP_OUTER_SUM) {
    flops = step.costPerRow =
        2 * from.operands[0].elements * from.operands[1].elements;
  }
  (perEdge ? phase.matmulFlopsPerEdge : phase.matmulFlopsPerRow) += flops;
  (perEdge ? phase.costPerEdge : phase.costPerRow) += step.costPerRow;
  phase.hasEdgeSteps |= perEdge;
}

void Program::addOperand(const espalier_step_operand &operand, uint32_t kind,
                         bool written) {
  const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
  int64_t size = (int64_t)dtypeSize(buffer.dtype);
  Operand result{operand.buffer,
                 operand.access,
                 operand.slot,
                 operand.column * size,
                 operand.elements * size,
                 0,
                 0};
  if (operand.access == ESPALIER_ACCESS_ID) {
    result.matrixRows = buffer.shape[0];
    result.matrixRowBytes = buffer.shape[1] * size;
  }
  // Other rows than those that an index finds are there; but a lookup gives
  // zeros for an id that is none.
  bool isFound = operand.access != ESPALIER_ACCESS_SHARED &&
                 operand.access != ESPALIER_ACCESS_ROW;
  if (isFound || (written && kind == ESPALIER_STEP_EMBED))
    zeroBytes = std::max(zeroBytes, result.rowBytes);
  if (written && isFound)
    trashBytes = std::max(trashBytes, result.rowBytes);
  operands.push_back(result);
}

/// What tells layers apart: all that their kernels depend on.
static std::string keyOf(const LayerProblem &problem) {
  std::string key(reinterpret_cast<const char *>(&problem.layer),
                  sizeof(problem.layer));
  for (const LayerTensor &tensor : problem.operands)
    key.append(reinterpret_cast<const char *>(&tensor), sizeof(tensor));
  return key;
}

void Program::addLayer(uint32_t p, const espalier_step &from, Step &step,
                       unsigned threads) {
  LayerProblem problem{*from.layer, {}};
  problem.layer.workspace_offset = -1;
  int64_t bytes = 0;
  for (uint32_t o = 0; o < from.operand_count; ++o) {
    const espalier_buffer_desc &buffer = entry.buffers[from.operands[o].buffer];
    LayerTensor tensor{buffer.dtype, buffer.rank, {}};
    std::copy_n(buffer.shape, buffer.rank, tensor.shape);
    bytes += tensor.bytes();
    problem.operands.push_back(tensor);
  }
  if (threads > 0) {
    std::unique_ptr<LayerKernel> &kernel = layers[keyOf(problem)];
    if (!kernel)
      kernel = makeLayerKernel(problem, threads);
    step.layer = kernel.get();
    layerScratchBytes = std::max(layerScratchBytes, kernel->scratchBytes());
  }
  // Tables that say nothing of costs do not keep threads from it.
  step.costPerRow = std::max(step.costPerRow, bytes * kFlopsPerByte);
  if (from.layer->workspace_bytes == 0)
    return;
  workspaces.push_back(
      {p, from.layer->workspace_bytes, from.layer->workspace_offset});
  step.workspace = (uint32_t)workspaces.size();
}

Program::~Program() = default;

Program::Program(const espalier_entry &entry,
                 const std::vector<std::unique_ptr<PackedWeight>> &weights,
                 unsigned threads)
    : entry(entry), graphs(entry.graph_count) {
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    graphs[g].arity = entry.graphs[g].arity;

  size_t operandCount = 0;
  for (uint32_t p = 0; p < entry.phase_count; ++p)
    for (uint32_t s = 0; s < entry.phases[p].step_count; ++s)
      operandCount += entry.phases[p].steps[s].operand_count;
  operands.reserve(operandCount); // steps point into it

  for (uint32_t p = 0; p < entry.phase_count; ++p) {
    const espalier_phase &desc = entry.phases[p];
    Phase phase{};
    phase.name = desc.name;
    phase.rows = desc.rows;
    phase.graph = desc.rows == ESPALIER_ROWS_ONE ? 0 : desc.graph;
    phase.type = desc.rows == ESPALIER_ROWS_ONE ? 0 : desc.type;
    for (uint32_t s = 0; s < desc.step_count; ++s) {
      const espalier_step &from = desc.steps[s];
      Step step{};
      step.kind = from.kind;
      step.operandCount = from.operand_count;
      step.resultCount = from.result_count;
      step.operands = operands.data() + operands.size();
      step.name = from.name;
      step.kernel = from.kernel;
      step.canAlias = canAlias(entry, desc, from);
      if (from.operand_count > 0)
        step.dtype =
            entry.buffers[from.operands[from.operand_count - 1].buffer].dtype;
      step.overEdges = from.over_edges != 0;
      step.overIncoming = sumsIncoming(entry, from);
      if (from.kind == ESPALIER_STEP_MATMUL) {
        const espalier_weight &weight = entry.weights[from.weight];
        step.weight = weights[from.weight].get();
        step.elementBytes =
            (int64_t)dtypeSize(entry.buffers[weight.buffer].dtype);
      } else if (from.kind == ESPALIER_STEP_OUTER_SUM) {
        int64_t k = from.operands[0].elements, n = from.operands[1].elements;
        step.outerStride = from.operands[2].stride;
        scratchBytes =
            std::max(scratchBytes, OuterSum::scratchBytes(step.dtype, k, n));
      } else if (from.kind == ESPALIER_STEP_EMBED) {
        step.tableRows = entry.buffers[from.operands[1].buffer].shape[0];
      }
      addCost(from, step, phase);
      if (from.kind == ESPALIER_STEP_LAYER)
        addLayer(p, from, step, threads);
      step.batchRows = from.batch_rows;
      noteNeeds(desc, from);
      noteReads(desc, from);
      phase.isReduction |= isReduction(from.kind);
      for (uint32_t o = 0; o < from.operand_count; ++o)
        addOperand(from.operands[o], from.kind,
                   o >= from.operand_count - from.result_count);
      maxOperands = std::max(maxOperands, from.operand_count);
      phase.steps.push_back(step);
    }
    layOutScratch(desc, phase);
    phases.push_back(std::move(phase));
  }

  for (uint32_t g = 0; g < entry.graph_count; ++g)
    graphs[g].shared = isShared(g);

  for (uint32_t p = 0; p < entry.phase_count;) {
    uint32_t first = p, last = lastOfLoop(entry, p);
    for (; p <= last; ++p) {
      phases[p].firstOfLoop = first;
      phases[p].lastOfLoop = last;
    }
  }
  streams = findStreams(entry);
  for (uint32_t i = 0; i < streams.size(); ++i)
    for (uint32_t p = streams[i].first; p <= streams[i].last; ++p)
      phases[p].stream = i + 1;
}

} // namespace espalier
