//===- Reverse.h - Structures with their edges turned round -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_GRAPH_REVERSE_H
#define ESPALIER_GRAPH_REVERSE_H

namespace espalier {

class Forest;

/// Makes `to` the structures of `from` with every edge turned round: the
/// children of a vertex are its parents in `from`, in the order of their
/// numbers, once for each slot. Vertices and structures keep their numbers.
/// Fields stay with `from`. The memory of `to` is used again; O(vertices +
/// edges).
void reverseEdges(const Forest &from, Forest &to);

} // namespace espalier

#endif // ESPALIER_GRAPH_REVERSE_H
