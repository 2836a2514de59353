//===- Readers.cpp - Structures from files --------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses a reader by the name of the format.
//
//===----------------------------------------------------------------------===//
#include "io/Readers.h"

#include "io/TextReader.h"
#include "support/Error.h"

namespace espalier {

namespace {
struct Format {
  const char *name;
  Forest (*read)(TextReader &);
};
} // namespace

static const Format kFormats[] = {
    {"ptb", readPtb},
    {"sequence", readSequences},
    {"conllu", readConllu},
    {"jsonl", readJsonLines},
};

Forest readStructures(const std::string &path, const std::string &format,
                      Vocabulary &vocabulary, espalier_unseen unseen) {
  for (const Format &candidate : kFormats) {
    if (format != candidate.name)
      continue;
    TextReader text(path);
    text.useVocabulary(vocabulary, unseen);
    int64_t size = vocabulary.size();
    try {
      Forest forest = candidate.read(text);
      forest.unseenTokens = text.unseenTokens();
      return forest;
    } catch (...) {
      vocabulary.truncate(size);
      throw;
    }
  }
  fail(ESPALIER_INVALID_ARGUMENT,
       "unknown format '%s'; expected 'ptb', 'sequence', 'conllu' or 'jsonl'",
       format.c_str());
}

} // namespace espalier
