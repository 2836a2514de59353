//===- Safetensors.h - Weights on disk --------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The safetensors format: eight bytes of header length, a JSON header that
// gives every tensor's dtype, shape and byte range, and the bytes.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_SAFETENSORS_H
#define ESPALIER_IO_SAFETENSORS_H

#include "tensor/Tensor.h"

#include <map>
#include <string>
#include <vector>

namespace espalier {

/// Maps the file at `path`; the tensors, in the order of their names, share the
/// mapping. MALFORMED, with the byte offset, unless every byte of the file
/// belongs to the header or to exactly one tensor; UNSUPPORTED for tensors that
/// are not F32, F64 or I32.
std::vector<NamedTensor> readSafetensors(const std::string &path);

/// What a file says about itself, by name.
using Metadata = std::map<std::string, std::string>;

/// The metadata of the file at `path`, which is checked as by readSafetensors.
Metadata readSafetensorsMetadata(const std::string &path);

/// Writes the tensors to `path`, atomically. Their order does not matter: the
/// same tensors and metadata give the same bytes. Names and metadata must be
/// UTF-8.
void writeSafetensors(const std::string &path,
                      const std::vector<NamedTensor> &tensors,
                      const Metadata &metadata = {});

} // namespace espalier

#endif // ESPALIER_IO_SAFETENSORS_H
