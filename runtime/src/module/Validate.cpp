//===- Validate.cpp -------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Validate.h"

#include "support/Error.h"
#include "tensor/Tensor.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
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
  void checkBuffer(const espalier_buffer_desc &buffer);
  void checkWeight(const espalier_weight &weight);
  void checkPhase(uint32_t p);
  void checkStep(uint32_t p, const espalier_step &step);
  void checkOperand(uint32_t p, const espalier_step &step, uint32_t o);
  void checkAccess(const espalier_phase &phase,
                   const espalier_step_operand &operand, bool written);
  void checkCopy(const espalier_step &step);
  void checkEmbed(const espalier_phase &phase, const espalier_step &step);
  void checkMatmul(const espalier_phase &phase, const espalier_step &step);

  const espalier_buffer_desc &bufferOf(const espalier_step &step, uint32_t o) {
    return entry.buffers[step.operands[o].buffer];
  }
  void expect(bool condition, const char *fmt, ...)
      __attribute__((format(printf, 3, 4)));

  const espalier_entry &entry;
  std::string entryWhere;
  std::string where;
  /// For each buffer, one more than the phase that last wrote it.
  std::vector<uint32_t> writtenIn;
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

static bool isVertexPhase(uint32_t rows) {
  return rows == ESPALIER_ROWS_VERTICES || rows == ESPALIER_ROWS_LEAVES ||
         rows == ESPALIER_ROWS_INNER || rows == ESPALIER_ROWS_TASKS ||
         rows == ESPALIER_ROWS_INNER_TASKS;
}

//===----------------------------------------------------------------------===//
// Buffers and weights
//===----------------------------------------------------------------------===//

