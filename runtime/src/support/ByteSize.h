//===- ByteSize.h - Sizes that people write ---------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "12GiB": the one spelling of sizes, on command lines and in files of the
// runtime's and the planners'.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SUPPORT_BYTESIZE_H
#define ESPALIER_SUPPORT_BYTESIZE_H

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier {

/// The bytes of "4096", "12GiB", "1.5 MiB" or "16GB": B, kB, MB, GB and TB are
/// powers of 1000, KiB, MiB, GiB and TiB of 1024. None if `text` is no such
/// size, or one that is negative or beyond 2^63 - 1.
inline std::optional<int64_t> parseByteSize(std::string_view text) {
  const char *end = text.data() + text.size();
  // A whole number is read as one: a double has no room for all of them.
  int64_t whole = 0;
  auto [afterWhole, wholeError] = std::from_chars(text.data(), end, whole);
  if (wholeError == std::errc() && afterWhole == end)
    return whole < 0 ? std::nullopt : std::optional(whole);

  double number = 0;
  auto [after, numberError] =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (numberError != std::errc())
    return std::nullopt;
  std::string_view unitName(after, size_t(end - after));
  if (!unitName.empty() && unitName.front() == ' ')
    unitName.remove_prefix(1);
  constexpr struct {
    std::string_view name;
    double bytes;
  } units[] = {
      {"", 1},         {"B", 1},        {"kB", 1e3},     {"KB", 1e3},
      {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {"KiB", 0x1p10},
      {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
  };
  for (const auto &unit : units) {
    if (unit.name != unitName)
      continue;
    double bytes = std::nearbyint(number * unit.bytes);
    if (bytes >= 0 && bytes < 0x1p63)
      return int64_t(bytes);
  }
  return std::nullopt;
}

} // namespace espalier

#endif // ESPALIER_SUPPORT_BYTESIZE_H
