//===- SimDeviceTest.cpp - A clock, lanes and memory ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "device/sim/SimDevice.h"

#include "espalier/abi.h"
#include "support/Error.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace espalier;

static Machine slowMachine(bool fullDuplex) {
  Machine machine;
  machine.name = "slow";
  machine.memoryBytes = 10240;
  machine.flopsPerSecond = 2;
  machine.bytesPerSecond = 4;
  machine.launchSeconds = 1;
  machine.linkBytesPerSecond = 8;
  machine.linkLatencySeconds = 0.5;
  machine.fullDuplex = fullDuplex;
  return machine;
}

TEST(SimDevice, StepsTakeTheLongerOfArithmeticAndTraffic) {
  SimDevice device(slowMachine(true), {});
  device.launch({"arithmetic", 20, 4}, [] {});
  EXPECT_DOUBLE_EQ(device.counts().seconds, 11);
  device.launch({"traffic", 2, 40}, [] {});
  EXPECT_DOUBLE_EQ(device.counts().seconds, 22);
  device.launch({"nothing", 0, 0}, [] {});
  EXPECT_DOUBLE_EQ(device.counts().seconds, 22);
}

TEST(SimDevice, AlgorithmsHaveSpeeds) {
  Machine machine = slowMachine(true);
  machine.algorithmSpeeds[ESPALIER_ALGORITHM_PATCHES] = 2.5;
  SimDevice device(machine, {});
  device.launch({"direct", 20, 4, ESPALIER_ALGORITHM_DIRECT}, [] {});
  EXPECT_DOUBLE_EQ(device.counts().seconds, 11);
  device.launch({"patches", 20, 4, ESPALIER_ALGORITHM_PATCHES}, [] {});
  EXPECT_DOUBLE_EQ(device.counts().seconds, 16);
}

/// Nanoseconds have room for 292 years, and what is simulated may take longer.
TEST(SimDevice, ClocksStopBeforeTheyOverflow) {
  Machine machine = slowMachine(true);
  machine.launchSeconds = 1e9;
  SimDevice::Options options;
  options.profile = true;
  SimDevice device(machine, options);
  int64_t clock = 0;
  for (int i = 0; i < 20; ++i) {
    device.launch({"slow", 1, 1}, [] {});
    EXPECT_GE(device.clock(), clock);
    clock = device.clock();
  }
  EXPECT_DOUBLE_EQ(device.counts().seconds, 2e10 + 10);
  std::vector<DeviceEvent> events = device.takeEvents();
  EXPECT_EQ(events.size(), 20u);
  for (const DeviceEvent &event : events) {
    EXPECT_GE(event.begin, 0);
    EXPECT_GE(event.end, event.begin);
  }
}

TEST(SimDevice, CopiesTakeEffectWhenTheyEnd) {
  SimDevice device(slowMachine(true), {});
  float *there = (float *)device.allocate(16, "a block");
  float here[4] = {1, 2, 3, 4};
  device.poison(Lane::Compute, (char *)there, 16);
  device.copy(Lane::ToDevice, "fetch", (char *)there, (char *)here, 16);
  Event end = device.record(Lane::ToDevice);
  EXPECT_FALSE(device.isDone(end));
  float seen = 0;
  auto look = [&] { seen = there[3]; };
  device.launch({"early", 2, 0}, look); // at 0
  EXPECT_TRUE(std::isnan(seen));
  device.launch({"too early", 2, 0}, look); // at 2
  EXPECT_TRUE(std::isnan(seen));
  device.wait(Lane::Compute, end); // for 2.5, which has passed
  EXPECT_TRUE(device.isDone(end));
  device.launch({"late", 2, 0}, look);
  EXPECT_EQ(seen, 4);
  EXPECT_DOUBLE_EQ(device.counts().stallSeconds, 0);

  // A copy takes what is there when it ends: who writes before is seen.
  device.wait(Lane::ToHost, device.record(Lane::Compute));
  device.copy(Lane::ToHost, "offload", (char *)here, (char *)there, 16);
  device.launch({"overwrite", 2, 0}, [&] { there[0] = 9; });
  device.synchronize();
  EXPECT_EQ(here[0], 9);
  EXPECT_EQ(here[3], 4);
  EXPECT_DOUBLE_EQ(device.counts().seconds, 8.5);
  EXPECT_DOUBLE_EQ(device.counts().stallSeconds, 0.5);
  EXPECT_EQ(device.counts().toHostBytes, 16);
  EXPECT_EQ(device.counts().toDeviceBytes, 16);
  device.release((char *)there);
}

