//===- RunProfile.h - Bytes live at each run, as runs come and go -*- C++ -*-=//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list of runs in order of their keys with a number of bytes each. Runs can
// be put in and taken out, bytes added to all runs of a range, and the largest
// number found. The list is in blocks of some dozen runs: a range adds to
// whole blocks at once, and what is left is short and contiguous. For lists of
// a few hundred runs that is as fast as it gets, and for 200,000 it still takes
// about a microsecond.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_RUNPROFILE_H
#define ESPALIER_LIB_PLANNING_RUNPROFILE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier::planning {

class RunProfile {
public:
  using Key = int64_t;

  struct Run {
    Key key = -1;
    int64_t bytes = 0;
  };

  /// Keys ascend.
  void assign(const std::vector<Run> &runs);
  /// There is no run with this key yet.
  void insert(Key key, int64_t bytes);
  /// There is one.
  void erase(Key key);
  /// To the runs with first <= key <= last.
  void add(Key first, Key last, int64_t bytes);

  int64_t peak() const;
  /// The first of the runs with the most bytes.
  Run peakRun() const;
  /// The most bytes of a run with first <= key <= last; 0 if there is none.
  int64_t peakIn(Key first, Key last) const;
  /// The last run before `key`, which there must be.
  Run before(Key key) const;
  /// By how much the runs exceed `bytes`, in all.
  double excess(int64_t bytes) const;
  /// Of the runs with more than `bytes`: the first and the last. Key -1: none.
  void rangeAbove(int64_t bytes, Key &first, Key &last) const;
  std::vector<Key> keys() const;

private:
  struct Block {
    std::vector<Key> keys;
    std::vector<int64_t> bytes;
  };
  static constexpr size_t blockSize = 64;

  /// The last block whose first key is at most `key`; the first if none is.
  size_t blockOf(Key key) const;
  void findMost(size_t number);
  void addPart(size_t number, size_t from, size_t to, int64_t bytes);

  std::vector<Block> blocks;
  // By block, apart from it, so that all are seen quickly: the first key, what
  // is to be added to all its bytes, and the most of these, without that.
  std::vector<Key> firsts;
  std::vector<int64_t> added;
  std::vector<int64_t> most;
};

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_RUNPROFILE_H
