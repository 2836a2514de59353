//===- ByteSize.h - Sizes that people write and read ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Budgets and memories are given as "12GiB" on command lines and in files, and
// shown so in reports.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_BYTESIZE_H
#define ESPALIER_PLANNING_BYTESIZE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::planning {

/// The bytes of "4096", "12GiB", "1.5 MiB" or "16GB": B, kB, MB, GB and TB are
/// powers of 1000, KiB, MiB, GiB and TiB of 1024. None if `text` is no such
/// size, or one that is negative or beyond 2^63 - 1.
std::optional<int64_t> parseByteSize(std::string_view text);

/// With the largest of B, KiB, MiB, GiB and TiB that leaves a number of at
/// least 1, rounded to two digits after the point: "1.50 MiB", "17 B".
std::string formatByteSize(int64_t bytes);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_BYTESIZE_H
