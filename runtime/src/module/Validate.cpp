//===- Validate.cpp -------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Validate.h"

#include "module/PhaseRows.h"
#include "module/Plan.h"
#include "module/Program.h"
#include "module/ValidateLayers.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier {

namespace {

/// Checks one entry. `where` says which table the checks are at.
class EntryValidator {
public:
  EntryValidator(const espalier_entry &entry, std::string where)
      : entry(entry), entryWhere(std::move(where)), where(entryWhere) {}

  void run();

private:
  void checkGraph(uint32_t g);
  void checkBuffer(const espalier_buffer_desc &buffer);
  void checkWeight(const espalier_weight &weight);
  void checkPhase(uint32_t p);
  void checkLoop(uint32_t first, uint32_t last);
  void checkOrder(uint32_t p, uint32_t first);
  void checkWritesById(const espalier_phase &phase);
  void checkStep(uint32_t p, const espalier_step &step);
  void checkOperand(uint32_t p, const espalier_step &step, uint32_t o);
  void checkRange(const espalier_step_operand &operand);
  void checkAccess(const espalier_phase &phase, const espalier_step &step,
                   uint32_t o);
  bool findsRowsItself(const espalier_phase &phase, const espalier_step &step,
                       uint32_t o);
  bool edgeAccessFits(const espalier_phase &phase, const espalier_step &step,
                      uint32_t o);
  bool graphFits(const espalier_phase &phase,
                 const espalier_buffer_desc &buffer);
  void checkIds(uint32_t p, const espalier_step &step, uint32_t o);
  void checkCopy(const espalier_step &step);
  void checkEmbed(const espalier_phase &phase, const espalier_step &step);
  void checkMatmul(const espalier_phase &phase, const espalier_step &step);
  void checkSumParents(const espalier_phase &phase, const espalier_step &step);
  void checkSumRows(const espalier_step &step);
  void checkOuterSum(const espalier_step &step);
  void checkCombineRows(const espalier_step &step);
  void checkReduction(const espalier_phase &phase, const espalier_step &step);
  void checkLayer(uint32_t p, const espalier_step &step);
  void checkBatchRows(const espalier_phase &phase, const espalier_step &step);
  bool isApart(const espalier_step &step, uint32_t written, uint32_t other);

  const espalier_buffer_desc &bufferOf(const espalier_step &step, uint32_t o) {
    return entry.buffers[step.operands[o].buffer];
  }
  bool isWritten(const espalier_step &step, uint32_t o) {
    return o >= step.operand_count - step.result_count;
  }
  bool rowFits(const espalier_phase &phase, const espalier_buffer_desc &buffer);
  void expect(bool condition, const char *fmt, ...)
      __attribute__((format(printf, 3, 4)));
  void expectFloats(const espalier_step &step, uint32_t a, uint32_t b);
  void expectApart(const espalier_step &step, uint32_t in, uint32_t out);

  /// Of those that have names outside, in a kind.
  std::map<std::pair<uint32_t, std::string_view>, const espalier_buffer_desc *>
      buffersByName;
  const espalier_entry &entry;
  std::string entryWhere;
  std::string where;
  /// For each buffer, one more than the phase that last wrote it.
  std::vector<uint32_t> writtenIn;
  /// Whether a buffer has the ids of COMBINE_ROWS, each at one row only.
  std::vector<bool> hasDistinctIds;
};

} // namespace

void EntryValidator::expect(bool condition, const char *fmt, ...) {
  if (condition)
    return;
  char text[512];
  va_list args;
  va_start(args, fmt);
  std::vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  fail(ESPALIER_MALFORMED, "%s: %s; the library is damaged, compile it again",
       where.c_str(), text);
}

//===----------------------------------------------------------------------===//
// Graphs, buffers and weights
//===----------------------------------------------------------------------===//

void EntryValidator::checkGraph(uint32_t g) {
  const espalier_graph_desc &graph = entry.graphs[g];
  expect(graph.arity <= INT32_MAX, "graph %u has arity %u", g, graph.arity);
  expect(graph.name, "graph %u has no name", g);
  // Graphs are built in order, each from one that the caller gives.
  expect(graph.reverse_of <= g &&
             (graph.reverse_of == 0 ||
              entry.graphs[graph.reverse_of - 1].reverse_of == 0),
         "graph %u is the reverse of graph %d, which is no argument before it",
         g, (int)graph.reverse_of - 1);
  for (uint32_t other = 0; other < g; ++other)
    expect(graph.reverse_of || entry.graphs[other].reverse_of ||
               std::strcmp(entry.graphs[other].name, graph.name),
           "graphs %u and %u have the same name", other, g);
  expect(graph.types <= INT32_MAX && (graph.types <= 1 || graph.type_field),
         "graph %u has %u types of vertices%s", g, graph.types,
         graph.type_field ? "" : ", but no field that has them");
}

