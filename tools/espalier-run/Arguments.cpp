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

namespace espalier::run {

static uint32_t rowsOfArgument(const espalier_entry &entry,
                               const std::string &name) {
  std::string names;
  for (uint32_t i = 0; i != entry.buffer_count; ++i) {
    const espalier_buffer_desc &buffer = entry.buffers[i];
    if (buffer.kind != ESPALIER_BUFFER_INPUT)
      continue;
    if (name == buffer.name)
      return buffer.rows;
    names += (names.empty() ? "'" : ", '") + std::string(buffer.name) + "'";
  }
  fail(ESPALIER_NOT_FOUND,
       "--input %s: the entry '%s' has no such argument; it has %s",
       name.c_str(), entry.name, names.empty() ? "none" : names.c_str());
}

static bool isPerVertex(uint32_t rows) {
  return rows == ESPALIER_ROWS_CALLER || rows == ESPALIER_ROWS_VERTICES;
}

Arguments::Arguments(
    const espalier_entry &entry,
    const std::vector<std::pair<std::string, std::string>> &files,
    const Structures &structures) {
  for (auto &[name, file] : files) {
    Argument argument{name, rowsOfArgument(entry, name), readNpy(file)};
    const std::vector<int64_t> &shape = argument.tensor.shape;
    int64_t rows =
        isPerVertex(argument.rows) ? structures.vertices() : structures.count();
    if (argument.rows != ESPALIER_ROWS_ONE &&
        (shape.empty() || shape[0] != rows))
      fail(ESPALIER_INVALID_ARGUMENT,
           "--input %s: '%s' has the shape %s, expected %lld rows, one a %s",
           name.c_str(), file.c_str(),
           shapeString(shape, argument.tensor.dtype).c_str(), (long long)rows,
           isPerVertex(argument.rows) ? "vertex" : "structure");
    arguments.push_back(std::move(argument));
  }
}

std::vector<NamedView> Arguments::slice(const BatchRange &range) const {
  std::vector<NamedView> views;
  for (const Argument &argument : arguments) {
    const Tensor &tensor = argument.tensor;
    std::vector<int64_t> shape = tensor.shape;
    const char *data = tensor.data;
    if (argument.rows != ESPALIER_ROWS_ONE) {
      bool perVertex = isPerVertex(argument.rows);
      int64_t rowBytes = shape[0] == 0 ? 0 : (int64_t)tensor.bytes() / shape[0];
      data += rowBytes * (perVertex ? range.firstVertex : range.firstStructure);
      shape[0] = perVertex ? range.vertices : range.structures;
    }
    views.push_back(
        {argument.name.c_str(),
         TensorView(espalier_tensor{tensor.dtype, (uint32_t)shape.size(),
                                    shape.data(), data})});
  }
  return views;
}

} // namespace espalier::run
