//===- Arguments.h - Arguments from files, batch by batch -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays that --input names: rows of vertices become fields of the structures,
// all others are cut into the rows of every batch.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_ARGUMENTS_H
#define ESPALIER_RUN_ARGUMENTS_H

#include "Graphs.h"

#include "espalier/runtime.hpp"
#include "tensor/Tensor.h"

#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

using namespace runtime;

/// Which structures and vertices of the file a batch has.
struct BatchRange {
  int64_t firstStructure;
  int64_t structures;
  /// Of each graph.
  std::vector<int64_t> firstVertex;
  std::vector<int64_t> vertices;
};

class Arguments {
public:
  /// Reads the files and checks that they have a row a structure or vertex of
  /// all `graphs`, where `entry` says so. `flag` is what gave them.
  Arguments(const espalier_entry &entry, const char *flag,
            const std::vector<std::pair<std::string, std::string>> &files,
            Graphs &graphs);

  /// Of an entry without graphs: how many samples the files have. They agree,
  /// and are as many as the entry takes at a time, or several times that.
  static int64_t
  countSamples(const espalier_entry &entry, const char *flag,
               const std::vector<std::pair<std::string, std::string>> &files);

  /// Whether `name` was given.
  bool has(const std::string &name) const;

  /// Adds an argument with a part for each sample.
  void addPerSample(std::string name, Tensor tensor);

  /// Views of the rows of one batch; they live as long as this object.
  std::vector<NamedView> slice(const BatchRange &range) const;

  /// Rows that lie together nowhere else.
  struct Selection {
    std::vector<Tensor> rows;
    std::vector<NamedView> views;
  };
  /// The rows of the structures of these numbers.
  Selection select(const std::vector<int64_t> &numbers) const;

private:
  struct Argument {
    std::string name;
    bool perStructure; // or one for all
    Tensor tensor;
  };
  std::vector<Argument> arguments;
};

/// "image=a.npy, label=b.npy", for messages.
std::string
textOf(const std::vector<std::pair<std::string, std::string>> &files);

} // namespace espalier::run

#endif // ESPALIER_RUN_ARGUMENTS_H
