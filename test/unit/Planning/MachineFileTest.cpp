//===- MachineFileTest.cpp - Machines as JSON -----------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/MachineFile.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace espalier::planning;

namespace {

const std::string example = R"({
  "name": "an example",
  "description": "for people",
  "devices": [{
    "name": "gpu", "kind": "cuda", "memory": "12GiB",
    "flops_per_second": 2.5e12, "bytes_per_second": "200GB",
    "launch_seconds": 5e-6, "algorithms": {"patches": 1.25, "fft": 3}
  }],
  "links": [{
    "from": "host", "to": "gpu", "bytes_per_second": 1e10,
    "latency_seconds": 1e-5, "duplex": "half"
  }],
  "host": {"memory": 1000}
})";

std::string problemOf(std::string_view text) {
  std::string error;
  EXPECT_FALSE(parseMachine(text, error));
  return error;
}

/// Of the example with its first `from` replaced.
std::string problemWith(const std::string &from, const std::string &to) {
  std::string text = example;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return problemOf(text.replace(at, from.size(), to));
}

TEST(MachineFile, Reads) {
  std::string error;
  std::optional<Machine> machine = parseMachine(example, error);
  ASSERT_TRUE(machine) << error;
  EXPECT_EQ(machine->name, "an example");
  EXPECT_EQ(machine->device.name, "gpu");
  EXPECT_EQ(machine->device.kind, "cuda");
  EXPECT_EQ(machine->device.memoryBytes, int64_t(12) << 30);
  EXPECT_EQ(machine->device.flopsPerSecond, 2.5e12);
  EXPECT_EQ(machine->device.bytesPerSecond, 2e11);
  EXPECT_EQ(machine->device.launchSeconds, 5e-6);
  EXPECT_EQ(machine->device.algorithmSpeeds.size(), 2u);
  EXPECT_EQ(machine->device.speedOf("patches"), 1.25);
  EXPECT_EQ(machine->device.speedOf("fft"), 3);
  EXPECT_EQ(machine->device.speedOf("direct"), 1);
  EXPECT_EQ(machine->link.bytesPerSecond, 1e10);
  EXPECT_EQ(machine->link.latencySeconds, 1e-5);
  EXPECT_FALSE(machine->link.fullDuplex);
  EXPECT_EQ(machine->hostMemoryBytes, 1000);
}

TEST(MachineFile, ReadsBackWhatItWrites) {
  Machine machine;
  machine.name = "odd \"name\" \xc3\xa9";
  machine.device = {"d",   (int64_t(1) << 53) + 1,    4.0 / 3, 1.1, 5e-324,
                    "sim", {{"b", 1.0 / 3}, {"a", 7}}};
  machine.link = {7e23, 1e-300, false};
  machine.hostMemoryBytes = INT64_MAX;
  std::string path = testing::TempDir() + "machine_file_test.json";
  std::string error;
  ASSERT_TRUE(writeMachineFile(path, machine, error)) << error;
  std::optional<Machine> back = readMachineFile(path, error);
  std::remove(path.c_str());
  ASSERT_TRUE(back) << error;
  EXPECT_EQ(back->name, machine.name);
  EXPECT_EQ(back->device.name, machine.device.name);
  EXPECT_EQ(back->device.kind, machine.device.kind);
  EXPECT_EQ(back->device.memoryBytes, machine.device.memoryBytes);
  EXPECT_EQ(back->device.flopsPerSecond, machine.device.flopsPerSecond);
  EXPECT_EQ(back->device.bytesPerSecond, machine.device.bytesPerSecond);
  EXPECT_EQ(back->device.launchSeconds, machine.device.launchSeconds);
  EXPECT_EQ(back->device.speedOf("a"), 7);
  EXPECT_EQ(back->device.speedOf("b"), 1.0 / 3);
  EXPECT_EQ(back->link.bytesPerSecond, machine.link.bytesPerSecond);
  EXPECT_EQ(back->link.latencySeconds, machine.link.latencySeconds);
  EXPECT_EQ(back->link.fullDuplex, machine.link.fullDuplex);
  EXPECT_EQ(back->hostMemoryBytes, machine.hostMemoryBytes);
}

