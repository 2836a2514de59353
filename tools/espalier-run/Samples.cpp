//===- Samples.cpp - Structures and arguments, in any order ---------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Samples.h"

#include "NetworkBatch.h"

#include "support/Error.h"

#include <cstring>
#include <numeric>

namespace espalier::run {

static Graphs numbered(Graphs graphs, const espalier_entry &entry) {
  static const char kNumber[] = "vertex_number";
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind != ESPALIER_BUFFER_INPUT ||
        buffer.rows != ESPALIER_ROWS_CALLER || buffer.rank != 0 ||
        buffer.dtype != ESPALIER_I32 || std::strcmp(buffer.name, kNumber) != 0)
      continue;
    Structures &structures = graphs[graphs.indexOf(entry, buffer)];
    std::vector<int32_t> numbers(structures.vertices());
    std::iota(numbers.begin(), numbers.end(), 0);
    structures.set(kNumber, numbers);
  }
  return graphs;
}

Samples::Samples(const espalier_entry &entry, Graphs read, std::string file,
                 const char *flag,
                 const std::vector<std::pair<std::string, std::string>> &inputs)
    : path(std::move(file)), graphs(numbered(std::move(read), entry)),
      arguments(entry, flag, inputs, graphs) {
  numberSamples(entry);
  if (count() == 0)
    fail(ESPALIER_INVALID_ARGUMENT, "there are no structures in '%s'",
         path.c_str());
}

void Samples::numberSamples(const espalier_entry &entry) {
  static const char kNumber[] = "row_number";
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind != ESPALIER_BUFFER_INPUT || buffer.rank != 1 ||
        buffer.dtype != ESPALIER_I32 ||
        !isPerSample(buffer, networkBatch(entry)) ||
        std::strcmp(buffer.name, kNumber) != 0 || arguments.has(kNumber))
      continue;
    Tensor numbers = Tensor::uninitialized(ESPALIER_I32, {count()});
    auto *data = reinterpret_cast<int32_t *>(numbers.mutableData());
    std::iota(data, data + count(), 0);
    arguments.addPerSample(kNumber, std::move(numbers));
  }
}

Result Samples::select(const Session &session,
                       const std::vector<int64_t> &numbers,
                       const std::vector<NamedView> &more) const {
  Graphs batch = graphs.select(numbers);
  Arguments::Selection selection = arguments.select(numbers);
  selection.views.insert(selection.views.end(), more.begin(), more.end());
  return batch.run(session, selection.views);
}

Result Samples::run(const Session &session, const std::vector<int64_t> &numbers,
                    const std::vector<NamedView> &more) const {
  try {
    return select(session, numbers, more);
  } catch (const Exception &e) {
    // That of a batch which is too large is about no structure of it.
    if (e.status() == ESPALIER_OUT_OF_MEMORY)
      fail(e.status(), "%s", e.what());
    // The message counts within the batch, which is of no use to the user.
    for (int64_t number : numbers) {
      try {
        select(session, {number}, more);
      } catch (const Exception &alone) {
        fail(alone.status(), "structure %lld of '%s' (from 0), alone: %s",
             (long long)number, path.c_str(), alone.what());
      }
    }
    fail(e.status(), "%s", e.what());
  }
}

} // namespace espalier::run
