//===- TextFile.cpp - Whole files -----------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

using namespace espalier::planning;

namespace {
struct Close {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;
} // namespace

std::optional<std::string>
espalier::planning::readTextFile(const std::string &path, std::string &error) {
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) {
    error = "cannot open '" + path + "': " + std::strerror(errno);
    return std::nullopt;
  }
  std::string text;
  size_t size = 0;
  do {
    text.resize(size + (size < 65536 ? 65536 : size));
    size += std::fread(text.data() + size, 1, text.size() - size, file.get());
  } while (size == text.size());
  if (std::ferror(file.get())) {
    error = "cannot read '" + path + "': " + std::strerror(errno);
    return std::nullopt;
  }
  text.resize(size);
  return text;
}

bool espalier::planning::writeTextFile(const std::string &path,
                                       std::string_view text,
                                       std::string &error) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) {
    error = "cannot create '" + path + "': " + std::strerror(errno);
    return false;
  }
  bool written =
      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  // What is still in a buffer is written now, or not.
  written = std::fclose(file.release()) == 0 && written;
  if (!written) {
    error = "cannot write '" + path + "': " + std::strerror(errno);
    std::remove(path.c_str());
  }
  return written;
}
