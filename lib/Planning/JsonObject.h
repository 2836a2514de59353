//===- JsonObject.h - The members of a JSON object ------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads an object member by member into variables of C++, and says of the first
// that is missing, unknown or no such value where it is and what was expected:
//
//   'steps[17].inputs[0]' is "c", not a whole number
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_JSONOBJECT_H
#define ESPALIER_LIB_PLANNING_JSONOBJECT_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::planning {

class JsonObject {
public:
  /// `value` is what is in place `index` of the list `where`, or, if that is
  /// below 0, in the place `where` itself.
  JsonObject(const nlohmann::json &value, std::string_view where, int64_t index,
             std::string &error);

  /// The readers: a member that is not there leaves `result` as it is, and is
  /// an error if `required`. Nothing is read after an error.
  void read(const char *key, std::string &result, bool required = true);
  void read(const char *key, bool &result, bool required = true);
  void read(const char *key, double &result, bool required = true);
  void read(const char *key, int64_t &result, bool required = true);
  void read(const char *key, int32_t &result, bool required = true);
  void read(const char *key, std::vector<int32_t> &result,
            bool required = true);
  void read(const char *key, std::vector<std::string> &result,
            bool required = true);
  /// A size: a whole number, or text that parseByteSize() takes.
  void readBytes(const char *key, int64_t &result, bool required = true);
  /// The same per second: any number, or such text.
  void readRate(const char *key, double &result, bool required = true);
  /// One of `names`, by its number.
  template <typename Enum>
  void readName(const char *key, const std::vector<const char *> &names,
                Enum &result, bool required = true) {
    int number = int(result);
    readNameNumber(key, names, number, required);
    result = Enum(number);
  }
  /// Any value, for the caller to look into; null if there is none.
  const nlohmann::json *take(const char *key, bool required = true);

  /// Members that none of the above asked for are errors.
  void finish();

  /// Says that the member `key` is wrong, unless there is an error already.
  void fail(std::string_view key, const std::string &what);
  bool failed() const { return !error.empty(); }
  /// Where the member `key` is.
  std::string placeOf(std::string_view key) const;

private:
  void readNameNumber(const char *key, const std::vector<const char *> &names,
                      int &result, bool required);
  void failToBe(std::string_view key, const nlohmann::json &member,
                const std::string &expected);

  const nlohmann::json &value;
  std::string_view where;
  int64_t index;
  std::string &error;
  std::vector<const char *> known;
};

/// The text of `value` in an error, shortened.
std::string quoteJson(const nlohmann::json &value);

/// What the JSON library says of a text that is no JSON, without its own name:
/// "line 3, column 5: ..."
std::string describeJsonError(const nlohmann::json::exception &exception);

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_JSONOBJECT_H
