//===- CheckBuffers.h - Do buffers overlap? ---------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks where buffers lie, whoever assigned it: this shares no code with what
// assigns them, nor its types.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_CHECKBUFFERS_H
#define ESPALIER_PLANNING_CHECKBUFFERS_H

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::planning {

/// Bytes [offset, offset + size) at the times [lower, upper).
struct PlacedBuffer {
  int64_t lower = 0;
  int64_t upper = 0;
  int64_t offset = 0;
  int64_t size = 0;
  int64_t alignment = 1;
};

/// What is wrong, of the first buffer in time: below 0, beyond `capacity`,
/// misaligned, or at the same time on the same bytes as another. Empty if
/// nothing is. A buffer is called by its name if there are `names`, else by its
/// number.
/// Buffers without bytes or without times are never in the way.
std::string checkBuffers(const std::vector<PlacedBuffer> &buffers,
                         int64_t capacity = INT64_MAX,
                         const std::vector<std::string> &names = {});

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_CHECKBUFFERS_H
