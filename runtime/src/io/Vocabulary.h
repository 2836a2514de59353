//===- Vocabulary.h - Tokens and their ids ----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maps tokens to ids 0, 1, 2, ... in the order in which they were added, so
// that the same data always gives the same ids. On disk a vocabulary is UTF-8
// text with one token a line; a token's id is its line number, from 0. The
// token "<unk>", if there is one, stands for all tokens that are not there.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_VOCABULARY_H
#define ESPALIER_IO_VOCABULARY_H

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace espalier {

class Vocabulary {
public:
  static constexpr const char *kUnknown = "<unk>";

  Vocabulary() = default;
  Vocabulary(Vocabulary &&) = default;
  Vocabulary &operator=(Vocabulary &&) = default;
  Vocabulary(const Vocabulary &) = delete;
  Vocabulary &operator=(const Vocabulary &) = delete;

  /// Reads a file. A byte order mark and carriage returns before line ends are
  /// dropped. Empty lines and duplicates are MALFORMED, with the line number.
  static Vocabulary open(const std::string &path);
  /// Writes the file that open() reads, atomically.
  void save(const std::string &path) const;

  int64_t size() const { return (int64_t)tokens.size(); }
  const std::string &token(int32_t id) const { return tokens[id]; }

  /// The token's id, or -1.
  int32_t find(std::string_view token) const;
  /// The token's id; a new one if it is not there. INVALID_ARGUMENT if it could
  /// not be a line of a file: empty, or with a line break in it.
  int32_t add(std::string_view token);
  /// Forgets all tokens but the first `size`.
  void truncate(int64_t size);

private:
  std::deque<std::string> tokens; // never moves its elements
  std::unordered_map<std::string_view, int32_t> ids;
};

} // namespace espalier

#endif // ESPALIER_IO_VOCABULARY_H
