//===- Module.cpp ---------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Module.h"

#include "module/Validate.h"
#include "support/Error.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace espalier {

//===----------------------------------------------------------------------===//
// Processor features
//===----------------------------------------------------------------------===//

enum class Support { Yes, No, Unknown };

/// Whether this processor has the feature that LLVM calls `name`.
static Support supports(const std::string &name) {
#if defined(__x86_64__)
  // The builtin wants literals.
#define FEATURE(NAME)                                                          \
  if (name == NAME)                                                            \
    return __builtin_cpu_supports(NAME) ? Support::Yes : Support::No;
  FEATURE("sse")
  FEATURE("sse2")
  FEATURE("sse3")
  FEATURE("ssse3")
  FEATURE("sse4.1")
  FEATURE("sse4.2")
  FEATURE("popcnt")
  FEATURE("avx")
  FEATURE("avx2")
  FEATURE("fma")
  FEATURE("f16c")
  FEATURE("bmi")
  FEATURE("bmi2")
  FEATURE("lzcnt")
  FEATURE("avx512f")
  FEATURE("avx512cd")
  FEATURE("avx512bw")
  FEATURE("avx512dq")
  FEATURE("avx512vl")
  FEATURE("avx512vnni")
  FEATURE("avx512bf16")
  FEATURE("avx512ifma")
  FEATURE("avx512vbmi")
  FEATURE("avx512vbmi2")
  FEATURE("avx512bitalg")
  FEATURE("avx512vpopcntdq")
#undef FEATURE
#endif
  (void)name;
  return Support::Unknown;
}

/// Checks "avx2,fma": every feature that the kernels use must be there.
static void checkProcessor(const espalier_model &model) {
  const char *list = model.target_features ? model.target_features : "";
  std::string missing, unknown;
  while (*list) {
    size_t length = std::strcspn(list, ",");
    std::string name(list, length);
    list += length + (list[length] == ',');
    if (!name.empty() && name[0] == '+')
      name.erase(0, 1);
    if (name.empty() || name[0] == '-') // "-x" is a feature not used
      continue;
    Support support = supports(name);
    if (support == Support::No)
      missing += (missing.empty() ? "" : ", ") + name;
    else if (support == Support::Unknown)
      unknown += (unknown.empty() ? "" : ", ") + name;
  }
  const char *cpu = model.target_cpu ? model.target_cpu : "unknown";
  if (!missing.empty())
    fail(ESPALIER_INCOMPATIBLE,
         "model '%s' was compiled for processor '%s' and needs %s, which this "
         "processor lacks; compile it for this one or for an older one",
         model.name, cpu, missing.c_str());
  if (!unknown.empty())
    fail(ESPALIER_INCOMPATIBLE,
         "model '%s' was compiled for processor '%s' and needs %s, which this "
         "runtime cannot look for; compile it without, or use a newer runtime",
         model.name, cpu, unknown.c_str());
}

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

Module::Module(const espalier_model *model) : tables(model) {
  validateModel(model);
  checkProcessor(*model);
}

Module::~Module() {
  if (library)
    dlclose(library);
}

std::unique_ptr<Module> Module::load(const std::string &path) {
  if (access(path.c_str(), R_OK) != 0)
    fail(errno == ENOENT || errno == ENOTDIR ? ESPALIER_NOT_FOUND
                                             : ESPALIER_IO_ERROR,
         "cannot read the library '%s': %s", path.c_str(),
         std::strerror(errno));
  // Without a slash the loader would search its own directories.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail(ESPALIER_MALFORMED, "cannot load the library: %s", dlerror());
  std::unique_ptr<void, int (*)(void *)> closer(handle, dlclose);
  auto query = reinterpret_cast<espalier_model_query_fn>(
      dlsym(handle, ESPALIER_MODEL_QUERY_SYMBOL));
  if (!query)
    fail(ESPALIER_MALFORMED,
         "the library '%s' is not a compiled model: it has no symbol '%s'",
         path.c_str(), ESPALIER_MODEL_QUERY_SYMBOL);
  try {
    auto module = std::make_unique<Module>(query());
    module->library = closer.release();
    return module;
  } catch (const Error &error) {
    throw Error(error.code(), path + ": " + error.message());
  }
}

const espalier_entry &Module::entry(const char *name) const {
  std::string names;
  for (uint32_t e = 0; e < tables->entry_count; ++e) {
    const espalier_entry &entry = tables->entries[e];
    if (!name || !std::strcmp(entry.name, name))
      return entry;
    names += (names.empty() ? "'" : ", '") + std::string(entry.name) + "'";
  }
  if (tables->entry_count == 0)
    fail(ESPALIER_NOT_FOUND, "model '%s' has no entry", tables->name);
  fail(ESPALIER_NOT_FOUND, "model '%s' has no entry '%s'; it has %s",
       tables->name, name, names.c_str());
}

} // namespace espalier