void EntryValidator::checkBuffer(const espalier_buffer_desc &buffer) {
  uint32_t rows = buffer.rows;
  expect(buffer.kind <= ESPALIER_BUFFER_HOST, "unknown kind %u", buffer.kind);
  expect(buffer.kind != ESPALIER_BUFFER_HOST || entry.plan,
         "it is in the host's pool, but the entry has no plan");
  expect(buffer.dtype >= ESPALIER_F32 && buffer.dtype <= ESPALIER_I32,
         "unknown element type %u", buffer.dtype);
  expect(rows <= ESPALIER_ROWS_STRUCTURES || rows == ESPALIER_ROWS_EDGES,
         "unknown rows %u", rows);
  expect(rows != ESPALIER_ROWS_EDGES || buffer.kind == ESPALIER_BUFFER_DYNAMIC,
         "a buffer of kind %u cannot have a row an edge", buffer.kind);
  switch (buffer.kind) {
  case ESPALIER_BUFFER_PARAMETER:
  case ESPALIER_BUFFER_STATE:
  case ESPALIER_BUFFER_CONSTANT:
    expect(rows == ESPALIER_ROWS_ONE, "it has rows %u, expected one row", rows);
    break;
  case ESPALIER_BUFFER_INPUT:
    expect(rows == ESPALIER_ROWS_ONE || rows == ESPALIER_ROWS_CALLER ||
               rows == ESPALIER_ROWS_STRUCTURES,
           "an argument cannot have rows %u", rows);
    break;
  case ESPALIER_BUFFER_OUTPUT:
    expect(rows == ESPALIER_ROWS_ONE || rows == ESPALIER_ROWS_CALLER ||
               rows == ESPALIER_ROWS_VERTICES ||
               rows == ESPALIER_ROWS_STRUCTURES,
           "a result cannot have rows %u", rows);
    break;
  case ESPALIER_BUFFER_DYNAMIC:
  case ESPALIER_BUFFER_HOST:
    expect(buffer.first_phase <= buffer.last_phase &&
               buffer.last_phase < entry.phase_count,
           "it lives in phases [%u, %u] of %u", buffer.first_phase,
           buffer.last_phase, entry.phase_count);
    break;
  case ESPALIER_BUFFER_MULTIPLICITY:
    expect(rows == ESPALIER_ROWS_VERTICES && buffer.row_elements == 1 &&
               buffer.dtype != ESPALIER_I32,
           "multiplicities have rows %u of %lld %s, expected one float a "
           "vertex",
           rows, (long long)buffer.row_elements, dtypeName(buffer.dtype));
    break;
  }
  // Parameters and states are looked up by name in the same weights.
  auto namesOf = [](const espalier_buffer_desc &b) {
    return b.kind == ESPALIER_BUFFER_STATE ? (uint32_t)ESPALIER_BUFFER_PARAMETER
                                           : b.kind;
  };
  bool named = namesOf(buffer) <= ESPALIER_BUFFER_OUTPUT;
  expect(buffer.name || !named, "it has no name");
  if (named) {
    auto [other, isNew] =
        buffersByName.try_emplace({namesOf(buffer), buffer.name}, &buffer);
    expect(isNew, "buffer %td has the same name",
           other->second - entry.buffers);
  }
  expect(rows == ESPALIER_ROWS_ONE || buffer.kind == ESPALIER_BUFFER_SCRATCH ||
             buffer.graph < entry.graph_count,
         "it belongs to graph %u of %u", buffer.graph, entry.graph_count);

  expect(buffer.rank <= ESPALIER_MAX_RANK, "rank %u", buffer.rank);
  int64_t elements = 1;
  for (uint32_t d = 0; d < buffer.rank; ++d)
    expect(buffer.shape[d] >= 0 &&
               !__builtin_mul_overflow(elements, buffer.shape[d], &elements),
           "dimension %u is %lld", d, (long long)buffer.shape[d]);
  // Leaves room for byte sizes of 2^31 rows in 64 bits where rows are small,
  // and for every parameter that memory can hold.
  expect(elements < int64_t(1) << 48 && elements == buffer.row_elements,
         "%lld elements a row, but its shape has %lld",
         (long long)buffer.row_elements, (long long)elements);
  expect(buffer.kind != ESPALIER_BUFFER_CONSTANT || buffer.data ||
             elements == 0,
         "it has no data");
}

void EntryValidator::checkWeight(const espalier_weight &weight) {
  expect(weight.buffer < entry.buffer_count, "buffer %u of %u", weight.buffer,
         entry.buffer_count);
  const espalier_buffer_desc &buffer = entry.buffers[weight.buffer];
  expect(buffer.kind == ESPALIER_BUFFER_PARAMETER ||
             buffer.kind == ESPALIER_BUFFER_CONSTANT,
         "buffer %u is neither a parameter nor a constant", weight.buffer);
  expect(buffer.rank == 2 && buffer.dtype != ESPALIER_I32,
         "buffer %u is not a matrix of f32 or f64", weight.buffer);
  int64_t rows = weight.transposed ? weight.n : weight.k;
  int64_t expectedColumns = weight.transposed ? weight.k : weight.n;
  expect(rows >= 0 && weight.row_begin >= 0 &&
             weight.row_begin <= buffer.shape[0] - rows,
         "rows [%lld, %lld + %lld) of %lld", (long long)weight.row_begin,
         (long long)weight.row_begin, (long long)rows,
         (long long)buffer.shape[0]);
  expect(weight.columns || weight.columns_count == 0, "no column table");
  int64_t columns = 0;
  for (uint32_t c = 0; c < weight.columns_count; ++c) {
    const espalier_columns &range = weight.columns[c];
    expect(range.begin >= 0 && range.count >= 0 &&
               range.count <= buffer.shape[1] &&
               range.begin <= buffer.shape[1] - range.count,
           "columns [%lld, %lld + %lld) of %lld", (long long)range.begin,
           (long long)range.begin, (long long)range.count,
           (long long)buffer.shape[1]);
    columns += range.count;
  }
  expect(columns == expectedColumns, "%lld columns, expected %lld",
         (long long)columns, (long long)expectedColumns);
}

//===----------------------------------------------------------------------===//
// Phases and steps
//===----------------------------------------------------------------------===//

/// Whether every row of `phase` is a row of `buffer`.
bool EntryValidator::rowFits(const espalier_phase &phase,
                             const espalier_buffer_desc &buffer) {
  if (buffer.kind == ESPALIER_BUFFER_SCRATCH)
    return true;
  if (buffer.rows == ESPALIER_ROWS_VERTICES)
    return isVertexRows(phase.rows);
  if (buffer.rows == ESPALIER_ROWS_INNER)
    return isInnerRows(phase.rows);
  return buffer.rows == phase.rows;
}

