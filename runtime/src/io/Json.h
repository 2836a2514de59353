//===- Json.h - JSON with positions in its errors ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON library's parser, told to say where errors are and to refuse objects
// that have a key twice.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_JSON_H
#define ESPALIER_IO_JSON_H

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace espalier {

/// What is wrong in a JSON text, and at which byte of it (from 0).
struct JsonError : std::runtime_error {
  JsonError(const std::string &message, size_t offset)
      : std::runtime_error(message), offset(offset) {}
  size_t offset;
};

struct JsonDocument {
  nlohmann::json root;
  /// Where the keys of the outermost object are in the text.
  std::map<std::string, size_t> keyOffsets;
};

/// Parses all of `text`. Throws a JsonError.
JsonDocument parseJson(std::string_view text);

} // namespace espalier

#endif // ESPALIER_IO_JSON_H
