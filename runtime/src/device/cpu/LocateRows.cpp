//===- LocateRows.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/LocateRows.h"

#include "schedule/BatchGraph.h"

namespace espalier {

OperandRows locateRows(const Program &program,
                       const std::vector<BatchGraph> &graphs,
                       const std::vector<View> &views, const BatchGraph &graph,
                       const Program::Operand &operand, int64_t begin) {
  const View &view = views[operand.buffer];
  char *base = view.base + operand.columnBytes;
  // The graph whose rows the operand's buffer has.
  auto own = [&]() -> const Schedule & {
    return graphs[program.entry.buffers[operand.buffer].graph].schedule;
  };
  switch (operand.access) {
  case ESPALIER_ACCESS_ROW:
    return {base + (begin - view.first) * view.stride, view.stride, nullptr};
  case ESPALIER_ACCESS_CHILD:
    return {base, view.stride, graph.schedule.childRows(operand.slot, begin)};
  case ESPALIER_ACCESS_CALLER:
    return {base, view.stride, graph.schedule.vertexOfRow() + begin};
  case ESPALIER_ACCESS_ROOT:
    return {base, view.stride, own().rootRow() + begin};
  case ESPALIER_ACCESS_CALLER_ROOT:
    return {base, view.stride, own().rootVertex() + begin};
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
    const View &ids = views[operand.slot];
    return {base, operand.matrixRowBytes,
            reinterpret_cast<const int32_t *>(ids.base + (begin - ids.first) *
                                                             ids.stride)};
  }
  default: // ESPALIER_ACCESS_SHARED
    return {base, 0, nullptr};
  }
}

} // namespace espalier
