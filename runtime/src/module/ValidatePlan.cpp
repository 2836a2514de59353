//===- ValidatePlan.cpp - Whether a memory plan can be executed -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan comes from a library that may be damaged: whatever it says, executing
// it touches no byte outside of the device's block and the host's pool, and a
// step finds in its buffers what was put there. Who executes it then only has
// to wait for copies.
//
//===----------------------------------------------------------------------===//
#include "memory/Arena.h"
#include "module/Plan.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace espalier {

namespace {
class PlanValidator {
public:
  PlanValidator(const espalier_entry &entry, std::string where)
      : entry(entry), plan(*entry.plan), entryWhere(std::move(where)),
        where(entryWhere) {}

  void run();

private:
  void checkTotals();
  void checkBuffer(uint32_t b);
  void checkPlace(const char *of, int64_t offset, int64_t bytes, int64_t total);
  void checkPhase(const espalier_phase &phase);
  void checkOnDevice(const espalier_step &step);
  void checkCopy(const espalier_phase &phase, const espalier_step &step);
  void checkWorkspace(const espalier_step &step);
  void checkReads(const espalier_step &step);
  void checkOverlaps();
  void checkBirth(uint32_t p, uint32_t b, const LiveRanges &live);
  void checkHostPool();
  bool mayShare(uint32_t p, uint32_t other, uint32_t b) const;

  void atPhase(uint32_t p) {
    const char *name = entry.phases[p].name;
    where = format("%s, phase %u '%s'", entryWhere.c_str(), p, name);
  }
  std::string describe(uint32_t b) const;
  void expect(bool condition, const char *fmt, ...)
      __attribute__((format(printf, 3, 4)));

  const espalier_entry &entry;
  const espalier_plan &plan;
  std::string entryWhere;
  std::string where;
  /// By buffer: whether something is in it.
  std::vector<bool> isFilled;
  /// By buffer, the one that it is a view of, or itself.
  std::vector<uint32_t> viewOf;
};
} // namespace

void PlanValidator::expect(bool condition, const char *fmt, ...) {
  if (condition)
    return;
  char text[768];
  va_list args;
  va_start(args, fmt);
  std::vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  fail(ESPALIER_MALFORMED, "%s: %s; the library is damaged, compile it again",
       where.c_str(), text);
}

