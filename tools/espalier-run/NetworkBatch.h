//===- NetworkBatch.h - Samples of layered networks -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layered network runs over a fixed number of samples at a time: images, say.
// It has no graph, so its samples are structures without vertices, and arrays
// of inputs are cut into batches as rows of structures are.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_NETWORKBATCH_H
#define ESPALIER_RUN_NETWORKBATCH_H

#include "espalier/abi.h"

#include <cstdint>

namespace espalier::run {

/// How many samples `entry` runs over at a time: the leading extent of its
/// first input that has one. 0: it runs over graphs, or has no such input.
inline int64_t networkBatch(const espalier_entry &entry) {
  if (entry.graph_count != 0)
    return 0;
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind == ESPALIER_BUFFER_INPUT &&
        buffer.rows == ESPALIER_ROWS_ONE && buffer.rank > 0)
      return buffer.shape[0];
  }
  return 0;
}

/// Whether `buffer` has a part for each of the `batch` samples.
inline bool isPerSample(const espalier_buffer_desc &buffer, int64_t batch) {
  return batch != 0 && buffer.rows == ESPALIER_ROWS_ONE && buffer.rank > 0 &&
         buffer.shape[0] == batch;
}

} // namespace espalier::run

#endif // ESPALIER_RUN_NETWORKBATCH_H
