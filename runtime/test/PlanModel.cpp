//===- PlanModel.cpp ------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlanModel.h"

#include "memory/Arena.h"

#include <map>
#include <random>

using namespace espalier;

void combineRows(const espalier_kernel_operand *operands, int64_t begin,
                 int64_t end) {
  int64_t elements = operands[2].row_stride / (int64_t)sizeof(float);
  for (int64_t r = begin; r < end; ++r)
    for (int64_t i = 0; i < elements; ++i) {
      const float *a = reinterpret_cast<const float *>(
          operands[0].base + r * operands[0].row_stride);
      const float *b = reinterpret_cast<const float *>(
          operands[1].base + r * operands[1].row_stride);
      float *out = reinterpret_cast<float *>(operands[2].base +
                                             r * operands[2].row_stride);
      out[i] = a[i] / 2 - b[i] / 4 + 1;
    }
}

uint32_t PlanModel::buffer(const std::string &name, uint32_t kind,
                           int64_t offset, uint32_t firstPhase,
                           uint32_t lastPhase) {
  names.push_back(name);
  uint32_t b =
      entry.buffer(names.back().c_str(), kind, ESPALIER_F32, ESPALIER_ROWS_ONE,
                   {elements}, firstPhase, lastPhase);
  desc(b).offset = offset;
  return b;
}

static espalier_step_operand whole(const PlanModel &model, uint32_t buffer) {
  return {buffer, ESPALIER_ACCESS_ROW, 0, 0, 0, model.elements};
}

void PlanModel::combine(uint32_t a, uint32_t b, uint32_t out) {
  entry.phase("compute", ESPALIER_ROWS_ONE);
  entry.step(ESPALIER_STEP_KERNEL, "combine",
             {whole(*this, a), whole(*this, b), whole(*this, out)}, 0,
             combineRows);
}

void PlanModel::offload(uint32_t from, uint32_t to) {
  entry.phase("offload", ESPALIER_ROWS_ONE);
  entry.step(ESPALIER_STEP_OFFLOAD, "offload",
             {whole(*this, from), whole(*this, to)});
}

void PlanModel::prefetch(uint32_t from, uint32_t to) {
  entry.phase("prefetch", ESPALIER_ROWS_ONE);
  entry.step(ESPALIER_STEP_PREFETCH, "prefetch",
             {whole(*this, from), whole(*this, to)});
}

void PlanModel::finish(int64_t deviceBytes, int64_t hostBytes) {
  plan = {deviceBytes, hostBytes, 0, ""};
  entries = {entry.tables("step")};
  entries[0].plan = &plan;
  model = {ESPALIER_ABI_MAGIC,
           ESPALIER_ABI_MAJOR,
           ESPALIER_ABI_MINOR,
           sizeof(espalier_model),
           "planned",
           "0.0.0",
           "generic",
           "",
           (uint32_t)entries.size(),
           0,
           entries.data()};
}

//===----------------------------------------------------------------------===//
// Random plans
//===----------------------------------------------------------------------===//

namespace {
/// Where a value is while a random plan is being made.
struct Value {
  int32_t onDevice = -1; // its buffer
  int32_t onHost = -1;
  int lastUse = -1; // operator
};
} // namespace

