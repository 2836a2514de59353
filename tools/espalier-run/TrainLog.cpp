//===- TrainLog.cpp - A line of JSON an epoch -----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TrainLog.h"

#include "io/File.h"
#include "support/Error.h"

#include <filesystem>

namespace espalier::run {

/// The lines of the first `epochs`. A line that was cut short, when the program
/// was killed, is dropped.
static std::string linesOf(const std::string &path, int64_t epochs) {
  std::string text = readFile(path), kept;
  size_t begin = 0, number = 1;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1, ++number) {
    std::string line = text.substr(begin, end - begin);
    auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("epoch") ||
        !json["epoch"].is_number_integer())
      fail(ESPALIER_MALFORMED,
           "%s:%zu: this is no line of a log of a training; give --log another "
           "file",
           path.c_str(), number);
    if (json["epoch"].get<int64_t>() <= epochs)
      kept += line + "\n";
  }
  return kept;
}

TrainLog::TrainLog(const std::string &path, int64_t epochs) : path(path) {
  if (path.empty())
    return;
  std::string kept;
  if (epochs > 0 && std::filesystem::exists(path))
    kept = linesOf(path, epochs);
  AtomicFile start(path);
  start.write(kept);
  start.commit();
  file.open(path, std::ios::app | std::ios::binary);
}

void TrainLog::write(const nlohmann::ordered_json &line) {
  if (path.empty())
    return;
  file << line.dump() << '\n' << std::flush;
  if (!file)
    fail(ESPALIER_IO_ERROR, "cannot write '%s'", path.c_str());
}

} // namespace espalier::run
