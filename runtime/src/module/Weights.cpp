//===- Weights.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Weights.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/ThreadPool.h"
#include "module/Module.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

namespace espalier {

static std::vector<int64_t> shapeOf(const espalier_buffer_desc &buffer) {
  return {buffer.shape, buffer.shape + buffer.rank};
}

//===----------------------------------------------------------------------===//
// Random weights
//===----------------------------------------------------------------------===//

static uint64_t fnv1a(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text; ++text)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

static uint64_t splitmix64(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <typename T>
static void fillUniform(Tensor &tensor, double limit, uint64_t state) {
  T *out = reinterpret_cast<T *>(tensor.mutableData());
  for (int64_t i = 0, count = tensor.elements(); i < count; ++i) {
    // 2u - 1 is exact for 53-bit u, so the product is the only rounding.
    double u = (double)(splitmix64(state) >> 11) * 0x1p-53;
    out[i] = (T)((2.0 * u - 1.0) * limit);
  }
}

static void fillWithOnes(Tensor &tensor) {
  if (tensor.dtype == ESPALIER_F32)
    std::fill_n(reinterpret_cast<float *>(tensor.mutableData()),
                tensor.elements(), 1.0f);
  else
    std::fill_n(reinterpret_cast<double *>(tensor.mutableData()),
                tensor.elements(), 1.0);
}

Tensor randomWeight(const std::string &name, uint32_t dtype,
                    const std::vector<int64_t> &shape, uint64_t seed) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  if (shape.size() >= 2 && dtype != ESPALIER_I32) {
    // Of a convolution every element of the window is one more input.
    double window = 1;
    for (size_t i = 2; i < shape.size(); ++i)
      window *= (double)shape[i];
    double fans = ((double)shape[0] + (double)shape[1]) * window;
    double limit = std::sqrt(6.0 / fans);
    uint64_t state = seed + fnv1a(name.c_str());
    if (dtype == ESPALIER_F32)
      fillUniform<float>(tensor, limit, state);
    else
      fillUniform<double>(tensor, limit, state);
  }
  return tensor;
}

/// The buffers that a batch norm of `entry` scales by or takes for variances.
/// In a plan it may read a copy on the device.
static std::set<uint32_t> findScales(const espalier_entry &entry) {
  std::set<uint32_t> scales;
  std::vector<uint32_t> sources(entry.buffer_count);
  std::iota(sources.begin(), sources.end(), 0u);
  for (uint32_t p = 0; p < entry.phase_count; ++p)
    for (uint32_t s = 0; s < entry.phases[p].step_count; ++s) {
      const espalier_step &step = entry.phases[p].steps[s];
      if (step.kind == ESPALIER_STEP_PREFETCH)
        sources[step.operands[1].buffer] = step.operands[0].buffer;
      if (step.kind != ESPALIER_STEP_LAYER)
        continue;
      bool trains = step.layer->kind == ESPALIER_LAYER_BATCH_NORM;
      if (trains || step.layer->kind == ESPALIER_LAYER_BATCH_NORM_INFERENCE)
        scales.insert(sources[step.operands[1].buffer]);
      if (step.layer->kind == ESPALIER_LAYER_BATCH_NORM_INFERENCE)
        scales.insert(sources[step.operands[4].buffer]);
    }
  return scales;
}

Weights randomWeights(const espalier_entry &entry, uint64_t seed) {
  Weights weights;
  std::set<uint32_t> scales = findScales(entry);
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (buffer.kind != ESPALIER_BUFFER_PARAMETER)
      continue;
    Tensor tensor =
        randomWeight(buffer.name, buffer.dtype, shapeOf(buffer), seed);
    if (scales.count(b))
      fillWithOnes(tensor);
    weights.emplace(buffer.name, std::move(tensor));
  }
  return weights;
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

static bool isBound(const espalier_buffer_desc &buffer) {
  return buffer.kind == ESPALIER_BUFFER_PARAMETER ||
         buffer.kind == ESPALIER_BUFFER_STATE;
}

/// Of the parameters and states of all entries.
static std::set<std::string_view> namesOf(const espalier_model &model) {
  std::set<std::string_view> names;
  for (uint32_t e = 0; e < model.entry_count; ++e)
    for (uint32_t b = 0; b < model.entries[e].buffer_count; ++b)
      if (isBound(model.entries[e].buffers[b]))
        names.insert(model.entries[e].buffers[b].name);
  return names;
}

/// Throws unless `weights` are exactly what `entry` needs, give or take its
/// states, and parameters and states of the module's other entries.
static void match(const Module &module, const espalier_entry &entry,
                  const SharedWeights &weights, bool dry) {
  std::string missing, mismatched, extra;
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (!isBound(buffer))
      continue;
    std::vector<int64_t> shape = shapeOf(buffer);
    std::string expected = shapeString(shape, buffer.dtype);
    auto found = weights.tensors.find(buffer.name);
    if (found == weights.tensors.end()) {
      if (buffer.kind == ESPALIER_BUFFER_PARAMETER && !dry)
        missing +=
            format("\n  missing: '%s' (%s)", buffer.name, expected.c_str());
      continue;
    }
    const Tensor &tensor = found->second.tensor;
    if (tensor.dtype != buffer.dtype || tensor.shape != shape)
      mismatched += format(
          "\n  mismatched: '%s' is %s, expected %s", buffer.name,
          shapeString(tensor.shape, tensor.dtype).c_str(), expected.c_str());
  }
  std::set<std::string_view> known = namesOf(module.model());
  for (const auto &[name, weight] : weights.tensors)
    if (!known.count(name))
      extra +=
          format("\n  extra: '%s' (%s)", name.c_str(),
                 shapeString(weight.tensor.shape, weight.tensor.dtype).c_str());
  if (missing.empty() && mismatched.empty() && extra.empty())
    return;
  fail(mismatched.empty() && extra.empty() ? ESPALIER_NOT_FOUND
                                           : ESPALIER_INVALID_ARGUMENT,
       "the weights do not fit entry '%s' of model '%s':%s%s%s", entry.name,
       module.model().name, missing.c_str(), mismatched.c_str(), extra.c_str());
}