/// Whether operand `o` has other rows than its phase, as its step knows.
bool EntryValidator::findsRowsItself(const espalier_phase &phase,
                                     const espalier_step &step, uint32_t o) {
  if (o != 0)
    return false;
  const espalier_buffer_desc &buffer = bufferOf(step, o);
  if (step.kind == ESPALIER_STEP_SUM_PARENTS)
    return true;
  if (isReductionOfChildren(step.kind))
    return isVertexRows(phase.rows) && buffer.rows == ESPALIER_ROWS_EDGES;
  return isReductionOfVertices(step.kind) &&
         phase.rows == ESPALIER_ROWS_STRUCTURES &&
         buffer.kind != ESPALIER_BUFFER_SCRATCH &&
         (buffer.rows == ESPALIER_ROWS_VERTICES ||
          buffer.rows == ESPALIER_ROWS_CALLER);
}

/// Whether a step over edges can have operand `o`. What it writes is its edge's
/// own, so that edges can be worked on in any order.
bool EntryValidator::edgeAccessFits(const espalier_phase &phase,
                                    const espalier_step &step, uint32_t o) {
  const espalier_buffer_desc &buffer = bufferOf(step, o);
  bool scratch = buffer.kind == ESPALIER_BUFFER_SCRATCH;
  switch (step.operands[o].access) {
  case ESPALIER_ACCESS_ROW:
    return buffer.rows == ESPALIER_ROWS_EDGES;
  case ESPALIER_ACCESS_SHARED:
    return buffer.rows == ESPALIER_ROWS_ONE && !scratch && !isWritten(step, o);
  case ESPALIER_ACCESS_EDGE_CHILD:
    return buffer.rows == ESPALIER_ROWS_VERTICES && !scratch &&
           !isWritten(step, o);
  case ESPALIER_ACCESS_EDGE_PARENT:
    // The parent is a row of the block, so it may be in scratch.
    return (scratch || buffer.rows == ESPALIER_ROWS_VERTICES ||
            buffer.rows == ESPALIER_ROWS_INNER) &&
           !isWritten(step, o) && isVertexRows(phase.rows);
  default:
    return false;
  }
}

/// Whether rows of `buffer` are rows of the phase's graph, or structures, of
/// which there are as many in one graph as in the other.
bool EntryValidator::graphFits(const espalier_phase &phase,
                               const espalier_buffer_desc &buffer) {
  if (buffer.kind == ESPALIER_BUFFER_SCRATCH ||
      buffer.rows == ESPALIER_ROWS_ONE ||
      buffer.rows == ESPALIER_ROWS_STRUCTURES ||
      phase.rows == ESPALIER_ROWS_STRUCTURES || buffer.graph == phase.graph)
    return true;
  // A graph and its reverse have the same vertices in the caller's order.
  return buffer.rows == ESPALIER_ROWS_CALLER &&
         phase.rows != ESPALIER_ROWS_ONE &&
         sourceGraph(entry, buffer.graph) == sourceGraph(entry, phase.graph);
}

void EntryValidator::checkAccess(const espalier_phase &phase,
                                 const espalier_step &step, uint32_t o) {
  const espalier_step_operand &operand = step.operands[o];
  const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
  bool written = isWritten(step, o);
  bool vertices = isVertexRows(phase.rows);
  bool structures = phase.rows == ESPALIER_ROWS_STRUCTURES;
  bool scratch = buffer.kind == ESPALIER_BUFFER_SCRATCH;
  bool fits = false;
  switch (operand.access) {
  case ESPALIER_ACCESS_ROW:
    fits = rowFits(phase, buffer) || findsRowsItself(phase, step, o);
    break;
  case ESPALIER_ACCESS_SHARED:
    // Blocks of rows that all write one row would overwrite each other.
    fits =
        buffer.rows == ESPALIER_ROWS_ONE && !scratch &&
        (!written || phase.rows == ESPALIER_ROWS_ONE || isReduction(step.kind));
    break;
  case ESPALIER_ACCESS_CHILD:
    fits = vertices && buffer.rows == ESPALIER_ROWS_VERTICES && !scratch &&
           !written && operand.slot < entry.graphs[phase.graph].arity;
    break;
  case ESPALIER_ACCESS_CALLER:
    fits = vertices && buffer.rows == ESPALIER_ROWS_CALLER && !scratch;
    break;
  case ESPALIER_ACCESS_ROOT:
    fits = structures && buffer.rows == ESPALIER_ROWS_VERTICES && !scratch;
    break;
  case ESPALIER_ACCESS_CALLER_ROOT:
    fits = structures && buffer.rows == ESPALIER_ROWS_CALLER && !scratch;
    break;
  case ESPALIER_ACCESS_ROOT_STRUCTURE:
    fits = vertices && buffer.rows == ESPALIER_ROWS_STRUCTURES && !scratch;
    break;
  case ESPALIER_ACCESS_STRUCTURE:
    // Many vertices have the same structure.
    fits = vertices && buffer.rows == ESPALIER_ROWS_STRUCTURES && !scratch &&
           !written;
    break;
  case ESPALIER_ACCESS_ID:
    fits = step.kind == ESPALIER_STEP_KERNEL &&
           buffer.rows == ESPALIER_ROWS_ONE && buffer.rank == 2 && !scratch;
    break;
  }
  if (step.over_edges)
    fits = edgeAccessFits(phase, step, o);
  expect(fits,
         "it %s buffer %u (kind %u, rows %u) with access %u, slot %u in a "
         "phase over rows %u%s",
         written ? "writes" : "reads", operand.buffer, buffer.kind, buffer.rows,
         operand.access, operand.slot, phase.rows,
         step.over_edges ? ", over edges" : "");
  expect(graphFits(phase, buffer),
         "it %s buffer %u with the rows of graph %u in a phase over graph %u",
         written ? "writes" : "reads", operand.buffer, buffer.graph,
         phase.graph);
}

