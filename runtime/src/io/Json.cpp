//===- Json.cpp - JSON with positions in its errors -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parser reads through an iterator that tells how far it came.
//
//===----------------------------------------------------------------------===//
#include "io/Json.h"

#include "io/Quote.h"

#include <iterator>
#include <set>
#include <vector>

namespace espalier {

namespace {

/// Walks over a text and notes where it is.
struct NotingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  reference operator*() const { return *at; }
  NotingIterator &operator++() {
    *noted = ++at;
    return *this;
  }
  bool operator==(const NotingIterator &other) const { return at == other.at; }
  bool operator!=(const NotingIterator &other) const { return at != other.at; }

  const char *at;
  const char **noted;
};

/// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax
/// error while ..." without its first two parts.
std::string withoutPrefix(std::string message) {
  size_t bracket = message.find("] ");
  if (bracket != std::string::npos)
    message.erase(0, bracket + 2);
  size_t colon = message.find(": ");
  if (message.rfind("parse error", 0) == 0 && colon != std::string::npos)
    message.erase(0, colon + 2);
  return message;
}

/// Where the string begins that ends at `end`, the position of its last quote.
size_t stringStart(std::string_view text, size_t end) {
  for (;;) {
    end = text.rfind('"', end - 1);
    size_t other = text.find_last_not_of('\\', end - 1);
    if ((end - 1 - other) % 2 == 0) // no escaped quote
      return end;
  }
}

} // namespace

JsonDocument parseJson(std::string_view text) {
  using nlohmann::json;
  const char *position = text.data();
  auto offset = [&] { return (size_t)(position - text.data()); };
  JsonDocument document;
  std::vector<std::set<std::string>> openObjects;
  auto onEvent = [&](int depth, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::object_start) {
      openObjects.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      openObjects.pop_back();
    } else if (event == json::parse_event_t::key) {
      const std::string &key = value.get_ref<const std::string &>();
      size_t start = stringStart(text, offset() - 1);
      if (!openObjects.back().insert(key).second)
        throw JsonError("the key " + quote(key) + " is there twice", start);
      if (depth == 1)
        document.keyOffsets[key] = start;
    }
    return true;
  };
  try {
    document.root = json::parse(
        NotingIterator{text.data(), &position},
        NotingIterator{text.data() + text.size(), &position}, onEvent);
  } catch (const json::exception &e) {
    throw JsonError(withoutPrefix(e.what()), offset() ? offset() - 1 : 0);
  }
  return document;
}

} // namespace espalier
