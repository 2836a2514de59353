//===- JsonObject.cpp - The members of a JSON object ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonObject.h"

#include "espalier/Planning/ByteSize.h"

#include <cmath>
#include <limits>

using namespace espalier::planning;
using nlohmann::json;

std::string espalier::planning::quoteJson(const json &value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  return text;
}

std::string
espalier::planning::describeJsonError(const json::exception &exception) {
  std::string text = exception.what();
  // "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
  size_t place = text.find("line ");
  if (place == std::string::npos)
    place = text.find("] ") == std::string::npos ? 0 : text.find("] ") + 2;
  return text.substr(place);
}

/// Whether `value` is a whole number within int64_t.
static bool isWhole(const json &value) {
  if (value.is_number_unsigned())
    return value.get<uint64_t>() <= uint64_t(INT64_MAX);
  return value.is_number_integer();
}

static bool isWhole32(const json &value) {
  return isWhole(value) && value.get<int64_t>() >= INT32_MIN &&
         value.get<int64_t>() <= INT32_MAX;
}

JsonObject::JsonObject(const json &value, std::string_view where, int64_t index,
                       std::string &error)
    : value(value), where(where), index(index), error(error) {
  if (!value.is_object() && !failed())
    failToBe({}, value, "an object");
}

std::string JsonObject::placeOf(std::string_view key) const {
  std::string place(where);
  if (index >= 0)
    place += '[' + std::to_string(index) + ']';
  if (!place.empty() && !key.empty())
    place += '.';
  place += key;
  return place;
}

void JsonObject::fail(std::string_view key, const std::string &what) {
  if (failed())
    return;
  std::string place = placeOf(key);
  error = (place.empty() ? "the text" : '\'' + place + '\'') + ' ' + what;
}

void JsonObject::failToBe(std::string_view key, const json &member,
                          const std::string &expected) {
  fail(key, "is " + quoteJson(member) + ", not " + expected);
}

const json *JsonObject::take(const char *key, bool required) {
  if (failed())
    return nullptr;
  auto member = value.find(key);
  if (member == value.end()) {
    if (required)
      fail(key, "is missing");
    return nullptr;
  }
  known.push_back(key);
  return &*member;
}

void JsonObject::read(const char *key, std::string &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (!member->is_string())
    return failToBe(key, *member, "a string");
  result = member->get_ref<const std::string &>();
}

void JsonObject::read(const char *key, bool &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (!member->is_boolean())
    return failToBe(key, *member, "true or false");
  result = member->get<bool>();
}

void JsonObject::read(const char *key, double &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (!member->is_number())
    return failToBe(key, *member, "a number");
  result = member->get<double>();
}

void JsonObject::read(const char *key, int64_t &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (!isWhole(*member))
    return failToBe(key, *member, "a whole number");
  result = member->get<int64_t>();
}

void JsonObject::read(const char *key, int32_t &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (!isWhole32(*member))
    return failToBe(key, *member, "a whole number");
  result = member->get<int32_t>();
}

void JsonObject::read(const char *key, std::vector<int32_t> &result,
                      bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (!member->is_array())
    return failToBe(key, *member, "a list of whole numbers");
  result.clear();
  result.reserve(member->size());
  for (const json &number : *member) {
    if (!isWhole32(number))
      return failToBe(std::string(key) + '[' + std::to_string(result.size()) +
                          ']',
                      number, "a whole number");
    result.push_back(number.get<int32_t>());
  }
}

void JsonObject::read(const char *key, std::vector<std::string> &result,
                      bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (!member->is_array())
    return failToBe(key, *member, "a list of strings");
  result.clear();
  for (const json &text : *member) {
    if (!text.is_string())
      return failToBe(std::string(key) + '[' + std::to_string(result.size()) +
                          ']',
                      text, "a string");
    result.push_back(text.get<std::string>());
  }
}

void JsonObject::readBytes(const char *key, int64_t &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  std::optional<int64_t> bytes;
  if (isWhole(*member))
    bytes = member->get<int64_t>();
  else if (member->is_string())
    bytes = parseByteSize(member->get_ref<const std::string &>());
  if (!bytes || *bytes < 0)
    return failToBe(key, *member, "a size such as 12884901888 or \"12GiB\"");
  result = *bytes;
}

void JsonObject::readRate(const char *key, double &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  if (member->is_number()) {
    result = member->get<double>();
    return;
  }
  std::optional<int64_t> bytes;
  if (member->is_string())
    bytes = parseByteSize(member->get_ref<const std::string &>());
  if (!bytes)
    return failToBe(key, *member,
                    "a rate such as 1.2e10 or \"12GB\" (per second)");
  result = double(*bytes);
}

void JsonObject::readNameNumber(const char *key,
                                const std::vector<const char *> &names,
                                int &result, bool required) {
  const json *member = take(key, required);
  if (!member)
    return;
  std::string expected = "one of";
  for (size_t i = 0; i < names.size(); ++i) {
    if (member->is_string() &&
        member->get_ref<const std::string &>() == names[i]) {
      result = int(i);
      return;
    }
    expected += std::string(i == 0 ? " " : ", ") + names[i];
  }
  failToBe(key, *member, expected);
}

void JsonObject::finish() {
  if (failed() || value.size() == known.size())
    return;
  for (auto member = value.begin(); member != value.end(); ++member) {
    bool isKnown = false;
    for (const char *key : known)
      isKnown |= member.key() == key;
    if (!isKnown)
      return fail(member.key(), "is not known here");
  }
}
