//===- Subcommands.h - What espalier-plan can do ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function a subcommand, each in a file of its own. It adds the subcommand
// with its options and the callback that runs it, after parsing. What goes
// wrong there is thrown as an Error, and ends the program with exit code 1.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLAN_SUBCOMMANDS_H
#define ESPALIER_PLAN_SUBCOMMANDS_H

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace espalier::plan {

void addBuffers(CLI::App &app);
void addCheck(CLI::App &app);
void addRecompute(CLI::App &app);
void addSimulate(CLI::App &app);

/// The bytes that an option gives as text, such as "12GiB". Throws an Error.
int64_t byteSizeOption(const std::string &option, const std::string &text);

/// What is wrong with a limit in seconds; empty if nothing is.
std::string checkSeconds(const std::string &text);

} // namespace espalier::plan

#endif // ESPALIER_PLAN_SUBCOMMANDS_H
