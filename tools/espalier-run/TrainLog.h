//===- TrainLog.h - A line of JSON an epoch ---------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file of --log.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_TRAINLOG_H
#define ESPALIER_RUN_TRAINLOG_H

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace espalier::run {

class TrainLog {
public:
  /// Starts the file, or, after `epochs` of them, keeps the lines of these, so
  /// that the log is in the end as if training had never stopped. No file if
  /// `path` is empty.
  TrainLog(const std::string &path, int64_t epochs);

  /// Writes a line, which has its epoch as "epoch", from 1.
  void write(const nlohmann::ordered_json &line);

private:
  std::string path;
  std::ofstream file;
};

} // namespace espalier::run

#endif // ESPALIER_RUN_TRAINLOG_H
