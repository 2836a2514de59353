//===- Npy.cpp - NumPy's array files --------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A .npy file is a magic string, a version, a header, which is a Python
// dictionary literal, and the elements.
//
//===----------------------------------------------------------------------===//
#include "io/Npy.h"

#include "io/File.h"
#include "io/Quote.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "arrays are written as they are in memory");

namespace espalier {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void malformed(const std::string &name, size_t offset,
                            const std::string &what) {
  fail(ESPALIER_MALFORMED, "%s: byte %zu: %s", name.c_str(), offset,
       what.c_str());
}

struct Header {
  std::string type; // such as "<f4"
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
class HeaderParser {
public:
  HeaderParser(std::string_view text, size_t offset, const std::string &name)
      : text(text), offset(offset), name(name) {}

  Header parse() {
    Header header;
    bool hasType = false, hasOrder = false, hasShape = false;
    expect('{');
    while (!accept('}')) {
      std::string key = readString();
      expect(':');
      if (key == "descr" && !hasType) {
        hasType = true;
        header.type = readType();
      } else if (key == "fortran_order" && !hasOrder) {
        hasOrder = true;
        header.fortranOrder = readBool();
      } else if (key == "shape" && !hasShape) {
        hasShape = true;
        header.shape = readShape();
      } else {
        wrong("unexpected or repeated key " + quote(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipBlanks();
    if (at != text.size())
      wrong("expected the end of the header");
    if (!hasType || !hasOrder || !hasShape)
      wrong("the header lacks 'descr', 'fortran_order' or 'shape'");
    return header;
  }

private:
  [[noreturn]] void wrong(const std::string &what) const {
    malformed(name, offset + at, what);
  }
  void skipBlanks() {
    while (at < text.size() && std::strchr(" \t\r\n", text[at]) && text[at])
      ++at;
  }
  bool accept(char c) {
    skipBlanks();
    if (at == text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      wrong(format("expected '%c' in the header", c));
  }
  std::string readString() {
    char quote = accept('"') ? '"' : '\'';
    if (quote == '\'')
      expect('\'');
    size_t end = text.find(quote, at);
    if (end == std::string_view::npos)
      wrong("a string in the header does not end");
    std::string value(text.substr(at, end - at));
    at = end + 1;
    return value;
  }
  std::string readType() {
    skipBlanks();
    if (text.substr(at, 1) == "[")
      fail(ESPALIER_UNSUPPORTED,
           "%s: the elements are records; save every field as an array of its "
           "own",
           name.c_str());
    return readString();
  }
  bool readBool() {
    skipBlanks();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (text.substr(at, word.size()) == word) {
        at += word.size();
        return value;
      }
    }
    wrong("expected True or False");
  }
  std::vector<int64_t> readShape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!accept(')')) {
      skipBlanks();
      if (at == text.size() || text[at] < '0' || text[at] > '9')
        wrong("expected a size or ')' in 'shape'");
      int64_t size = 0;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        if (__builtin_mul_overflow(size, 10, &size) ||
            __builtin_add_overflow(size, text[at] - '0', &size))
          wrong("a size in 'shape' does not fit 64 bits");
      accept('L'); // written by Python 2
      shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text;
  size_t offset; // of the text in the file
  const std::string &name;
  size_t at = 0;
};

/// IEEE half precision, which every float holds exactly.
struct Half {
  uint16_t bits;
  explicit operator float() const {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t exponent = (bits >> 10) & 31;
    uint32_t fraction = bits & 1023;
    if (exponent == 0) {
      float magnitude = (float)fraction * 0x1p-24f;
      return sign ? -magnitude : magnitude;
    }
    exponent = exponent == 31 ? 255 : exponent + 112;
    uint32_t wide = sign | exponent << 23 | fraction << 13;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
};

/// The elements of a file, as they are there.
struct Source {
  std::string_view bytes;
  bool bigEndian;
  bool fortranOrder;
  const std::string &name;
};

template <typename T> T readElement(const Source &source, size_t index) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, source.bytes.data() + index * sizeof(T), sizeof(T));
  if (source.bigEndian)
    std::reverse(bytes, bytes + sizeof(T));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename From, typename To>
To convert(From value, const Source &source, size_t index) {
  if constexpr (std::is_integral_v<From>) {
    bool fits = std::is_signed_v<From>
                    ? (int64_t)value >= INT32_MIN && (int64_t)value <= INT32_MAX
                    : (uint64_t)value <= (uint64_t)INT32_MAX;
    if (!fits)
      fail(ESPALIER_UNSUPPORTED,
           "%s: the element at index %zu (in the order of the file) is %s, "
           "which does not fit i32; save the array as float64 or with smaller "
           "values",
           source.name.c_str(), index, std::to_string(value).c_str());
  } else {
    (void)source;
    (void)index;
  }
  return (To)value;
}

/// Fills `tensor` with the converted elements in row-major order.
template <typename From, typename To>
void fill(Tensor &tensor, const Source &source) {
  To *out = reinterpret_cast<To *>(tensor.mutableData());
  int64_t count = tensor.elements();
  if (std::is_same_v<From, To> && !source.bigEndian && !source.fortranOrder) {
    if (count != 0)
      std::memcpy(out, source.bytes.data(), source.bytes.size());
    return;
  }
  if (!source.fortranOrder) {
    for (int64_t i = 0; i != count; ++i)
      out[i] = convert<From, To>(readElement<From>(source, i), source, i);
    return;
  }
  // Counts through the row-major order while `from` follows in the file's.
  size_t rank = tensor.shape.size();
  std::vector<int64_t> stride(rank, 1), position(rank, 0);
  for (size_t d = 1; d < rank; ++d)
    stride[d] = stride[d - 1] * tensor.shape[d - 1];
  int64_t from = 0;
  for (int64_t i = 0; i != count; ++i) {
    out[i] = convert<From, To>(readElement<From>(source, from), source, from);
    for (size_t d = rank; d-- > 0;) {
      from += stride[d];
      if (++position[d] < tensor.shape[d])
        break;
      from -= stride[d] * tensor.shape[d];
      position[d] = 0;
    }
  }
}

struct ElementType {
  const char *name; // without the byte order
  size_t size;
  uint32_t dtype;
  void (*fill)(Tensor &, const Source &);
};

constexpr ElementType kTypes[] = {
    {"f4", 4, ESPALIER_F32, fill<float, float>},
    {"f8", 8, ESPALIER_F64, fill<double, double>},
    {"i4", 4, ESPALIER_I32, fill<int32_t, int32_t>},
    {"f2", 2, ESPALIER_F32, fill<Half, float>},
    {"b1", 1, ESPALIER_I32, fill<uint8_t, int32_t>},
    {"i1", 1, ESPALIER_I32, fill<int8_t, int32_t>},
    {"u1", 1, ESPALIER_I32, fill<uint8_t, int32_t>},
    {"i2", 2, ESPALIER_I32, fill<int16_t, int32_t>},
    {"u2", 2, ESPALIER_I32, fill<uint16_t, int32_t>},
    {"u4", 4, ESPALIER_I32, fill<uint32_t, int32_t>},
    {"i8", 8, ESPALIER_I32, fill<int64_t, int32_t>},
    {"u8", 8, ESPALIER_I32, fill<uint64_t, int32_t>},
};

const ElementType &findType(const std::string &type, const std::string &name) {
  bool ordered = !type.empty() && std::strchr("<>|", type[0]);
  for (const ElementType &candidate : kTypes)
    if (ordered && type.substr(1) == candidate.name &&
        (type[0] != '|' || candidate.size == 1))
      return candidate;
  fail(ESPALIER_UNSUPPORTED,
       "%s: elements of the type %s are not supported; save the array as "
       "float32, float64 or int32",
       name.c_str(), quote(type).c_str());
}

} // namespace

Tensor decodeNpy(std::string_view bytes, const std::string &name) {
  if (bytes.substr(0, kMagic.size()) != kMagic)
    malformed(name, 0, "expected the magic string of a .npy file");
  size_t start = kMagic.size() + 2;
  if (bytes.size() < start)
    malformed(name, bytes.size(), "the file ends before its version");
  unsigned major = (unsigned char)bytes[kMagic.size()];
  if (major < 1 || major > 3)
    fail(ESPALIER_UNSUPPORTED,
         "%s: version %u of the .npy format; expected 1, 2 or 3", name.c_str(),
         major);
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (bytes.size() < start + lengthBytes)
    malformed(name, bytes.size(), "the file ends before its header's length");
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + start, lengthBytes);
  start += lengthBytes;
  if (bytes.size() - start < length)
    malformed(name, bytes.size(),
              format("the file ends within its header of %u bytes", length));
  Header header =
      HeaderParser(bytes.substr(start, length), start, name).parse();
  start += length;

  const ElementType &type = findType(header.type, name);
  uint64_t size = type.size;
  bool fits = true;
  for (int64_t extent : header.shape)
    fits &= !__builtin_mul_overflow(size, (uint64_t)extent, &size);
  if (!fits || bytes.size() - start != size)
    malformed(name,
              fits && bytes.size() - start > size ? start + size : bytes.size(),
              format("the header promises %s bytes of elements, but the file "
                     "has %zu",
                     fits ? std::to_string(size).c_str() : "more than 2^64",
                     bytes.size() - start));
  Tensor tensor = Tensor::zeros(type.dtype, header.shape);
  type.fill(tensor, {bytes.substr(start), header.type[0] == '>',
                     header.fortranOrder, name});
  return tensor;
}

std::string npyHeader(const Tensor &tensor) {
  const ElementType *type =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](auto &t) { return t.dtype == tensor.dtype; });
  std::string shape;
  for (int64_t extent : tensor.shape)
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  if (tensor.shape.size() == 1)
    shape += ",";
  std::string text =
      format("{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }",
             type->name, shape.c_str());
  std::string header(kMagic);
  bool isLong = text.size() + 64 > 0xFFFF;
  size_t lengthBytes = isLong ? 4 : 2;
  header += {(char)(isLong ? 2 : 1), 0};
  // Blanks and a line end make the header a multiple of 64 bytes.
  size_t unpadded = header.size() + lengthBytes + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  uint32_t length = (uint32_t)text.size();
  header.append(reinterpret_cast<const char *>(&length), lengthBytes);
  return header + text;
}

Tensor readNpy(const std::string &path) {
  return decodeNpy(readFile(path), path);
}

void writeNpy(const std::string &path, const Tensor &tensor) {
  AtomicFile file(path);
  file.write(npyHeader(tensor));
  file.write(tensor.data, tensor.bytes());
  file.commit();
}

} // namespace espalier
