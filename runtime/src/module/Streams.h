//===- Streams.h - Phases that can run beside a loop ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop over tasks needs of the phases before it the rows of a task only when
// it gets there, and what comes after it can begin with the rows that it has
// left behind (Xu et al., "Cavs", USENIX ATC 2018, section 3.5, streaming). A
// stream is a loop with the phases around it of which that is true.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_STREAMS_H
#define ESPALIER_MODULE_STREAMS_H

#include "espalier/abi.h"

#include <cstddef>
#include <vector>

namespace espalier {

/// Phases [first, loop) before a loop, the loop, and (loop, last] after it, all
/// of one graph, at least two in all.
struct Stream {
  uint32_t first;
  uint32_t loop;
  uint32_t last;
};

/// The streams of `entry`, which is valid, in order. Loops over a graph whose
/// vertices have types, and phases with steps over edges, are in none.
std::vector<Stream> findStreams(const espalier_entry &entry);

} // namespace espalier

#endif // ESPALIER_MODULE_STREAMS_H
