//===- ReadGraph.h - Graphs from files that people have ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rematerialisation graphs of Checkmate and Moccasin, and operator logs of
// Dynamic Tensor Rematerialization.
//
// The graphs are networkx' JSON: `nodes` and `links` (or `edges`). A node is an
// operator with one output. Checkmate's have `cost_ram` (bytes), `cost_cpu` and
// `backward`; Moccasin's random ones `out_cost`, `duration` and `param_cost`,
// and links with the keys "0" and "1". The order is that of `graph.order` if
// there is one, or else of the nodes, if every link goes forward in it, or else
// one that sorts them. What nothing reads is an output. Costs are taken for
// seconds, whatever their unit is.
//
// The logs are a line of JSON an instruction. CONSTANTs become parameters, a
// CALL an operator, its results with an ALIAS views. A MUTATE is an operator
// that makes new tensors, in place where nothing else wants the old ones; if it
// changes a constant, it updates that. COPY and COPY_FROM are names. What has
// not been RELEASEd by the end is an output. TIMEs are nanoseconds.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLANNING_READGRAPH_H
#define ESPALIER_PLANNING_READGRAPH_H

#include "espalier/Planning/Graph.h"

#include <optional>
#include <string>

namespace espalier::planning {

/// Either kind, by what the text begins with. If it is malformed: nothing, and
/// `error` says where. A graph that is returned has passed checkGraph().
std::optional<Graph> readGraph(const std::string &text, std::string &error);

} // namespace espalier::planning

#endif // ESPALIER_PLANNING_READGRAPH_H