void EntryValidator::checkBuffer(const espalier_buffer_desc &buffer) {
  uint32_t rows = buffer.rows;
  expect(buffer.kind <= ESPALIER_BUFFER_CONSTANT, "unknown kind %u",
         buffer.kind);
  expect(buffer.dtype >= ESPALIER_F32 && buffer.dtype <= ESPALIER_I32,
         "unknown element type %u", buffer.dtype);
  expect(rows <= ESPALIER_ROWS_STRUCTURES, "unknown rows %u", rows);
  switch (buffer.kind) {
  case ESPALIER_BUFFER_PARAMETER:
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
    expect(buffer.first_phase <= buffer.last_phase &&
               buffer.last_phase < entry.phase_count,
           "it lives in phases [%u, %u] of %u", buffer.first_phase,
           buffer.last_phase, entry.phase_count);
    break;
  }
  bool named = buffer.kind <= ESPALIER_BUFFER_OUTPUT;
  expect(buffer.name || !named, "it has no name");
  for (const espalier_buffer_desc *other = entry.buffers;
       named && other != &buffer; ++other)
    expect(other->kind != buffer.kind || std::strcmp(other->name, buffer.name),
           "buffer %td has the same name", other - entry.buffers);
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
  expect(weight.k >= 0 && weight.row_begin >= 0 &&
             weight.row_begin <= buffer.shape[0] - weight.k,
         "rows [%lld, %lld + %lld) of %lld", (long long)weight.row_begin,
         (long long)weight.row_begin, (long long)weight.k,
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
  expect(columns == weight.n, "%lld columns, expected %lld", (long long)columns,
         (long long)weight.n);
}

//===----------------------------------------------------------------------===//
// Phases and steps
//===----------------------------------------------------------------------===//

void EntryValidator::checkAccess(const espalier_phase &phase,
                                 const espalier_step_operand &operand,
                                 bool written) {
  const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
  bool vertices = isVertexPhase(phase.rows);
  bool structures = phase.rows == ESPALIER_ROWS_STRUCTURES;
  bool fits = false;
  switch (operand.access) {
  case ESPALIER_ACCESS_ROW:
    if (buffer.kind == ESPALIER_BUFFER_SCRATCH)
      fits = true;
    else if (buffer.rows == ESPALIER_ROWS_VERTICES)
      fits = vertices;
    else if (buffer.rows == ESPALIER_ROWS_INNER)
      fits = phase.rows == ESPALIER_ROWS_INNER ||
             phase.rows == ESPALIER_ROWS_INNER_TASKS;
    else
      fits = buffer.rows == phase.rows;
    break;
  case ESPALIER_ACCESS_SHARED:
    // Blocks of rows that all write one row would overwrite each other.
    fits = buffer.rows == ESPALIER_ROWS_ONE &&
           buffer.kind != ESPALIER_BUFFER_SCRATCH &&
           (!written || phase.rows == ESPALIER_ROWS_ONE);
    break;
  case ESPALIER_ACCESS_CHILD:
    fits = vertices && buffer.rows == ESPALIER_ROWS_VERTICES &&
           buffer.kind != ESPALIER_BUFFER_SCRATCH && !written &&
           operand.slot < entry.graphs[phase.graph].arity;
    break;
  case ESPALIER_ACCESS_CALLER:
    fits = vertices && buffer.rows == ESPALIER_ROWS_CALLER &&
           buffer.kind != ESPALIER_BUFFER_SCRATCH;
    break;
  case ESPALIER_ACCESS_ROOT:
    fits = structures && buffer.rows == ESPALIER_ROWS_VERTICES &&
           buffer.kind != ESPALIER_BUFFER_SCRATCH;
    break;
  case ESPALIER_ACCESS_CALLER_ROOT:
    fits = structures && buffer.rows == ESPALIER_ROWS_CALLER &&
           buffer.kind != ESPALIER_BUFFER_SCRATCH;
    break;
  }
  expect(fits,
         "it %s buffer %u (kind %u, rows %u) with access %u, slot %u in a "
         "phase over rows %u",
         written ? "writes" : "reads", operand.buffer, buffer.kind, buffer.rows,
         operand.access, operand.slot, phase.rows);
}

void EntryValidator::checkOperand(uint32_t p, const espalier_step &step,
                                  uint32_t o) {
  const espalier_phase &phase = entry.phases[p];
  const espalier_step_operand &operand = step.operands[o];
  expect(operand.buffer < entry.buffer_count, "buffer %u of %u", operand.buffer,
         entry.buffer_count);
  const espalier_buffer_desc &buffer = entry.buffers[operand.buffer];
  expect(operand.column >= 0 && operand.elements >= 0 &&
             operand.elements <= buffer.row_elements &&
             operand.column <= buffer.row_elements - operand.elements,
         "columns [%lld, %lld + %lld) of %lld", (long long)operand.column,
         (long long)operand.column, (long long)operand.elements,
         (long long)buffer.row_elements);
  bool written = o >= step.operand_count - step.result_count;
  checkAccess(phase, operand, written);
  // A structure without a vertex has no root to write; only copies skip it.
  expect(!written || step.kind == ESPALIER_STEP_COPY ||
             (operand.access != ESPALIER_ACCESS_ROOT &&
              operand.access != ESPALIER_ACCESS_CALLER_ROOT),
         "it writes roots of buffer %u, which only copies can", operand.buffer);
  if (buffer.kind == ESPALIER_BUFFER_DYNAMIC)
    expect(buffer.first_phase <= p && p <= buffer.last_phase,
           "buffer %u only lives in phases [%u, %u]", operand.buffer,
           buffer.first_phase, buffer.last_phase);
  if (written) {
    expect(buffer.kind == ESPALIER_BUFFER_OUTPUT ||
               buffer.kind == ESPALIER_BUFFER_DYNAMIC ||
               buffer.kind == ESPALIER_BUFFER_SCRATCH,
           "it writes buffer %u, which is constant", operand.buffer);
    writtenIn[operand.buffer] = p + 1;
    return;
  }
  if (buffer.kind == ESPALIER_BUFFER_SCRATCH)
    expect(writtenIn[operand.buffer] == p + 1,
           "it reads scratch buffer %u, which no step before it wrote",
           operand.buffer);
  else if (buffer.kind == ESPALIER_BUFFER_DYNAMIC)
    // A state is read, of children, before the step that writes it.
    expect(writtenIn[operand.buffer] != 0 ||
               operand.access == ESPALIER_ACCESS_CHILD,
           "it reads buffer %u, which no step before it wrote", operand.buffer);
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
  expect(step.operands[0].buffer != step.operands[1].buffer,
         "it reads and writes buffer %u", step.operands[0].buffer);
}

void EntryValidator::checkStep(uint32_t p, const espalier_step &step) {
  static const uint32_t operandCounts[] = {2, 3, 2};
  expect(step.kind <= ESPALIER_STEP_KERNEL, "unknown kind %u", step.kind);
  bool isKernel = step.kind == ESPALIER_STEP_KERNEL;
  if (!isKernel)
    expect(step.operand_count == operandCounts[step.kind],
           "%u operands, expected %u", step.operand_count,
           operandCounts[step.kind]);
  expect(step.operands || step.operand_count == 0, "no operand table");
  expect(step.result_count <= step.operand_count &&
             (isKernel || step.result_count == 1),
         "%u results of %u operands", step.result_count, step.operand_count);
  expect(!isKernel || step.kernel, "no kernel");
  expect(step.name, "no name");
  // Operands in order: what a step reads is checked before what it writes.
  for (uint32_t o = 0; o < step.operand_count; ++o)
    checkOperand(p, step, o);
  if (step.kind == ESPALIER_STEP_COPY)
    checkCopy(step);
  else if (step.kind == ESPALIER_STEP_EMBED)
    checkEmbed(entry.phases[p], step);
  else if (step.kind == ESPALIER_STEP_MATMUL)
    checkMatmul(entry.phases[p], step);
}

void EntryValidator::checkPhase(uint32_t p) {
  const espalier_phase &phase = entry.phases[p];
  expect(phase.name, "no name");
  expect(phase.rows <= ESPALIER_ROWS_INNER_TASKS &&
             phase.rows != ESPALIER_ROWS_CALLER,
         "it cannot run over rows %u", phase.rows);
  expect(phase.rows == ESPALIER_ROWS_ONE || phase.graph < entry.graph_count,
         "graph %u of %u", phase.graph, entry.graph_count);
  expect(phase.steps || phase.step_count == 0, "no step table");
  std::string phaseWhere = where;
  for (uint32_t s = 0; s < phase.step_count; ++s) {
    const char *name = phase.steps[s].name;
    where =
        format("%s, step %u '%s'", phaseWhere.c_str(), s, name ? name : "?");
    checkStep(p, phase.steps[s]);
  }

  // Outside of tasks nothing orders a vertex after its children.
  if (phase.rows == ESPALIER_ROWS_TASKS ||
      phase.rows == ESPALIER_ROWS_INNER_TASKS)
    return;
  for (uint32_t s = 0; s < phase.step_count; ++s)
    for (uint32_t o = 0; o < phase.steps[s].operand_count; ++o) {
      const espalier_step_operand &operand = phase.steps[s].operands[o];
      where = phaseWhere;
      expect(operand.access != ESPALIER_ACCESS_CHILD ||
                 writtenIn[operand.buffer] != p + 1,
             "it reads children of buffer %u, which it writes", operand.buffer);
    }
}

void EntryValidator::run() {
  expect(entry.graph_count == 0 || entry.graphs, "no graph table");
  expect(entry.buffer_count == 0 || entry.buffers, "no buffer table");
  expect(entry.weight_count == 0 || entry.weights, "no weight table");
  expect(entry.phase_count == 0 || entry.phases, "no phase table");
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    expect(entry.graphs[g].arity <= INT32_MAX, "graph %u has arity %u", g,
           entry.graphs[g].arity);
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
  for (uint32_t p = 0; p < entry.phase_count; ++p) {
    const char *name = entry.phases[p].name;
    where =
        format("%s, phase %u '%s'", entryWhere.c_str(), p, name ? name : "?");
    checkPhase(p);
  }
  where = entryWhere;
  for (uint32_t b = 0; b < entry.buffer_count; ++b)
    expect(entry.buffers[b].kind != ESPALIER_BUFFER_OUTPUT || writtenIn[b],
           "no step writes result '%s'", entry.buffers[b].name);
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
