//===- ReadJsonLines.cpp - Structures as JSON -----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every line is parsed on its own. What kind of values a field holds is only
// known at the end of the file, so that numbers are kept as doubles, which hold
// every i32 and every f32.
//
//===----------------------------------------------------------------------===//
#include "io/Json.h"
#include "io/Quote.h"
#include "io/Readers.h"
#include "io/TextReader.h"
#include "support/Error.h"

#include <cfloat>
#include <cmath>

namespace espalier {

using nlohmann::json;

namespace {

/// A field while it is being read.
struct Column {
  std::vector<double> values;
  bool hasStrings = false;
  bool hasNumbers = false;
  bool hasFractions = false;
  // The lines of the first null and of the first integer beyond i32; 0: none.
  int64_t nullLine = 0;
  int64_t wideLine = 0;
};

class JsonLinesReader {
public:
  explicit JsonLinesReader(TextReader &text) : text(text) {}

  Forest read() {
    std::string_view line, token;
    while (text.nextLine(line)) {
      size_t start = 0;
      if (nextToken(line, start, token))
        readLine(line);
    }
    for (auto &[name, column] : columns)
      forest.fields[name] = toTensor(name, column);
    return std::move(forest);
  }

private:
  void readLine(std::string_view line) {
    JsonDocument document;
    try {
      document = parseJson(line);
    } catch (const JsonError &e) {
      text.malformed((int64_t)e.offset + 1, "%s", e.what());
    }
    const json &root = document.root;
    if (!root.is_object() || !root.contains("children"))
      text.malformed(1, "expected an object with \"children\" and \"fields\"");
    for (auto &[key, offset] : document.keyOffsets)
      if (key != "children" && key != "fields")
        text.malformed((int64_t)offset + 1,
                       "unknown key; expected \"children\" or \"fields\", "
                       "found %s",
                       quote(key).c_str());
    // Positions within a line are only known for its keys.
    keyColumn = (int64_t)document.keyOffsets.at("children") + 1;
    readStructure(root["children"]);
    static const json kNoFields = json::object();
    auto fields = document.keyOffsets.find("fields");
    bool hasFields = fields != document.keyOffsets.end();
    if (hasFields)
      keyColumn = (int64_t)fields->second + 1;
    readFields(hasFields ? root["fields"] : kNoFields);
  }

  void readStructure(const json &lists) {
    if (!lists.is_array())
      text.malformed(keyColumn, "\"children\" must be an array of arrays, one "
                                "a vertex");
    int64_t count = (int64_t)lists.size();
    std::vector<int64_t> offsets{0};
    std::vector<int32_t> children;
    for (int64_t v = 0; v != count; ++v) {
      const json &list = lists[v];
      if (!list.is_array())
        text.malformed(keyColumn,
                       "\"children\" of vertex %lld must be an array, found %s",
                       (long long)v, list.type_name());
      for (const json &child : list)
        children.push_back(readChild(child, v, count));
      offsets.push_back((int64_t)children.size());
    }
    try {
      forest.append(count, offsets.data(), children.data());
    } catch (const Error &e) { // a cycle
      text.malformed(keyColumn, "%s", e.message().c_str());
    }
  }

  int32_t readChild(const json &child, int64_t vertex, int64_t count) {
    if (child.is_null())
      return -1;
    if (!child.is_number_integer())
      text.malformed(keyColumn,
                     "a child of vertex %lld must be the number of a vertex, "
                     "-1 or null; found %s",
                     (long long)vertex,
                     child.is_number() ? "fraction" : child.type_name());
    bool huge =
        child.is_number_unsigned() && child.get<uint64_t>() >= (uint64_t)count;
    int64_t number = huge ? 0 : child.get<int64_t>();
    if (huge || number < -1)
      text.malformed(keyColumn,
                     "vertex %lld has the child %s, but this structure has "
                     "%lld vertices, numbered from 0",
                     (long long)vertex, child.dump().c_str(), (long long)count);
    return (int32_t)number;
  }

