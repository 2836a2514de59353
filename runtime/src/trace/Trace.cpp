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

void Trace::appendDevice(const char *device,
                         const std::vector<DeviceEvent> &moreEvents,
                         const std::vector<MemorySample> &samples) {
  auto append = [&](auto &to, const auto &more) {
    size_t taken = std::min(kMaxEvents - to.size(), more.size());
    to.insert(to.end(), more.begin(), more.begin() + taken);
    dropped += (int64_t)(more.size() - taken);
  };
  deviceName = device;
  append(deviceEvents, moreEvents);
  append(memory, samples);
}

void Trace::clear() {
  deviceEvents.clear();
  memory.clear();
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

/// The device's process: names first, then events, then the memory.
std::string Trace::deviceEventsText() const {
  static const char *const lanes[kLanes] = {"compute", "to host", "to device"};
  if (deviceEvents.empty() && memory.empty())
    return "";
  int64_t origin = INT64_MAX;
  for (const DeviceEvent &event : deviceEvents)
    origin = std::min(origin, event.begin);
  for (const MemorySample &sample : memory)
    origin = std::min(origin, sample.at);
  std::string text = format(",\n{\"name\":\"process_name\",\"ph\":\"M\","
                            "\"pid\":2,\"args\":{\"name\":%s}}",
                            quoted(deviceName.c_str()).c_str());
  for (int lane = 0; lane < kLanes; ++lane)
    text += format(",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":2,"
                   "\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
                   lane, lanes[lane]);
  for (const DeviceEvent &event : deviceEvents)
    text += format(",\n{\"name\":%s,\"cat\":\"%s\",\"ph\":\"X\",\"pid\":2,"
                   "\"tid\":%d,\"ts\":%s,\"dur\":%s}",
                   quoted(event.name).c_str(), lanes[(int)event.lane],
                   (int)event.lane, microseconds(event.begin - origin).c_str(),
                   microseconds(event.end - event.begin).c_str());
  for (const MemorySample &sample : memory)
    text += format(",\n{\"name\":\"memory\",\"ph\":\"C\",\"pid\":2,"
                   "\"ts\":%s,\"args\":{\"device bytes\":%lld,"
                   "\"host bytes\":%lld}}",
                   microseconds(sample.at - origin).c_str(),
                   (long long)sample.deviceBytes, (long long)sample.hostBytes);
  return text;
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
  std::string device = deviceEventsText();
  // Without events before it, it begins the list.
  file.write(text +
             (events.empty() ? device.substr(device.empty() ? 0 : 1) : device));
  file.write("\n]}\n");
  file.commit();
}

} // namespace espalier
