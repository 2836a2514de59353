//===- main.cpp - Running compiled models from the command line -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// espalier-run MODEL.so --structures FILE [--train] ...; see --help.
//
//===----------------------------------------------------------------------===//
#include "Describe.h"
#include "Options.h"
#include "Run.h"
#include "Train.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

/// One line on standard error; `message` may have several.
static int reportError(std::string message) {
  for (size_t at = 0; (at = message.find('\n', at)) != std::string::npos;) {
    size_t next =
        std::min(message.find_first_not_of("\n ", at), message.size());
    bool first = at != 0 && message[at - 1] == ':';
    message.replace(at, next - at, first ? " " : "; ");
  }
  std::fprintf(stderr, "espalier-run: error: %s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  using namespace espalier;
  using namespace espalier::runtime;
  try {
    std::optional<run::Options> options = run::parseOptions(argc, argv);
    if (!options)
      return 0;
    Module module(options->library);
    int code = 0;
    if (options->describe)
      run::describe(std::cout, module.model(), options->entry);
    else if (options->training)
      code = run::train(module, *options);
    else
      run::run(module, *options);
    std::cout.flush();
    return std::cout ? code : reportError("cannot write to standard output");
  } catch (const std::bad_alloc &) {
    return reportError("out of memory");
  } catch (const std::exception &e) {
    return reportError(e.what());
  }
}
