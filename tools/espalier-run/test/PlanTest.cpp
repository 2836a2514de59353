//===- PlanTest.cpp - espalier-run on a model with a memory plan ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ToolTesting.h"

#include "io/Npy.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace espalier;

namespace {

class PlanTest : public ToolTest {
protected:
  void SetUp() override {
    ToolTest::SetUp();
    write("machine.json",
          "{\"name\": \"slow\", \"devices\": [{\"memory\": \"1MiB\", "
          "\"flops_per_second\": 1e9, \"bytes_per_second\": \"1GB\"}], "
          "\"links\": [{\"bytes_per_second\": \"10MB\"}], \"host\": "
          "{\"memory\": \"1MiB\"}}");
    Tensor x = Tensor::zeros(ESPALIER_F32, {1000});
    for (int i = 0; i < 1000; ++i)
      reinterpret_cast<float *>(x.mutableData())[i] = (float)i;
    writeNpy(path("x.npy"), x);
  }
  int runModel(const std::string &arguments) {
    return run("'" ESPALIER_PLAN_TEST_MODEL "' " + arguments);
  }
  nlohmann::json stats() { return nlohmann::json::parse(read("s.json")); }
};

} // namespace

TEST_F(PlanTest, DevicesGiveTheSameResults) {
  const char *common = "--random-weights 1 --input x=x.npy --stats s.json ";
  ASSERT_EQ(runModel(std::string(common) + "--output cpu.npz"), 0) << err;
  EXPECT_NE(out.find("on the device: "), std::string::npos) << out;
  EXPECT_EQ(out.find("vocabulary"), std::string::npos) << out;
  nlohmann::json cpu = stats().at("memory");
  EXPECT_LE(cpu.at("device_peak_bytes"), cpu.at("planned_device_bytes"));
  EXPECT_GT(cpu.at("offloaded_bytes"), 0);
  ASSERT_EQ(runModel(std::string(common) + "--device sim --machine "
                                           "machine.json --output sim.npz "
                                           "--trace t.json"),
            0)
      << err;
  EXPECT_NE(out.find("simulated: "), std::string::npos) << out;
  nlohmann::json sim = stats();
  EXPECT_GT(sim.at("simulated").at("seconds"),
            sim.at("simulated").at("stall_seconds"));
  for (const char *same : {"device_peak_bytes", "host_peak_bytes",
                           "offloaded_bytes", "prefetched_bytes"})
    EXPECT_EQ(sim.at("memory").at(same), cpu.at(same)) << same;
  std::vector<NamedTensor> expected = readNpz(path("cpu.npz"));
  std::vector<NamedTensor> found = readNpz(path("sim.npz"));
  ASSERT_EQ(expected.size(), 2u);
  ASSERT_EQ(found.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found[i].name, expected[i].name);
    EXPECT_EQ(0, std::memcmp(found[i].tensor.data, expected[i].tensor.data,
                             expected[i].tensor.bytes()));
  }
  // Copies run beside steps, and the memory in use is there.
  nlohmann::json trace = nlohmann::json::parse(read("t.json"));
  int64_t copies = 0, samples = 0, most = 0;
  for (const nlohmann::json &event : trace.at("traceEvents")) {
    copies += event.value("cat", "") == "to host";
    if (event.at("ph") != "C")
      continue;
    ++samples;
    most = std::max<int64_t>(most, event.at("args").at("device bytes"));
  }
  EXPECT_GT(copies, 0);
  EXPECT_GT(samples, copies);
  EXPECT_GT(most, 0);
  EXPECT_LE(most, cpu.at("planned_device_bytes"));

  // A dry run needs nothing, and reckons the same.
  ASSERT_EQ(
      runModel("--device sim --machine machine.json --dry --stats s.json"), 0)
      << err;
  EXPECT_NE(out.find("nothing computed"), std::string::npos) << out;
  EXPECT_EQ(out.find("results"), std::string::npos) << out;
  EXPECT_EQ(stats().at("simulated").at("seconds"),
            sim.at("simulated").at("seconds"));
}

/// As for the compiler: powers of 1000 and of 1024 have units of their own.
TEST_F(PlanTest, SizesAreThoseOfTheCompiler) {
  auto limit = [&](const std::string &text) {
    EXPECT_EQ(runModel("--random-weights 1 --input x=x.npy --memory-limit '" +
                       text + "'"),
              1);
    return err;
  };
  EXPECT_NE(limit("4kB").find("limit of 4000"), std::string::npos) << err;
  EXPECT_NE(limit("4 KiB").find("limit of 4096"), std::string::npos) << err;
  EXPECT_NE(limit("1.5KiB").find("limit of 1536"), std::string::npos) << err;
  for (const char *text : {"99999999999999999999", "8388608TiB", "-1", "4kib"})
    EXPECT_NE(limit(text).find("--memory-limit: '" + std::string(text) +
                               "' is no size such as 12884901888 or 12GiB"),
              std::string::npos)
        << err;
}

TEST_F(PlanTest, DevicesCanBeTooSmall) {
  ASSERT_EQ(runModel("--device sim --machine machine.json --dry "
                     "--memory-limit 4KiB"),
            1);
  EXPECT_NE(err.find("the largest free block has 4096"), std::string::npos)
      << err;
  ASSERT_EQ(runModel("--random-weights 1 --input x=x.npy --memory-limit 4KiB"),
            1);
  EXPECT_NE(err.find("limit of 4096"), std::string::npos) << err;
  ASSERT_EQ(runModel("--device gpu"), 1);
  ASSERT_EQ(runModel("--dry"), 1);
  ASSERT_EQ(runModel("--device sim --random-weights 1 --input x=x.npy"), 1);
  EXPECT_NE(err.find("needs the description of a machine"), std::string::npos)
      << err;
  write("bad.json", "{\"devices\": 3}");
  ASSERT_EQ(runModel("--device sim --machine bad.json --dry"), 1);
  EXPECT_NE(err.find("'devices' is not an array of one object"),
            std::string::npos)
      << err;
}
