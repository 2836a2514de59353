//===- Scalars.cpp - Arguments that are one number ------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scalars.h"

#include <algorithm>
#include <cstring>

namespace espalier::run {

const espalier_buffer_desc *Scalars::find(const char *name) const {
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind == ESPALIER_BUFFER_INPUT &&
        buffer.rows == ESPALIER_ROWS_ONE && buffer.rank == 0 &&
        std::strcmp(buffer.name, name) == 0)
      return &buffer;
  }
  return nullptr;
}

void Scalars::set(const char *name, double value) {
  const espalier_buffer_desc *buffer = find(name);
  if (!buffer)
    return;
  auto known =
      std::find_if(scalars.begin(), scalars.end(), [&](const Scalar &scalar) {
        return scalar.buffer == buffer;
      });
  if (known == scalars.end()) {
    scalars.emplace_back();
    known = scalars.end() - 1;
    known->buffer = buffer;
  }
  switch (buffer->dtype) {
  case ESPALIER_F32:
    known->f32 = (float)value;
    break;
  case ESPALIER_F64:
    known->f64 = value;
    break;
  default:
    known->i32 = (int32_t)value;
  }
}

std::vector<NamedView> Scalars::views() const {
  std::vector<NamedView> views;
  for (const Scalar &scalar : scalars)
    views.push_back({scalar.buffer->name,
                     TensorView(espalier_tensor{scalar.buffer->dtype, 0,
                                                nullptr, &scalar.f64})});
  return views;
}

} // namespace espalier::run
