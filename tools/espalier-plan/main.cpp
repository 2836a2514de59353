//===- main.cpp - Planners on files ---------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// espalier-plan SUBCOMMAND FILE ...; see --help.
//
//===----------------------------------------------------------------------===//
#include "Subcommands.h"

#include "espalier/Planning/ByteSize.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>

#include <cctype>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

namespace espalier::plan {
int64_t byteSizeOption(const std::string &option, const std::string &text) {
  std::optional<int64_t> bytes = planning::parseByteSize(text);
  if (!bytes)
    fail(ESPALIER_INVALID_ARGUMENT,
         "%s: '%s' is no size such as 12884901888 or 12GiB", option.c_str(),
         text.c_str());
  return *bytes;
}

std::string checkSeconds(const std::string &text) {
  // CLI::Range takes NaN.
  double seconds = 0;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= 0 &&
      seconds <= 1e9)
    return "";
  return "expected a number from 0 to 1e9, found '" + text + "'";
}
} // namespace espalier::plan

static int reportError(const std::string &message) {
  std::fprintf(stderr, "espalier-plan: error: %s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  using namespace espalier;
  CLI::App app{"Plans memory: the compiler's planners, on files.",
               "espalier-plan"};
  app.footer("Exit code: 0 done, 1 an error.");
  app.set_version_flag("--version", ESPALIER_VERSION);
  app.require_subcommand(1);
  plan::addBuffers(app);
  plan::addCheck(app);
  plan::addRecompute(app);
  plan::addSimulate(app);
  try {
    app.parse(argc, argv);
    std::cout.flush();
    return std::cout ? 0 : reportError("cannot write to standard output");
  } catch (const CLI::ParseError &e) {
    // Help and version, too, come as one of these.
    if (e.get_exit_code() == 0)
      return app.exit(e);
    std::string message = e.what();
    message[0] = char(std::tolower((unsigned char)message[0]));
    return reportError(message);
  } catch (const std::bad_alloc &) {
    return reportError("out of memory");
  } catch (const std::exception &e) {
    return reportError(e.what());
  }
}
