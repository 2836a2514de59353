//===- Safetensors.cpp - Weights on disk ----------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading checks the whole header before any tensor is handed out; writing puts
// wider elements first, so that every tensor is aligned.
//
//===----------------------------------------------------------------------===//
#include "io/Safetensors.h"

#include "io/File.h"
#include "io/Json.h"
#include "io/Quote.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>

namespace espalier {

using nlohmann::json;

namespace {

struct ElementType {
  const char *name;
  size_t size;
  uint32_t dtype; // 0: the runtime has no such type
};

constexpr ElementType kTypes[] = {
    {"F32", 4, ESPALIER_F32},
    {"F64", 8, ESPALIER_F64},
    {"I32", 4, ESPALIER_I32},
    {"BOOL", 1, 0},
    {"U8", 1, 0},
    {"I8", 1, 0},
    {"F8_E5M2", 1, 0},
    {"F8_E4M3", 1, 0},
    {"I16", 2, 0},
    {"U16", 2, 0},
    {"F16", 2, 0},
    {"BF16", 2, 0},
    {"U32", 4, 0},
    {"I64", 8, 0},
    {"U64", 8, 0},
};

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100 * 1000 * 1000;
constexpr const char *kMetadata = "__metadata__";

/// One tensor of the header, checked by itself.
struct Entry {
  std::string name;
  const ElementType *type;
  std::vector<int64_t> shape;
  uint64_t begin; // relative to the end of the header
  uint64_t end;
};

class SafetensorsReader {
public:
  explicit SafetensorsReader(const std::string &path)
      : path(path), file(mapFile(path)) {}

  Metadata readMetadata() {
    readHeader();
    checkRanges();
    return std::move(metadata);
  }

  std::vector<NamedTensor> read() {
    readHeader();
    checkRanges();
    std::vector<NamedTensor> tensors;
    for (const Entry &entry : entries)
      tensors.push_back({entry.name, toTensor(entry)});
    return tensors;
  }

private:
  [[noreturn]] void malformed(uint64_t offset, const std::string &what) const {
    fail(ESPALIER_MALFORMED, "%s: byte %llu: %s", path.c_str(),
         (unsigned long long)offset, what.c_str());
  }

  void readHeader() {
    if (file.size < kLengthBytes)
      malformed(file.size,
                format("the file ends within the 8 bytes of the header's "
                       "length; it has %zu bytes",
                       file.size));
    uint64_t length;
    std::memcpy(&length, file.data, kLengthBytes);
    if (length > kLongestHeader)
      malformed(0, format("the header would have %llu bytes, more than the "
                          "%llu that the format allows; is this a "
                          "safetensors file?",
                          (unsigned long long)length,
                          (unsigned long long)kLongestHeader));
    if (length > file.size - kLengthBytes)
      malformed(file.size, format("the file ends within the header, which has "
                                  "%llu bytes",
                                  (unsigned long long)length));
    dataStart = kLengthBytes + length;
    std::string_view text(file.data + kLengthBytes, length);
    if (text.substr(0, 1) != "{")
      malformed(kLengthBytes, "the header must start with '{'");
    JsonDocument header;
    try {
      header = parseJson(text);
    } catch (const JsonError &e) {
      malformed(kLengthBytes + e.offset, std::string("header: ") + e.what());
    }
    for (auto &[name, value] : header.root.items()) {
      headerOffset = kLengthBytes + header.keyOffsets.at(name);
      if (name == kMetadata)
        takeMetadata(value);
      else
        entries.push_back(readEntry(name, value));
    }
  }

  void takeMetadata(const json &value) {
    bool strings = value.is_object();
    for (auto it = value.begin(); strings && it != value.end(); ++it) {
      strings = it->is_string();
      if (strings)
        metadata[it.key()] = it->get<std::string>();
    }
    if (!strings)
      malformed(headerOffset, "'__metadata__' must be an object of strings");
  }

  Entry readEntry(const std::string &name, const json &value) const {
    auto wrong = [&](const std::string &what) {
      malformed(headerOffset, "tensor " + quote(name) + ": " + what);
    };
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
        !value.contains("shape") || !value.contains("data_offsets"))
      wrong("expected an object with 'dtype', 'shape' and 'data_offsets' and "
            "nothing else");
    Entry entry;
    entry.name = name;
    const json &dtype = value["dtype"];
    auto type = std::find_if(
        std::begin(kTypes), std::end(kTypes),
        [&](const ElementType &t) { return dtype == json(t.name); });
    if (type == std::end(kTypes))
      wrong("unknown dtype " + dtype.dump(-1, ' ', true).substr(0, 40));
    entry.type = type;

    const json &shape = value["shape"];
    uint64_t bytes = type->size;
    bool sound = shape.is_array();
    for (auto it = shape.begin(); sound && it != shape.end(); ++it) {
      sound = it->is_number_unsigned() &&
              it->get<uint64_t>() <= (uint64_t)INT64_MAX &&
              !__builtin_mul_overflow(bytes, it->get<uint64_t>(), &bytes);
      if (sound)
        entry.shape.push_back(it->get<int64_t>());
    }
    if (!sound)
      wrong(
          "'shape' must be an array of sizes, whose product must fit 64 bits");

