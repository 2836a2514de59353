//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays in NumPy's .npy format (versions 1 to 3) and several of them, by name,
// in a .npz archive.
//
// Reading converts to what the runtime computes with, where that is exact:
// Fortran order to row-major, big-endian to little-endian, float16 to f32,
// booleans and integers to i32 (refused if a value does not fit). float32,
// float64 and int32 stay as they are; all else is refused.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_NPY_H
#define ESPALIER_IO_NPY_H

#include "tensor/Tensor.h"

#include <string>
#include <string_view>
#include <vector>

namespace espalier {

Tensor readNpy(const std::string &path);
/// Writes `tensor`, atomically; the same bytes as numpy.save.
void writeNpy(const std::string &path, const Tensor &tensor);

/// The arrays in the order of the archive, without their ".npy" suffix.
std::vector<NamedTensor> readNpz(const std::string &path);
/// Writes an uncompressed archive, atomically and without a date: the same
/// tensors give the same bytes.
void writeNpz(const std::string &path, const std::vector<NamedTensor> &tensors);

/// Decodes the bytes of a .npy file; `name` is what messages call it.
Tensor decodeNpy(std::string_view bytes, const std::string &name);
/// The .npy header that goes before the bytes of `tensor`.
std::string npyHeader(const Tensor &tensor);

} // namespace espalier

#endif // ESPALIER_IO_NPY_H
