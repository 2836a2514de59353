//===- MachineFile.cpp - Machines as JSON ---------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/MachineFile.h"

#include "JsonObject.h"
#include "TextFile.h"
#include "device/sim/MachineLimits.h"

using namespace espalier::planning;
using nlohmann::json;
using nlohmann::ordered_json;

/// What is in the list `key` of `root`, which has one thing.
static const json *takeOnly(JsonObject &root, const char *key,
                            const std::string &why) {
  const json *list = root.take(key);
  if (!list)
    return nullptr;
  if (!list->is_array()) {
    root.fail(key, "is " + quoteJson(*list) + ", not a list");
    return nullptr;
  }
  if (list->size() != 1) {
    root.fail(key, "has " + std::to_string(list->size()) +
                       " entries, not 1: " + why);
    return nullptr;
  }
  return &list->front();
}

static void require(const espalier::NumberRange &range, JsonObject &object,
                    const char *key, double number) {
  if (!range.contains(number))
    object.fail(key, "is " + quoteJson(number) + ", not " + range.text());
}

static void readSpeeds(JsonObject &device, Device &result, std::string &error) {
  const json *speeds = device.take("algorithms", /*required=*/false);
  if (!speeds || !error.empty())
    return;
  if (!speeds->is_object())
    return device.fail("algorithms",
                       "is " + quoteJson(*speeds) +
                           ", not an object with a number by algorithm");
  for (const auto &[name, value] : speeds->items()) {
    double speed = value.is_number() ? value.get<double>() : 0;
    if (!espalier::kMachineSpeeds.contains(speed))
      return device.fail("algorithms", "has " + quoteJson(value) + " for '" +
                                           name + "', not " +
                                           espalier::kMachineSpeeds.text());
    result.algorithmSpeeds.emplace_back(name, speed);
  }
}

static void readDevice(const json &value, Device &device, std::string &error) {
  JsonObject object(value, "devices", 0, error);
  object.read("name", device.name);
  object.read("kind", device.kind, /*required=*/false);
  object.readBytes("memory", device.memoryBytes);
  object.read("flops_per_second", device.flopsPerSecond);
  require(espalier::kMachineRates, object, "flops_per_second",
          device.flopsPerSecond);
  object.readRate("bytes_per_second", device.bytesPerSecond);
  require(espalier::kMachineRates, object, "bytes_per_second",
          device.bytesPerSecond);
  object.read("launch_seconds", device.launchSeconds, /*required=*/false);
  require(espalier::kMachineSeconds, object, "launch_seconds",
          device.launchSeconds);
  readSpeeds(object, device, error);
  object.finish();
}

static void readLink(const json &value, const std::string &deviceName,
                     Link &link, std::string &error) {
  JsonObject object(value, "links", 0, error);
  std::string from = "host";
  std::string to = deviceName;
  object.read("from", from, /*required=*/false);
  object.read("to", to, /*required=*/false);
  if (!(from == "host" && to == deviceName) &&
      !(from == deviceName && to == "host"))
    object.fail("to", "and 'from' are '" + from + "' and '" + to +
                          "', not 'host' and '" + deviceName + "'");
  object.readRate("bytes_per_second", link.bytesPerSecond);
  require(espalier::kMachineRates, object, "bytes_per_second",
          link.bytesPerSecond);
  object.read("latency_seconds", link.latencySeconds, /*required=*/false);
  require(espalier::kMachineSeconds, object, "latency_seconds",
          link.latencySeconds);
  enum class Duplex { full, half };
  Duplex duplex = link.fullDuplex ? Duplex::full : Duplex::half;
  object.readName("duplex", {"full", "half"}, duplex, /*required=*/false);
  link.fullDuplex = duplex == Duplex::full;
  object.finish();
}

std::optional<Machine> espalier::planning::parseMachine(std::string_view text,
                                                        std::string &error) {
  error.clear();
  json parsed;
  try {
    parsed = json::parse(text.begin(), text.end());
  } catch (const json::exception &exception) {
    error = describeJsonError(exception);
    return std::nullopt;
  }

  Machine machine;
  JsonObject root(parsed, "", -1, error);
  std::string description;
  root.read("name", machine.name);
  root.read("description", description, /*required=*/false);
  const char *why = "memory is planned for one device and its link to the host";
  if (const json *device = takeOnly(root, "devices", why))
    readDevice(*device, machine.device, error);
  if (const json *link = takeOnly(root, "links", why))
    readLink(*link, machine.device.name, machine.link, error);
  if (const json *host = root.take("host")) {
    JsonObject object(*host, "host", -1, error);
    object.readBytes("memory", machine.hostMemoryBytes);
    object.finish();
  }
  root.finish();
  if (!error.empty())
    return std::nullopt;
  return machine;
}

std::optional<Machine>
espalier::planning::readMachineFile(const std::string &path,
                                    std::string &error) {
  std::optional<std::string> text = readTextFile(path, error);
  if (!text)
    return std::nullopt;
  std::optional<Machine> machine = parseMachine(*text, error);
  if (!machine)
    error = path + ": " + error;
  return machine;
}

std::string espalier::planning::printMachine(const Machine &machine) {
  ordered_json device = {{"name", machine.device.name}};
  if (!machine.device.kind.empty())
    device["kind"] = machine.device.kind;
  device["memory"] = machine.device.memoryBytes;
  device["flops_per_second"] = machine.device.flopsPerSecond;
  device["bytes_per_second"] = machine.device.bytesPerSecond;
  device["launch_seconds"] = machine.device.launchSeconds;
  for (const auto &[name, speed] : machine.device.algorithmSpeeds)
    device["algorithms"][name] = speed;
  ordered_json link = {{"from", "host"},
                       {"to", machine.device.name},
                       {"bytes_per_second", machine.link.bytesPerSecond},
                       {"latency_seconds", machine.link.latencySeconds},
                       {"duplex", machine.link.fullDuplex ? "full" : "half"}};
  ordered_json root = {{"name", machine.name},
                       {"devices", ordered_json::array({std::move(device)})},
                       {"links", ordered_json::array({std::move(link)})},
                       {"host", {{"memory", machine.hostMemoryBytes}}}};
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace) +
         '\n';
}

bool espalier::planning::writeMachineFile(const std::string &path,
                                          const Machine &machine,
                                          std::string &error) {
  return writeTextFile(path, printMachine(machine), error);
}