/// The ids of an operand with access ID.
void EntryValidator::checkIds(uint32_t p, const espalier_step &step,
                              uint32_t o) {
  const espalier_phase &phase = entry.phases[p];
  uint32_t b = step.operands[o].slot;
  expect(b < entry.buffer_count, "ids in buffer %u of %u", b,
         entry.buffer_count);
  const espalier_buffer_desc &ids = entry.buffers[b];
  expect(ids.dtype == ESPALIER_I32 && ids.row_elements == 1 &&
             rowFits(phase, ids) && graphFits(phase, ids),
         "its ids in buffer %u are not one i32 a row", b);
  bool made = ids.kind == ESPALIER_BUFFER_DYNAMIC ||
              ids.kind == ESPALIER_BUFFER_SCRATCH ||
              ids.kind == ESPALIER_BUFFER_OUTPUT;
  expect(!made || (ids.kind == ESPALIER_BUFFER_SCRATCH ? writtenIn[b] == p + 1
                                                       : writtenIn[b] != 0),
         "it reads ids of buffer %u, which no step before it wrote", b);
  // Two rows that write one matrix row would overwrite each other.
  expect(!isWritten(step, o) || phase.rows == ESPALIER_ROWS_ONE ||
             hasDistinctIds[b],
         "it writes buffer %u by the ids of buffer %u, which COMBINE_ROWS did "
         "not make",
         step.operands[o].buffer, b);
}

/// Columns are those of a row of the buffer, or of a row of its matrix.
void EntryValidator::checkRange(const espalier_step_operand &operand) {
  const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
  int64_t width = operand.access == ESPALIER_ACCESS_ID ? buffer.shape[1]
                                                       : buffer.row_elements;
  expect(operand.column >= 0 && operand.elements >= 0 &&
             operand.elements <= width &&
             operand.column <= width - operand.elements,
         "columns [%lld, %lld + %lld) of %lld", (long long)operand.column,
         (long long)operand.column, (long long)operand.elements,
         (long long)width);
}

void EntryValidator::checkOperand(uint32_t p, const espalier_step &step,
                                  uint32_t o) {
  const espalier_phase &phase = entry.phases[p];
  const espalier_step_operand &operand = step.operands[o];
  expect(operand.buffer < entry.buffer_count, "buffer %u of %u", operand.buffer,
         entry.buffer_count);
  const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
  checkAccess(phase, step, o);
  checkRange(operand);
  if (operand.access == ESPALIER_ACCESS_ID)
    checkIds(p, step, o);
  if (buffer.kind == ESPALIER_BUFFER_DYNAMIC ||
      buffer.kind == ESPALIER_BUFFER_HOST)
    expect(buffer.first_phase <= p && p <= buffer.last_phase,
           "buffer %u only lives in phases [%u, %u]", operand.buffer,
           buffer.first_phase, buffer.last_phase);
  // A reduction has more rows than a block.
  expect(!isReduction(step.kind) || buffer.kind != ESPALIER_BUFFER_SCRATCH,
         "a reduction cannot use scratch buffer %u", operand.buffer);
  if (isWritten(step, o)) {
    expect(buffer.kind != ESPALIER_BUFFER_INPUT &&
               buffer.kind != ESPALIER_BUFFER_CONSTANT &&
               buffer.kind != ESPALIER_BUFFER_MULTIPLICITY,
           "it writes buffer %u, which is constant", operand.buffer);
    writtenIn[operand.buffer] = p + 1;
    hasDistinctIds[operand.buffer] =
        step.kind == ESPALIER_STEP_COMBINE_ROWS && o == 2;
    return;
  }
  if (buffer.kind == ESPALIER_BUFFER_SCRATCH)
    expect(writtenIn[operand.buffer] == p + 1,
           "it reads scratch buffer %u, which no step before it wrote",
           operand.buffer);
  else if (buffer.kind == ESPALIER_BUFFER_DYNAMIC)
    // A state is read, of children, before the step that writes it; so is, of
    // parents, what is passed on to children (see checkOrder).
    expect(writtenIn[operand.buffer] != 0 ||
               operand.access == ESPALIER_ACCESS_CHILD ||
               operand.access == ESPALIER_ACCESS_EDGE_CHILD ||
               step.kind == ESPALIER_STEP_SUM_PARENTS,
           "it reads buffer %u, which no step before it wrote", operand.buffer);
}

void EntryValidator::expectFloats(const espalier_step &step, uint32_t a,
                                  uint32_t b) {
  uint32_t dtype = bufferOf(step, a).dtype;
  expect(dtype == bufferOf(step, b).dtype && dtype != ESPALIER_I32,
         "operands %u and %u are %s and %s, expected both f32 or both f64", a,
         b, dtypeName(dtype), dtypeName(bufferOf(step, b).dtype));
}

void EntryValidator::expectApart(const espalier_step &step, uint32_t in,
                                 uint32_t out) {
  expect(step.operands[in].buffer != step.operands[out].buffer,
         "it reads and writes buffer %u", step.operands[in].buffer);
}

void EntryValidator::checkCopy(const espalier_step &step) {
  expect(step.operands[0].elements == step.operands[1].elements,
         "it copies %lld elements to %lld",
         (long long)step.operands[0].elements,
         (long long)step.operands[1].elements);
  expect(bufferOf(step, 0).dtype == bufferOf(step, 1).dtype,
         "it copies %s to %s", dtypeName(bufferOf(step, 0).dtype),
         dtypeName(bufferOf(step, 1).dtype));
}

