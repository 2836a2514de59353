//===- ReadSequences.cpp - Lines of tokens --------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every line is a chain of its tokens.
//
//===----------------------------------------------------------------------===//
#include "io/Readers.h"
#include "io/TextReader.h"

namespace espalier {

Forest readSequences(TextReader &text) {
  Forest forest;
  std::vector<int32_t> words;
  std::string_view line, token;
  while (text.nextLine(line)) {
    size_t position = 0;
    int32_t previous = -1;
    while (nextToken(line, position, token)) {
      words.push_back(text.wordId(token, token.data() - line.data() + 1));
      if (previous >= 0)
        forest.children.push_back(previous);
      previous = addVertex(forest);
    }
    endStructure(forest);
  }
  setField(forest, "word", words);
  return forest;
}

} // namespace espalier