  void readFields(const json &fields) {
    if (!fields.is_object())
      text.malformed(keyColumn, "\"fields\" must be an object of arrays");
    int64_t k = forest.structures() - 1;
    size_t count = (size_t)(forest.vertices() - forest.structureOffsets[k]);
    bool firstLine = k == 0;
    for (auto &[name, values] : fields.items()) {
      if (!firstLine && !columns.count(name))
        text.malformed(keyColumn,
                       "the field %s is not in the lines before; every line "
                       "must have the same fields",
                       quote(name).c_str());
      if (!values.is_array() || values.size() != count)
        text.malformed(keyColumn,
                       "the field %s must be an array of %zu values, one a "
                       "vertex; found %s of %zu",
                       quote(name).c_str(), count,
                       values.is_array() ? "an array" : values.type_name(),
                       values.size());
      Column &column = columns[name];
      for (size_t v = 0; v != count; ++v)
        column.values.push_back(readValue(name, column, values[v], v));
    }
    for (auto &[name, column] : columns)
      if (!fields.contains(name))
        text.malformed(keyColumn,
                       "the field %s of the lines before is missing; every "
                       "line must have the same fields",
                       quote(name).c_str());
  }

  double readValue(const std::string &name, Column &column, const json &value,
                   size_t vertex) {
    if (value.is_null()) {
      if (column.nullLine == 0)
        column.nullLine = text.line();
      return -1;
    }
    if (!value.is_string() && !value.is_number())
      text.malformed(keyColumn,
                     "the field %s of vertex %zu must be a number, a string or "
                     "null; found %s",
                     quote(name).c_str(), vertex, value.type_name());
    (value.is_string() ? column.hasStrings : column.hasNumbers) = true;
    if (column.hasStrings && column.hasNumbers)
      text.malformed(
          keyColumn,
          "the field %s of vertex %zu is of the kind %s, but others are %s; a "
          "field has one kind of values",
          quote(name).c_str(), vertex, value.type_name(),
          value.is_string() ? "numbers" : "strings");
    if (value.is_string())
      return text.wordId(value.get_ref<const std::string &>(), keyColumn);
    double number = value.get<double>();
    if (!value.is_number_integer())
      column.hasFractions = true;
    else if (number < INT32_MIN || number > INT32_MAX)
      column.wideLine = column.wideLine ? column.wideLine : text.line();
    if (std::fabs(number) > FLT_MAX)
      text.malformed(keyColumn,
                     "the field %s of vertex %zu is %s, which is beyond f32",
                     quote(name).c_str(), vertex, value.dump().c_str());
    return number;
  }

  Tensor toTensor(const std::string &name, const Column &column) {
    if (column.hasFractions && column.nullLine)
      text.malformedAt(column.nullLine, 1,
                       "the field %s has a null, but is a field of fractions, "
                       "where null has no meaning",
                       quote(name).c_str());
    if (!column.hasFractions && column.wideLine)
      text.malformedAt(column.wideLine, 1,
                       "the field %s has an integer that does not fit i32; "
                       "write it with a fraction to get f32",
                       quote(name).c_str());
    Tensor tensor =
        Tensor::zeros(column.hasFractions ? ESPALIER_F32 : ESPALIER_I32,
                      {(int64_t)column.values.size()});
    for (size_t i = 0; i != column.values.size(); ++i) {
      if (column.hasFractions)
        reinterpret_cast<float *>(tensor.mutableData())[i] =
            (float)column.values[i];
      else
        reinterpret_cast<int32_t *>(tensor.mutableData())[i] =
            (int32_t)column.values[i];
    }
    return tensor;
  }

  TextReader &text;
  Forest forest;
  std::map<std::string, Column> columns;
  int64_t keyColumn = 1;
};

} // namespace

Forest readJsonLines(TextReader &text) { return JsonLinesReader(text).read(); }

} // namespace espalier
