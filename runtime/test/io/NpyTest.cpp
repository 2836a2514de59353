//===- NpyTest.cpp - NumPy's array files ----------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "io/Npy.h"

#include "TensorTesting.h"

#include <cmath>
#include <limits>

using namespace espalier;

namespace {
class NpyTest : public IoTest {
protected:
  /// A file of the given version with a header that is not padded.
  static std::string file(const std::string &header, const std::string &data,
                          int version = 1) {
    std::string bytes = "\x93NUMPY";
    bytes += {(char)version, 0};
    bytes += version == 1 ? bytesOf<uint16_t>(header.size())
                          : bytesOf<uint32_t>(header.size());
    return bytes + header + data;
  }
  static std::string header(const std::string &type, const std::string &shape,
                            bool fortran = false) {
    return "{'descr': '" + type +
           "', 'fortran_order': " + (fortran ? "True" : "False") +
           ", 'shape': " + shape + ", }\n";
  }
  static Tensor decode(const std::string &bytes) {
    return decodeNpy(bytes, "x.npy");
  }
  static void expectMalformed(const std::string &bytes,
                              const std::string &what) {
    expectError(ESPALIER_MALFORMED, "x.npy: byte ", [&] { decode(bytes); });
    expectError(ESPALIER_MALFORMED, what, [&] { decode(bytes); });
  }
  static void expectUnsupported(const std::string &bytes,
                                const std::string &what) {
    expectError(ESPALIER_UNSUPPORTED, "x.npy: ", [&] { decode(bytes); });
    expectError(ESPALIER_UNSUPPORTED, what, [&] { decode(bytes); });
  }
};

std::string reversed(std::string bytes) {
  return {bytes.rbegin(), bytes.rend()};
}
} // namespace

