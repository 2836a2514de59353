//===- Files.h - What the interpreter reads and writes ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime's readers and writers around an evaluation. They throw, and the
// compiler does not know exceptions: none leaves this interface.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_INTERPRET_FILES_H
#define ESPALIER_INTERPRET_FILES_H

#include "espalier/Reference/Values.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier::interpret {

/// A file of structures.
struct StructureFile {
  /// The graph that they are for; empty: the entry's only one.
  std::string graph;
  std::string path;
  std::string format;
};

/// As on the command line; an empty string is a file that is not given.
struct Options {
  std::string model;
  std::vector<StructureFile> structures;
  std::string vocabulary;
  std::string saveVocabulary;
  std::string weights;
  std::optional<uint64_t> randomWeights;
  std::string saveWeights;
  /// Files by name of the argument.
  std::map<std::string, std::string> inputs;
  std::string output;
  /// Only the first structures are evaluated; negative: all.
  int64_t limit = -1;
};

/// An argument or result of the entry other than its graphs.
struct Port {
  enum class Element { f32, f64, i32, i1 };

  std::string name;
  /// Bound from the weights. Other arguments are inputs, or else fields of the
  /// structures.
  bool isParameter = false;
  /// A parameter that is zeros if the weights do not have it.
  bool isState = false;
  Element element;
  /// With a leading extent for the rows, if there is one; it is -1.
  std::vector<int64_t> shape;

  bool hasRows() const { return !shape.empty() && shape[0] < 0; }
};

struct Entry {
  std::string name;
  /// Names of the graph arguments.
  std::vector<std::string> graphs;
  std::vector<Port> arguments;
  std::vector<Port> results;
  /// Parameters of the other entries, which weights may have too.
  std::vector<std::string> parametersElsewhere;
};

/// Evaluates the entry on structures for each graph argument: results, or
/// nothing if it has reported an error.
using Evaluate = std::function<std::optional<std::vector<reference::Array>>(
    const std::vector<reference::Structures> &, std::vector<reference::Array>)>;

/// Reads what `entry` needs, evaluates, and writes what `options` ask for, so
/// that an evaluation that fails leaves no files behind. Returns false after an
/// error; its message is then in `error`, unless `evaluate` has reported it.
bool run(const Options &options, const Entry &entry, const Evaluate &evaluate,
         std::string &error);

} // namespace espalier::interpret

#endif // ESPALIER_INTERPRET_FILES_H
