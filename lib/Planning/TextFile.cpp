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
#include <filesystem>
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
  namespace fs = std::filesystem;
  auto fail = [&](const std::string &what, const std::string &why) {
    error = "cannot " + what + " '" + path + "': " + why;
    return false;
  };
  std::error_code code;
  fs::file_status status = fs::status(path, code);
  if (fs::exists(status) && !fs::is_regular_file(status))
    return fail("write", "it is no regular file");

  std::string partial = path + ".partial";
  File file(std::fopen(partial.c_str(), "wb"));
  if (!file)
    return fail("create", std::strerror(errno));
  bool written =
      std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  // What is still in a buffer is written now, or not.
  written = std::fclose(file.release()) == 0 && written;
  if (!written) {
    fail("write", std::strerror(errno));
    std::remove(partial.c_str());
    return false;
  }
  fs::rename(partial, path, code);
  if (code) {
    std::remove(partial.c_str());
    return fail("create", code.message());
  }
  return true;
}
