//===- RunProfile.cpp - Bytes live at each run, as runs come and go -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunProfile.h"

#include <algorithm>

using namespace espalier::planning;

void RunProfile::findMost(size_t number) {
  int64_t highest = INT64_MIN;
  for (int64_t bytes : blocks[number].bytes)
    highest = std::max(highest, bytes);
  most[number] = highest;
}

void RunProfile::assign(const std::vector<Run> &runs) {
  blocks.clear();
  firsts.clear();
  added.clear();
  most.clear();
  for (size_t from = 0; from < runs.size(); from += blockSize) {
    Block block;
    for (size_t i = from; i < std::min(from + blockSize, runs.size()); ++i) {
      block.keys.push_back(runs[i].key);
      block.bytes.push_back(runs[i].bytes);
    }
    firsts.push_back(block.keys.front());
    blocks.push_back(std::move(block));
    added.push_back(0);
    most.push_back(0);
    findMost(blocks.size() - 1);
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
  long index = at - block.keys.begin();
  block.keys.insert(at, key);
  block.bytes.insert(block.bytes.begin() + index, bytes - added[number]);
  most[number] = std::max(most[number], bytes - added[number]);
  firsts[number] = block.keys.front();
  if (block.keys.size() < 2 * blockSize)
    return;
  Block second;
  second.keys.assign(block.keys.begin() + blockSize, block.keys.end());
  second.bytes.assign(block.bytes.begin() + blockSize, block.bytes.end());
  block.keys.resize(blockSize);
  block.bytes.resize(blockSize);
  long next = long(number) + 1;
  firsts.insert(firsts.begin() + next, second.keys.front());
  added.insert(added.begin() + next, added[number]);
  most.insert(most.begin() + next, 0);
  blocks.insert(blocks.begin() + next, std::move(second));
  findMost(number);
  findMost(number + 1);
}

void RunProfile::erase(Key key) {
  size_t number = blockOf(key);
  Block &block = blocks[number];
  auto at = std::lower_bound(block.keys.begin(), block.keys.end(), key);
  auto bytesAt = block.bytes.begin() + (at - block.keys.begin());
  int64_t bytes = *bytesAt;
  block.keys.erase(at);
  block.bytes.erase(bytesAt);
  if (block.keys.empty()) {
    blocks.erase(blocks.begin() + long(number));
    firsts.erase(firsts.begin() + long(number));
    added.erase(added.begin() + long(number));
    most.erase(most.begin() + long(number));
    return;
  }
  firsts[number] = block.keys.front();
  if (bytes == most[number])
    findMost(number);
}

void RunProfile::addPart(size_t number, size_t from, size_t to, int64_t bytes) {
  std::vector<int64_t> &of = blocks[number].bytes;
  int64_t highest = INT64_MIN;
  for (size_t i = from; i < to; ++i) {
    highest = std::max(highest, of[i]);
    of[i] += bytes;
  }
  if (from == to)
    return;
  if (bytes > 0)
    most[number] = std::max(most[number], highest + bytes);
  else if (highest == most[number])
    findMost(number);
}

void RunProfile::add(Key first, Key last, int64_t bytes) {
  if (bytes == 0 || first > last || blocks.empty())
    return;
  size_t from = blockOf(first);
  size_t to = blockOf(last);
  for (size_t number : {from, to}) {
    const std::vector<Key> &keys = blocks[number].keys;
    addPart(
        number,
        size_t(std::lower_bound(keys.begin(), keys.end(), first) -
               keys.begin()),
        size_t(std::upper_bound(keys.begin(), keys.end(), last) - keys.begin()),
        bytes);
    if (from == to)
      return;
  }
  for (size_t number = from + 1; number < to; ++number)
    added[number] += bytes;
}

int64_t RunProfile::peak() const {
  int64_t highest = 0;
  for (size_t number = 0; number < blocks.size(); ++number)
    highest = std::max(highest, most[number] + added[number]);
  return highest;
}

RunProfile::Run RunProfile::peakRun() const {
  int64_t highest = peak();
  for (size_t number = 0; number < blocks.size(); ++number) {
    if (most[number] + added[number] < highest)
      continue;
    const Block &block = blocks[number];
    for (size_t i = 0; i < block.keys.size(); ++i)
      if (block.bytes[i] == most[number])
        return {block.keys[i], highest};
  }
  return {-1, highest};
}

int64_t RunProfile::peakIn(Key first, Key last) const {
  int64_t highest = 0;
  if (first > last || blocks.empty())
    return highest;
  size_t from = blockOf(first);
  size_t to = blockOf(last);
  for (size_t number = from; number <= to; ++number) {
    if (most[number] + added[number] <= highest)
      continue;
    if (number > from && number < to) {
      highest = most[number] + added[number];
      continue;
    }
    const Block &block = blocks[number];
    for (size_t i = 0; i < block.keys.size(); ++i)
      if (block.keys[i] >= first && block.keys[i] <= last)
        highest = std::max(highest, block.bytes[i] + added[number]);
  }
  return highest;
}

RunProfile::Run RunProfile::before(Key key) const {
  size_t number = blockOf(key - 1);
  const Block &block = blocks[number];
  size_t index =
      size_t(std::lower_bound(block.keys.begin(), block.keys.end(), key) -
             block.keys.begin());
  return {block.keys[index - 1], block.bytes[index - 1] + added[number]};
}

double RunProfile::excess(int64_t bytes) const {
  double excess = 0;
  for (size_t number = 0; number < blocks.size(); ++number) {
    if (most[number] + added[number] <= bytes)
      continue;
    int64_t limit = bytes - added[number];
    for (int64_t of : blocks[number].bytes)
      if (of > limit)
        excess += double(of - limit);
  }
  return excess;
}

void RunProfile::rangeAbove(int64_t bytes, Key &first, Key &last) const {
  first = last = -1;
  for (size_t number = 0; number < blocks.size(); ++number) {
    if (most[number] + added[number] <= bytes)
      continue;
    const Block &block = blocks[number];
    for (size_t i = 0; i < block.keys.size(); ++i) {
      if (block.bytes[i] + added[number] <= bytes)
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
