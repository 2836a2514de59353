//===- BufferFile.cpp - Buffers as a table in a file ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BufferFile.h"

#include "io/File.h"
#include "io/Quote.h"
#include "support/Error.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

namespace espalier::plan {

namespace {
/// Where something is wrong.
struct Place {
  const std::string &path;
  size_t line;

  [[noreturn]] void malformed(const std::string &problem) const {
    fail(ESPALIER_MALFORMED, "%s:%zu: %s", path.c_str(), line, problem.c_str());
  }
};
} // namespace

static std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

static std::vector<std::string> splitLine(std::string_view line) {
  std::vector<std::string> fields;
  for (size_t first = 0;;) {
    size_t comma = line.find(',', first);
    fields.emplace_back(trim(line.substr(first, comma - first)));
    if (comma == std::string_view::npos)
      return fields;
    first = comma + 1;
  }
}

/// npos: there is no such column.
static size_t findColumn(const std::vector<std::string> &header,
                         const char *name, const Place &place) {
  auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end())
    return std::string::npos;
  if (std::find(found + 1, header.end(), name) != header.end())
    place.malformed("two columns are called '" + std::string(name) + "'");
  return size_t(found - header.begin());
}

static size_t needColumn(const std::vector<std::string> &header,
                         const char *name, const Place &place) {
  size_t column = findColumn(header, name, place);
  if (column == std::string::npos)
    place.malformed("the header has no column '" + std::string(name) +
                    "'; expected id, lower, upper and size, in any order");
  return column;
}

static int64_t parseNumber(const std::string &text, const char *column,
                           int64_t least, const Place &place) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    place.malformed(std::string(column) + " is " + quote(text) +
                    ", beyond 64 bits");
  if (error != std::errc() || end != text.data() + text.size())
    place.malformed(std::string(column) + " is " + quote(text) +
                    ", expected a whole number");
  if (value < least)
    place.malformed(std::string(column) + " is " + text + ", expected " +
                    std::to_string(least) + " or more");
  return value;
}

BufferFile BufferFile::read(const std::string &path) {
  std::string text = readFile(path);
  std::string_view rest = text;
  if (rest.substr(0, 3) == "\xEF\xBB\xBF")
    rest.remove_prefix(3);

  BufferFile file;
  constexpr size_t none = std::string::npos;
  size_t id = none, lower = none, upper = none, size = none, alignment = none,
         offset = none;
  std::unordered_map<std::string, size_t> lineOf;
  for (Place place{path, 1}; !rest.empty(); ++place.line) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == none ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (trim(line).empty())
      continue;
    file.lines.push_back(splitLine(line));
    const std::vector<std::string> &header = file.lines.front();
    const std::vector<std::string> &fields = file.lines.back();
    if (file.lines.size() == 1) {
      id = needColumn(header, "id", place);
      lower = needColumn(header, "lower", place);
      upper = needColumn(header, "upper", place);
      size = needColumn(header, "size", place);
      alignment = findColumn(header, "alignment", place);
      offset = findColumn(header, "offset", place);
      file.offsetColumn = offset == none ? header.size() : offset;
      continue;
    }
    if (fields.size() != header.size())
      place.malformed(std::to_string(fields.size()) +
                      " fields, but the header "
                      "has " +
                      std::to_string(header.size()));
    auto [other, isNew] = lineOf.emplace(fields[id], place.line);
    if (!isNew)
      place.malformed("the id " + quote(fields[id]) + " is that of line " +
                      std::to_string(other->second));
    planning::BufferInterval buffer;
    buffer.lower = parseNumber(fields[lower], "lower", INT64_MIN, place);
    buffer.upper = parseNumber(fields[upper], "upper", buffer.lower, place);
    buffer.size = parseNumber(fields[size], "size", 0, place);
    if (alignment != none)
      buffer.alignment = parseNumber(fields[alignment], "alignment", 1, place);
    if (offset != none)
      file.offsets.push_back(
          parseNumber(fields[offset], "offset", INT64_MIN, place));
    file.names.push_back(fields[id]);
    file.buffers.push_back(buffer);
  }
  if (file.lines.empty())
    fail(ESPALIER_MALFORMED,
         "%s: is empty; expected a header with id, lower, upper and size",
         path.c_str());
  std::string problem = planning::checkIntervals(file.buffers);
  if (!problem.empty())
    fail(ESPALIER_MALFORMED, "%s: %s", path.c_str(), problem.c_str());
  return file;
}

void BufferFile::write(const std::string &path,
                       const std::vector<int64_t> &offsets) const {
  std::string text;
  for (size_t line = 0; line < lines.size(); ++line) {
    std::vector<std::string> fields = lines[line];
    if (offsetColumn == fields.size())
      fields.emplace_back();
    fields[offsetColumn] =
        line == 0 ? "offset" : std::to_string(offsets[line - 1]);
    for (size_t i = 0; i < fields.size(); ++i)
      text += (i == 0 ? "" : ",") + fields[i];
    text += '\n';
  }
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

} // namespace espalier::plan
