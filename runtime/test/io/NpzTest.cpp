//===- NpzTest.cpp - Archives of NumPy's arrays ---------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "io/Npy.h"

#include "TensorTesting.h"

#include <minizip/zip.h>

using namespace espalier;

namespace {
class NpzTest : public IoTest {
protected:
  std::vector<NamedTensor> tensors = {
      {"logits", makeTensor<float>({2, 2}, {1, 2, 3, 4})},
      {"caf\xC3\xA9", makeTensor<double>({}, {0.5})},
      {"a/b", makeTensor<int32_t>({0}, {})},
  };

  /// An archive with members of the given contents.
  void
  writeArchive(const std::vector<std::pair<std::string, std::string>> &members,
               int method, const char *password = nullptr) {
    zipFile archive = zipOpen64(path("x.npz").c_str(), APPEND_STATUS_CREATE);
    for (auto &[name, bytes] : members) {
      zip_fileinfo info = {};
      zipOpenNewFileInZip3_64(archive, name.c_str(), &info, nullptr, 0, nullptr,
                              0, nullptr, method, Z_DEFAULT_COMPRESSION, 0,
                              -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY,
                              password, 0, 0);
      zipWriteInFileInZip(archive, bytes.data(), bytes.size());
      zipCloseFileInZip(archive);
    }
    zipClose(archive, nullptr);
  }
  static std::string npy(const Tensor &tensor) {
    return npyHeader(tensor) + std::string(tensor.data, tensor.bytes());
  }
};
} // namespace

TEST_F(NpzTest, RoundTripKeepsTheOrder) {
  writeNpz(path("x.npz"), tensors);
  EXPECT_EQ(files(), 1u);
  std::vector<NamedTensor> again = readNpz(path("x.npz"));
  ASSERT_EQ(again.size(), tensors.size());
  for (size_t i = 0; i != tensors.size(); ++i) {
    EXPECT_EQ(again[i].name, tensors[i].name);
    expectSame(again[i].tensor, tensors[i].tensor);
  }
  writeNpz(path("y.npz"), again);
  EXPECT_EQ(read("x.npz"), read("y.npz"));
}

TEST_F(NpzTest, NoTensors) {
  writeNpz(path("x.npz"), {});
  EXPECT_TRUE(readNpz(path("x.npz")).empty());
}

TEST_F(NpzTest, LargerThanOnePiece) {
  std::vector<float> many(700001);
  for (size_t i = 0; i != many.size(); ++i)
    many[i] = (float)i;
  Tensor tensor = makeTensor<float>({700001}, many);
  writeNpz(path("x.npz"), {{"many", tensor}});
  expectSame(readNpz(path("x.npz")).at(0).tensor, tensor);
  writeArchive({{"many.npy", npy(tensor)}}, Z_DEFLATED);
  EXPECT_LT(read("x.npz").size(), tensor.bytes());
  expectSame(readNpz(path("x.npz")).at(0).tensor, tensor);
}

TEST_F(NpzTest, EveryTruncationAndEveryDamagedByte) {
  writeNpz(path("good.npz"), {tensors[0]});
  std::string bytes = read("good.npz");
  for (size_t size = 0; size != bytes.size(); ++size) {
    std::string name = write("x.npz", bytes.substr(0, size));
    expectError(ESPALIER_MALFORMED, "x.npz", [&] { readNpz(name); });
  }
  // Damage is either found or harmless (dates, attributes, ...).
  for (size_t i = 0; i != bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 0x55;
    std::string name = write("x.npz", damaged);
    try {
      std::vector<NamedTensor> again = readNpz(name);
      ASSERT_EQ(again.size(), 1u);
      expectSame(again[0].tensor, tensors[0].tensor);
    } catch (const Error &e) {
      EXPECT_TRUE(e.code() == ESPALIER_MALFORMED ||
                  e.code() == ESPALIER_UNSUPPORTED)
          << e.message();
    }
  }
}

TEST_F(NpzTest, Malformed) {
  auto malformed = [&](const std::string &what) {
    expectError(ESPALIER_MALFORMED, what, [&] { readNpz(path("x.npz")); });
  };
  write("x.npz", "no archive");
  malformed("not a zip archive");
  writeArchive({{"a.npy", npy(tensors[0].tensor)}, {"b.txt", "x"}}, 0);
  malformed("'b.txt': expected only members whose names end in '.npy'");
  writeArchive(
      {{"a.npy", npy(tensors[0].tensor)}, {"a.npy", npy(tensors[0].tensor)}},
      0);
  malformed("'a.npy': the member is there twice");
  writeArchive({{"a.npy", npy(tensors[0].tensor) + "x"}}, Z_DEFLATED);
  malformed("'a.npy': byte 144: the header promises 16 bytes");
  writeArchive({{"a.npy", npy(tensors[0].tensor)}}, 0, "secret");
  expectError(ESPALIER_UNSUPPORTED, "encrypted",
              [&] { readNpz(path("x.npz")); });
  expectError(ESPALIER_NOT_FOUND, "nowhere", [&] { readNpz(path("nowhere")); });
}

TEST_F(NpzTest, NamesThatCannotBeWritten) {
  Tensor one = makeTensor<float>({1}, {1});
  expectError(ESPALIER_INVALID_ARGUMENT, "'a' is there twice",
              [&] { writeNpz(path("x.npz"), {{"a", one}, {"a", one}}); });
  expectError(ESPALIER_INVALID_ARGUMENT, "'a\\x00b'", [&] {
    writeNpz(path("x.npz"), {{std::string("a\0b", 3), one}});
  });
  expectError(ESPALIER_INVALID_ARGUMENT, "cannot be the name", [&] {
    writeNpz(path("x.npz"), {{std::string(70000, 'x'), one}});
  });
  expectError(ESPALIER_IO_ERROR, "No such file",
              [&] { writeNpz(path("none/x.npz"), tensors); });
  EXPECT_EQ(files(), 0u);
}
