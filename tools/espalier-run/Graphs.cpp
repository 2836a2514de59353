//===- Graphs.cpp - The structures of an entry's graphs -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Graphs.h"

#include "support/Error.h"

namespace espalier::run {

std::string textOf(const std::vector<StructureFile> &files) {
  std::string text;
  for (const StructureFile &file : files)
    text += (text.empty() ? "" : ", ") +
            (file.graph.empty() ? "" : file.graph + "=") + file.path;
  return text;
}

//===----------------------------------------------------------------------===//
// Files for graphs
//===----------------------------------------------------------------------===//

static std::vector<uint32_t> graphArguments(const espalier_entry &entry) {
  std::vector<uint32_t> numbers;
  for (uint32_t g = 0; g != entry.graph_count; ++g)
    if (entry.graphs[g].reverse_of == 0)
      numbers.push_back(g);
  return numbers;
}

[[noreturn]] static void failAt(const espalier_entry &entry, const char *flag,
                                const StructureFile *file) {
  std::string names;
  for (uint32_t g : graphArguments(entry))
    names +=
        (names.empty() ? "'" : ", '") + std::string(entry.graphs[g].name) + "'";
  std::string found = file ? textOf({*file}) : "none";
  fail(ESPALIER_INVALID_ARGUMENT,
       "entry '%s' runs over %s; expected %s NAME=FILE once for each, found %s",
       entry.name, names.empty() ? "no graph" : names.c_str(), flag,
       found.c_str());
}

/// The file for the graph argument `name`.
static const StructureFile &findFile(const espalier_entry &entry,
                                     const char *flag, const std::string &name,
                                     const std::vector<StructureFile> &files) {
  const StructureFile *found = nullptr;
  for (const StructureFile &file : files) {
    if (file.graph != name)
      continue;
    if (found)
      failAt(entry, flag, &file);
    found = &file;
  }
  if (!found)
    fail(ESPALIER_INVALID_ARGUMENT, "entry '%s' needs %s %s=FILE", entry.name,
         flag, name.c_str());
  return *found;
}

Graphs Graphs::read(const espalier_entry &entry, const char *flag,
                    const std::vector<StructureFile> &files,
                    Vocabulary &vocabulary, espalier_unseen unseen) {
  Graphs result;
  auto add = [&](uint32_t number, std::string name, const StructureFile &file) {
    result.graphs.push_back(
        {number, std::move(name),
         Structures::read(file.path, file.format, vocabulary, unseen)});
  };
  std::vector<uint32_t> numbers = graphArguments(entry);
  if (files.empty()) {
    if (!numbers.empty())
      fail(ESPALIER_INVALID_ARGUMENT,
           "%s is required: entry '%s' runs over structures", flag, entry.name);
    // A network without graphs runs once.
    Structures one;
    one.append(std::vector<std::vector<int32_t>>(1));
    result.graphs.push_back({0, "", std::move(one)});
    return result;
  }
  if (numbers.size() <= 1 && files.size() == 1 && files[0].graph.empty()) {
    if (numbers.empty())
      add(0, "", files[0]);
    else
      add(numbers[0], entry.graphs[numbers[0]].name, files[0]);
    return result;
  }
  for (const StructureFile &file : files) {
    bool known = false;
    for (uint32_t g : numbers)
      known |= file.graph == entry.graphs[g].name;
    if (!known)
      failAt(entry, flag, &file);
  }
  for (uint32_t g : numbers) {
    std::string name = entry.graphs[g].name;
    add(g, name, findFile(entry, flag, name, files));
    int64_t first = result.count(),
            count = result.graphs.back().structures.count();
    if (first != count)
      fail(ESPALIER_INVALID_ARGUMENT,
           "there are %lld structures for graph '%s' and %lld for graph '%s'; "
           "entry '%s' needs as many of one as of the other",
           (long long)first, result.graphs.front().name.c_str(),
           (long long)count, name.c_str(), entry.name);
  }
  return result;
}

Graphs Graphs::ofSamples(int64_t count) {
  Structures structures;
  for (int64_t i = 0; i != count; ++i)
    structures.append({});
  Graphs result;
  result.graphs.push_back({0, "", std::move(structures)});
  return result;
}

//===----------------------------------------------------------------------===//
// All graphs at once
//===----------------------------------------------------------------------===//

std::vector<int64_t> Graphs::verticesOfEach() const {
  std::vector<int64_t> counts;
  for (const Graph &graph : graphs)
    counts.push_back(graph.structures.vertices());
  return counts;
}

int64_t Graphs::vertices() const {
  int64_t sum = 0;
  for (int64_t count : verticesOfEach())
    sum += count;
  return sum;
}

int64_t Graphs::unseenTokens() const {
  int64_t sum = 0;
  for (const Graph &graph : graphs)
    sum += graph.structures.unseenTokens();
  return sum;
}

size_t Graphs::indexOf(const espalier_entry &entry,
                       const espalier_buffer_desc &buffer) const {
  if (buffer.graph >= entry.graph_count)
    return 0; // It has no rows.
  uint32_t source = entry.graphs[buffer.graph].reverse_of;
  uint32_t number = source ? source - 1 : buffer.graph;
  size_t index = 0;
  while (index + 1 < graphs.size() && graphs[index].number != number)
    ++index;
  return index;
}

Graphs
Graphs::map(const std::function<Structures(const Structures &)> &part) const {
  Graphs result;
  for (const Graph &graph : graphs)
    result.graphs.push_back({graph.number, graph.name, part(graph.structures)});
  return result;
}

Graphs Graphs::slice(int64_t begin, int64_t end) const {
  return map([&](const Structures &all) { return all.slice(begin, end); });
}

Graphs Graphs::select(const std::vector<int64_t> &numbers) const {
  return map([&](const Structures &all) { return all.select(numbers); });
}

Result Graphs::run(const Session &session,
                   const std::vector<NamedView> &arguments) const {
  if (graphs.size() == 1)
    return session.run(graphs.front().structures, arguments);
  std::vector<NamedStructures> named;
  for (const Graph &graph : graphs)
    named.push_back({graph.name.c_str(), graph.structures});
  return session.run(named, arguments);
}

} // namespace espalier::run
