//===- Trace.cpp ----------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "trace/Trace.h"

#include "io/File.h"
#include "support/Error.h"

#include <algorithm>
#include <chrono>

namespace espalier {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Trace::append(const std::vector<TraceEvent> &more, int64_t droppedBefore) {
  size_t room = kMaxEvents - events.size();
  size_t taken = std::min(room, more.size());
  events.insert(events.end(), more.begin(), more.begin() + taken);
  dropped += droppedBefore + (int64_t)(more.size() - taken);
}

void Trace::clear() {
  events.clear();
  events.shrink_to_fit();
  dropped = 0;
}

/// Microseconds with three digits, whatever the locale's decimal point is.
static std::string microseconds(int64_t ns) {
  return format("%lld.%03lld", (long long)(ns / 1000), (long long)(ns % 1000));
}

static std::string quoted(const char *text) {
  std::string out = "\"";
  for (; *text; ++text) {
    unsigned char c = *text;
    if (c == '"' || c == '\\')
      out += '\\';
    if (c < 0x20)
      out += format("\\u%04x", c);
    else
      out += (char)c;
  }
  return out + '"';
}

void Trace::write(const std::string &path) const {
  AtomicFile file(path);
  file.write("{\"displayTimeUnit\":\"ns\",\n");
  file.write(
      format("\"otherData\":{\"droppedEvents\":%lld},\n", (long long)dropped));
  file.write("\"traceEvents\":[");
  int64_t origin = INT64_MAX;
  for (const TraceEvent &event : events)
    origin = std::min(origin, event.begin);
  std::string text;
  const char *separator = "\n";
  for (const TraceEvent &event : events) {
    text += format(
        "%s{\"name\":%s,\"cat\":%s,\"ph\":\"X\",\"pid\":1,"
        "\"tid\":%u,\"ts\":%s,\"dur\":%s,"
        "\"args\":{\"rows\":%lld}}",
        separator, quoted(event.name).c_str(), quoted(event.phase).c_str(),
        event.thread, microseconds(event.begin - origin).c_str(),
        microseconds(event.end - event.begin).c_str(), (long long)event.rows);
    separator = ",\n";
    if (text.size() > 1 << 20) {
      file.write(text);
      text.clear();
    }
  }
  file.write(text + "\n]}\n");
  file.commit();
}

} // namespace espalier
