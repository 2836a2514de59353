//===- Gemm.cpp - Choosing and loading a backend --------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/Gemm.h"

#include "device/cpu/GemmBuiltin.h"
#include "device/cpu/onednn/Backend.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace espalier {

namespace {

/// The path of `fileName` in the folder of the library that holds this code.
std::string besideThisLibrary(const std::string &fileName) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&besideThisLibrary), &info))
    return fileName;
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? fileName
                                    : path.substr(0, slash + 1) + fileName;
}

const OneDnnBackend *loadOneDnn() {
  const std::string path = besideThisLibrary(OneDnnLibraryName);
  const char *useBuiltin =
      "install oneDNN and build the runtime with it, or set "
      "ESPALIER_GEMM=builtin to use the built-in kernels";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string reason = library ? "" : dlerror();
  if (!library)
    library = dlopen(OneDnnLibraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(ESPALIER_UNSUPPORTED,
         "f32 matrix products need the oneDNN backend, which could not be "
         "loaded (%s); %s",
         reason.c_str(), useBuiltin);
  auto query =
      reinterpret_cast<OneDnnBackendQuery>(dlsym(library, OneDnnQuerySymbol));
  const OneDnnBackend *backend = query ? query() : nullptr;
  if (!backend || backend->structSize != sizeof(OneDnnBackend))
    fail(ESPALIER_INCOMPATIBLE,
         "the oneDNN backend '%s' was built for another version of the "
         "runtime; install the one that came with this runtime, or set "
         "ESPALIER_GEMM=builtin to use the built-in kernels",
         OneDnnLibraryName);
  return backend;
}

/// Loaded once and never unloaded. A failure to load is tried again.
const OneDnnBackend &oneDnn() {
  static const OneDnnBackend *backend = loadOneDnn();
  return *backend;
}

class OneDnnWeight final : public PackedWeight {
public:
  OneDnnWeight(int64_t k, int64_t n, const float *weight)
      : PackedWeight(k, n), backend(oneDnn()),
        packed(backend.pack(k, n, weight)) {
    if (!packed)
      fail(ESPALIER_UNSUPPORTED, "oneDNN cannot pack a %ldx%ld f32 weight: %s",
           (long)k, (long)n, backend.error());
  }
  ~OneDnnWeight() override { backend.destroy(packed); }

  void multiply(const void *in, int64_t ldIn, void *out, int64_t ldOut,
                int64_t m) const override {
    if (!backend.multiply(packed, static_cast<const float *>(in), ldIn,
                          static_cast<float *>(out), ldOut, m))
      fail(ESPALIER_UNSUPPORTED,
           "oneDNN cannot multiply %ld rows with a %ldx%ld f32 weight: %s",
           (long)m, (long)k(), (long)n(), backend.error());
  }

private:
  const OneDnnBackend &backend;
  void *packed;
};

bool hasAvx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

bool useBuiltin() {
  const char *value = std::getenv("ESPALIER_GEMM");
  std::string choice = value ? value : "auto";
  if (choice != "auto" && choice != "onednn" && choice != "builtin")
    fail(ESPALIER_INVALID_ARGUMENT,
         "the environment variable ESPALIER_GEMM is '%s'; expected 'auto', "
         "'onednn' or 'builtin'",
         choice.c_str());
  return choice == "builtin" || (choice == "auto" && !hasAvx512());
}

} // namespace

std::unique_ptr<PackedWeight> PackedWeight::pack(uint32_t dtype, int64_t k,
                                                 int64_t n,
                                                 const void *rowMajorKxN) {
  if (k < 0 || n < 0)
    fail(ESPALIER_INVALID_ARGUMENT,
         "a weight cannot be %ldx%ld: expected extents of at least 0", (long)k,
         (long)n);
  if (dtype == ESPALIER_F64)
    return packBuiltin(k, n, static_cast<const double *>(rowMajorKxN));
  if (dtype != ESPALIER_F32)
    fail(ESPALIER_UNSUPPORTED,
         "matrix products of %s are not supported: expected f32 or f64",
         dtypeName(dtype));
  const float *weight = static_cast<const float *>(rowMajorKxN);
  if (useBuiltin() || k == 0 || n == 0)
    return packBuiltin(k, n, weight);
  return std::make_unique<OneDnnWeight>(k, n, weight);
}

} // namespace espalier
