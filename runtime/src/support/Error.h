//===- Error.h - How the runtime reports failure ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside the runtime a failure is thrown as an Error; the C ABI turns it into
// a status code and a message (see CApi.cpp). No exception leaves the library.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SUPPORT_ERROR_H
#define ESPALIER_SUPPORT_ERROR_H

#include "espalier/runtime.h"

#include <exception>
#include <string>
#include <utility>

namespace espalier {

/// What went wrong, where, and what to do about it. The message starts in
/// lower case and has no final full stop.
class Error : public std::exception {
public:
  Error(espalier_status code, std::string message)
      : code_(code), message_(std::move(message)) {}

  espalier_status code() const { return code_; }
  const std::string &message() const { return message_; }
  const char *what() const noexcept override { return message_.c_str(); }

private:
  espalier_status code_;
  std::string message_;
};

/// Like printf, into a string.
std::string format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/// Throws an Error with a printf-style message.
[[noreturn]] void fail(espalier_status code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

} // namespace espalier

#endif // ESPALIER_SUPPORT_ERROR_H
