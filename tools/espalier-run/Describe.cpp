//===- Describe.cpp - What a compiled model contains ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads nothing but the tables of espalier/abi.h.
//
//===----------------------------------------------------------------------===//
#include "Describe.h"

#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <iomanip>
#include <iterator>
#include <vector>

namespace espalier::run {

const espalier_entry &findEntry(const espalier_model &model,
                                const std::string &name) {
  std::string names;
  for (uint32_t i = 0; i != model.entry_count; ++i) {
    const espalier_entry &entry = model.entries[i];
    if (name == entry.name || name.empty())
      return entry;
    names += (names.empty() ? "'" : ", '") + std::string(entry.name) + "'";
  }
  if (names.empty())
    fail(ESPALIER_NOT_FOUND, "the model '%s' has no entries", model.name);
  fail(ESPALIER_NOT_FOUND,
       "the model '%s' has no entry '%s'; expected one of %s", model.name,
       name.c_str(), names.c_str());
}

static const char *rowsOfBuffer(uint32_t rows) {
  switch (rows) {
  case ESPALIER_ROWS_CALLER:
  case ESPALIER_ROWS_VERTICES:
    return "per vertex";
  case ESPALIER_ROWS_STRUCTURES:
    return "per structure";
  case ESPALIER_ROWS_LEAVES:
    return "per leaf";
  case ESPALIER_ROWS_INNER:
    return "per inner vertex";
  case ESPALIER_ROWS_EDGES:
    return "per edge";
  default:
    return "";
  }
}

static const char *rowsOfPhase(uint32_t rows) {
  switch (rows) {
  case ESPALIER_ROWS_ONE:
    return "once";
  case ESPALIER_ROWS_VERTICES:
    return "over all vertices";
  case ESPALIER_ROWS_LEAVES:
    return "over the leaves";
  case ESPALIER_ROWS_INNER:
    return "over the inner vertices";
  case ESPALIER_ROWS_STRUCTURES:
    return "over the structures";
  case ESPALIER_ROWS_TASKS:
    return "task by task over all vertices";
  case ESPALIER_ROWS_INNER_TASKS:
    return "task by task over the inner vertices";
  case ESPALIER_ROWS_TASKS_REVERSED:
    return "task by task over all vertices, last task first";
  case ESPALIER_ROWS_INNER_TASKS_REVERSED:
    return "task by task over the inner vertices, last task first";
  default:
    return "over unknown rows";
  }
}

static const char *stepKind(uint32_t kind) {
  switch (kind) {
  case ESPALIER_STEP_COPY:
    return "copy";
  case ESPALIER_STEP_EMBED:
    return "embed";
  case ESPALIER_STEP_MATMUL:
    return "matmul";
  case ESPALIER_STEP_KERNEL:
    return "kernel";
  case ESPALIER_STEP_SUM_PARENTS:
    return "sum over parents";
  case ESPALIER_STEP_SUM_ROWS:
    return "sum over rows";
  case ESPALIER_STEP_OUTER_SUM:
    return "sum of outer products";
  case ESPALIER_STEP_COMBINE_ROWS:
    return "sum of rows with equal ids";
  case ESPALIER_STEP_SUM_CHILDREN:
    return "sum over children";
  case ESPALIER_STEP_MAX_CHILDREN:
    return "maximum over children";
  case ESPALIER_STEP_MEAN_CHILDREN:
    return "mean over children";
  case ESPALIER_STEP_SUM_VERTICES:
    return "sum over vertices";
  case ESPALIER_STEP_MAX_VERTICES:
    return "maximum over vertices";
  case ESPALIER_STEP_LAYER:
    return "layer";
  default:
    return "unknown";
  }
}

static const char *layerKind(uint32_t kind) {
  static const char *const names[] = {"unknown",
                                      "conv2d",
                                      "conv2d_transpose",
                                      "conv2d_weight_adjoint",
                                      "max_pool2d",
                                      "max_pool2d_adjoint",
                                      "avg_pool2d",
                                      "avg_pool2d_adjoint",
                                      "batch_norm",
                                      "batch_norm_inference",
                                      "batch_norm_adjoint",
                                      "lrn",
                                      "lrn_adjoint",
                                      "sum_channels",
                                      "pad",
                                      "concat",
                                      "slice",
                                      "matmul"};
  return names[kind < std::size(names) ? kind : 0];
}

static std::string shapeOf(const espalier_buffer_desc &buffer) {
  uint32_t rank = std::min<uint32_t>(buffer.rank, ESPALIER_MAX_RANK);
  return shapeString({buffer.shape, buffer.shape + rank}, buffer.dtype);
}

static bool hasBuffers(const espalier_entry &entry, uint32_t kind) {
  for (uint32_t i = 0; i != entry.buffer_count; ++i)
    if (entry.buffers[i].kind == kind)
      return true;
  return false;
}

static void describeBuffers(std::ostream &out, const espalier_entry &entry,
                            const char *title, uint32_t kind) {
  std::vector<const espalier_buffer_desc *> buffers;
  size_t nameWidth = 0, shapeWidth = 0;
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind != kind)
      continue;
    buffers.push_back(&buffer);
    nameWidth = std::max(nameWidth, std::string(buffer.name).size());
    shapeWidth = std::max(shapeWidth, shapeOf(buffer).size());
  }
  out << "  " << title << (buffers.empty() ? ": none" : "") << '\n';
  for (const espalier_buffer_desc *buffer : buffers) {
    std::string rows = rowsOfBuffer(buffer->rows);
    out << "    " << std::left << std::setw((int)nameWidth) << buffer->name
        << "  ";
    if (rows.empty())
      out << shapeOf(*buffer) << '\n';
    else
      out << std::setw((int)shapeWidth) << shapeOf(*buffer) << "  " << rows
          << '\n';
  }
}

