//===- HostPool.cpp -------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "memory/HostPool.h"

#include "support/Error.h"

namespace espalier {

HostPool::HostPool(int64_t bytes, int64_t limit, Pages::Access access)
    : size(bytes), pool(bytes) {
  if (limit > 0 && bytes > limit)
    fail(ESPALIER_OUT_OF_MEMORY,
         "the host's pool needs %lld bytes, and the host has %lld; plan with "
         "less to offload, or for a host with more memory",
         (long long)bytes, (long long)limit);
  pages = Pages(bytes, access, "the host's pool");
}

} // namespace espalier