void EntryValidator::checkEmbed(const espalier_phase &phase,
                                const espalier_step &step) {
  const espalier_step_operand &ids = step.operands[0];
  const espalier_step_operand &table = step.operands[1];
  const espalier_step_operand &out = step.operands[2];
  expect(bufferOf(step, 0).dtype == ESPALIER_I32 && ids.elements == 1 &&
             (ids.access == ESPALIER_ACCESS_ROW ||
              ids.access == ESPALIER_ACCESS_CALLER ||
              ids.access == ESPALIER_ACCESS_SHARED),
         "its ids are not one i32 a row");
  expect(table.access == ESPALIER_ACCESS_SHARED && bufferOf(step, 1).rank == 2,
         "its table is not a shared matrix");
  expect(bufferOf(step, 1).shape[1] == out.elements && table.column == 0 &&
             bufferOf(step, 1).dtype == bufferOf(step, 2).dtype,
         "rows of its table do not fit its result");
  expect(out.access == ESPALIER_ACCESS_ROW || phase.rows == ESPALIER_ROWS_ONE,
         "it writes its result with access %u", out.access);
}

void EntryValidator::checkMatmul(const espalier_phase &phase,
                                 const espalier_step &step) {
  expect(step.weight < entry.weight_count, "weight %u of %u", step.weight,
         entry.weight_count);
  const espalier_weight &weight = entry.weights[step.weight];
  expect(step.operands[0].elements == weight.k &&
             step.operands[1].elements == weight.n,
         "it maps %lld to %lld elements with a weight of %lldx%lld",
         (long long)step.operands[0].elements,
         (long long)step.operands[1].elements, (long long)weight.k,
         (long long)weight.n);
  for (uint32_t o = 0; o < 2; ++o) {
    expect(step.operands[o].access == ESPALIER_ACCESS_ROW ||
               phase.rows == ESPALIER_ROWS_ONE,
           "operand %u has access %u", o, step.operands[o].access);
    expect(bufferOf(step, o).dtype == entry.buffers[weight.buffer].dtype,
           "operand %u is %s but the weight is %s", o,
           dtypeName(bufferOf(step, o).dtype),
           dtypeName(entry.buffers[weight.buffer].dtype));
  }
  expectApart(step, 0, 1);
  // It would multiply with what was packed before.
  expect(writtenIn[weight.buffer] == 0,
         "it multiplies with buffer %u, which a step before it wrote",
         weight.buffer);
}

void EntryValidator::checkSumParents(const espalier_phase &phase,
                                     const espalier_step &step) {
  const espalier_step_operand &in = step.operands[0], &out = step.operands[1];
  const espalier_buffer_desc &buffer = bufferOf(step, 0);
  expect(isVertexRows(phase.rows), "it runs over rows %u", phase.rows);
  expect(in.access == ESPALIER_ACCESS_ROW &&
             buffer.kind != ESPALIER_BUFFER_SCRATCH &&
             (buffer.rows == ESPALIER_ROWS_VERTICES ||
              buffer.rows == ESPALIER_ROWS_INNER ||
              buffer.rows == ESPALIER_ROWS_EDGES),
         "it sums over parents rows %u of buffer %u (kind %u), with access %u",
         buffer.rows, in.buffer, buffer.kind, in.access);
  expect(out.access == ESPALIER_ACCESS_ROW,
         "it writes its result with access "
         "%u",
         out.access);
  // An edge has the elements of one slot; a vertex those of some.
  bool edges = buffer.rows == ESPALIER_ROWS_EDGES;
  uint32_t arity = edges ? 1 : entry.graphs[phase.graph].arity;
  int64_t slots = out.elements ? in.elements / out.elements : 0;
  expect(in.elements == slots * out.elements && slots <= arity &&
             (!edges || in.elements == out.elements),
         "it sums %lld elements to %lld for vertices of %u child slots",
         (long long)in.elements, (long long)out.elements, arity);
  expectFloats(step, 0, 1);
  expectApart(step, 0, 1);
}

void EntryValidator::checkSumRows(const espalier_step &step) {
  const espalier_step_operand &in = step.operands[0], &out = step.operands[1];
  expect(in.elements == out.elements, "it sums rows of %lld elements to %lld",
         (long long)in.elements, (long long)out.elements);
  expect(out.access == ESPALIER_ACCESS_SHARED,
         "it writes its result with access %u", out.access);
  expectFloats(step, 0, 1);
  expectApart(step, 0, 1);
}

void EntryValidator::checkOuterSum(const espalier_step &step) {
  int64_t k = step.operands[0].elements, n = step.operands[1].elements;
  const espalier_step_operand &out = step.operands[2];
  int64_t elements = 0;
  bool empty = k == 0 || n == 0;
  bool fits = empty ||
              (!__builtin_mul_overflow(k - 1, (int64_t)out.stride, &elements) &&
               !__builtin_add_overflow(elements, n, &elements));
  expect(fits && out.elements == elements &&
             (k <= 1 || empty || out.stride >= n),
         "it writes %lldx%lld elements, %u between rows, to %lld", (long long)k,
         (long long)n, out.stride, (long long)out.elements);
  expect(out.access == ESPALIER_ACCESS_SHARED,
         "it writes its result with access %u", out.access);
  for (uint32_t in = 0; in < 2; ++in) {
    expectFloats(step, in, 2);
    expectApart(step, in, 2);
  }
}