RandomPlan::RandomPlan(uint32_t seed, int64_t elements) : model(elements) {
  std::mt19937 random(seed);
  auto below = [&](int limit) { return (int)(random() % (unsigned)limit); };
  int count = 4 + below(16);
  std::vector<Value> values(count);
  for (int i = 0; i < count; ++i) {
    operators.push_back({below(i + 2) - 2, below(i + 2) - 2});
    for (int v : {operators[i].a, operators[i].b})
      if (v >= 0)
        values[v].lastUse = i;
  }
  early = below(count);
  int64_t bytes = elements * (int64_t)sizeof(float);

  uint32_t x = model.buffer("x", ESPALIER_BUFFER_INPUT, 0);
  uint32_t w = model.buffer("w", ESPALIER_BUFFER_PARAMETER, 0);
  uint32_t last = model.buffer("last", ESPALIER_BUFFER_OUTPUT, 0);
  uint32_t out = model.buffer("early", ESPALIER_BUFFER_OUTPUT, -1);
  auto touch = [&](int32_t b) {
    model.desc(b).last_phase = model.phases();
    return (uint32_t)b;
  };
  auto newBuffer = [&](const char *name, uint32_t kind) {
    return (int32_t)model.buffer(name, kind, 0, model.phases(), model.phases());
  };
  /// The buffer that has the value on the device, fetched if it is not there.
  auto fetch = [&](int v) -> uint32_t {
    if (v < 0)
      return v == -2 ? x : w;
    if (values[v].onDevice < 0) {
      values[v].onDevice = newBuffer("fetched", ESPALIER_BUFFER_DYNAMIC);
      touch(values[v].onHost);
      model.prefetch(values[v].onHost, values[v].onDevice);
      prefetched += bytes;
    }
    return (uint32_t)values[v].onDevice;
  };
  for (int i = 0; i < count; ++i) {
    uint32_t a = fetch(operators[i].a), b = fetch(operators[i].b);
    bool isLast = i == count - 1;
    values[i].onDevice =
        isLast ? (int32_t)last : newBuffer("value", ESPALIER_BUFFER_DYNAMIC);
    for (int v : {operators[i].a, operators[i].b})
      if (v >= 0)
        touch(values[v].onDevice);
    model.combine(a, b, values[i].onDevice);
    if (i == early) {
      touch(values[i].onDevice);
      model.offload(values[i].onDevice, out);
      offloaded += bytes;
    }
    for (int v = 0; v <= i && !isLast; ++v) {
      if (values[v].onDevice < 0 || values[v].lastUse <= i || below(3) != 0)
        continue;
      if (values[v].onHost < 0) {
        touch(values[v].onDevice);
        values[v].onHost = newBuffer("offloaded", ESPALIER_BUFFER_HOST);
        model.offload(values[v].onDevice, values[v].onHost);
        offloaded += bytes;
      }
      // It may stay, too.
      if (below(4) != 0)
        values[v].onDevice = -1;
    }
  }
  model.combine(w, last, w);

  for (uint32_t kind : {ESPALIER_BUFFER_DYNAMIC, ESPALIER_BUFFER_HOST}) {
    std::vector<Placement> placements;
    for (const espalier_buffer_desc &desc : model.entry.buffers)
      if (desc.kind == kind)
        placements.push_back({bytes, desc.first_phase, desc.last_phase, 0});
    int64_t total = alignUp(OffsetAssigner().assign(placements));
    size_t next = 0;
    for (espalier_buffer_desc &desc : model.entry.buffers)
      if (desc.kind == kind)
        desc.offset = placements[next++].offset;
    (kind == ESPALIER_BUFFER_HOST ? model.plan.host_bytes
                                  : model.plan.device_bytes) = total;
  }
  int64_t deviceBytes = model.plan.device_bytes;
  for (uint32_t b : {x, w, last}) {
    model.desc(b).offset = deviceBytes;
    deviceBytes += alignUp(bytes);
  }
  model.finish(deviceBytes, model.plan.host_bytes);
}

RandomPlan::Values RandomPlan::run(const std::vector<float> &x,
                                   std::vector<float> &w) const {
  std::vector<std::vector<float>> values;
  auto combine = [&](const std::vector<float> &a, const std::vector<float> &b) {
    std::vector<float> out(a.size());
    espalier_kernel_operand operands[3] = {};
    auto base = [](const std::vector<float> &from) {
      return reinterpret_cast<char *>(const_cast<float *>(from.data()));
    };
    operands[0].base = base(a);
    operands[1].base = base(b);
    operands[2].base = base(out);
    operands[2].row_stride = (int64_t)(out.size() * sizeof(float));
    combineRows(operands, 0, 1);
    return out;
  };
  auto valueOf = [&](int v) -> const std::vector<float> & {
    return v == -2 ? x : v == -1 ? w : values[v];
  };
  for (const Operator &op : operators)
    values.push_back(combine(valueOf(op.a), valueOf(op.b)));
  w = combine(w, values.back());
  return {values.back(), values[early]};
}
