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

#include "io/Npy.h"
#include "support/Error.h"

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
    Argument argument{name, rows == ESPALIER_ROWS_STRUCTURES, readNpy(file)};
    const Tensor &tensor = argument.tensor;
    int64_t expected =
        isPerVertex(rows) ? structures.vertices() : structures.count();
    if (rows != ESPALIER_ROWS_ONE &&
        (tensor.shape.empty() || tensor.shape[0] != expected))
      fail(ESPALIER_INVALID_ARGUMENT,
           "%s %s: '%s' has the shape %s, expected %lld rows, one a %s", flag,
           name.c_str(), file.c_str(),
           shapeString(tensor.shape, tensor.dtype).c_str(), (long long)expected,
           isPerVertex(rows) ? "vertex" : "structure");
    if (isPerVertex(rows))
      structures.set(name, whole(tensor));
    else
      arguments.push_back(std::move(argument));
  }
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