void EntryValidator::checkCombineRows(const espalier_step &step) {
  for (uint32_t o : {0, 2})
    expect(bufferOf(step, o).dtype == ESPALIER_I32 &&
               step.operands[o].elements == 1,
           "its ids in operand %u are not one i32 a row", o);
  uint32_t idsAccess = step.operands[0].access;
  expect(idsAccess == ESPALIER_ACCESS_ROW ||
             idsAccess == ESPALIER_ACCESS_CALLER,
         "it reads its ids with access %u", idsAccess);
  expect(step.operands[1].elements == step.operands[3].elements,
         "it adds rows of %lld elements to %lld",
         (long long)step.operands[1].elements,
         (long long)step.operands[3].elements);
  for (uint32_t o : {2, 3})
    expect(step.operands[o].access == ESPALIER_ACCESS_ROW,
           "it writes its result with access %u", step.operands[o].access);
  expectFloats(step, 1, 3);
  for (uint32_t in : {0, 1})
    for (uint32_t out : {2, 3})
      expectApart(step, in, out);
  expectApart(step, 2, 3);
}

/// A reduction of children or of vertices.
void EntryValidator::checkReduction(const espalier_phase &phase,
                                    const espalier_step &step) {
  const espalier_step_operand &in = step.operands[0], &out = step.operands[1];
  expect(in.access == ESPALIER_ACCESS_ROW && out.access == ESPALIER_ACCESS_ROW,
         "it reduces rows with access %u to rows with access %u", in.access,
         out.access);
  expect(!isReductionOfChildren(step.kind) ||
             bufferOf(step, 0).rows == ESPALIER_ROWS_EDGES,
         "it reduces children, but buffer %u has rows %u", in.buffer,
         bufferOf(step, 0).rows);
  expect(!isReductionOfVertices(step.kind) ||
             (phase.rows == ESPALIER_ROWS_STRUCTURES &&
              findsRowsItself(phase, step, 0)),
         "it reduces vertices, but buffer %u (kind %u) has rows %u, and the "
         "phase runs over rows %u",
         in.buffer, bufferOf(step, 0).kind, bufferOf(step, 0).rows, phase.rows);
  expect(in.elements == out.elements, "it reduces %lld elements to %lld",
         (long long)in.elements, (long long)out.elements);
  expectFloats(step, 0, 1);
}

//===----------------------------------------------------------------------===//
// Layered networks
//===----------------------------------------------------------------------===//

void EntryValidator::checkLayer(uint32_t p, const espalier_step &step) {
  const espalier_phase &phase = entry.phases[p];
  expect(phase.rows == ESPALIER_ROWS_ONE && phase.step_count == 1,
         "it is a layer in a phase of %u steps over rows %u, expected a phase "
         "of its own over rows ONE",
         phase.step_count, phase.rows);
  expect(step.name, "no name");
  expect(step.operands || step.operand_count == 0, "no operand table");
  expect(step.result_count <= step.operand_count, "%u results of %u operands",
         step.result_count, step.operand_count);
  expect(!step.over_edges && !step.batch_rows,
         "it is a layer over edges, or over %u rows", step.batch_rows);
  bool accumulates =
      step.layer && (step.layer->flags & ESPALIER_LAYER_ACCUMULATE);
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    uint32_t b = step.operands[o].buffer;
    expect(!accumulates || !isWritten(step, o) || b >= entry.buffer_count ||
               entry.buffers[b].kind != ESPALIER_BUFFER_DYNAMIC ||
               writtenIn[b] != 0,
           "it adds to buffer %u, which no step before it wrote", b);
    checkOperand(p, step, o);
  }
  std::string fault = findLayerFault(entry, step);
  expect(fault.empty(), "%s", fault.c_str());
  expect(entry.plan || step.layer->workspace_offset == -1,
         "its workspace is at %lld, but the entry has no plan",
         (long long)step.layer->workspace_offset);
}

/// Whether rows of operand `written` can be written while other rows of `other`
/// are read or written.
bool EntryValidator::isApart(const espalier_step &step, uint32_t written,
                             uint32_t other) {
  const espalier_step_operand &a = step.operands[written];
  const espalier_step_operand &b = step.operands[other];
  if (a.buffer != b.buffer)
    return true;
  auto end = [&](const espalier_step_operand &operand) {
    bool shared = operand.access == ESPALIER_ACCESS_SHARED;
    return operand.column + operand.elements * (shared ? 1 : step.batch_rows);
  };
  bool sameRows = a.access == b.access && a.column == b.column &&
                  a.elements == b.elements && !isWritten(step, other);
  return sameRows || end(a) <= b.column || end(b) <= a.column;
}

/// A kernel over rows of buffers that have but one: threads share the rows.
void EntryValidator::checkBatchRows(const espalier_phase &phase,
                                    const espalier_step &step) {
  if (step.batch_rows == 0)
    return;
  expect(step.kind == ESPALIER_STEP_KERNEL && phase.rows == ESPALIER_ROWS_ONE &&
             phase.step_count == 1 && step.batch_rows <= INT32_MAX,
         "it is a step of kind %u over %u batch rows in a phase of %u steps "
         "over rows %u, expected a kernel in a phase of its own over rows ONE",
         step.kind, step.batch_rows, phase.step_count, phase.rows);
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    const espalier_step_operand &operand = step.operands[o];
    const espalier_buffer_desc &buffer = bufferOf(step, o);
    bool isRow = operand.access == ESPALIER_ACCESS_ROW;
    expect(isRow || operand.access == ESPALIER_ACCESS_SHARED,
           "operand %u of a kernel over batch rows has access %u, expected "
           "ROW or SHARED",
           o, operand.access);
    expect(!isRow || operand.elements == 0 ||
               step.batch_rows <=
                   (buffer.row_elements - operand.column) / operand.elements,
           "%u batch rows of %lld elements from column %lld on, of %lld",
           step.batch_rows, (long long)operand.elements,
           (long long)operand.column, (long long)buffer.row_elements);
    expect(isRow || !isWritten(step, o) || step.batch_rows == 1,
           "%u batch rows all write operand %u", step.batch_rows, o);
  }
  for (uint32_t o = step.operand_count - step.result_count;
       o < step.operand_count; ++o)
    for (uint32_t other = 0; other < step.operand_count; ++other)
      expect(other == o || isApart(step, o, other),
             "it writes rows of operand %u that it uses as operand %u", o,
             other);
}