/// "buffer 3 'conv1' of 4096 bytes at 128, phases [2, 5]"
std::string PlanValidator::describe(uint32_t b) const {
  const espalier_buffer_desc &buffer = entry.buffers[b];
  Lifetime life = lifetimeOf(entry, buffer);
  std::string place = buffer.offset < 0
                          ? "in the host's memory"
                          : format("at %lld", (long long)buffer.offset);
  return format("buffer %u '%.100s' of %lld bytes %s, phases [%u, %u]", b,
                buffer.name ? buffer.name : "?", (long long)rowBytes(buffer),
                place.c_str(), life.first, life.last);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void PlanValidator::checkTotals() {
  expect(plan.device_bytes >= 0 && plan.host_bytes >= 0 &&
             plan.budget_bytes >= 0,
         "its plan has %lld bytes on the device, %lld in the host's pool and a "
         "budget of %lld",
         (long long)plan.device_bytes, (long long)plan.host_bytes,
         (long long)plan.budget_bytes);
  expect(plan.budget_bytes == 0 || plan.device_bytes <= plan.budget_bytes,
         "its plan needs %lld bytes on the device, more than its budget of "
         "%lld",
         (long long)plan.device_bytes, (long long)plan.budget_bytes);
  expect(plan.machine, "its plan has no machine's name");
  expect(entry.graph_count == 0, "it has a plan, and %u graphs",
         entry.graph_count);
  // Packed, a weight would be in memory that nobody planned.
  expect(entry.weight_count == 0, "it has a plan, and %u packed weights",
         entry.weight_count);
}

void PlanValidator::checkPlace(const char *of, int64_t offset, int64_t bytes,
                               int64_t total) {
  expect(offset >= 0 && offset % kAlignment == 0 && bytes <= total &&
             offset <= total - bytes,
         "%s of %lld bytes is at %lld, expected a multiple of %lld that leaves "
         "room for it in %lld bytes",
         of, (long long)bytes, (long long)offset, (long long)kAlignment,
         (long long)total);
}

void PlanValidator::checkBuffer(uint32_t b) {
  const espalier_buffer_desc &buffer = entry.buffers[b];
  where = format("%s, buffer %u '%s'", entryWhere.c_str(), b,
                 buffer.name ? buffer.name : "?");
  expect(isNamedOutside(buffer) || buffer.kind == ESPALIER_BUFFER_DYNAMIC ||
             buffer.kind == ESPALIER_BUFFER_HOST,
         "a plan has no place for a buffer of kind %u", buffer.kind);
  expect(buffer.rows == ESPALIER_ROWS_ONE, "it has rows %u in a plan",
         buffer.rows);
  if (isNamedOutside(buffer) && buffer.offset == -1)
    return;
  bool host = buffer.kind == ESPALIER_BUFFER_HOST;
  checkPlace("it", buffer.offset, rowBytes(buffer),
             host ? plan.host_bytes : plan.device_bytes);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void PlanValidator::checkOnDevice(const espalier_step &step) {
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    const espalier_step_operand &operand = step.operands[o];
    std::vector<uint32_t> named{operand.buffer};
    if (operand.access == ESPALIER_ACCESS_ID)
      named.push_back(operand.slot);
    for (uint32_t b : named)
      if (!isOnDevice(entry.buffers[b]))
        expect(false,
               "step '%s' uses %s, which is not on the device; prefetch it",
               step.name, describe(b).c_str());
  }
}

void PlanValidator::checkCopy(const espalier_phase &phase,
                              const espalier_step &step) {
  bool offload = step.kind == ESPALIER_STEP_OFFLOAD;
  const char *what = offload ? "offloads" : "prefetches";
  expect(phase.step_count == 1,
         "step '%s' %s in a phase of %u steps, expected one", step.name, what,
         phase.step_count);
  const espalier_step_operand &from = step.operands[0], &to = step.operands[1];
  const espalier_buffer_desc &source = entry.buffers[from.buffer];
  const espalier_buffer_desc &target = entry.buffers[to.buffer];
  const espalier_buffer_desc &host = offload ? target : source;
  const espalier_buffer_desc &device = offload ? source : target;
  bool hostFits =
      host.kind == ESPALIER_BUFFER_HOST ||
      (host.offset < 0 && isNamedOutside(host) &&
       host.kind != (offload ? ESPALIER_BUFFER_INPUT : ESPALIER_BUFFER_OUTPUT));
  expect(hostFits && isOnDevice(device), "step '%s' %s from %s to %s",
         step.name, what, describe(from.buffer).c_str(),
         describe(to.buffer).c_str());
  // A prefetch may take a part of what the host has; that it is one, every
  // operand's check has seen.
  for (const espalier_step_operand *operand : {&from, &to})
    expect(
        (!offload && operand == &from) ||
            (operand->column == 0 &&
             operand->elements == entry.buffers[operand->buffer].row_elements),
        "step '%s' %s elements [%lld, %lld) of %s, expected all", step.name,
        what, (long long)operand->column,
        (long long)operand->column + (long long)operand->elements,
        describe(operand->buffer).c_str());
  expect(source.dtype == target.dtype && from.elements == to.elements,
         "step '%s' %s %lld x %s as %lld x %s", step.name, what,
         (long long)from.elements, dtypeName(source.dtype),
         (long long)to.elements, dtypeName(target.dtype));
}

void PlanValidator::checkWorkspace(const espalier_step &step) {
  if (step.kind != ESPALIER_STEP_LAYER)
    return;
  expect(step.layer, "step '%s' has no layer", step.name);
  const espalier_layer &layer = *step.layer;
  if (layer.workspace_bytes == 0 && layer.workspace_offset == -1)
    return;
  expect(layer.workspace_bytes >= 0,
         "the workspace of step '%s' has %lld bytes", step.name,
         (long long)layer.workspace_bytes);
  checkPlace("a workspace", layer.workspace_offset, layer.workspace_bytes,
             plan.device_bytes);
}

/// Nothing is read that no step has made, and the caller has not given. Where
/// two buffers are views of each other, to write one is to write both.
void PlanValidator::checkReads(const espalier_step &step) {
  bool adds = step.kind == ESPALIER_STEP_LAYER &&
              (step.layer->flags & ESPALIER_LAYER_ACCUMULATE);
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    uint32_t b = step.operands[o].buffer;
    bool isRead = o < step.operand_count - step.result_count || adds;
    if (isRead && !isFilled[b])
      expect(false, "step '%s' reads %s, which no step before it wrote",
             step.name, describe(b).c_str());
    if (o >= step.operand_count - step.result_count)
      isFilled[b] = true;
  }
}