TEST(Machine, AlgorithmsHaveSpeeds) {
  Machine machine;
  machine.device.flopsPerSecond = 100;
  machine.device.bytesPerSecond = 10;
  machine.device.launchSeconds = 1;
  machine.device.algorithmSpeeds = {{"fast", 4}};
  Operator op;
  op.flops = 800;
  op.bytes = 30;
  Algorithm fast{"fast", 64, 0}, other{"other", 64, 0}, measured{"fast", 64, 7};
  EXPECT_EQ(machine.secondsOf(op), 9);
  EXPECT_EQ(machine.secondsOf(op, &other), 9);
  // Traffic takes longer than a quarter of the arithmetic.
  EXPECT_EQ(machine.secondsOf(op, &fast), 4);
  EXPECT_EQ(machine.secondsOf(op, &measured), 7);
  op.seconds = 10; // measured, without a workspace
  EXPECT_EQ(machine.secondsOf(op, &other), 10);
  EXPECT_EQ(machine.secondsOf(op, &fast), 2.5);
}

TEST(MachineFile, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(problemOf("{\n  \"name\": }").substr(0, 27),
            "line 2, column 11: syntax e");
  EXPECT_EQ(problemOf("[]"), "the text is [], not an object");
  EXPECT_EQ(problemOf("{}"), "'name' is missing");
  EXPECT_EQ(problemWith("\"12GiB\"", "\"12 gigabytes\""),
            "'devices[0].memory' is \"12 gigabytes\", not a size such as "
            "12884901888 or \"12GiB\"");
  EXPECT_EQ(problemWith("\"12GiB\"", "-5"),
            "'devices[0].memory' is -5, not a size such as 12884901888 or "
            "\"12GiB\"");
  EXPECT_EQ(problemWith("2.5e12", "0"),
            "'devices[0].flops_per_second' is 0.0, not a number from 0.001 to "
            "1e+24");
  EXPECT_EQ(
      problemWith("\"200GB\"", "1e-308"),
      "'devices[0].bytes_per_second' is 1e-308, not a number from 0.001 to "
      "1e+24");
  EXPECT_EQ(problemWith("1e10", "1e308"),
            "'links[0].bytes_per_second' is 1e+308, not a number from 0.001 to "
            "1e+24");
  EXPECT_EQ(problemWith("5e-6", "-1"),
            "'devices[0].launch_seconds' is -1.0, not a number from 0 to "
            "1e+09");
  EXPECT_EQ(problemWith("1e-5", "1.1e9"),
            "'links[0].latency_seconds' is 1100000000.0, not a number from 0 "
            "to 1e+09");
  EXPECT_EQ(problemWith("{\"patches\": 1.25, \"fft\": 3}", "[1]"),
            "'devices[0].algorithms' is [1], not an object with a number by "
            "algorithm");
  EXPECT_EQ(problemWith("1.25", "0"),
            "'devices[0].algorithms' has 0 for 'patches', not a number from "
            "1e-06 to 1e+06");
  EXPECT_EQ(problemWith("1.25", "\"fast\""),
            "'devices[0].algorithms' has \"fast\" for 'patches', not a number "
            "from 1e-06 to 1e+06");
  EXPECT_EQ(problemWith("\"200GB\"", "\"fast\""),
            "'devices[0].bytes_per_second' is \"fast\", not a rate such as "
            "1.2e10 or \"12GB\" (per second)");
  EXPECT_EQ(problemWith("\"half\"", "\"triple\""),
            "'links[0].duplex' is \"triple\", not one of full, half");
  EXPECT_EQ(problemWith("\"kind\"", "\"cores\""),
            "'devices[0].cores' is not known here");
  EXPECT_EQ(problemWith("\"to\": \"gpu\"", "\"to\": \"tpu\""),
            "'links[0].to' and 'from' are 'host' and 'tpu', not 'host' and "
            "'gpu'");
  EXPECT_EQ(
      problemWith("}],\n  \"host\"", "}, {}],\n  \"host\""),
      "'links' has 2 entries, not 1: memory is planned for one device and "
      "its link to the host");
  std::string error;
  EXPECT_FALSE(readMachineFile("/nowhere/machine.json", error));
  EXPECT_EQ(error,
            "cannot open '/nowhere/machine.json': No such file or directory");
}

TEST(MachineFile, ShippedOnesAreRead) {
  for (const char *name : {"k40c", "titan-xp", "h200", "local-cpu"}) {
    std::string error;
    std::string path =
        std::string(ESPALIER_SOURCE_DIR "/docs/machines/") + name + ".json";
    std::optional<Machine> machine = readMachineFile(path, error);
    ASSERT_TRUE(machine) << error;
    EXPECT_EQ(machine->name, name);
  }
}

} // namespace
