//===- MachineFile.cpp ----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/sim/MachineFile.h"

#include "device/sim/MachineLimits.h"
#include "io/File.h"
#include "io/Json.h"
#include "support/ByteSize.h"
#include "support/Error.h"

#include <cmath>
#include <iterator>

namespace espalier {

using nlohmann::json;

namespace {
/// Looks for keys in a machine's file.
class MachineReader {
public:
  MachineReader(std::string_view text, const std::string &path) : path(path) {
    try {
      root = parseJson(text).root;
    } catch (const JsonError &error) {
      fail(ESPALIER_MALFORMED, "%s: byte %zu: %s", path.c_str(), error.offset,
           error.what());
    }
  }

  Machine read();

private:
  [[noreturn]] void wrong(const std::string &what) const {
    fail(ESPALIER_MALFORMED, "%s: this is not the description of a machine: %s",
         path.c_str(), what.c_str());
  }
  const json &only(const char *key) const;
  double number(const json &object, const char *where, const char *key,
                const NumberRange &range, bool isRequired) const;
  int64_t size(const json &value, const std::string &where) const;
  int64_t bytes(const json &object, const char *where, const char *key) const;
  void readSpeeds(const json &device, Machine &machine) const;

  const std::string &path;
  json root;
};
} // namespace

/// The one element of an array of the outermost object.
const json &MachineReader::only(const char *key) const {
  auto found = root.find(key);
  if (found == root.end() || !found->is_array() || found->size() != 1 ||
      !found->front().is_object())
    wrong(format("'%s' is not an array of one object", key));
  return found->front();
}

/// The bytes of a whole number, or of a text such as "12GiB".
int64_t MachineReader::size(const json &value, const std::string &where) const {
  std::optional<int64_t> bytes;
  if (value.is_string())
    bytes = parseByteSize(value.get_ref<const std::string &>());
  else if (value.is_number_integer())
    bytes = value.get<int64_t>(); // negative of 2^63 and more
  if (!bytes || *bytes < 0)
    wrong(where + " is not a number of bytes, such as 1073741824 or \"1GiB\"");
  return *bytes;
}

double MachineReader::number(const json &object, const char *where,
                             const char *key, const NumberRange &range,
                             bool isRequired) const {
  std::string place = format("%s of %s", key, where);
  auto found = object.find(key);
  if (found == object.end()) {
    if (isRequired)
      wrong(place + " is missing");
    return 0;
  }
  bool isBytes = std::string_view(key) == "bytes_per_second";
  double value = found->is_number() ? found->get<double>()
                 : isBytes          ? (double)size(*found, place)
                                    : NAN;
  if (!range.contains(value))
    wrong(place + " is not " + range.text());
  return value;
}

int64_t MachineReader::bytes(const json &object, const char *where,
                             const char *key) const {
  auto found = object.find(key);
  if (found == object.end())
    wrong(format("%s of %s is missing", key, where));
  return size(*found, format("%s of %s", key, where));
}

/// Of algorithms that are not listed nothing is known.
void MachineReader::readSpeeds(const json &device, Machine &machine) const {
  static const char *const names[] = {"direct", "patches"};
  auto speeds = device.find("algorithms");
  if (speeds == device.end())
    return;
  if (!speeds->is_object())
    wrong("algorithms of the device is not an object");
  for (size_t a = 0; a < std::size(names); ++a) {
    if (!speeds->contains(names[a]))
      continue;
    machine.algorithmSpeeds[a] =
        number(*speeds, "the algorithms", names[a], kMachineSpeeds, true);
  }
}

Machine MachineReader::read() {
  if (!root.is_object())
    wrong("it is no object");
  Machine machine;
  auto name = root.find("name");
  if (name != root.end() && name->is_string())
    machine.name = name->get<std::string>();
  const json &device = only("devices"), &link = only("links");
  machine.memoryBytes = bytes(device, "the device", "memory");
  machine.flopsPerSecond =
      number(device, "the device", "flops_per_second", kMachineRates, true);
  machine.bytesPerSecond =
      number(device, "the device", "bytes_per_second", kMachineRates, true);
  machine.launchSeconds =
      number(device, "the device", "launch_seconds", kMachineSeconds, false);
  readSpeeds(device, machine);
  machine.linkBytesPerSecond =
      number(link, "the link", "bytes_per_second", kMachineRates, true);
  machine.linkLatencySeconds =
      number(link, "the link", "latency_seconds", kMachineSeconds, false);
  auto duplex = link.find("duplex");
  if (duplex != link.end()) {
    if (*duplex != "full" && *duplex != "half")
      wrong("duplex of the link is neither \"full\" nor \"half\"");
    machine.fullDuplex = *duplex == "full";
  }
  auto host = root.find("host");
  if (host == root.end() || !host->is_object())
    wrong("'host' is not an object");
  machine.hostMemoryBytes = bytes(*host, "the host", "memory");
  return machine;
}

Machine parseMachine(std::string_view text, const std::string &path) {
  return MachineReader(text, path).read();
}

Machine readMachine(const std::string &path) {
  return parseMachine(readFile(path), path);
}

} // namespace espalier
