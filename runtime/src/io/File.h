//===- File.h - Reading and writing whole files -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whole files in, and files out that are either complete or not there: an
// AtomicFile is written beside its target and renamed over it at the end.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_FILE_H
#define ESPALIER_IO_FILE_H

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

/// The bytes of the file at `path`, which may be a pipe.
std::string readFile(const std::string &path);

/// A regular file, mapped read-only. The mapping lives as long as a copy of
/// `owner` does.
struct MappedFile {
  const char *data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> owner;
};
MappedFile mapFile(const std::string &path);

/// A file that appears at `path` when commit() returns, and not at all
/// otherwise. An existing file is replaced; one that is not regular (a device,
/// a folder) is refused. Symbolic links are followed.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Where the bytes are until commit(), for libraries that write by path.
  const std::string &temporaryPath() const { return temporary; }

  /// Flushes to the disk and renames.
  void commit();

private:
  std::string target;
  std::string temporary;
  int descriptor = -1;
};

/// Whether both are paths of one file, which need not be there.
bool isSameFile(const std::string &a, const std::string &b);

/// INVALID_ARGUMENT if one of `outputs` would be written over one of `inputs`
/// or over another of them. Empty paths are no files.
void checkOutputPaths(const std::vector<std::string> &inputs,
                      const std::vector<std::string> &outputs);

} // namespace espalier

#endif // ESPALIER_IO_FILE_H
