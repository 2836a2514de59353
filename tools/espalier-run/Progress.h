//===- Progress.h - A progress bar on a terminal ----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   epoch 3 of 20 [=======>            ] 134/342 0:41 left loss 1.2345
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_PROGRESS_H
#define ESPALIER_RUN_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace espalier::run {

/// One line of standard error that tells how far something has come, and is
/// wiped at the end. Nothing is written if standard error is no terminal, and
/// nothing before some time has passed.
class Progress {
public:
  /// `first` of the `total` steps were done before.
  Progress(std::string label, int64_t total, int64_t first = 0);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Whether update() would draw now: a note need not be made otherwise.
  bool due() const;
  /// Draws if it is time to do so. `note` stands at the end.
  void update(int64_t done, const std::string &note = "");

private:
  using Clock = std::chrono::steady_clock;

  std::string label;
  int64_t total, first;
  bool terminal;
  bool visible = false;
  Clock::time_point start, next;
};

/// The line without its end, at most `width` characters: where there is little
/// room the bar is shorter, then the note is cut off, then there is no bar.
/// `seconds` is what the rest will take; negative if nobody knows.
std::string progressLine(const std::string &label, int64_t done, int64_t total,
                         const std::string &note, double seconds, int width);

} // namespace espalier::run

#endif // ESPALIER_RUN_PROGRESS_H