void EntryValidator::checkStep(uint32_t p, const espalier_step &step) {
  static const uint32_t operandCounts[] = {2, 3, 2, 0, 2, 2, 3, 4,
                                           2, 2, 2, 2, 2, 0, 2, 2};
  expect(step.flops_per_row >= 0 && step.bytes_per_row >= 0,
         "it costs %lld operations and %lld bytes",
         (long long)step.flops_per_row, (long long)step.bytes_per_row);
  if (step.kind == ESPALIER_STEP_LAYER)
    return checkLayer(p, step);
  expect(step.kind <= ESPALIER_STEP_PREFETCH, "unknown kind %u", step.kind);
  expect(!isCopyOfPlan(step.kind) || entry.plan,
         "it copies between the device and the host, but the entry has no "
         "plan");
  expect(!step.over_edges || step.kind == ESPALIER_STEP_COPY ||
             step.kind == ESPALIER_STEP_MATMUL ||
             step.kind == ESPALIER_STEP_KERNEL,
         "a step of kind %u cannot run over edges", step.kind);
  expect(!step.over_edges || isVertexRows(entry.phases[p].rows),
         "it runs over edges in a phase over rows %u", entry.phases[p].rows);
  bool isKernel = step.kind == ESPALIER_STEP_KERNEL;
  if (!isKernel)
    expect(step.operand_count == operandCounts[step.kind],
           "%u operands, expected %u", step.operand_count,
           operandCounts[step.kind]);
  expect(step.operands || step.operand_count == 0, "no operand table");
  uint32_t results = step.kind == ESPALIER_STEP_COMBINE_ROWS ? 2 : 1;
  expect(step.result_count <= step.operand_count &&
             (isKernel || step.result_count == results),
         "%u results of %u operands", step.result_count, step.operand_count);
  expect(!isKernel || step.kernel, "no kernel");
  expect(step.name, "no name");
  // Operands in order: what a step reads is checked before what it writes.
  for (uint32_t o = 0; o < step.operand_count; ++o)
    checkOperand(p, step, o);
  checkBatchRows(entry.phases[p], step);
  switch (step.kind) {
  case ESPALIER_STEP_COPY:
    return checkCopy(step);
  case ESPALIER_STEP_EMBED:
    return checkEmbed(entry.phases[p], step);
  case ESPALIER_STEP_MATMUL:
    return checkMatmul(entry.phases[p], step);
  case ESPALIER_STEP_SUM_PARENTS:
    return checkSumParents(entry.phases[p], step);
  case ESPALIER_STEP_SUM_ROWS:
    return checkSumRows(step);
  case ESPALIER_STEP_OUTER_SUM:
    return checkOuterSum(step);
  case ESPALIER_STEP_COMBINE_ROWS:
    return checkCombineRows(step);
  case ESPALIER_STEP_SUM_CHILDREN:
  case ESPALIER_STEP_MAX_CHILDREN:
  case ESPALIER_STEP_MEAN_CHILDREN:
  case ESPALIER_STEP_SUM_VERTICES:
  case ESPALIER_STEP_MAX_VERTICES:
    return checkReduction(entry.phases[p], step);
  }
}

/// What a step reads of other rows is there before it runs. Phase `p` is part
/// of a loop that begins with phase `first`.
void EntryValidator::checkOrder(uint32_t p, uint32_t first) {
  const espalier_phase &phase = entry.phases[p];
  for (uint32_t s = 0; s < phase.step_count; ++s) {
    const espalier_step &step = phase.steps[s];
    for (uint32_t o = 0; o < step.operand_count; ++o) {
      const espalier_step_operand &operand = step.operands[o];
      bool writtenHere = writtenIn[operand.buffer] > first;
      bool ofChildren = operand.access == ESPALIER_ACCESS_CHILD ||
                        operand.access == ESPALIER_ACCESS_EDGE_CHILD;
      // Outside of tasks nothing orders a vertex after its children.
      expect(!ofChildren || !writtenHere || isForwardTasks(phase.rows),
             "it reads children of buffer %u, which it writes", operand.buffer);
      if (step.kind == ESPALIER_STEP_SUM_PARENTS && o == 0) {
        expect(!writtenHere || isReversedTasks(phase.rows),
               "it reads parents of buffer %u, which it writes",
               operand.buffer);
        expect(writtenIn[operand.buffer] != 0,
               "it reads parents of buffer %u, which no step wrote",
               operand.buffer);
      }
    }
  }
}

/// What a phase writes by ids it reads by the same ids only: its rows run in
/// any order.
void EntryValidator::checkWritesById(const espalier_phase &phase) {
  auto forEachOperand = [&](auto body) {
    for (uint32_t s = 0; s < phase.step_count; ++s)
      for (uint32_t o = 0; o < phase.steps[s].operand_count; ++o)
        body(phase.steps[s], o, phase.steps[s].operands[o]);
  };
  forEachOperand([&](const espalier_step &step, uint32_t o,
                     const espalier_step_operand &written) {
    if (written.access != ESPALIER_ACCESS_ID || !isWritten(step, o))
      return;
    forEachOperand([&](const espalier_step &, uint32_t,
                       const espalier_step_operand &other) {
      expect(other.buffer != written.buffer ||
                 (other.access == ESPALIER_ACCESS_ID &&
                  other.slot == written.slot),
             "it writes buffer %u by the ids of buffer %u, and uses it in "
             "another way, too",
             written.buffer, written.slot);
    });
  });
}

