//===- ReadDtrLog.h - Logs of Dynamic Tensor Rematerialization -*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_READDTRLOG_H
#define ESPALIER_LIB_PLANNING_READDTRLOG_H

#include "espalier/Planning/Graph.h"

#include <optional>
#include <string>

namespace espalier::planning {

/// As readGraph() does.
std::optional<Graph> readDtrLog(const std::string &text, std::string &error);

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_READDTRLOG_H