void PlanValidator::checkPhase(const espalier_phase &phase) {
  expect(phase.rows == ESPALIER_ROWS_ONE, "it runs over rows %u in a plan",
         phase.rows);
  for (uint32_t s = 0; s < phase.step_count; ++s) {
    const espalier_step &step = phase.steps[s];
    if (isCopyOfPlan(step.kind))
      checkCopy(phase, step);
    else
      checkOnDevice(step);
    checkWorkspace(step);
    checkReads(step);
  }
}

//===----------------------------------------------------------------------===//
// Bytes of two buffers at a time
//===----------------------------------------------------------------------===//

/// The operand that a layer may overwrite with its operand `result`; -1: none.
static int inPlaceOperand(const espalier_layer &layer, uint32_t result) {
  switch (layer.kind) {
  case ESPALIER_LAYER_BATCH_NORM:
    return result == 3 ? 0 : -1;
  case ESPALIER_LAYER_BATCH_NORM_INFERENCE:
    return result == 5 ? 0 : -1;
  case ESPALIER_LAYER_BATCH_NORM_ADJOINT:
    return result == 5 ? 4 : -1;
  case ESPALIER_LAYER_LRN_ADJOINT:
    return result == 2 ? 1 : -1;
  }
  return -1;
}

/// Whether `step` may have its operands `in` and `out` in the same place.
static bool worksInPlace(const espalier_entry &entry, const espalier_step &step,
                         uint32_t in, uint32_t out) {
  const espalier_step_operand &from = step.operands[in];
  const espalier_step_operand &to = step.operands[out];
  int64_t size = (int64_t)dtypeSize(entry.buffers[from.buffer].dtype);
  bool sameBytes = from.access == to.access && from.column == to.column &&
                   from.elements == to.elements &&
                   size == (int64_t)dtypeSize(entry.buffers[to.buffer].dtype);
  switch (step.kind) {
  case ESPALIER_STEP_KERNEL:
    // It reads an element before it writes it; one that is shared by its rows
    // it would read again.
    return sameBytes &&
           (from.access == ESPALIER_ACCESS_ROW ||
            (from.access == ESPALIER_ACCESS_SHARED && step.batch_rows <= 1));
  case ESPALIER_STEP_LAYER:
    return inPlaceOperand(*step.layer, out) == (int)in;
  }
  return false;
}

/// Whether `step` makes `to` a view of `from`: the copy of a whole buffer to
/// the same place.
static bool makesView(const espalier_entry &entry, const espalier_step &step,
                      uint32_t from, uint32_t to) {
  return step.kind == ESPALIER_STEP_COPY && step.operands[0].buffer == from &&
         step.operands[1].buffer == to && step.operands[0].column == 0 &&
         step.operands[1].column == 0 &&
         step.operands[0].elements == entry.buffers[from].row_elements &&
         step.operands[1].elements == entry.buffers[to].row_elements;
}