void EntryValidator::checkPhase(uint32_t p) {
  const espalier_phase &phase = entry.phases[p];
  expect(phase.name, "no name");
  expect(phase.rows <= ESPALIER_ROWS_INNER_TASKS_REVERSED &&
             phase.rows != ESPALIER_ROWS_CALLER,
         "it cannot run over rows %u", phase.rows);
  expect(phase.rows == ESPALIER_ROWS_ONE || phase.graph < entry.graph_count,
         "graph %u of %u", phase.graph, entry.graph_count);
  uint32_t types = isVertexRows(phase.rows)
                       ? std::max(entry.graphs[phase.graph].types, 1u)
                       : 0;
  expect(phase.type <= types, "it runs over vertices of type %d of %u",
         (int)phase.type - 1, types);
  expect(phase.steps || phase.step_count == 0, "no step table");
  std::string phaseWhere = where;
  uint32_t reductions = 0;
  for (uint32_t s = 0; s < phase.step_count; ++s) {
    const char *name = phase.steps[s].name;
    where =
        format("%s, step %u '%s'", phaseWhere.c_str(), s, name ? name : "?");
    checkStep(p, phase.steps[s]);
    reductions += isReduction(phase.steps[s].kind);
  }
  where = phaseWhere;
  expect(reductions == 0 || reductions == phase.step_count,
         "%u of its %u steps are reductions, expected none or all", reductions,
         phase.step_count);
  expect(reductions == 0 || !isTasks(phase.rows),
         "it has reductions over tasks");
  // Leaves and inner vertices of a type are not one range.
  expect(reductions == 0 || phase.type == 0 ||
             phase.rows != ESPALIER_ROWS_VERTICES,
         "it has reductions over all vertices of a type, expected its leaves "
         "or its inner vertices");
  checkWritesById(phase);
}

/// Checks phases [first, last], which are one loop over tasks if they are more
/// than one.
void EntryValidator::checkLoop(uint32_t first, uint32_t last) {
  auto checkEach = [&](auto check) {
    for (uint32_t p = first; p <= last; ++p) {
      const char *name = entry.phases[p].name;
      where =
          format("%s, phase %u '%s'", entryWhere.c_str(), p, name ? name : "?");
      check(p);
    }
  };
  checkEach([&](uint32_t p) { checkPhase(p); });
  // What one phase reads another one may write.
  checkEach([&](uint32_t p) { checkOrder(p, first); });
  const espalier_phase &phase = entry.phases[first];
  if (phase.type == 0 || !isTasks(phase.rows))
    return;
  // A vertex that no phase computes would be read by its parents.
  uint32_t types = std::max(entry.graphs[phase.graph].types, 1u);
  expect(last - first + 1 == types,
         "the loop over tasks that ends here has phases for %u of %u types",
         last - first + 1, types);
}

void EntryValidator::run() {
  expect(entry.graph_count == 0 || entry.graphs, "no graph table");
  expect(entry.buffer_count == 0 || entry.buffers, "no buffer table");
  expect(entry.weight_count == 0 || entry.weights, "no weight table");
  expect(entry.phase_count == 0 || entry.phases, "no phase table");
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    checkGraph(g);
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const char *name = entry.buffers[b].name;
    where =
        format("%s, buffer %u '%s'", entryWhere.c_str(), b, name ? name : "?");
    checkBuffer(entry.buffers[b]);
  }
  for (uint32_t w = 0; w < entry.weight_count; ++w) {
    where = format("%s, weight %u", entryWhere.c_str(), w);
    checkWeight(entry.weights[w]);
  }
  writtenIn.assign(entry.buffer_count, 0);
  hasDistinctIds.assign(entry.buffer_count, false);
  for (uint32_t p = 0; p < entry.phase_count;) {
    uint32_t last = lastOfLoop(entry, p);
    checkLoop(p, last);
    p = last + 1;
  }
  where = entryWhere;
  for (uint32_t b = 0; b < entry.buffer_count; ++b)
    expect(entry.buffers[b].kind != ESPALIER_BUFFER_OUTPUT || writtenIn[b],
           "no step writes result '%s'", entry.buffers[b].name);
  if (entry.plan)
    validatePlan(entry, entryWhere);
}

void validateModel(const espalier_model *model) {
  if (!model || model->magic != ESPALIER_ABI_MAGIC)
    fail(ESPALIER_MALFORMED, "this is not the table of an Espalier model");
  // Tables are arrays, so even fields appended by a later minor version would
  // move what this runtime looks for.
  if (model->abi_major != ESPALIER_ABI_MAJOR ||
      model->abi_minor > ESPALIER_ABI_MINOR ||
      model->struct_size != sizeof(espalier_model))
    fail(ESPALIER_INCOMPATIBLE,
         "the model was compiled for ABI version %u.%u, this runtime reads "
         "%u.0 to %u.%u; compile it again or use the runtime of that compiler",
         model->abi_major, model->abi_minor, ESPALIER_ABI_MAJOR,
         ESPALIER_ABI_MAJOR, ESPALIER_ABI_MINOR);
  if (!model->name || (model->entry_count && !model->entries))
    fail(ESPALIER_MALFORMED,
         "the model has no %s; the library is damaged, "
         "compile it again",
         model->name ? "entry table" : "name");
  for (uint32_t e = 0; e < model->entry_count; ++e) {
    const espalier_entry &entry = model->entries[e];
    if (!entry.name)
      fail(ESPALIER_MALFORMED, "model '%s': entry %u has no name", model->name,
           e);
    for (uint32_t other = 0; other < e; ++other)
      if (!std::strcmp(model->entries[other].name, entry.name))
        fail(ESPALIER_MALFORMED, "model '%s' has two entries '%s'", model->name,
             entry.name);
    EntryValidator(entry,
                   format("model '%s', entry '%s'", model->name, entry.name))
        .run();
  }
}

} // namespace espalier
