//===- CpuDevice.cpp ------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/cpu/CpuDevice.h"

#include "support/Error.h"
#include "trace/Trace.h"

#include <algorithm>
#include <cstring>

namespace espalier {

char *CpuDevice::allocate(int64_t bytes, const char *what) {
  if (memoryLimit > 0 && bytes > memoryLimit - allocated)
    fail(ESPALIER_OUT_OF_MEMORY,
         "%s needs %lld bytes of the cpu's memory, of which %lld of the limit "
         "of %lld are available",
         what, (long long)bytes, (long long)(memoryLimit - allocated),
         (long long)memoryLimit);
  blocks.emplace_back(bytes, Pages::Access::ReadWrite, what);
  allocated += blocks.back().bytes();
  return blocks.back().data();
}

void CpuDevice::release(char *block) {
  auto found = std::find_if(blocks.begin(), blocks.end(),
                            [&](const Pages &p) { return p.data() == block; });
  allocated -= found->bytes();
  blocks.erase(found);
}

void CpuDevice::poison([[maybe_unused]] Lane lane, [[maybe_unused]] char *block,
                       [[maybe_unused]] int64_t bytes) {
#ifdef ESPALIER_POISON
  std::memset(block, 0xFF, bytes);
#endif
}

void CpuDevice::copy(Lane lane, const char *, char *to, const char *from,
                     int64_t bytes) {
  std::memcpy(to, from, bytes);
  (lane == Lane::ToHost ? done.toHostBytes : done.toDeviceBytes) += bytes;
}

void CpuDevice::place(char *to, const char *from, int64_t bytes) {
  std::memcpy(to, from, bytes);
}

void CpuDevice::launch(const Work &, const std::function<void()> &body) {
  body();
}

int64_t CpuDevice::clock() const { return now(); }

} // namespace espalier
