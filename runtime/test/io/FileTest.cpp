//===- FileTest.cpp - Whole files -----------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "io/File.h"

#include "IoTesting.h"

#include <sys/stat.h>

using namespace espalier;

namespace {
class FileTest : public IoTest {};
} // namespace

TEST_F(FileTest, AppearsOnlyWhenCommitted) {
  {
    AtomicFile file(path("out"));
    file.write("abc");
    EXPECT_FALSE(std::filesystem::exists(path("out")));
    EXPECT_EQ(files(), 1u);
  }
  EXPECT_EQ(files(), 0u);
  AtomicFile file(path("out"));
  file.write("abc");
  file.commit();
  EXPECT_EQ(read("out"), "abc");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, OutputsNeedFilesOfTheirOwn) {
  std::string in = write("in", ""), link = path("link");
  std::filesystem::create_symlink("in", link);
  checkOutputPaths({in, ""}, {path("a"), path("b"), ""});
  for (const std::string &output : {in, link, path("./in"), path("a/../in")})
    expectError(ESPALIER_INVALID_ARGUMENT,
                "'" + output + "' would be written over '" + in + "'",
                [&] { checkOutputPaths({in}, {path("a"), output}); });
  // Names that nobody can look up are not the same for that.
  std::string longName(5000, 'x');
  checkOutputPaths({longName}, {longName + "y"});
  // Files that are not there yet.
  expectError(ESPALIER_INVALID_ARGUMENT, "'./a' would be written over 'a'",
              [] { checkOutputPaths({}, {"a", "./a"}); });
}

TEST_F(FileTest, AbandonedWriteKeepsTheOldFile) {
  write("out", "old");
  {
    AtomicFile file(path("out"));
    file.write("new");
  }
  EXPECT_EQ(read("out"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, FollowsSymbolicLinks) {
  write("real", "old");
  std::filesystem::create_symlink(path("real"), path("link"));
  AtomicFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read("real"), "new");
}

TEST_F(FileTest, RefusesWhatIsNotAFile) {
  expectError(ESPALIER_IO_ERROR, "not a regular file",
              [] { AtomicFile file("/dev/null"); });
  expectError(ESPALIER_IO_ERROR, "directory", [&] { AtomicFile file(folder); });
  expectError(ESPALIER_IO_ERROR, "No such file",
              [&] { AtomicFile file(path("none/out")); });
  expectError(ESPALIER_NOT_FOUND, "none", [&] { readFile(path("none")); });
  expectError(ESPALIER_NOT_FOUND, "none", [&] { mapFile(path("none")); });
  expectError(ESPALIER_IO_ERROR, "directory", [&] { readFile(folder); });
  expectError(ESPALIER_IO_ERROR, "directory", [&] { mapFile(folder); });
}

TEST_F(FileTest, ReadsPipes) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string text(200000, 'x');
  std::string command =
      "head -c 200000 /dev/zero | tr '\\0' x > '" + path("pipe") + "' &";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(readFile(path("pipe")), text);
}

TEST_F(FileTest, EmptyFiles) {
  write("empty", "");
  EXPECT_EQ(readFile(path("empty")), "");
  EXPECT_EQ(mapFile(path("empty")).size, 0u);
}
