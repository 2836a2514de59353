//===- Threads.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/onednn/Threads.h"

namespace espalier {

const dnnl::engine &oneDnnEngine() {
  static const auto *cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *cpu;
}

std::string &lastOneDnnError() {
  thread_local std::string message;
  return message;
}

} // namespace espalier
