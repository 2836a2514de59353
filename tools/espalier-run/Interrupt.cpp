//===- Interrupt.cpp - Stopping when the user asks for it -----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Interrupt.h"

#include <atomic>

namespace espalier::run {

static constexpr int kSignals[] = {SIGINT, SIGTERM};

static std::atomic<int> received{
    0}; // lock-free, so that a handler may write it

static void note(int signal) { received = signal; }

Interrupt::Interrupt() {
  received = 0;
  for (int i = 0; i != 2; ++i) {
    ::sigaction(kSignals[i], nullptr, &before[i]);
    // What is ignored from the start, as in a background job, stays so.
    if (before[i].sa_handler == SIG_IGN)
      continue;
    struct sigaction action = {};
    action.sa_handler = note;
    action.sa_flags = SA_RESTART | (int)SA_RESETHAND;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (int i = 0; i != 2; ++i)
    ::sigaction(kSignals[i], &before[i], nullptr);
}

int Interrupt::signal() const { return received; }

} // namespace espalier::run
