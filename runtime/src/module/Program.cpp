//===- Program.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Program.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/OuterSum.h"
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

static bool canAlias(const espalier_entry &entry, const espalier_phase &phase,
                     const espalier_step &step) {
  bool copiesChildren = step.kind == ESPALIER_STEP_COPY &&
                        step.operands[0].access == ESPALIER_ACCESS_CHILD;
  if (!copiesChildren && step.kind != ESPALIER_STEP_SUM_PARENTS)
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

void Program::addOperand(const espalier_phase &phase,
                         const espalier_step_operand &operand, bool written) {
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
  if (operand.access != ESPALIER_ACCESS_SHARED)
    zeroBytes = std::max(zeroBytes, result.rowBytes);
  if (written)
    trashBytes = std::max(trashBytes, result.rowBytes);
  leafChildren |=
      operand.access == ESPALIER_ACCESS_CHILD && !isInnerRows(phase.rows);
  structuresOfRows |= operand.access == ESPALIER_ACCESS_STRUCTURE;
  rootStructures |= operand.access == ESPALIER_ACCESS_ROOT_STRUCTURE;
  operands.push_back(result);
}

Program::Program(const espalier_entry &entry,
                 const std::vector<std::unique_ptr<PackedWeight>> &weights)
    : entry(entry) {
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    arity = std::max(arity, entry.graphs[g].arity);

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
      step.costPerRow = from.flops_per_row + from.bytes_per_row * kFlopsPerByte;
      if (from.kind == ESPALIER_STEP_MATMUL) {
        const espalier_weight &weight = entry.weights[from.weight];
        step.weight = weights[from.weight].get();
        step.elementBytes =
            (int64_t)dtypeSize(entry.buffers[weight.buffer].dtype);
        step.costPerRow = 2 * weight.k * weight.n;
        phase.matmulFlopsPerRow += step.costPerRow;
      } else if (from.kind == ESPALIER_STEP_OUTER_SUM) {
        int64_t k = from.operands[0].elements, n = from.operands[1].elements;
        step.outerStride = from.operands[2].stride;
        step.costPerRow = 2 * k * n;
        scratchBytes =
            std::max(scratchBytes, OuterSum::scratchBytes(step.dtype, k, n));
        phase.matmulFlopsPerRow += step.costPerRow;
      } else if (from.kind == ESPALIER_STEP_EMBED) {
        step.tableRows = entry.buffers[from.operands[1].buffer].shape[0];
      }
      phase.costPerRow += step.costPerRow;
      phase.isReduction |= isReduction(from.kind);
      parents |= from.kind == ESPALIER_STEP_SUM_PARENTS;
      for (uint32_t o = 0; o < from.operand_count; ++o)
        addOperand(desc, from.operands[o],
                   o >= from.operand_count - from.result_count);
      maxOperands = std::max(maxOperands, from.operand_count);
      phase.steps.push_back(step);
    }
    layOutScratch(desc, phase);
    phases.push_back(std::move(phase));
  }
}

} // namespace espalier
