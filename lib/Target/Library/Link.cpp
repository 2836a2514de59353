//===- Link.cpp - Object files become shared libraries ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Target/Library.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"

LLD_HAS_DRIVER(elf)

using namespace llvm;

Error espalier::linkSharedLibrary(StringRef object, StringRef output,
                                  const Triple &triple) {
  // What kernels call is libm's, or libc's to fill memory, if anything. Both
  // are found where the system's loader would look, and only recorded if they
  // are needed.
  std::string multiarch = (triple.getArchName() + "-linux-gnu").str();
  std::vector<std::string> arguments{"ld.lld",
                                     "-shared",
                                     "--build-id=none",
                                     "--hash-style=gnu",
                                     "-z",
                                     "now",
                                     "-z",
                                     "noexecstack",
                                     "--no-undefined",
                                     "--as-needed",
                                     "--strip-debug",
                                     "-o",
                                     output.str(),
                                     object.str()};
  for (const std::string &folder :
       {"/lib/" + multiarch, "/usr/lib/" + multiarch, std::string("/lib64"),
        std::string("/usr/lib64"), std::string("/lib"),
        std::string("/usr/lib")})
    if (sys::fs::is_directory(folder))
      arguments.push_back("-L" + folder);
  arguments.push_back("-l:libm.so.6");
  arguments.push_back("-l:libc.so.6");

  std::vector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string errors;
  raw_string_ostream stream(errors);
  lld::Result result =
      lld::lldMain(argv, nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return createStringError("linking failed: " + stream.str());
  return Error::success();
}