TEST_F(NpyTest, RoundTrip) {
  for (const Tensor &tensor :
       {makeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
        makeTensor<double>({3}, {0.1, -0.0, INFINITY}),
        makeTensor<int32_t>({1, 1, 2, 1}, {INT32_MIN, INT32_MAX}),
        makeTensor<float>({}, {1.5f}), makeTensor<int32_t>({0, 4}, {})}) {
    writeNpy(path("x.npy"), tensor);
    EXPECT_EQ(read("x.npy").size() % 64, tensor.bytes() % 64);
    expectSame(readNpy(path("x.npy")), tensor);
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(NpyTest, WritesWhatNumpyWrites) {
  std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  text.append(128 - 10 - text.size() - 1, ' ');
  writeNpy(path("x.npy"), makeTensor<float>({2}, {1, 2}));
  EXPECT_EQ(read("x.npy"), file(text + "\n", bytesOf(1.0f) + bytesOf(2.0f)));
  auto start = [](const Tensor &tensor) {
    return npyHeader(tensor).substr(10, 65);
  };
  EXPECT_NE(start(makeTensor<int32_t>({}, {1})).find("'<i4'"),
            std::string::npos);
  EXPECT_NE(start(makeTensor<int32_t>({}, {1})).find("'shape': (), }"),
            std::string::npos);
  EXPECT_NE(
      start(makeTensor<double>({2, 1}, {1, 2})).find("'shape': (2, 1), }"),
      std::string::npos);
}

TEST_F(NpyTest, VersionsAndHeaders) {
  for (int version : {1, 2, 3})
    expectSame(decode(file(header("<i4", "(1,)"), bytesOf(7), version)),
               makeTensor<int32_t>({1}, {7}));
  // Other key order, quotes, blanks, no last commas, Python 2's long sizes.
  expectSame(decode(file("{\"shape\":(2L,1) ,'fortran_order':False,\n"
                         "'descr' : '<i4'}",
                         bytesOf(1) + bytesOf(2))),
             makeTensor<int32_t>({2, 1}, {1, 2}));
}

TEST_F(NpyTest, FortranOrder) {
  std::string data;
  for (int i = 0; i != 6; ++i)
    data += bytesOf(i);
  expectSame(decode(file(header("<i4", "(2, 3)", true), data)),
             makeTensor<int32_t>({2, 3}, {0, 2, 4, 1, 3, 5}));
  data.clear();
  for (int i = 0; i != 24; ++i)
    data += bytesOf((float)i);
  Tensor cube = decode(file(header("<f4", "(2, 3, 4)", true), data));
  for (int i = 0; i != 2; ++i)
    for (int j = 0; j != 3; ++j)
      for (int k = 0; k != 4; ++k)
        EXPECT_EQ(cube.as<float>()[(i * 3 + j) * 4 + k], i + 2 * j + 6 * k);
  expectSame(decode(file(header("<f4", "(0, 3)", true), "")),
             makeTensor<float>({0, 3}, {}));
  expectSame(decode(file(header("<f4", "()", true), bytesOf(2.0f))),
             makeTensor<float>({}, {2}));
}

TEST_F(NpyTest, BigEndian) {
  expectSame(decode(file(header(">f4", "(2,)"),
                         reversed(bytesOf(1.5f)) + reversed(bytesOf(-2.0f)))),
             makeTensor<float>({2}, {1.5f, -2.0f}));
  expectSame(decode(file(header(">f8", "()"), reversed(bytesOf(0.1)))),
             makeTensor<double>({}, {0.1}));
  expectSame(decode(file(header(">i8", "()"), reversed(bytesOf<int64_t>(-3)))),
             makeTensor<int32_t>({}, {-3}));
}

TEST_F(NpyTest, IntegersThatFit) {
  expectSame(
      decode(file(header("<i8", "(2,)"),
                  bytesOf<int64_t>(INT32_MIN) + bytesOf<int64_t>(INT32_MAX))),
      makeTensor<int32_t>({2}, {INT32_MIN, INT32_MAX}));
  expectSame(decode(file(header("|u1", "(2,)"), "\xFF\x01")),
             makeTensor<int32_t>({2}, {255, 1}));
  expectSame(decode(file(header("|i1", "(2,)"), "\xFF\x01")),
             makeTensor<int32_t>({2}, {-1, 1}));
  expectSame(decode(file(header("|b1", "(2,)"), std::string("\x01\x00", 2))),
             makeTensor<int32_t>({2}, {1, 0}));
  expectSame(decode(file(header("<u2", "()"), "\xFF\xFF")),
             makeTensor<int32_t>({}, {65535}));
  expectSame(decode(file(header("<i2", "()"), "\xFF\xFF")),
             makeTensor<int32_t>({}, {-1}));
  expectUnsupported(file(header("<i8", "(2,)"),
                         bytesOf<int64_t>(1) + bytesOf<int64_t>(2147483648)),
                    "index 1 (in the order of the file) is 2147483648");
  expectUnsupported(file(header("<u4", "()"), bytesOf<uint32_t>(~0u)),
                    "4294967295");
  expectUnsupported(file(header("<u8", "()"), bytesOf<uint64_t>(~0ull)),
                    "18446744073709551615");
}

TEST_F(NpyTest, HalfPrecision) {
  // 1, -2, largest, smallest subnormal, -0, infinity, NaN.
  std::string data;
  for (uint16_t bits : {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x8000, 0x7C00, 0x7E01})
    data += bytesOf(bits);
  Tensor tensor = decode(file(header("<f2", "(7,)"), data));
  ASSERT_EQ(tensor.dtype, (uint32_t)ESPALIER_F32);
  std::vector<float> got = values<float>(tensor);
  EXPECT_EQ(got[0], 1.0f);
  EXPECT_EQ(got[1], -2.0f);
  EXPECT_EQ(got[2], 65504.0f);
  EXPECT_EQ(got[3], std::ldexp(1.0f, -24));
  EXPECT_TRUE(got[4] == 0 && std::signbit(got[4]));
  EXPECT_EQ(got[5], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(got[6]));
}

TEST_F(NpyTest, OtherTypesAreRefused) {
  for (const char *type : {"|O", "<c8", "<U3", "|S4", "<f16", "|V8", "<M8[ns]",
                           "=f4", "f4", "", "|f4"})
    expectUnsupported(file(header(type, "(1,)"), std::string(16, 0)),
                      "'" + std::string(type) + "' are not supported");
  expectUnsupported(file("{'descr': [('a', '<f4')], 'fortran_order': False, "
                         "'shape': (1,), }\n",
                         bytesOf(1.0f)),
                    "records");
  expectUnsupported(file(header("<f4", "(1,)"), bytesOf(1.0f), 4), "version 4");
}

TEST_F(NpyTest, EveryTruncationIsMalformed) {
  for (int version : {1, 2}) {
    std::string bytes = file(header("<f4", "(2,)"), bytesOf(0.0), version);
    decode(bytes);
    for (size_t size = 0; size != bytes.size(); ++size)
      expectMalformed(bytes.substr(0, size), "");
  }
}

TEST_F(NpyTest, Malformed) {
  expectMalformed("PK\x03\x04", "byte 0: expected the magic string");
  expectMalformed(file(header("<f4", "(2,)"), std::string(9, 0)),
                  "promises 8 bytes of elements, but the file has 9");
  expectMalformed(file(header("<f4", "(2,)"), std::string(7, 0)),
                  "promises 8 bytes of elements, but the file has 7");
  expectMalformed(file(header("<f4", "(4294967296, 4294967296)"), ""),
                  "more than 2^64");
  expectMalformed(file(header("<f4", "(9223372036854775807, 2)"), ""),
                  "promises");
  expectMalformed(file(header("<f4", "(0, 9223372036854775807, 9)"), "x"),
                  "promises");
  auto text = [&](const std::string &header, const std::string &what) {
    expectMalformed(file(header, bytesOf(1.0f)), what);
  };
  text("", "byte 10: expected '{'");
  text("{}", "lacks 'descr'");
  text("{'descr': '<f4', 'shape': (1,)}", "lacks");
  text("{'descr': '<f4", "a string in the header does not end");
  text("{'descr': 3}", "expected '''");
  text("{'descr' '<f4'}", "expected ':'");
  text("{'descr': '<f4', 'descr': '<f4'}", "repeated key 'descr'");
  text("{'colour': 1}", "key 'colour'");
  text("{'fortran_order': 0}", "True or False");
  text("{'shape': 1}", "expected '('");
  text("{'shape': (-1,)}", "expected a size");
  text("{'shape': (1 2)}", "expected ')'");
  text("{'shape': (1,,)}", "expected a size");
  text("{'shape': (9223372036854775808,)}", "does not fit 64 bits");
  text("{'shape': (1,) 'descr'", "expected '}'");
  text(header("<f4", "(1,)") + "x", "end of the header");
  expectError(ESPALIER_NOT_FOUND, "nowhere", [&] { readNpy(path("nowhere")); });
}
