//===- Weights.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Weights.h"

#include "device/cpu/Gemm.h"
#include "module/Module.h"
#include "support/Error.h"

#include <cmath>
#include <cstring>

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

Tensor randomWeight(const std::string &name, uint32_t dtype,
                    const std::vector<int64_t> &shape, uint64_t seed) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  if (shape.size() == 2 && dtype != ESPALIER_I32) {
    double fans = (double)shape[0] + (double)shape[1];
    double limit = std::sqrt(6.0 / fans);
    uint64_t state = seed + fnv1a(name.c_str());
    if (dtype == ESPALIER_F32)
      fillUniform<float>(tensor, limit, state);
    else
      fillUniform<double>(tensor, limit, state);
  }
  return tensor;
}

Weights randomWeights(const espalier_entry &entry, uint64_t seed) {
  Weights weights;
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (buffer.kind == ESPALIER_BUFFER_PARAMETER)
      weights.emplace(buffer.name, randomWeight(buffer.name, buffer.dtype,
                                                shapeOf(buffer), seed));
  }
  return weights;
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

static bool isParameterOfModule(const espalier_model &model,
                                const std::string &name) {
  for (uint32_t e = 0; e < model.entry_count; ++e)
    for (uint32_t b = 0; b < model.entries[e].buffer_count; ++b) {
      const espalier_buffer_desc &buffer = model.entries[e].buffers[b];
      if (buffer.kind == ESPALIER_BUFFER_PARAMETER && name == buffer.name)
        return true;
    }
  return false;
}

/// Throws unless `weights` are exactly what `entry` needs, give or take
/// parameters of the module's other entries.
static void match(const Module &module, const espalier_entry &entry,
                  const Weights &weights) {
  std::string missing, mismatched, extra;
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (buffer.kind != ESPALIER_BUFFER_PARAMETER)
      continue;
    std::vector<int64_t> shape = shapeOf(buffer);
    std::string expected = shapeString(shape, buffer.dtype);
    auto found = weights.find(buffer.name);
    if (found == weights.end())
      missing +=
          format("\n  missing: '%s' (%s)", buffer.name, expected.c_str());
    else if (found->second.dtype != buffer.dtype ||
             found->second.shape != shape)
      mismatched +=
          format("\n  mismatched: '%s' is %s, expected %s", buffer.name,
                 shapeString(found->second.shape, found->second.dtype).c_str(),
                 expected.c_str());
  }
  for (const auto &[name, tensor] : weights)
    if (!isParameterOfModule(module.model(), name))
      extra += format("\n  extra: '%s' (%s)", name.c_str(),
                      shapeString(tensor.shape, tensor.dtype).c_str());
  if (missing.empty() && mismatched.empty() && extra.empty())
    return;
  fail(mismatched.empty() && extra.empty() ? ESPALIER_NOT_FOUND
                                           : ESPALIER_INVALID_ARGUMENT,
       "the weights do not fit entry '%s' of model '%s':%s%s%s", entry.name,
       module.model().name, missing.c_str(), mismatched.c_str(), extra.c_str());
}

/// The rows and columns that a weight selects, side by side, packed.
static std::unique_ptr<PackedWeight> pack(const espalier_weight &weight,
                                          const espalier_buffer_desc &buffer,
                                          const char *data) {
  size_t size = dtypeSize(buffer.dtype);
  int64_t columns = buffer.shape[1];
  const char *rows = data + weight.row_begin * columns * size;
  bool whole = weight.columns_count == 1 && weight.columns[0].begin == 0 &&
               weight.columns[0].count == columns;
  Tensor selected;
  if (!whole) {
    selected = Tensor::uninitialized(buffer.dtype, {weight.k, weight.n});
    char *out = selected.mutableData();
    for (int64_t k = 0; k < weight.k; ++k)
      for (uint32_t c = 0; c < weight.columns_count; ++c) {
        const espalier_columns &range = weight.columns[c];
        std::memcpy(out, rows + (k * columns + range.begin) * size,
                    range.count * size);
        out += range.count * size;
      }
    rows = selected.data;
  }
  return PackedWeight::pack(buffer.dtype, weight.k, weight.n, rows);
}

static bool isReadAsItIs(const espalier_entry &entry, uint32_t buffer) {
  for (uint32_t p = 0; p < entry.phase_count; ++p)
    for (uint32_t s = 0; s < entry.phases[p].step_count; ++s) {
      const espalier_step &step = entry.phases[p].steps[s];
      for (uint32_t o = 0; o < step.operand_count; ++o)
        if (step.operands[o].buffer == buffer)
          return true;
    }
  return false;
}

/// The tensor, copied if its memory is not aligned to its elements, which a
/// mapped file does not promise.
static Tensor aligned(const Tensor &tensor) {
  if ((uintptr_t)tensor.data % dtypeSize(tensor.dtype) == 0)
    return tensor;
  Tensor copy = Tensor::uninitialized(tensor.dtype, tensor.shape);
  std::memcpy(copy.mutableData(), tensor.data, tensor.bytes());
  return copy;
}

BoundWeights bindWeights(const Module &module, const espalier_entry &entry,
                         const Weights &weights) {
  match(module, entry, weights);
  BoundWeights bound;
  bound.parameters.resize(entry.buffer_count);
  for (uint32_t b = 0; b < entry.buffer_count; ++b)
    if (entry.buffers[b].kind == ESPALIER_BUFFER_PARAMETER)
      bound.parameters[b] = aligned(weights.at(entry.buffers[b].name));
  for (uint32_t w = 0; w < entry.weight_count; ++w) {
    const espalier_weight &weight = entry.weights[w];
    const espalier_buffer_desc &buffer = entry.buffers[weight.buffer];
    const char *data = buffer.kind == ESPALIER_BUFFER_CONSTANT
                           ? static_cast<const char *>(buffer.data)
                           : bound.parameters[weight.buffer].data;
    bound.packed.push_back(pack(weight, buffer, data));
  }
  // What only matmuls use need not be kept twice.
  for (uint32_t b = 0; b < entry.buffer_count; ++b)
    if (!isReadAsItIs(entry, b))
      bound.parameters[b] = Tensor();
  return bound;
}

} // namespace espalier
