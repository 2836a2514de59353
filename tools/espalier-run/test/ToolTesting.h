//===- ToolTesting.h - What the tests of the program share ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder for the files of one test, and runs of espalier-run in it.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_RUN_TEST_TOOLTESTING_H
#define ESPALIER_RUN_TEST_TOOLTESTING_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/wait.h>

class ToolTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        std::filesystem::temp_directory_path() / "espalier-run-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string read(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool exists(const std::string &name) const {
    return std::filesystem::exists(path(name));
  }

  /// Runs the program in the folder, with `environment` ("A=1 B=2"); returns
  /// its exit code.
  int run(const std::string &arguments, const std::string &environment = "") {
    std::string command = "cd '" + folder + "' && " + environment +
                          " '" ESPALIER_RUN "' " + arguments +
                          " >out 2>err </dev/null";
    int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status));
    out = read("out");
    err = read("err");
    return WEXITSTATUS(status);
  }
  /// Expects that `code` is that of an error whose only line has `text` in it.
  void expectError(int code, const std::string &text) {
    EXPECT_EQ(code, 1);
    EXPECT_EQ(err.rfind("espalier-run: error: ", 0), 0u) << err;
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
    EXPECT_NE(err.find(text), std::string::npos) << err;
    EXPECT_EQ(out, "");
  }

  std::string folder, out, err;
};

#endif // ESPALIER_RUN_TEST_TOOLTESTING_H