/// By buffer: whether a step of `entry` writes it.
static std::vector<bool> findWritten(const espalier_entry &entry) {
  std::vector<bool> written(entry.buffer_count);
  for (uint32_t p = 0; p < entry.phase_count; ++p)
    for (uint32_t s = 0; s < entry.phases[p].step_count; ++s) {
      const espalier_step &step = entry.phases[p].steps[s];
      for (uint32_t o = step.operand_count - step.result_count;
           o < step.operand_count; ++o)
        written[step.operands[o].buffer] = true;
    }
  return written;
}

static WeightSource sourceOf(const espalier_weight &weight,
                             const espalier_buffer_desc &buffer,
                             const char *data) {
  int64_t columns = buffer.shape[1];
  return {data + weight.row_begin * columns * dtypeSize(buffer.dtype), columns,
          weight.columns, weight.columns_count, weight.transposed != 0};
}

BoundWeights::BoundWeights(const Module &module, const espalier_entry &entry,
                           std::shared_ptr<SharedWeights> given, bool dry)
    : entry(entry), weights(std::move(given)), bound(entry.buffer_count) {
  auto lock = weights->lockToWrite();
  match(module, entry, *weights, dry);
  std::vector<bool> isWritten = findWritten(entry);
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (!isBound(buffer))
      continue;
    auto [place, isNew] = weights->tensors.try_emplace(buffer.name);
    SharedWeight &weight = place->second;
    if (isNew) {
      weight.tensor = Tensor::zeros(buffer.dtype, shapeOf(buffer));
      weight.owned = true;
    }
    bound[b] = &weight;
    bool writes = isWritten[b];
    if (writes)
      written.push_back(&weight);
    // A mapped file does not promise that elements are aligned.
    if (writes || (uintptr_t)weight.tensor.data % dtypeSize(buffer.dtype) != 0)
      weight.own();
  }
  for (uint32_t w = 0; w < entry.weight_count; ++w) {
    const espalier_weight &weight = entry.weights[w];
    const espalier_buffer_desc &buffer = entry.buffers[weight.buffer];
    bool constant = buffer.kind == ESPALIER_BUFFER_CONSTANT;
    const char *from =
        constant ? static_cast<const char *>(buffer.data) : data(weight.buffer);
    packedWeights.push_back(PackedWeight::pack(buffer.dtype, weight.k, weight.n,
                                               sourceOf(weight, buffer, from)));
    packedVersions.push_back(constant ? 0 : bound[weight.buffer]->version);
  }
}

BoundWeights::~BoundWeights() = default;

bool BoundWeights::refresh(ThreadPool *pool) {
  std::lock_guard<std::mutex> lock(refreshing);
  bool any = false;
  for (uint32_t w = 0; w < entry.weight_count; ++w) {
    const espalier_weight &weight = entry.weights[w];
    const SharedWeight *from = bound[weight.buffer];
    if (!from || from->version == packedVersions[w])
      continue;
    WeightSource source =
        sourceOf(weight, entry.buffers[weight.buffer], from->tensor.data);
    PackedWeight &packed = *packedWeights[w];
    int64_t parts = packed.repackParts();
    if (parts == 1)
      packed.repack(source, 0);
    else
      forEachIndex(pool, parts, [&](unsigned, int64_t part) {
        packed.repack(source, part);
      });
    packedVersions[w] = from->version;
    any = true;
  }
  return any;
}

void BoundWeights::markWritten() {
  for (SharedWeight *weight : written)
    ++weight->version;
}

} // namespace espalier
