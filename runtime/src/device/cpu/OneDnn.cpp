//===- OneDnn.cpp - Loading the oneDNN backend ----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/OneDnn.h"

#include "support/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace espalier {

/// The path of `fileName` in the folder of the library that holds this code.
static std::string besideThisLibrary(const std::string &fileName) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&besideThisLibrary), &info))
    return fileName;
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? fileName
                                    : path.substr(0, slash + 1) + fileName;
}

static void *loadLibrary() {
  const std::string path = besideThisLibrary(OneDnnLibraryName);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = library ? "" : dlerror();
  if (!library)
    library = dlopen(OneDnnLibraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(ESPALIER_UNSUPPORTED,
         "f32 matrix products need the oneDNN backend, which could not be "
         "loaded (%s); install oneDNN and build the runtime with it, or set "
         "ESPALIER_GEMM=builtin to use the built-in kernels",
         reason.c_str());
  return library;
}

template <typename Table> static const Table *findTable(const char *symbol) {
  static void *library = loadLibrary();
  auto query = reinterpret_cast<const Table *(*)()>(dlsym(library, symbol));
  const Table *table = query ? query() : nullptr;
  if (!table || table->structSize != sizeof(Table))
    fail(ESPALIER_INCOMPATIBLE,
         "the oneDNN backend '%s' was built for another version of the "
         "runtime; install the one that came with this runtime, or set "
         "ESPALIER_GEMM=builtin to use the built-in kernels",
         OneDnnLibraryName);
  return table;
}

const OneDnnBackend &oneDnn() {
  static const auto *table = findTable<OneDnnBackend>(OneDnnQuerySymbol);
  return *table;
}

const OneDnnLayers &oneDnnLayers() {
  static const auto *table = findTable<OneDnnLayers>(OneDnnLayersSymbol);
  return *table;
}

GemmChoice gemmChoice() {
  const char *value = std::getenv("ESPALIER_GEMM");
  std::string choice = value ? value : "auto";
  if (choice == "auto")
    return GemmChoice::Auto;
  if (choice == "onednn")
    return GemmChoice::OneDnn;
  if (choice != "builtin")
    fail(ESPALIER_INVALID_ARGUMENT,
         "the environment variable ESPALIER_GEMM is '%s'; expected 'auto', "
         "'onednn' or 'builtin'",
         choice.c_str());
  return GemmChoice::Builtin;
}

} // namespace espalier
