//===- IoTesting.h - What the tests of files share --------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder for the files of one test, and checks of the errors they cause.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_IO_IOTESTING_H
#define ESPALIER_TEST_IO_IOTESTING_H

#include "io/Readers.h"
#include "support/Error.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

namespace espalier {

class IoTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "espalier-io-XXXXXX");
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// How many files the folder has.
  size_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  }

  std::string folder;
};

/// Expects that `action` fails with `code` and a message that has `text` in it.
inline void expectError(espalier_status code, const std::string &text,
                        const std::function<void()> &action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected: " << text;
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), code) << e.message();
    EXPECT_NE(e.message().find(text), std::string::npos)
        << "message:  " << e.message() << "\nexpected: " << text;
  }
}

/// Tests of one format of structures.
class ReaderTest : public IoTest {
protected:
  explicit ReaderTest(const char *format) : format(format) {}

  Forest readText(const std::string &text,
                  espalier_unseen unseen = ESPALIER_UNSEEN_ADD) {
    Forest forest =
        readStructures(write("in.txt", text), format, words, unseen);
    forest.validate();
    return forest;
  }
  /// Expects an error at "in.txt:" + `where`, and no trace of the text in the
  /// vocabulary.
  void expectMalformed(const std::string &text, const std::string &where,
                       const std::string &what,
                       espalier_unseen unseen = ESPALIER_UNSEEN_ADD) {
    int64_t size = words.size();
    expectError(ESPALIER_MALFORMED, "in.txt:" + where + ": ",
                [&] { readText(text, unseen); });
    expectError(ESPALIER_MALFORMED, what, [&] { readText(text, unseen); });
    EXPECT_EQ(words.size(), size);
  }
  std::vector<std::string> tokens(const Forest &forest) const {
    std::vector<std::string> out;
    for (int32_t id : ints(forest, "word"))
      out.push_back(id < 0 ? "" : words.token(id));
    return out;
  }
  static std::vector<int32_t> ints(const Forest &forest, const char *field) {
    const Tensor &tensor = forest.fields.at(field);
    EXPECT_EQ(tensor.dtype, (uint32_t)ESPALIER_I32);
    EXPECT_EQ(tensor.shape, std::vector<int64_t>{forest.vertices()});
    return {tensor.as<int32_t>(), tensor.as<int32_t>() + tensor.elements()};
  }
  static std::vector<int32_t> children(const Forest &forest, int64_t vertex) {
    return {forest.children.begin() + forest.childOffsets[vertex],
            forest.children.begin() + forest.childOffsets[vertex + 1]};
  }

  const char *format;
  Vocabulary words;
};

using Ints = std::vector<int32_t>;
using Offsets = std::vector<int64_t>;
using Strings = std::vector<std::string>;

} // namespace espalier

#endif // ESPALIER_TEST_IO_IOTESTING_H
