//===- Quote.cpp - Foreign text in messages -------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "io/Quote.h"

#include "support/Error.h"

namespace espalier {

std::string quote(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string out = "'";
  for (char c : text.substr(0, kLongest)) {
    if ((unsigned char)c < 0x20 || c == 0x7f)
      out += format("\\x%02x", (unsigned)c);
    else
      out += c;
  }
  return out + (text.size() > kLongest ? "...'" : "'");
}

} // namespace espalier
