//===- OneDnn.h - The oneDNN backend, where it is wanted --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_ONEDNN_H
#define ESPALIER_DEVICE_CPU_ONEDNN_H

#include "device/cpu/onednn/Backend.h"
#include "device/cpu/onednn/LayerBackend.h"

namespace espalier {

/// What the environment variable ESPALIER_GEMM asks for (see Gemm.h).
enum class GemmChoice { Auto, OneDnn, Builtin };
/// INVALID_ARGUMENT if it is none of these.
GemmChoice gemmChoice();

/// Its tables, from a library that is loaded once and never unloaded. A failure
/// to load is tried again. UNSUPPORTED if there is none, INCOMPATIBLE if it is
/// that of another runtime.
const OneDnnBackend &oneDnn();
const OneDnnLayers &oneDnnLayers();

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_ONEDNN_H