static void describeStep(std::ostream &out, const espalier_entry &entry,
                         const espalier_step &step) {
  std::string kind = stepKind(step.kind);
  // Names of generated kernels and of copies stand in a column.
  out << "      " << std::left << std::setw(8) << kind
      << (kind.size() < 8 ? "" : ": ") << step.name;
  if (step.kind == ESPALIER_STEP_MATMUL && step.weight < entry.weight_count) {
    const espalier_weight &weight = entry.weights[step.weight];
    out << " (" << weight.k << "x" << weight.n << " of "
        << entry.buffers[weight.buffer].name
        << (weight.transposed ? ", transposed)" : ")");
  }
  if (step.layer) {
    out << " (" << layerKind(step.layer->kind);
    const char *separator = " ";
    for (uint32_t o = 0; o != step.operand_count; ++o) {
      // What is written stands behind an arrow.
      if (o + step.result_count == step.operand_count)
        separator = " -> ";
      out << separator << shapeOf(entry.buffers[step.operands[o].buffer]);
      separator = ", ";
    }
    if (step.layer->algorithm == ESPALIER_ALGORITHM_PATCHES)
      out << "; patches, " << step.layer->workspace_bytes
          << " bytes of workspace";
    out << ")";
  }
  if (step.batch_rows != 0)
    out << ", over " << step.batch_rows << " rows";
  out << (step.over_edges ? ", over edges\n" : "\n");
}

static void describePhases(std::ostream &out, const espalier_entry &entry) {
  out << "  phases\n";
  for (uint32_t p = 0; p != entry.phase_count; ++p) {
    const espalier_phase &phase = entry.phases[p];
    out << "    " << phase.name << ", " << rowsOfPhase(phase.rows);
    if (phase.type != 0)
      out << ", of type " << phase.type - 1;
    out << '\n';
    for (uint32_t s = 0; s != phase.step_count; ++s)
      describeStep(out, entry, phase.steps[s]);
  }
}

static void describeGraph(std::ostream &out, const espalier_entry &entry,
                          const espalier_graph_desc &graph) {
  out << "  graph " << graph.name;
  if (graph.reverse_of != 0)
    out << ", " << entry.graphs[graph.reverse_of - 1].name
        << " with its edges turned round";
  else
    out << ", up to " << graph.arity << " children a vertex";
  if (graph.type_field)
    out << ", " << graph.types << " types of vertices, in '" << graph.type_field
        << "'";
  if (graph.shared)
    out << ", equal vertices may be evaluated once";
  out << '\n';
}

static void describeEntry(std::ostream &out, const espalier_entry &entry) {
  out << "entry " << entry.name << '\n';
  for (uint32_t i = 0; i != entry.graph_count; ++i)
    describeGraph(out, entry, entry.graphs[i]);
  describeBuffers(out, entry, "arguments", ESPALIER_BUFFER_INPUT);
  describeBuffers(out, entry, "parameters", ESPALIER_BUFFER_PARAMETER);
  if (hasBuffers(entry, ESPALIER_BUFFER_STATE))
    describeBuffers(out, entry, "state of the optimiser",
                    ESPALIER_BUFFER_STATE);
  describeBuffers(out, entry, "results", ESPALIER_BUFFER_OUTPUT);
  describePhases(out, entry);
}

void describe(std::ostream &out, const espalier_model &model,
              const std::string &entry) {
  std::string features = model.target_features;
  out << "model " << model.name << '\n'
      << "  abi " << model.abi_major << '.' << model.abi_minor
      << ", compiled by espalier " << model.compiler_version << '\n'
      << "  target " << model.target_cpu
      << (features.empty() ? "" : " with " + features) << '\n';
  if (!entry.empty()) {
    describeEntry(out, findEntry(model, entry));
    return;
  }
  for (uint32_t i = 0; i != model.entry_count; ++i)
    describeEntry(out, model.entries[i]);
}

} // namespace espalier::run
