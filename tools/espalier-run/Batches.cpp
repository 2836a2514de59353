//===- Batches.cpp - The structures, batch by batch -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Batches are cut before the first pass, so that a pass does nothing but run.
//
//===----------------------------------------------------------------------===//
#include "Batches.h"

#include "NetworkBatch.h"
#include "Progress.h"

#include "support/Error.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace espalier::run {

using Clock = std::chrono::steady_clock;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Collector::Collector(const espalier_entry &entry, const Graphs &all,
                     int64_t batches) {
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind != ESPALIER_BUFFER_OUTPUT)
      continue;
    std::vector<int64_t> shape(buffer.shape, buffer.shape + buffer.rank);
    bool samples = isPerSample(buffer, networkBatch(entry));
    size_t graph = all.indexOf(entry, buffer);
    int64_t count = buffer.rows == ESPALIER_ROWS_ONE ? batches
                    : buffer.rows == ESPALIER_ROWS_STRUCTURES
                        ? all.count()
                        : all[graph].vertices();
    if (samples)
      shape[0] *= count;
    else
      shape.insert(shape.begin(), count);
    rows.push_back(buffer.rows);
    perSample.push_back(samples);
    graphs.push_back(graph);
    results.push_back({buffer.name, Tensor::zeros(buffer.dtype, shape)});
  }
}

void Collector::add(const Result &result, const BatchRange &range,
                    int64_t batch) {
  for (size_t i = 0; i != results.size(); ++i) {
    Tensor &all = results[i].tensor;
    TensorView part = result[results[i].name.c_str()];
    espalier_tensor raw = part.c();
    int64_t first = rows[i] == ESPALIER_ROWS_ONE ? batch
                    : rows[i] == ESPALIER_ROWS_STRUCTURES
                        ? range.firstStructure
                        : range.firstVertex[graphs[i]];
    int64_t count = rows[i] == ESPALIER_ROWS_ONE ? 1
                    : rows[i] == ESPALIER_ROWS_STRUCTURES
                        ? range.structures
                        : range.vertices[graphs[i]];
    if (perSample[i]) {
      first = range.firstStructure;
      count = range.structures;
    }
    if (count == 0)
      continue;
    int64_t rowElements = all.elements() / all.shape[0];
    if (part.dtype() != all.dtype || part.elements() != count * rowElements)
      fail(ESPALIER_INTERNAL,
           "the result '%s' of batch %lld has %lld elements, "
           "expected %lld",
           results[i].name.c_str(), (long long)batch,
           (long long)part.elements(), (long long)(count * rowElements));
    size_t rowBytes = rowElements * dtypeSize(all.dtype);
    if (rowBytes != 0)
      std::memcpy(all.mutableData() + first * rowBytes, raw.data,
                  count * rowBytes);
  }
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

int64_t batchSizeOf(const espalier_entry &entry,
                    std::optional<int64_t> option) {
  int64_t network = networkBatch(entry);
  if (network == 0)
    return option.value_or(64);
  if (option && *option != network)
    fail(
        ESPALIER_INVALID_ARGUMENT,
        "--batch-size %lld: the entry '%s' is a layered network that runs over "
        "%lld samples at a time",
        (long long)*option, entry.name, (long long)network);
  return network;
}

Batches::Batches(const Graphs &graphs, const Arguments &arguments,
                 int64_t batchSize) {
  int64_t total = graphs.count();
  if (batchSize == 0)
    batchSize = total;
  std::vector<int64_t> firstVertex(graphs.verticesOfEach().size(), 0);
  for (int64_t begin = 0; begin < total;) {
    int64_t end = begin + std::min(batchSize, total - begin);
    Graphs part = graphs.slice(begin, end);
    BatchRange range{begin, end - begin, firstVertex, part.verticesOfEach()};
    batches.push_back({range, std::move(part), arguments.slice(range)});
    for (size_t g = 0; g != firstVertex.size(); ++g)
      firstVertex[g] += range.vertices[g];
    begin = end;
  }
}

Result Batches::run(const Session &session, int64_t number) const {
  const Batch &batch = batches[number];
  try {
    return batch.graphs.run(session, batch.arguments);
  } catch (const Exception &e) {
    if (batch.range.firstStructure == 0)
      throw;
    // The message counts within the batch.
    fail(e.status(),
         "batch %lld, whose structure 0 is structure %lld of the file: %s",
         (long long)number, (long long)batch.range.firstStructure, e.what());
  }
}

double Batches::pass(const Session &session, Collector *collector) const {
  Progress progress("running", count());
  double seconds = 0;
  for (int64_t i = 0; i != count(); ++i) {
    const Batch &batch = batches[i];
    auto start = Clock::now();
    Result result = run(session, i);
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
    if (collector)
      collector->add(result, batch.range, i);
    progress.update(i + 1);
  }
  return seconds;
}

} // namespace espalier::run
