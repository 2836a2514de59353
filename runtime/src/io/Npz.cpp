//===- Npz.cpp - Archives of NumPy's arrays -------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A .npz file is a zip archive of .npy files.
//
//===----------------------------------------------------------------------===//
#include "io/File.h"
#include "io/Npy.h"
#include "io/Quote.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <set>

namespace espalier {

static constexpr std::string_view kSuffix = ".npy";
/// minizip takes the size of a piece as an unsigned int.
static constexpr size_t kPiece = 1 << 20;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

[[noreturn]] static void malformed(const std::string &path,
                                   const std::string &what) {
  fail(ESPALIER_MALFORMED, "%s: %s", path.c_str(), what.c_str());
}

/// The decompressed bytes of the archive's current member.
static std::string readMember(unzFile archive, const std::string &where) {
  if (unzOpenCurrentFile(archive) != UNZ_OK)
    malformed(where, "the member is damaged or compressed in an unknown way");
  std::string bytes;
  size_t size = 0;
  for (;;) {
    bytes.resize(size + kPiece);
    int got = unzReadCurrentFile(archive, bytes.data() + size, kPiece);
    if (got < 0) {
      unzCloseCurrentFile(archive);
      malformed(where, "the member is truncated or damaged");
    }
    size += got;
    if (got == 0)
      break;
  }
  bytes.resize(size);
  if (unzCloseCurrentFile(archive) != UNZ_OK)
    malformed(where, "the member's checksum is wrong; the file is damaged");
  return bytes;
}

/// Whether the archive has no members. Checks that it ends with its end record,
/// which minizip does not see if it is cut off or if it is all there is.
static bool isEmptyArchive(const std::string &path) {
  constexpr size_t kRecord = 22;
  MappedFile file = mapFile(path);
  std::string_view bytes(file.data, file.size);
  size_t at = bytes.rfind("PK\5\6");
  if (at == std::string_view::npos || bytes.size() - at < kRecord)
    malformed(path, "not a zip archive, or truncated");
  uint16_t members, comment;
  std::memcpy(&members, file.data + at + 10, sizeof members);
  std::memcpy(&comment, file.data + at + 20, sizeof comment);
  if (bytes.size() - at - kRecord != comment)
    malformed(path, "the zip archive is truncated, or other bytes follow it");
  return members == 0;
}

std::vector<NamedTensor> readNpz(const std::string &path) {
  if (isEmptyArchive(path))
    return {};
  std::unique_ptr<void, int (*)(void *)> archive(unzOpen64(path.c_str()),
                                                 unzClose);
  if (!archive)
    malformed(path, "not a zip archive, or truncated");
  std::vector<NamedTensor> tensors;
  std::set<std::string> names;
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    unz_file_info64 info;
    std::string name;
    if (unzGetCurrentFileInfo64(archive.get(), &info, nullptr, 0, nullptr, 0,
                                nullptr, 0) != UNZ_OK)
      break;
    name.resize(info.size_filename);
    unzGetCurrentFileInfo64(archive.get(), &info, name.data(),
                            info.size_filename, nullptr, 0, nullptr, 0);
    std::string where = path + ": " + quote(name);
    if (info.flag & 1)
      fail(ESPALIER_UNSUPPORTED, "%s: the member is encrypted", where.c_str());
    if (name.size() < kSuffix.size() ||
        name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix))
      malformed(where, "expected only members whose names end in '.npy'");
    name.resize(name.size() - kSuffix.size());
    if (!names.insert(name).second)
      malformed(where, "the member is there twice");
    tensors.push_back(
        {name, decodeNpy(readMember(archive.get(), where), where)});
  }
  unz_global_info64 global;
  if (unzGetGlobalInfo64(archive.get(), &global) != UNZ_OK ||
      global.number_entry != tensors.size())
    malformed(path, "the archive's table of members is damaged");
  return tensors;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static bool writePieces(zipFile archive, const char *data, size_t size) {
  for (size_t at = 0; at < size; at += kPiece)
    if (zipWriteInFileInZip(archive, data + at,
                            (unsigned)std::min(kPiece, size - at)) != ZIP_OK)
      return false;
  return true;
}

static bool writeMember(zipFile archive, const NamedTensor &named) {
  // 1 January 1980, the first day that the format has.
  constexpr unsigned long kFirstDate = 1 << 21 | 1 << 16;
  // The name is UTF-8.
  constexpr unsigned long kUtf8 = 1 << 11;
  constexpr size_t kZip64From = 0xFFFFFFFFu;
  zip_fileinfo info = {};
  info.dosDate = kFirstDate;
  std::string file = named.name + std::string(kSuffix);
  std::string header = npyHeader(named.tensor);
  bool zip64 = header.size() + named.tensor.bytes() >= kZip64From;
  return zipOpenNewFileInZip4_64(
             archive, file.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
             /*method=*/0, /*level=*/0, /*raw=*/0, -MAX_WBITS, DEF_MEM_LEVEL,
             Z_DEFAULT_STRATEGY, /*password=*/nullptr, /*crcForCrypting=*/0,
             /*versionMadeBy=*/0, kUtf8, zip64) == ZIP_OK &&
         writePieces(archive, header.data(), header.size()) &&
         writePieces(archive, named.tensor.data, named.tensor.bytes()) &&
         zipCloseFileInZip(archive) == ZIP_OK;
}

void writeNpz(const std::string &path,
              const std::vector<NamedTensor> &tensors) {
  std::set<std::string> names;
  for (const NamedTensor &named : tensors) {
    constexpr size_t kLongestName = 0xFFFF - kSuffix.size();
    if (named.name.find('\0') != std::string::npos ||
        named.name.size() > kLongestName)
      fail(ESPALIER_INVALID_ARGUMENT,
           "cannot write '%s': %s cannot be the name of an archive's member",
           path.c_str(), quote(named.name).c_str());
    if (!names.insert(named.name).second)
      fail(ESPALIER_INVALID_ARGUMENT,
           "cannot write '%s': the name %s is there twice", path.c_str(),
           quote(named.name).c_str());
  }
  AtomicFile file(path);
  zipFile archive =
      zipOpen64(file.temporaryPath().c_str(), APPEND_STATUS_CREATE);
  bool written = archive != nullptr;
  for (const NamedTensor &named : tensors)
    written = written && writeMember(archive, named);
  if (archive && zipClose(archive, nullptr) != ZIP_OK)
    written = false;
  if (!written)
    fail(ESPALIER_IO_ERROR,
         "cannot write '%s': writing the archive failed; is the disk full?",
         path.c_str());
  file.commit();
}

} // namespace espalier
