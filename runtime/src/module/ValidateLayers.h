//===- ValidateLayers.h - Checks a compiled layer ---------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Validate.h is for steps that are layers. Their kernels rely on it: after
// it no attribute can make them touch what is not theirs.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_VALIDATELAYERS_H
#define ESPALIER_MODULE_VALIDATELAYERS_H

#include "espalier/abi.h"

#include <string>

namespace espalier {

/// "conv2d"; null if there is no such kind.
const char *layerName(uint32_t kind);

/// What is wrong with a LAYER step and its operands, whose buffers are of the
/// entry's table: "conv2d: ... expected ..."; empty if nothing is.
std::string findLayerFault(const espalier_entry &entry,
                           const espalier_step &step);

/// Whether the layer may write its operand `result` where it reads its operand
/// `read`.
bool mayBeInPlace(uint32_t layerKind, uint32_t read, uint32_t result);

} // namespace espalier

#endif // ESPALIER_MODULE_VALIDATELAYERS_H
