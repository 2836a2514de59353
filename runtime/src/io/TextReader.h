//===- TextReader.h - Lines, tokens and located errors ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the readers of text formats share: lines, tokens between ASCII blanks,
// errors with a position, and word ids.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_TEXTREADER_H
#define ESPALIER_IO_TEXTREADER_H

#include "espalier/runtime.h"
#include "graph/Forest.h"
#include "io/Vocabulary.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

class TextReader {
public:
  /// Reads the file at `path`. A byte order mark is dropped; UTF-16 is
  /// MALFORMED.
  explicit TextReader(const std::string &path);

  /// Makes wordId() look up words of `vocabulary`, and treat others as `unseen`
  /// says.
  void useVocabulary(Vocabulary &vocabulary, espalier_unseen unseen);

  /// Moves on to the next line and gives it without its end ("\n", "\r\n").
  bool nextLine(std::string_view &line);
  /// The number of that line, from 1.
  int64_t line() const { return lineNumber; }

  /// The vocabulary's id for a token at `column` (from 1) of the line.
  int32_t wordId(std::string_view token, int64_t column);
  /// How many tokens wordId() has found none for, and not added.
  int64_t unseenTokens() const { return unseenCount; }

  /// Throws an Error MALFORMED at `column` of the line.
  [[noreturn]] void malformed(int64_t column, const char *fmt, ...) const
      __attribute__((format(printf, 3, 4)));
  /// The same for an earlier line.
  [[noreturn]] void malformedAt(int64_t line, int64_t column, const char *fmt,
                                ...) const
      __attribute__((format(printf, 4, 5)));

  const std::string &path() const { return filePath; }

private:
  std::string filePath;
  std::string bytes;
  size_t position = 0;
  int64_t lineNumber = 0;
  Vocabulary *vocabulary = nullptr;
  espalier_unseen unseen = ESPALIER_UNSEEN_FAIL;
  int64_t unseenCount = 0;
};

/// Whether `c` separates tokens.
inline bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' ||
         c == '\f';
}

/// Finds the next token of `line` at or after `position`, and moves `position`
/// behind it. False if there is none.
bool nextToken(std::string_view line, size_t &position,
               std::string_view &token);

/// Whether the whole of `text` is a decimal number in the range of i32.
bool parseInteger(std::string_view text, int32_t &value);

/// Closes the vertex whose children were pushed onto `forest.children`, and
/// returns its number.
int32_t addVertex(Forest &forest);
/// Closes the structure of the vertices added since the last one.
void endStructure(Forest &forest);
/// Sets a field of one value a vertex.
void setField(Forest &forest, const char *name,
              const std::vector<int32_t> &values);

} // namespace espalier

#endif // ESPALIER_IO_TEXTREADER_H
