//===- ReadPtb.cpp - Bracketed trees --------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over the text with a stack of open brackets. The children of every
// open bracket lie on a second stack, so that a vertex's are on its top when it
// closes.
//
//===----------------------------------------------------------------------===//
#include "io/Quote.h"
#include "io/Readers.h"
#include "io/TextReader.h"
#include "support/Error.h"

namespace espalier {

namespace {

/// The labels of one file, numbered as they appear. At the end they turn out to
/// be integers or names.
class Labels {
public:
  int32_t add(const TextReader &text, std::string_view label, int64_t column) {
    int32_t id = names.find(label);
    if (id >= 0)
      return id;
    int32_t value = 0;
    bool integer = parseInteger(label, value);
    if (names.size() == 0)
      integers = integer;
    else if (integer != integers)
      text.malformed(column,
                     "the label %s is %s, but those before are %s, such as %s; "
                     "use one kind in a file",
                     quote(label).c_str(), integer ? "an integer" : "a name",
                     integers ? "integers" : "names",
                     quote(names.token(0)).c_str());
    values.push_back(integer ? value : (int32_t)values.size());
    return names.add(label);
  }
  int32_t value(int32_t id) const { return id < 0 ? -1 : values[id]; }

private:
  Vocabulary names;
  std::vector<int32_t> values;
  bool integers = false;
};

/// An open bracket.
struct Open {
  int64_t line;
  int64_t column;
  int32_t label; // -1: none (yet)
  bool hasToken;
  int32_t word;      // the token's id, perhaps -1; -1 without a token
  size_t firstChild; // on the stack of children
};

class PtbReader {
public:
  explicit PtbReader(TextReader &text) : text(text) {}

  Forest read() {
    std::string_view line;
    while (text.nextLine(line))
      for (size_t at = 0; at < line.size();)
        at = readPiece(line, at);
    if (!open.empty())
      text.malformedAt(open.front().line, open.front().column,
                       "the tree that starts here does not end: %zu '(' %s no "
                       "')' before the end of the file",
                       open.size(), open.size() == 1 ? "has" : "have");
    for (int32_t &label : labelField)
      label = labels.value(label);
    setField(forest, "word", wordField);
    setField(forest, "label", labelField);
    return std::move(forest);
  }

private:
  /// Reads a bracket, an atom or a blank at `at` and returns where it ends.
  size_t readPiece(std::string_view line, size_t at) {
    char c = line[at];
    if (isBlank(c))
      return at + 1;
    if (c == '(') {
      openBracket(at + 1);
      return at + 1;
    }
    if (c == ')') {
      closeBracket(at + 1);
      return at + 1;
    }
    size_t end = at;
    while (end < line.size() && !isBlank(line[end]) && line[end] != '(' &&
           line[end] != ')')
      ++end;
    readAtom(line.substr(at, end - at), at + 1);
    return end;
  }

  void openBracket(int64_t column) {
    if (!open.empty() && open.back().hasToken)
      text.malformed(column, "this vertex has a token and children; a vertex "
                             "has one token or one or more trees");
    open.push_back({text.line(), column, -1, false, -1, children.size()});
  }

  void readAtom(std::string_view atom, int64_t column) {
    if (open.empty())
      text.malformed(column, "expected '(', found %s", quote(atom).c_str());
    Open &top = open.back();
    bool hasChildren = top.firstChild != children.size();
    if (top.label < 0 && !hasChildren) {
      top.label = labels.add(text, atom, column);
      return;
    }
    if (hasChildren)
      text.malformed(column,
                     "expected '(' or ')', found the token %s; a vertex has "
                     "one token or one or more trees",
                     quote(atom).c_str());
    if (top.hasToken)
      text.malformed(column,
                     "expected ')', found a second token %s; a token has no "
                     "blanks in it",
                     quote(atom).c_str());
    top.hasToken = true;
    top.word = text.wordId(atom, column);
  }

  void closeBracket(int64_t column) {
    if (open.empty())
      text.malformed(column, "')' without a '(' before it");
    const Open &top = open.back();
    if (!top.hasToken && top.firstChild == children.size())
      text.malformedAt(top.line, top.column,
                       "this vertex has neither a token nor children; expected "
                       "'(label token)' or '(label tree ...)'");
    forest.children.insert(forest.children.end(),
                           children.begin() + top.firstChild, children.end());
    children.resize(top.firstChild);
    int32_t vertex = addVertex(forest);
    wordField.push_back(top.word);
    labelField.push_back(top.label);
    open.pop_back();
    if (open.empty())
      endStructure(forest);
    else
      children.push_back(vertex);
  }

  TextReader &text;
  Forest forest;
  Labels labels;
  std::vector<Open> open;
  std::vector<int32_t> children;
  std::vector<int32_t> wordField;
  std::vector<int32_t> labelField;
};

} // namespace

Forest readPtb(TextReader &text) { return PtbReader(text).read(); }

} // namespace espalier
