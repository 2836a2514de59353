//===- ByteSize.cpp - Sizes that people write and read --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/ByteSize.h"

#include <charconv>
#include <cmath>
#include <cstdio>

using namespace espalier::planning;

static std::optional<double> unitOf(std::string_view name) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  static constexpr Unit units[] = {
      {"", 1},         {"B", 1},        {"kB", 1e3},     {"KB", 1e3},
      {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},    {"KiB", 0x1p10},
      {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
  };
  for (const Unit &unit : units)
    if (unit.name == name)
      return unit.bytes;
  return std::nullopt;
}

std::optional<int64_t>
espalier::planning::parseByteSize(std::string_view text) {
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
  std::optional<double> unit = unitOf(unitName);
  if (!unit)
    return std::nullopt;
  double bytes = std::nearbyint(number * *unit);
  if (!(bytes >= 0 && bytes < 0x1p63))
    return std::nullopt;
  return int64_t(bytes);
}

std::string espalier::planning::formatByteSize(int64_t bytes) {
  static constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double number = double(bytes);
  int unit = 0;
  // What would be rounded to 1024.00 is 1.00 of the next unit.
  while (std::abs(number) >= 1023.995 && unit < 4) {
    number /= 1024;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", number,
                units[unit]);
  return text;
}
