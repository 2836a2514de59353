//===- TextReader.cpp - Lines, tokens and located errors ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "io/TextReader.h"

#include "io/File.h"
#include "io/Quote.h"
#include "support/Error.h"

#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace espalier {

TextReader::TextReader(const std::string &path)
    : filePath(path), bytes(readFile(path)) {
  std::string_view start(bytes);
  if (start.substr(0, 3) == "\xEF\xBB\xBF")
    position = 3;
  if (start.substr(0, 2) == "\xFF\xFE" || start.substr(0, 2) == "\xFE\xFF")
    malformedAt(1, 1, "the text is UTF-16; convert it to UTF-8");
}

void TextReader::useVocabulary(Vocabulary &words, espalier_unseen treatment) {
  vocabulary = &words;
  unseen = treatment;
}

bool TextReader::nextLine(std::string_view &line) {
  if (position >= bytes.size())
    return false;
  size_t end = bytes.find('\n', position);
  size_t next = end == std::string::npos ? bytes.size() : end + 1;
  if (end == std::string::npos)
    end = bytes.size();
  if (end > position && bytes[end - 1] == '\r')
    --end;
  line = std::string_view(bytes).substr(position, end - position);
  position = next;
  ++lineNumber;
  return true;
}

int32_t TextReader::wordId(std::string_view token, int64_t column) {
  if (unseen == ESPALIER_UNSEEN_ADD) {
    try {
      return vocabulary->add(token);
    } catch (const Error &e) {
      malformed(column, "%s", e.message().c_str());
    }
  }
  int32_t id = vocabulary->find(token);
  if (id >= 0)
    return id;
  ++unseenCount;
  id = vocabulary->find(Vocabulary::kUnknown);
  if (id < 0 && unseen == ESPALIER_UNSEEN_FAIL)
    malformed(column,
              "the vocabulary has neither %s nor '%s'; add one of them to it, "
              "or read with a vocabulary that grows",
              quote(token).c_str(), Vocabulary::kUnknown);
  return id;
}

[[noreturn]] static void failAt(const std::string &path, int64_t line,
                                int64_t column, const char *fmt, va_list args) {
  va_list measured;
  va_copy(measured, args);
  std::string message(std::vsnprintf(nullptr, 0, fmt, measured), '\0');
  va_end(measured);
  std::vsnprintf(message.data(), message.size() + 1, fmt, args);
  fail(ESPALIER_MALFORMED, "%s:%lld:%lld: %s", path.c_str(), (long long)line,
       (long long)column, message.c_str());
}

void TextReader::malformed(int64_t column, const char *fmt, ...) const {
  va_list args;
  va_start(args, fmt);
  failAt(filePath, lineNumber, column, fmt, args);
}

void TextReader::malformedAt(int64_t line, int64_t column, const char *fmt,
                             ...) const {
  va_list args;
  va_start(args, fmt);
  failAt(filePath, line, column, fmt, args);
}

bool nextToken(std::string_view line, size_t &position,
               std::string_view &token) {
  while (position < line.size() && isBlank(line[position]))
    ++position;
  size_t begin = position;
  while (position < line.size() && !isBlank(line[position]))
    ++position;
  token = line.substr(begin, position - begin);
  return !token.empty();
}

bool parseInteger(std::string_view text, int32_t &value) {
  const char *end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

int32_t addVertex(Forest &forest) {
  if (forest.vertices() == INT32_MAX)
    fail(ESPALIER_UNSUPPORTED,
         "more than %d vertices; split the file into smaller ones", INT32_MAX);
  forest.childOffsets.push_back((int64_t)forest.children.size());
  return (int32_t)(forest.vertices() - 1);
}

void endStructure(Forest &forest) {
  forest.structureOffsets.push_back(forest.vertices());
}

void setField(Forest &forest, const char *name,
              const std::vector<int32_t> &values) {
  Tensor tensor = Tensor::zeros(ESPALIER_I32, {(int64_t)values.size()});
  if (!values.empty())
    std::memcpy(tensor.mutableData(), values.data(), tensor.bytes());
  forest.fields[name] = std::move(tensor);
}

} // namespace espalier
