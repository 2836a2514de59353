//===- RunProfile.cpp - Bytes live at each run, as runs come and go -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunProfile.h"

#include <algorithm>

using namespace espalier::planning;

void RunProfile::findMost(Block &block) {
  int64_t most = INT64_MIN;
  for (int64_t bytes : block.bytes)
    most = std::max(most, bytes);
  block.most = most;
}

void RunProfile::assign(const std::vector<Run> &runs) {
  blocks.clear();
  firsts.clear();
  for (size_t from = 0; from < runs.size(); from += blockSize) {
    Block block;
    for (size_t i = from; i < std::min(from + blockSize, runs.size()); ++i) {
      block.keys.push_back(runs[i].key);
      block.bytes.push_back(runs[i].bytes);
    }
    findMost(block);
    firsts.push_back(block.keys.front());
    blocks.push_back(std::move(block));
  }
}

size_t RunProfile::blockOf(Key key) const {
  auto after = std::upper_bound(firsts.begin(), firsts.end(), key);
  return after == firsts.begin() ? 0 : size_t(after - firsts.begin()) - 1;
}

void RunProfile::insert(Key key, int64_t bytes) {
  size_t number = blockOf(key);
  Block &block = blocks[number];
  auto at = std::lower_bound(block.keys.begin(), block.keys.end(), key);
  size_t index = size_t(at - block.keys.begin());
  block.keys.insert(at, key);
  block.bytes.insert(block.bytes.begin() + long(index), bytes - block.added);
  block.most = std::max(block.most, bytes - block.added);
  firsts[number] = block.keys.front();
  if (block.keys.size() < 2 * blockSize)
    return;
  Block second;
  second.added = block.added;
  second.keys.assign(block.keys.begin() + blockSize, block.keys.end());
  second.bytes.assign(block.bytes.begin() + blockSize, block.bytes.end());
  block.keys.resize(blockSize);
  block.bytes.resize(blockSize);
  findMost(block);
  findMost(second);
  firsts.insert(firsts.begin() + long(number) + 1, second.keys.front());
  blocks.insert(blocks.begin() + long(number) + 1, std::move(second));
}

void RunProfile::erase(Key key) {
  size_t number = blockOf(key);
  Block &block = blocks[number];
  auto at = std::lower_bound(block.keys.begin(), block.keys.end(), key);
  size_t index = size_t(at - block.keys.begin());
  int64_t bytes = block.bytes[index];
  block.keys.erase(at);
  block.bytes.erase(block.bytes.begin() + long(index));
  if (block.keys.empty()) {
    blocks.erase(blocks.begin() + long(number));
    firsts.erase(firsts.begin() + long(number));
    return;
  }
  firsts[number] = block.keys.front();
  if (bytes == block.most)
    findMost(block);
}

void RunProfile::add(Key first, Key last, int64_t bytes) {
  if (bytes == 0 || first > last || blocks.empty())
    return;
  for (size_t number = blockOf(first);
       number < blocks.size() && firsts[number] <= last; ++number) {
    Block &block = blocks[number];
    if (first <= block.keys.front() && block.keys.back() <= last) {
      block.added += bytes;
      continue;
    }
    size_t from = size_t(std::lower_bound(block.keys.begin(), block.keys.end(),
                                          first) -
                         block.keys.begin());
    size_t to = size_t(std::upper_bound(block.keys.begin(), block.keys.end(),
                                        last) -
                       block.keys.begin());
    for (size_t i = from; i < to; ++i)
      block.bytes[i] += bytes;
    if (from < to)
      findMost(block);
  }
}

int64_t RunProfile::peakOf() const {
  int64_t most = 0;
  for (const Block &block : blocks)
    most = std::max(most, block.most + block.added);
  return most;
}

RunProfile::Run RunProfile::peakRun() const {
  int64_t most = peakOf();
  for (const Block &block : blocks)
    if (block.most + block.added == most)
      for (size_t i = 0; i < block.keys.size(); ++i)
        if (block.bytes[i] + block.added == most)
          return {block.keys[i], most};
  return {-1, most};
}

int64_t RunProfile::peakIn(Key first, Key last) const {
  int64_t most = 0;
  if (first > last || blocks.empty())
    return most;
  for (size_t number = blockOf(first);
       number < blocks.size() && firsts[number] <= last; ++number) {
    const Block &block = blocks[number];
    if (block.most + block.added <= most)
      continue;
    if (first <= block.keys.front() && block.keys.back() <= last) {
      most = block.most + block.added;
      continue;
    }
    size_t from = size_t(std::lower_bound(block.keys.begin(), block.keys.end(),
                                          first) -
                         block.keys.begin());
    for (size_t i = from; i < block.keys.size() && block.keys[i] <= last; ++i)
      most = std::max(most, block.bytes[i] + block.added);
  }
  return most;
}

RunProfile::Run RunProfile::before(Key key) const {
  size_t number = blockOf(key - 1);
  const Block &block = blocks[number];
  size_t index = size_t(std::lower_bound(block.keys.begin(), block.keys.end(),
                                         key) -
                        block.keys.begin());
  return {block.keys[index - 1], block.bytes[index - 1] + block.added};
}

double RunProfile::excess(int64_t bytes) const {
  double excess = 0;
  for (const Block &block : blocks) {
    if (block.most + block.added <= bytes)
      continue;
    int64_t limit = bytes - block.added;
    for (int64_t of : block.bytes)
      if (of > limit)
        excess += double(of - limit);
  }
  return excess;
}

void RunProfile::rangeAbove(int64_t bytes, Key &first, Key &last) const {
  first = last = -1;
  for (const Block &block : blocks) {
    if (block.most + block.added <= bytes)
      continue;
    for (size_t i = 0; i < block.keys.size(); ++i) {
      if (block.bytes[i] + block.added <= bytes)
        continue;
      if (first < 0)
        first = block.keys[i];
      last = block.keys[i];
    }
  }
}

std::vector<RunProfile::Key> RunProfile::keys() const {
  std::vector<Key> all;
  for (const Block &block : blocks)
    all.insert(all.end(), block.keys.begin(), block.keys.end());
  return all;
}
