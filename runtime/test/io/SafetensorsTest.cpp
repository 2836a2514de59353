//===- SafetensorsTest.cpp - Weights on disk ------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "io/Safetensors.h"

#include "TensorTesting.h"

using namespace espalier;

namespace {
class SafetensorsTest : public IoTest {
protected:
  static std::string file(const std::string &header, const std::string &data) {
    return bytesOf<uint64_t>(header.size()) + header + data;
  }
  static std::string tensor(const std::string &name, const std::string &dtype,
                            const std::string &shape, int begin, int end) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":[" + std::to_string(begin) + "," +
           std::to_string(end) + "]}";
  }
  void expectMalformed(const std::string &bytes, size_t offset,
                       const std::string &what) {
    std::string name = write("w.safetensors", bytes);
    auto action = [&] { readSafetensors(name); };
    expectError(ESPALIER_MALFORMED,
                "w.safetensors: byte " + std::to_string(offset) + ": ", action);
    expectError(ESPALIER_MALFORMED, what, action);
  }
};
} // namespace

TEST_F(SafetensorsTest, RoundTrip) {
  std::vector<NamedTensor> tensors = {
      {"z", makeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
      {"b", makeTensor<double>({1}, {0.1})},
      {"caf\xC3\xA9 \"q\"", makeTensor<int32_t>({}, {-7})},
      {"empty", makeTensor<float>({0, 5}, {})},
  };
  writeSafetensors(path("w"), tensors);
  EXPECT_EQ(files(), 1u);
  std::vector<NamedTensor> again = readSafetensors(path("w"));
  ASSERT_EQ(again.size(), 4u);
  // In the order of names.
  for (auto [read, written] :
       {std::pair<int, int>{0, 1}, {1, 2}, {2, 3}, {3, 0}}) {
    EXPECT_EQ(again[read].name, tensors[written].name);
    expectSame(again[read].tensor, tensors[written].tensor);
  }
  // The order of writing does not change the bytes.
  std::string bytes = read("w");
  std::swap(tensors[0], tensors[3]);
  writeSafetensors(path("w"), tensors);
  EXPECT_EQ(read("w"), bytes);
  writeSafetensors(path("again"), again);
  EXPECT_EQ(read("again"), bytes);
}

TEST_F(SafetensorsTest, Bytes) {
  writeSafetensors(path("w"), {{"a", makeTensor<float>({1}, {1})}});
  std::string header =
      "{\"a\":{\"data_offsets\":[0,4],\"dtype\":\"F32\",\"shape\":[1]}}";
  header.append((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(read("w"), file(header, bytesOf(1.0f)));
  writeSafetensors(path("none"), {});
  EXPECT_EQ(read("none"), file("{}      ", ""));
  EXPECT_TRUE(readSafetensors(path("none")).empty());
}

TEST_F(SafetensorsTest, TensorsShareTheMapping) {
  writeSafetensors(path("w"), {{"a", makeTensor<float>({2}, {1, 2})},
                               {"b", makeTensor<float>({1}, {3})}});
  std::vector<NamedTensor> tensors = readSafetensors(path("w"));
  EXPECT_EQ(tensors[0].tensor.data + 8, tensors[1].tensor.data);
  std::filesystem::remove(path("w"));
  Tensor last = tensors[1].tensor;
  tensors.clear();
  EXPECT_EQ(values<float>(last), std::vector<float>{3});
}

TEST_F(SafetensorsTest, MisalignedTensorsAreCopied) {
  std::string data = bytesOf(5) + bytesOf(0.5) + bytesOf(1.5f);
  for (int pad = 0; pad != 8; ++pad) {
    write("w", file("{" + tensor("i", "I32", "[]", 0, 4) + "," +
                        tensor("d", "F64", "[1]", 4, 12) + "," +
                        tensor("f", "F32", "[1,1]", 12, 16) + "}" +
                        std::string(pad, ' '),
                    data));
    std::vector<NamedTensor> tensors = readSafetensors(path("w"));
    expectSame(tensors[0].tensor, makeTensor<double>({1}, {0.5}));
    expectSame(tensors[1].tensor, makeTensor<float>({1, 1}, {1.5f}));
    expectSame(tensors[2].tensor, makeTensor<int32_t>({}, {5}));
  }
}

TEST_F(SafetensorsTest, Metadata) {
  Metadata metadata = {{"a", "1"}, {"caf\xC3\xA9", "{\"x\": \"\\\"\"}"}};
  std::vector<NamedTensor> tensors = {{"b", makeTensor<float>({1}, {2})}};
  writeSafetensors(path("w"), tensors, metadata);
  EXPECT_EQ(readSafetensorsMetadata(path("w")), metadata);
  ASSERT_EQ(readSafetensors(path("w")).size(), 1u);
  writeSafetensors(path("none"), tensors);
  EXPECT_TRUE(readSafetensorsMetadata(path("none")).empty());
  expectError(ESPALIER_INVALID_ARGUMENT, "metadata, is not UTF-8",
              [&] { writeSafetensors(path("bad"), {}, {{"a", "\xFF"}}); });
  write("short", file("{\"__metadata__\":{}}", "x"));
  expectError(ESPALIER_MALFORMED, "belong to no tensor",
              [&] { readSafetensorsMetadata(path("short")); });
}

TEST_F(SafetensorsTest, MetadataIsSkipped) {
  write("w", file("{\"__metadata__\":{\"format\":\"pt\"}," +
                      tensor("a", "I32", "[1]", 0, 4) + "}",
                  bytesOf(1)));
  EXPECT_EQ(readSafetensors(path("w")).size(), 1u);
  expectMalformed(file("{\"__metadata__\":{\"format\":1}}", ""), 9,
                  "object of strings");
  expectMalformed(file("{\"__metadata__\":[]}", ""), 9, "object of strings");
}

TEST_F(SafetensorsTest, EveryTruncationIsMalformed) {
  std::string bytes =
      file("{" + tensor("a", "F32", "[2]", 0, 8) + "}", bytesOf(1.0));
  write("w", bytes);
  EXPECT_EQ(readSafetensors(path("w")).size(), 1u);
  for (size_t size = 0; size != bytes.size(); ++size) {
    std::string name = write("w", bytes.substr(0, size));
    expectError(ESPALIER_MALFORMED, "byte", [&] { readSafetensors(name); });
  }
}

TEST_F(SafetensorsTest, Headers) {
  expectMalformed("", 0, "ends within the 8 bytes");
  expectMalformed("abc", 3, "ends within the 8 bytes");
  expectMalformed("not a safetensors file", 0, "is this a safetensors file?");
  expectMalformed(bytesOf<uint64_t>(100000001), 0, "more than the 100000000");
  expectMalformed(bytesOf<uint64_t>(~0ull) + "{}", 0, "18446744073709551615");
  expectMalformed(bytesOf<uint64_t>(3) + "{}", 10, "ends within the header");
  expectMalformed(file("", ""), 8, "must start with '{'");
  expectMalformed(file(" {}", ""), 8, "must start with '{'");
  expectMalformed(file("{\"a\" 1}", ""), 14, "syntax error");
  expectMalformed(file("{} {}", ""), 11, "syntax error");
  expectMalformed(file("{\"\xFF\":1}", ""), 10, "UTF-8");
  expectMalformed(file("{" + tensor("a", "I32", "[0]", 0, 0) + "," +
                           tensor("a", "I32", "[0]", 0, 0) + "}",
                       ""),
                  9 + tensor("a", "I32", "[0]", 0, 0).size() + 1,
                  "'a' is there twice");
}

TEST_F(SafetensorsTest, Tensors) {
  auto malformed = [&](const std::string &entry, const std::string &what,
                       const std::string &data = "") {
    expectMalformed(file("{" + entry + "}", data), 9, what);
  };
  malformed("\"a\":1", "expected an object with 'dtype'");
  malformed("\"a\":{\"dtype\":\"F32\",\"shape\":[0]}", "'data_offsets'");
  malformed("\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0],"
            "\"x\":1}",
            "nothing else");
  malformed(tensor("a", "f32", "[0]", 0, 0), "unknown dtype \"f32\"");
  malformed("\"a\":{\"dtype\":1,\"shape\":[0],\"data_offsets\":[0,0]}",
            "unknown dtype 1");
  malformed(tensor("a", "F32", "[-1]", 0, 0), "'shape' must be");
  malformed(tensor("a", "F32", "[1.0]", 0, 4), "'shape' must be", "1234");
  malformed(tensor("a", "F32", "1", 0, 4), "'shape' must be", "1234");
  malformed(tensor("a", "F32", "[4294967296,4294967296]", 0, 0),
            "must fit 64 bits");
  malformed(tensor("a", "F32", "[9223372036854775808]", 0, 0),
            "'shape' must be");
  malformed(tensor("a", "F32", "[1]", 0, 8),
            "its shape needs 4 bytes, but "
            "'data_offsets' gives it 8",
            "12345678");
  malformed(tensor("a", "F32", "[1]", 0, 4), "within the 3 bytes", "123");
  malformed(tensor("a", "F32", "[1]", 4, 0), "bytes [4, 0)", "1234");
  malformed("\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}",
            "must be [begin, end]");
  malformed("\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}",
            "must be [begin, end]");
}

TEST_F(SafetensorsTest, OverlapsGapsAndTrailingBytes) {
  auto two = [&](int begin, int end, const std::string &shape) {
    return "{" + tensor("a", "F32", "[2]", 0, 8) + "," +
           tensor("b", "F32", shape, begin, end) + "}";
  };
  std::string header = two(4, 8, "[1]");
  expectMalformed(file(header, std::string(8, 0)), 8 + header.size() + 4,
                  "'a' and 'b' overlap");
  header = two(0, 8, "[2]");
  expectMalformed(file(header, std::string(8, 0)), 8 + header.size(),
                  "overlap");
  header = two(12, 16, "[1]");
  expectMalformed(file(header, std::string(16, 0)), 8 + header.size() + 8,
                  "4 bytes before tensor 'b' belong to no tensor");
  header = two(8, 12, "[1]");
  expectMalformed(file(header, std::string(13, 0)), 8 + header.size() + 12,
                  "1 bytes after the last tensor");
  expectMalformed(file("{}", "x"), 10, "1 bytes after the last tensor");
}

TEST_F(SafetensorsTest, OtherElementTypes) {
  std::string name =
      write("w", file("{" + tensor("half", "BF16", "[2]", 0, 4) + "}", "1234"));
  expectError(ESPALIER_UNSUPPORTED, "tensor 'half' has the dtype BF16",
              [&] { readSafetensors(name); });
}

TEST_F(SafetensorsTest, NamesThatCannotBeWritten) {
  Tensor one = makeTensor<float>({1}, {1});
  expectError(ESPALIER_INVALID_ARGUMENT, "'a' is there twice",
              [&] { writeSafetensors(path("w"), {{"a", one}, {"a", one}}); });
  expectError(ESPALIER_INVALID_ARGUMENT, "reserved",
              [&] { writeSafetensors(path("w"), {{"__metadata__", one}}); });
  expectError(ESPALIER_INVALID_ARGUMENT, "UTF-8",
              [&] { writeSafetensors(path("w"), {{"\xFF", one}}); });
  EXPECT_EQ(files(), 0u);
}