    const json &offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 ||
        !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
      wrong("'data_offsets' must be [begin, end]");
    entry.begin = offsets[0].get<uint64_t>();
    entry.end = offsets[1].get<uint64_t>();
    if (entry.begin > entry.end || entry.end > file.size - dataStart)
      wrong(format("its bytes [%llu, %llu) are not within the %llu bytes of "
                   "data that the file has",
                   (unsigned long long)entry.begin,
                   (unsigned long long)entry.end,
                   (unsigned long long)(file.size - dataStart)));
    if (entry.end - entry.begin != bytes)
      wrong(format("its shape needs %llu bytes, but 'data_offsets' gives it "
                   "%llu",
                   (unsigned long long)bytes,
                   (unsigned long long)(entry.end - entry.begin)));
    return entry;
  }

  /// Every byte after the header must belong to exactly one tensor.
  void checkRanges() const {
    std::vector<const Entry *> order;
    for (const Entry &entry : entries)
      order.push_back(&entry);
    std::sort(order.begin(), order.end(), [](const Entry *a, const Entry *b) {
      return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
    });
    uint64_t end = 0;
    const Entry *previous = nullptr;
    for (const Entry *entry : order) {
      if (entry->begin < end)
        malformed(dataStart + entry->begin,
                  "the tensors " + quote(previous->name) + " and " +
                      quote(entry->name) + " overlap");
      if (entry->begin > end)
        malformed(dataStart + end,
                  format("%llu bytes before tensor %s belong to no tensor",
                         (unsigned long long)(entry->begin - end),
                         quote(entry->name).c_str()));
      end = entry->end;
      previous = entry;
    }
    uint64_t rest = file.size - dataStart - end;
    if (rest != 0)
      malformed(dataStart + end,
                format("%llu bytes after the last tensor belong to no tensor",
                       (unsigned long long)rest));
  }

  Tensor toTensor(const Entry &entry) const {
    if (entry.type->dtype == 0)
      fail(ESPALIER_UNSUPPORTED,
           "%s: tensor %s has the dtype %s; expected F32, F64 or I32, so "
           "convert it to one of them",
           path.c_str(), quote(entry.name).c_str(), entry.type->name);
    const char *data = file.data + dataStart + entry.begin;
    if ((uintptr_t)data % entry.type->size != 0) {
      Tensor copy = Tensor::zeros(entry.type->dtype, entry.shape);
      if (entry.end != entry.begin)
        std::memcpy(copy.mutableData(), data, entry.end - entry.begin);
      return copy;
    }
    Tensor tensor;
    tensor.dtype = entry.type->dtype;
    tensor.shape = entry.shape;
    tensor.data = data;
    tensor.owner = file.owner;
    return tensor;
  }

  std::string path;
  MappedFile file;
  uint64_t dataStart = 0;
  uint64_t headerOffset = 0; // of the tensor being read
  std::vector<Entry> entries;
  Metadata metadata;
};

const char *typeName(uint32_t dtype) {
  for (const ElementType &type : kTypes)
    if (type.dtype == dtype)
      return type.name;
  fail(ESPALIER_INTERNAL, "element type %u has no safetensors name", dtype);
}

} // namespace

std::vector<NamedTensor> readSafetensors(const std::string &path) {
  return SafetensorsReader(path).read();
}

Metadata readSafetensorsMetadata(const std::string &path) {
  return SafetensorsReader(path).readMetadata();
}

void writeSafetensors(const std::string &path,
                      const std::vector<NamedTensor> &tensors,
                      const Metadata &metadata) {
  std::vector<const NamedTensor *> order;
  for (const NamedTensor &named : tensors)
    order.push_back(&named);
  std::sort(order.begin(), order.end(),
            [](const NamedTensor *a, const NamedTensor *b) {
              size_t aSize = dtypeSize(a->tensor.dtype);
              size_t bSize = dtypeSize(b->tensor.dtype);
              return aSize != bSize ? aSize > bSize : a->name < b->name;
            });
  json header = json::object();
  uint64_t end = 0;
  for (const NamedTensor *named : order) {
    const std::string &name = named->name;
    if (name == kMetadata || header.contains(name))
      fail(ESPALIER_INVALID_ARGUMENT, "cannot write '%s': the name %s is %s",
           path.c_str(), quote(name).c_str(),
           name == kMetadata ? "reserved by the format" : "there twice");
    uint64_t begin = end;
    end += named->tensor.bytes();
    header[name] = {{"dtype", typeName(named->tensor.dtype)},
                    {"shape", named->tensor.shape},
                    {"data_offsets", {begin, end}}};
  }
  if (!metadata.empty())
    header[kMetadata] = metadata;
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception &) {
    fail(ESPALIER_INVALID_ARGUMENT,
         "cannot write '%s': the name of a tensor, or metadata, is not UTF-8",
         path.c_str());
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  AtomicFile file(path);
  file.write(&length, kLengthBytes);
  file.write(text);
  for (const NamedTensor *named : order)
    file.write(named->tensor.data, named->tensor.bytes());
  file.commit();
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "safetensors files are little-endian and are used in place");

} // namespace espalier
