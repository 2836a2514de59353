//===- ByteSize.cpp - Sizes that people write and read --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/ByteSize.h"

#include "support/ByteSize.h"

#include <cmath>
#include <cstdio>

using namespace espalier::planning;

std::optional<int64_t>
espalier::planning::parseByteSize(std::string_view text) {
  return espalier::parseByteSize(text);
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
