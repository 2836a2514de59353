//===- Vocabulary.cpp - Tokens and their ids ------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The map keeps views of the tokens; a deque never moves them.
//
//===----------------------------------------------------------------------===//
#include "io/Vocabulary.h"

#include "io/File.h"
#include "io/Quote.h"
#include "io/TextReader.h"
#include "support/Error.h"

namespace espalier {

Vocabulary Vocabulary::open(const std::string &path) {
  Vocabulary vocabulary;
  TextReader text(path);
  std::string_view line;
  while (text.nextLine(line)) {
    if (line.empty())
      text.malformed(1, "empty line; a vocabulary has one token a line");
    int32_t known = vocabulary.find(line);
    if (known >= 0)
      text.malformed(1,
                     "%s is already the token of line %d; every token "
                     "must be there once",
                     quote(line).c_str(), known + 1);
    if (line.find('\r') != std::string_view::npos)
      text.malformed(line.find('\r') + 1, "carriage return inside a token");
    vocabulary.add(line);
  }
  return vocabulary;
}

void Vocabulary::save(const std::string &path) const {
  std::string text;
  for (const std::string &token : tokens)
    text.append(token).push_back('\n');
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

int32_t Vocabulary::find(std::string_view token) const {
  auto it = ids.find(token);
  return it == ids.end() ? -1 : it->second;
}

int32_t Vocabulary::add(std::string_view token) {
  auto it = ids.find(token);
  if (it != ids.end())
    return it->second;
  if (token.empty())
    fail(ESPALIER_INVALID_ARGUMENT, "a vocabulary cannot hold an empty token");
  if (token.find_first_of("\r\n") != std::string_view::npos)
    fail(ESPALIER_INVALID_ARGUMENT,
         "a vocabulary cannot hold %s, which has a line break in it",
         quote(token).c_str());
  if (tokens.size() == (size_t)INT32_MAX)
    fail(ESPALIER_INVALID_ARGUMENT,
         "a vocabulary cannot hold more than %d tokens", INT32_MAX);
  int32_t id = (int32_t)tokens.size();
  tokens.emplace_back(token);
  ids.emplace(tokens.back(), id);
  return id;
}

void Vocabulary::truncate(int64_t size) {
  while ((int64_t)tokens.size() > size) {
    ids.erase(tokens.back());
    tokens.pop_back();
  }
}

} // namespace espalier
