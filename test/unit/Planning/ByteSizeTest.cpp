//===- ByteSizeTest.cpp - Sizes that people write and read ----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/ByteSize.h"

#include <gtest/gtest.h>

using namespace espalier::planning;

namespace {

TEST(ByteSize, Parses) {
  EXPECT_EQ(parseByteSize("0"), 0);
  EXPECT_EQ(parseByteSize("4096"), 4096);
  EXPECT_EQ(parseByteSize("17B"), 17);
  EXPECT_EQ(parseByteSize("12GiB"), int64_t(12) << 30);
  EXPECT_EQ(parseByteSize("12 GiB"), int64_t(12) << 30);
  EXPECT_EQ(parseByteSize("1.5MiB"), 1572864);
  EXPECT_EQ(parseByteSize("16GB"), 16000000000);
  EXPECT_EQ(parseByteSize("2kB"), 2000);
  EXPECT_EQ(parseByteSize("3TiB"), int64_t(3) << 40);
  // No double has this value.
  EXPECT_EQ(parseByteSize("9223372036854775807"), INT64_MAX);
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char *text :
       {"", " ", "GiB", "-1", "-1GiB", "12GiBs", "12 Gib", "1e3GiB", "0x10",
        "12  GiB", "nan", "inf", "9223372036854775808", "8388608TiB", "1.5.2",
        "12GiB "})
    EXPECT_EQ(parseByteSize(text), std::nullopt) << text;
}

TEST(ByteSize, Prints) {
  EXPECT_EQ(formatByteSize(0), "0 B");
  EXPECT_EQ(formatByteSize(1023), "1023 B");
  EXPECT_EQ(formatByteSize(1024), "1.00 KiB");
  EXPECT_EQ(formatByteSize(1572864), "1.50 MiB");
  EXPECT_EQ(formatByteSize((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(formatByteSize(int64_t(12) << 30), "12.00 GiB");
  EXPECT_EQ(formatByteSize(int64_t(5) << 50), "5120.00 TiB");
}

} // namespace
