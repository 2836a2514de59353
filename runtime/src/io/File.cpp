//===- File.cpp - Reading and writing whole files -------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain POSIX input and output with errors that name the file.
//
//===----------------------------------------------------------------------===//
#include "io/File.h"

#include "support/Error.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace espalier {

static std::string systemMessage(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] static void failToRead(const std::string &path, int error) {
  fail(error == ENOENT ? ESPALIER_NOT_FOUND : ESPALIER_IO_ERROR,
       "cannot read '%s': %s", path.c_str(), systemMessage(error).c_str());
}

[[noreturn]] static void failToWrite(const std::string &path, int error) {
  fail(ESPALIER_IO_ERROR, "cannot write '%s': %s", path.c_str(),
       systemMessage(error).c_str());
}

namespace {
/// A descriptor open for reading, closed at the end of its scope.
struct OpenFile {
  explicit OpenFile(const std::string &path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0)
      failToRead(path, errno);
    if (::fstat(descriptor, &status) != 0) {
      int error = errno;
      ::close(descriptor);
      failToRead(path, error);
    }
  }
  ~OpenFile() { ::close(descriptor); }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  int descriptor;
  struct stat status;
};
} // namespace

std::string readFile(const std::string &path) {
  OpenFile file(path);
  // One byte more than a regular file has, so that one read sees its end.
  std::string bytes((size_t)file.status.st_size + 1, '\0');
  size_t size = 0;
  for (;;) {
    ssize_t got =
        ::read(file.descriptor, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failToRead(path, errno);
    if (got == 0)
      break;
    size += got;
    if (size == bytes.size())
      bytes.resize(size < 65536 ? 65536 : 2 * size);
  }
  bytes.resize(size);
  return bytes;
}

MappedFile mapFile(const std::string &path) {
  OpenFile file(path);
  if (S_ISDIR(file.status.st_mode))
    failToRead(path, EISDIR);
  if (!S_ISREG(file.status.st_mode))
    fail(ESPALIER_IO_ERROR,
         "cannot map '%s': it is not a regular file; copy its content to one",
         path.c_str());
  MappedFile mapped;
  mapped.size = file.status.st_size;
  if (mapped.size == 0)
    return mapped;
  void *data =
      ::mmap(nullptr, mapped.size, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  if (data == MAP_FAILED)
    failToRead(path, errno);
  size_t size = mapped.size;
  mapped.owner = std::shared_ptr<const void>(
      data, [size](const void *p) { ::munmap(const_cast<void *>(p), size); });
  mapped.data = static_cast<const char *>(data);
  return mapped;
}

AtomicFile::AtomicFile(const std::string &path) : target(path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode))
      failToWrite(path, EISDIR);
    if (!S_ISREG(status.st_mode))
      fail(ESPALIER_IO_ERROR, "cannot write '%s': it is not a regular file",
           path.c_str());
    // Renaming must replace what a symbolic link points to, not the link.
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved))
      target = resolved;
  }
  size_t slash = target.rfind('/');
  std::string folder =
      slash == std::string::npos ? "" : target.substr(0, slash + 1);
  static std::atomic<unsigned> counter{0};
  do {
    temporary = folder + format(".espalier-%ld-%u.tmp", (long)::getpid(),
                                counter.fetch_add(1));
    descriptor = ::open(temporary.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0)
    failToWrite(path, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ::unlink(temporary.c_str());
}

void AtomicFile::write(const void *data, size_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t written = ::write(descriptor, bytes, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      failToWrite(target, errno);
    bytes += written;
    size -= written;
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor) != 0 ||
      ::rename(temporary.c_str(), target.c_str()) != 0)
    failToWrite(target, errno);
  ::close(descriptor);
  descriptor = -1;
}

bool isSameFile(const std::string &a, const std::string &b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  auto resolved = [&](const std::string &path) {
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  };
  // What cannot be resolved is empty.
  fs::path first = resolved(a);
  return a == b || fs::equivalent(a, b, ignored) ||
         (!first.empty() && first == resolved(b));
}

void checkOutputPaths(const std::vector<std::string> &inputs,
                      const std::vector<std::string> &outputs) {
  std::vector<std::string> taken = inputs;
  for (const std::string &path : outputs) {
    if (path.empty())
      continue;
    for (const std::string &other : taken)
      if (!other.empty() && isSameFile(path, other))
        fail(ESPALIER_INVALID_ARGUMENT,
             "'%s' would be written over '%s'; give every output a file of its "
             "own",
             path.c_str(), other.c_str());
    taken.push_back(path);
  }
}

} // namespace espalier
