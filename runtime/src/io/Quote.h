//===- Quote.h - Foreign text in messages -----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How messages show names and tokens that come from files.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_QUOTE_H
#define ESPALIER_IO_QUOTE_H

#include <string>
#include <string_view>

namespace espalier {

/// The text in quotes, shortened, and with control characters escaped.
std::string quote(std::string_view text);

} // namespace espalier

#endif // ESPALIER_IO_QUOTE_H
