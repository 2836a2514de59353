//===- Progress.cpp - A progress bar on a terminal ------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Progress.h"

#include "support/Error.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace espalier::run {

static constexpr std::chrono::milliseconds kFirst(300), kInterval(100);

static int terminalWidth() {
  struct winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

/// "0:07", "12:34", "1:02:03".
static std::string clockText(double seconds) {
  auto all = (long long)(seconds + 0.5);
  if (all < 3600)
    return format("%lld:%02lld", all / 60, all % 60);
  return format("%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
}

std::string progressLine(const std::string &label, int64_t done, int64_t total,
                         const std::string &note, double seconds, int width) {
  constexpr int kLeast = 10, kMost = 30;
  std::string tail = format(" %lld/%lld", (long long)done, (long long)total);
  if (seconds >= 0)
    tail += " " + clockText(seconds) + " left";
  std::string end = note.empty() ? "" : " " + note;
  // "label [bar] tail end"
  int room = width - (int)label.size() - 3 - (int)tail.size();
  int length = std::min(std::max(room - (int)end.size(), kLeast), kMost);
  std::string bar;
  if (room >= length) {
    auto filled = (int)(total == 0 ? length : length * done / total);
    bar = " [" + std::string(filled, '=') + (filled < length ? ">" : "");
    bar.resize(2 + length, ' ');
    bar += "]";
  }
  return (label + bar + tail + end).substr(0, width);
}

Progress::Progress(std::string label, int64_t total, int64_t first)
    : label(std::move(label)), total(total), first(first),
      terminal(::isatty(STDERR_FILENO)), start(Clock::now()),
      next(start + kFirst) {}

Progress::~Progress() {
  if (visible)
    std::fputs("\r\033[K", stderr);
}

bool Progress::due() const { return terminal && Clock::now() >= next; }

void Progress::update(int64_t done, const std::string &note) {
  if (!due())
    return;
  Clock::time_point now = Clock::now();
  next = now + kInterval;
  visible = true;
  double passed = std::chrono::duration<double>(now - start).count();
  double left = done == first ? -1 : passed / (done - first) * (total - done);
  // A full line would move the cursor to the next one.
  std::string line =
      progressLine(label, done, total, note, left, terminalWidth() - 1);
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
}

} // namespace espalier::run
