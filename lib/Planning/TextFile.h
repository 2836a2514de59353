//===- TextFile.h - Whole files -------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes files in one piece. A file that could not be written in full
// is not left behind.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_TEXTFILE_H
#define ESPALIER_LIB_PLANNING_TEXTFILE_H

#include <optional>
#include <string>
#include <string_view>

namespace espalier::planning {

/// None, and why, with the path.
std::optional<std::string> readTextFile(const std::string &path,
                                        std::string &error);

/// False, and why, with the path.
bool writeTextFile(const std::string &path, std::string_view text,
                   std::string &error);

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_TEXTFILE_H