TEST(SimDevice, HalfDuplexLinksCarryOneCopyAtATime) {
  for (bool fullDuplex : {true, false}) {
    SimDevice device(slowMachine(fullDuplex), {0, /*dry=*/true, true});
    char *there = device.allocate(16, "a block");
    char *here = there; // not touched
    device.copy(Lane::ToDevice, "fetch", there, here, 16);
    device.copy(Lane::ToHost, "offload", here, there, 16);
    device.copy(Lane::ToHost, "another", here, there, 16);
    Event last = device.record(Lane::ToHost);
    device.synchronize();
    EXPECT_DOUBLE_EQ(device.counts().seconds, fullDuplex ? 5 : 7.5);
    EXPECT_DOUBLE_EQ(device.counts().stallSeconds, fullDuplex ? 5 : 7.5);
    std::vector<DeviceEvent> events = device.takeEvents();
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[1].begin, fullDuplex ? 0 : 2500000000);
    EXPECT_EQ(events[2].end, fullDuplex ? 5000000000 : 7500000000);
    EXPECT_TRUE(device.takeEvents().empty());
    // An event of the past holds nobody up.
    device.wait(Lane::Compute, last);
    EXPECT_DOUBLE_EQ(device.counts().seconds, fullDuplex ? 5 : 7.5);
    device.release(there);
  }
}

TEST(SimDevice, MemoryIsOfAFixedSize) {
  SimDevice device(slowMachine(true), {5000, false, false});
  char *a = device.allocate(1024, "a"), *b = device.allocate(1024, "b");
  device.allocate(1024, "c");
  device.release(b);
  device.release(a);
  b = device.allocate(1, "b");
  try {
    device.allocate(3000, "d");
    FAIL() << "accepted";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ESPALIER_OUT_OF_MEMORY);
    EXPECT_EQ(error.message(),
              "d needs 3000 bytes of the device's memory; of the 5000 bytes of "
              "device 'sim' (slow) 3975 are available, the largest free block "
              "has 2048; plan for a smaller budget or take a smaller batch");
  }
  device.allocate(2000, "d");
}

TEST(SimDevice, AddressesStandForMemory) {
  Machine machine = slowMachine(true);
  int64_t page = Pages::pageBytes();
  machine.memoryBytes = 3 * page;
  SimDevice device(machine, {});
  EXPECT_EQ(device.pageBytes(), page);
  char *block = device.allocate(2 * page, "a block");
  EXPECT_EQ(device.availableBytes(), page);
  // More addresses than there is memory.
  char *addresses = device.reserve(8 * page, "addresses");
  device.map(addresses + 5 * page, block + page, page);
  addresses[5 * page + 7] = 'x';
  EXPECT_EQ(block[page + 7], 'x');
  device.map(addresses + 5 * page, block, page);
  block[7] = 'y';
  EXPECT_EQ(addresses[5 * page + 7], 'y');
  device.map(addresses, block + page, page);
  EXPECT_EQ(addresses[7], 'x');
  device.unmap(addresses, page);
  // What a lane does to the memory is seen there, too.
  device.poison(Lane::Compute, block, 2 * page);
  EXPECT_EQ(addresses[5 * page + 7], '\xFF');
  device.unreserve(addresses);
  device.release(block);
  EXPECT_EQ(device.availableBytes(), 3 * page);
}

TEST(SimDevice, AddressesWithoutMemoryAreNobodys) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimDevice device(slowMachine(true), {});
  char *addresses = device.reserve(4 * device.pageBytes(), "addresses");
  EXPECT_DEATH(std::memset(addresses, 0, 1), "");
}
