//===- ReadConllu.cpp - Dependency trees ----------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sentence is collected word by word; at its end the heads become child lists
// and a walk from the roots numbers the vertices.
//
//===----------------------------------------------------------------------===//
#include "io/Quote.h"
#include "io/Readers.h"
#include "io/TextReader.h"
#include "support/Error.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace espalier {

namespace {

/// The tags of Universal Dependencies 2; a tag's number is its index.
constexpr std::string_view kTags[] = {
    "ADJ",  "ADP",  "ADV",   "AUX",   "CCONJ", "DET", "INTJ", "NOUN", "NUM",
    "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"};

int32_t tagNumber(std::string_view tag) {
  auto it = std::find(std::begin(kTags), std::end(kTags), tag);
  return it == std::end(kTags) ? -1 : (int32_t)(it - std::begin(kTags));
}

struct Word {
  int32_t form;
  int32_t tag;
  int32_t head; // from 1; 0 for a root
  int64_t line;
  int64_t headColumn;
};

class ConlluReader {
public:
  explicit ConlluReader(TextReader &text) : text(text) {}

  Forest read() {
    std::string_view line, token;
    while (text.nextLine(line)) {
      size_t start = 0;
      if (!nextToken(line, start, token))
        endSentence();
      else if (line[0] != '#')
        readLine(line);
    }
    endSentence();
    setField(forest, "word", wordField);
    setField(forest, "upos", tagField);
    setField(forest, "index", indexField);
    return std::move(forest);
  }

private:
  static constexpr size_t kColumns = 10;
  enum { kId = 0, kForm = 1, kUpos = 3, kHead = 6 };

  void readLine(std::string_view line) {
    std::array<std::string_view, kColumns> columns;
    size_t begin = 0, count = 0;
    while (true) {
      size_t end = std::min(line.find('\t', begin), line.size());
      if (count < kColumns)
        columns[count] = line.substr(begin, end - begin);
      ++count;
      if (end == line.size())
        break;
      begin = end + 1;
    }
    if (count != kColumns)
      text.malformed(1,
                     "expected %zu columns with a tab between any two, found "
                     "%zu",
                     kColumns, count);
    auto columnOf = [&](size_t i) {
      return (int64_t)(columns[i].data() - line.data()) + 1;
    };

    std::string_view id = columns[kId];
    if (isRangeOrEmptyNode(id))
      return;
    int32_t number = 0;
    int32_t expected = (int32_t)words.size() + 1;
    if (!parseInteger(id, number) || number != expected)
      text.malformed(columnOf(kId),
                     "expected the word's number %d, or one like '1-2' or "
                     "'1.1'; found %s",
                     expected, quote(id).c_str());
    Word word;
    if (!parseInteger(columns[kHead], word.head) || word.head < 0)
      text.malformed(columnOf(kHead),
                     "expected the number of the word's head, 0 for the root; "
                     "found %s",
                     quote(columns[kHead]).c_str());
    if (columns[kForm].empty())
      text.malformed(columnOf(kForm), "the word has no form");
    word.form = text.wordId(columns[kForm], columnOf(kForm));
    word.tag = tagNumber(columns[kUpos]);
    word.line = text.line();
    word.headColumn = columnOf(kHead);
    words.push_back(word);
  }

  /// "2-3" and "3.1" are not words.
  static bool isRangeOrEmptyNode(std::string_view id) {
    size_t separator = id.find_first_of("-.");
    int32_t first = 0, second = 0;
    return separator != std::string_view::npos &&
           parseInteger(id.substr(0, separator), first) &&
           parseInteger(id.substr(separator + 1), second) && first >= 0 &&
           second >= 0;
  }

  void endSentence() {
    if (words.empty())
      return;
    sortDependents();
    for (size_t i = 0; i != words.size(); ++i)
      if (words[i].head == 0)
        addTree((int32_t)i);
    if (added != words.size())
      reportCycle();
    endStructure(forest);
    words.clear();
  }

  /// Makes dependents[firstDependent[h] .. firstDependent[h + 1]) the words
  /// with head h, in the order of the sentence.
  void sortDependents() {
    size_t count = words.size();
    firstDependent.assign(count + 2, 0);
    for (const Word &word : words) {
      if ((size_t)word.head > count)
        text.malformedAt(word.line, word.headColumn,
                         "the head is word %d, but the sentence has %zu",
                         word.head, count);
      ++firstDependent[word.head + 1];
    }
    for (size_t h = 0; h <= count; ++h)
      firstDependent[h + 1] += firstDependent[h];
    std::vector<int32_t> next(firstDependent.begin(), firstDependent.end());
    dependents.resize(count);
    for (size_t i = 0; i != count; ++i)
      dependents[next[words[i].head]++] = (int32_t)i;
    vertexOf.assign(count, -1);
    added = 0;
  }

  /// Adds the vertices of a root's tree in post-order.
  void addTree(int32_t root) {
    // A word and which of its dependents comes next.
    std::vector<std::pair<int32_t, int32_t>> path;
    path.emplace_back(root, firstDependent[root + 1]);
    while (!path.empty()) {
      auto &[word, next] = path.back();
      if (next != firstDependent[word + 2]) {
        int32_t dependent = dependents[next++];
        path.emplace_back(dependent, firstDependent[dependent + 1]);
        continue;
      }
      addWord(word);
      path.pop_back();
    }
  }

  void addWord(int32_t word) {
    for (int32_t d = firstDependent[word + 1]; d != firstDependent[word + 2];
         ++d)
      forest.children.push_back(vertexOf[dependents[d]]);
    vertexOf[word] = addVertex(forest);
    wordField.push_back(words[word].form);
    tagField.push_back(words[word].tag);
    indexField.push_back(word);
    ++added;
  }

  /// Words that no root reaches lead to a cycle when one follows their heads.
  [[noreturn]] void reportCycle() {
    int32_t word = 0;
    while (vertexOf[word] >= 0)
      ++word;
    std::vector<bool> seen(words.size());
    for (; !seen[word]; word = words[word].head - 1)
      seen[word] = true;
    std::string cycle;
    int32_t first = word;
    do {
      cycle +=
          format("%d (line %lld) -> ", word + 1, (long long)words[word].line);
      word = words[word].head - 1;
    } while (word != first);
    text.malformedAt(words[first].line, words[first].headColumn,
                     "the heads form a cycle: %s%d", cycle.c_str(), first + 1);
  }

  TextReader &text;
  Forest forest;
  std::vector<int32_t> wordField;
  std::vector<int32_t> tagField;
  std::vector<int32_t> indexField;
  // The sentence being read.
  std::vector<Word> words;
  std::vector<int32_t> firstDependent;
  std::vector<int32_t> dependents;
  std::vector<int32_t> vertexOf; // -1: not added
  size_t added = 0;
};

} // namespace

Forest readConllu(TextReader &text) { return ConlluReader(text).read(); }

} // namespace espalier