/// Whether `b`, whose life begins with phase `p`, may have bytes of `other`,
/// which is alive: it is a view of it, or takes its place at its last step.
bool PlanValidator::mayShare(uint32_t p, uint32_t other, uint32_t b) const {
  if (entry.buffers[other].offset != entry.buffers[b].offset)
    return false;
  const espalier_phase &phase = entry.phases[p];
  for (uint32_t s = 0; s < phase.step_count; ++s) {
    const espalier_step &step = phase.steps[s];
    bool isRead = false, allInPlace = true;
    for (uint32_t in = 0; in < step.operand_count - step.result_count; ++in) {
      uint32_t from = step.operands[in].buffer;
      if (viewOf[from] != viewOf[other])
        continue;
      if (makesView(entry, step, from, b))
        return true;
      for (uint32_t out = step.operand_count - step.result_count;
           out < step.operand_count; ++out)
        if (step.operands[out].buffer == b) {
          isRead = true;
          allInPlace &= worksInPlace(entry, step, in, out);
        }
    }
    if (isRead)
      return allInPlace && lifetimeOf(entry, entry.buffers[other]).last == p;
  }
  return false;
}

void PlanValidator::checkBirth(uint32_t p, uint32_t b, const LiveRanges &live) {
  const espalier_phase &phase = entry.phases[p];
  live.overlapping(rangeOf(entry.buffers[b]), [&](uint32_t other, ByteRange) {
    if (!mayShare(p, other, b))
      expect(false, "%s shares bytes with %s", describe(b).c_str(),
             describe(other).c_str());
    for (uint32_t s = 0; s < phase.step_count; ++s)
      if (makesView(entry, phase.steps[s], other, b))
        viewOf[b] = viewOf[other];
  });
}

void PlanValidator::checkOverlaps() {
  viewOf.resize(entry.buffer_count);
  for (uint32_t b = 0; b < entry.buffer_count; ++b)
    viewOf[b] = b;
  Lives lives(entry, /*onDevice=*/true);
  LiveRanges live;
  for (uint32_t p = 0; p < entry.phase_count; ++p) {
    atPhase(p);
    const espalier_phase &phase = entry.phases[p];
    for (uint32_t b : lives.begin[p]) {
      checkBirth(p, b, live);
      live.add(b, rangeOf(entry.buffers[b]));
    }
    for (uint32_t s = 0; s < phase.step_count; ++s)
      live.overlapping(workspaceOf(phase.steps[s]), [&](uint32_t other,
                                                        ByteRange) {
        expect(false,
               "the workspace of step '%s', %lld bytes at %lld, shares bytes "
               "with %s",
               phase.steps[s].name,
               (long long)phase.steps[s].layer->workspace_bytes,
               (long long)phase.steps[s].layer->workspace_offset,
               describe(other).c_str());
      });
    for (uint32_t b : lives.end[p])
      live.remove(b, rangeOf(entry.buffers[b]));
  }
}

void PlanValidator::checkHostPool() {
  Lives lives(entry, /*onDevice=*/false);
  LiveRanges live;
  for (uint32_t p = 0; p < entry.phase_count; ++p) {
    atPhase(p);
    for (uint32_t b : lives.begin[p]) {
      ByteRange range = rangeOf(entry.buffers[b]);
      live.overlapping(range, [&](uint32_t other, ByteRange) {
        expect(false, "in the host's pool, %s shares bytes with %s",
               describe(b).c_str(), describe(other).c_str());
      });
      live.add(b, range);
    }
    for (uint32_t b : lives.end[p])
      live.remove(b, rangeOf(entry.buffers[b]));
  }
}

void PlanValidator::run() {
  checkTotals();
  isFilled.resize(entry.buffer_count);
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    checkBuffer(b);
    isFilled[b] = isNamedOutside(entry.buffers[b]) &&
                  entry.buffers[b].kind != ESPALIER_BUFFER_OUTPUT;
  }
  for (uint32_t p = 0; p < entry.phase_count; ++p) {
    atPhase(p);
    checkPhase(entry.phases[p]);
  }
  checkOverlaps();
  checkHostPool();
}

void validatePlan(const espalier_entry &entry, const std::string &where) {
  PlanValidator(entry, where).run();
}

} // namespace espalier
