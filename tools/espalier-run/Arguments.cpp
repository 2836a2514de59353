//===- Arguments.cpp - Arguments from files, batch by batch ---------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types and the shapes of rows are checked by the runtime.
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "NetworkBatch.h"

#include "io/Npy.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>

namespace espalier::run {

static const espalier_buffer_desc &findArgument(const espalier_entry &entry,
                                                const char *flag,
                                                const std::string &name) {
  std::string names;
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind != ESPALIER_BUFFER_INPUT)
      continue;
    if (name == buffer.name)
      return buffer;
    names += (names.empty() ? "'" : ", '") + std::string(buffer.name) + "'";
  }
  fail(ESPALIER_NOT_FOUND,
       "%s %s: the entry '%s' has no such argument; it has %s", flag,
       name.c_str(), entry.name, names.empty() ? "none" : names.c_str());
}

std::string
textOf(const std::vector<std::pair<std::string, std::string>> &files) {
  std::string text;
  for (auto &[name, file] : files)
    text += (text.empty() ? "" : ", ") + name + "=" + file;
  return text;
}

static bool isPerVertex(uint32_t rows) {
  return rows == ESPALIER_ROWS_CALLER || rows == ESPALIER_ROWS_VERTICES;
}

static TensorView whole(const Tensor &tensor) {
  return TensorView(espalier_tensor{tensor.dtype, (uint32_t)tensor.shape.size(),
                                    tensor.shape.data(), tensor.data});
}

static int64_t bytesOfRow(const Tensor &tensor) {
  return tensor.shape[0] == 0 ? 0 : (int64_t)tensor.bytes() / tensor.shape[0];
}

Arguments::Arguments(
    const espalier_entry &entry, const char *flag,
    const std::vector<std::pair<std::string, std::string>> &files,
    Graphs &graphs) {
  for (auto &[name, file] : files) {
    const espalier_buffer_desc &buffer = findArgument(entry, flag, name);
    Structures &structures = graphs[graphs.indexOf(entry, buffer)];
    uint32_t rows = buffer.rows;
    bool perSample = isPerSample(buffer, networkBatch(entry));
    Argument argument{name, rows == ESPALIER_ROWS_STRUCTURES || perSample,
                      readNpy(file)};
    const Tensor &tensor = argument.tensor;
    int64_t expected =
        isPerVertex(rows) ? structures.vertices() : structures.count();
    if ((rows != ESPALIER_ROWS_ONE || perSample) &&
        (tensor.shape.empty() || tensor.shape[0] != expected))
      fail(ESPALIER_INVALID_ARGUMENT,
           "%s %s: '%s' has the shape %s, expected %lld rows, one a %s", flag,
           name.c_str(), file.c_str(),
           shapeString(tensor.shape, tensor.dtype).c_str(), (long long)expected,
           isPerVertex(rows) ? "vertex"
           : perSample       ? "sample"
                             : "structure");
    if (isPerVertex(rows))
      structures.set(name, whole(tensor));
    else
      arguments.push_back(std::move(argument));
  }
}

int64_t Arguments::countSamples(
    const espalier_entry &entry, const char *flag,
    const std::vector<std::pair<std::string, std::string>> &files) {
  int64_t batch = networkBatch(entry), count = -1;
  for (auto &[name, file] : files) {
    const espalier_buffer_desc &buffer = findArgument(entry, flag, name);
    if (!isPerSample(buffer, batch))
      continue;
    Tensor tensor = readNpy(file);
    int64_t rows = tensor.shape.empty() ? -1 : tensor.shape[0];
    if (rows < 0 || rows % batch != 0)
      fail(
          ESPALIER_INVALID_ARGUMENT,
          "%s %s: '%s' has the shape %s; the entry '%s' runs over %lld samples "
          "at a time, so expected a multiple of that many",
          flag, name.c_str(), file.c_str(),
          shapeString(tensor.shape, tensor.dtype).c_str(), entry.name,
          (long long)batch);
    if (count >= 0 && rows != count)
      fail(ESPALIER_INVALID_ARGUMENT,
           "%s %s: '%s' has %lld samples, and others have %lld", flag,
           name.c_str(), file.c_str(), (long long)rows, (long long)count);
    count = rows;
  }
  return count < 0 ? std::max<int64_t>(batch, 1) : count;
}

bool Arguments::has(const std::string &name) const {
  for (const Argument &argument : arguments)
    if (argument.name == name)
      return true;
  return false;
}

void Arguments::addPerSample(std::string name, Tensor tensor) {
  arguments.push_back({std::move(name), true, std::move(tensor)});
}

std::vector<NamedView> Arguments::slice(const BatchRange &range) const {
  std::vector<NamedView> views;
  for (const auto &[name, perStructure, tensor] : arguments) {
    Tensor rows = tensor; // the same memory
    if (perStructure) {
      rows.shape[0] = range.structures;
      rows.data += bytesOfRow(tensor) * range.firstStructure;
    }
    views.push_back({name.c_str(), whole(rows)});
  }
  return views;
}

Arguments::Selection
Arguments::select(const std::vector<int64_t> &numbers) const {
  Selection selection;
  for (const auto &[name, perStructure, tensor] : arguments) {
    if (!perStructure) {
      selection.views.push_back({name.c_str(), whole(tensor)});
      continue;
    }
    std::vector<int64_t> shape = tensor.shape;
    shape[0] = (int64_t)numbers.size();
    Tensor rows = Tensor::uninitialized(tensor.dtype, shape);
    int64_t bytes = bytesOfRow(tensor);
    for (size_t i = 0; i != numbers.size() && bytes != 0; ++i)
      std::memcpy(rows.mutableData() + bytes * (int64_t)i,
                  tensor.data + bytes * numbers[i], bytes);
    selection.views.push_back({name.c_str(), whole(rows)});
    selection.rows.push_back(std::move(rows));
  }
  return selection;
}

} // namespace espalier::run
