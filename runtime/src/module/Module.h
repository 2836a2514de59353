//===- Module.h - A compiled model, loaded ----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_MODULE_H
#define ESPALIER_MODULE_MODULE_H

#include "espalier/abi.h"

#include <memory>
#include <string>

namespace espalier {

/// The checked tables of a model, and the library that they are in.
class Module {
public:
  /// Loads the shared library at `path`.
  static std::unique_ptr<Module> load(const std::string &path);
  /// A model whose tables and code are part of the program.
  explicit Module(const espalier_model *model);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  const espalier_model &model() const { return *tables; }
  /// The entry of this name; if it is null, the only one.
  const espalier_entry &entry(const char *name) const;

private:
  const espalier_model *tables;
  void *library = nullptr;
};

} // namespace espalier

#endif // ESPALIER_MODULE_MODULE_H
