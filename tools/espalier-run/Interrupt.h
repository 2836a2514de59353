//===- Interrupt.h - Stopping when the user asks for it ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the first SIGINT (Ctrl-C) or SIGTERM into something to ask for; the
// second ends the program as it always does.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_INTERRUPT_H
#define ESPALIER_RUN_INTERRUPT_H

#include <csignal>

namespace espalier::run {

/// Watches for these signals while it lives. There may be one at a time.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  /// The signal that has come, or 0.
  int signal() const;

private:
  struct sigaction before[2];
};

} // namespace espalier::run

#endif // ESPALIER_RUN_INTERRUPT_H
