//===- Forest.cpp ---------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "graph/Forest.h"

#include "support/Error.h"

#include <algorithm>
#include <cstring>

namespace espalier {

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

void Forest::append(const std::vector<std::vector<int32_t>> &childLists) {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> flat;
  offsets.reserve(childLists.size() + 1);
  for (const std::vector<int32_t> &list : childLists) {
    flat.insert(flat.end(), list.begin(), list.end());
    offsets.push_back((int64_t)flat.size());
  }
  append((int64_t)childLists.size(), offsets.data(), flat.data());
}

void Forest::append(int64_t count, const int64_t *offsets,
                    const int32_t *localChildren) {
  long long k = structures();
  int64_t first = vertices();
  if (count < 0 || count > INT32_MAX - first)
    fail(ESPALIER_INVALID_ARGUMENT,
         "structure %lld: %lld vertices after %lld others; a batch has at most "
         "%d vertices",
         k, (long long)count, (long long)first, INT32_MAX);
  // Read every offset and child before changing anything.
  for (int64_t v = 0; v < count; ++v)
    if (offsets[v] < 0 || offsets[v + 1] < offsets[v])
      fail(ESPALIER_MALFORMED,
           "structure %lld: the child offsets of vertex %lld go from %lld to "
           "%lld; they must not descend",
           k, (long long)v, (long long)offsets[v], (long long)offsets[v + 1]);
  for (int64_t v = 0; v < count; ++v)
    for (int64_t e = offsets[v]; e < offsets[v + 1]; ++e)
      if (localChildren[e] < -1 || localChildren[e] >= count)
        fail(ESPALIER_MALFORMED,
             "structure %lld: child %lld of vertex %lld is %d; expected a "
             "vertex in [0, %lld) or -1 for an absent child",
             k, (long long)(e - offsets[v]), (long long)v, localChildren[e],
             (long long)count);

  int64_t firstEdge = (int64_t)children.size();
  int64_t edges = count ? offsets[count] - offsets[0] : 0;
  try {
    for (int64_t v = 0; v < count; ++v)
      childOffsets.push_back(firstEdge + offsets[v + 1] - offsets[0]);
    for (int64_t e = 0; e < edges; ++e) {
      int32_t child = localChildren[offsets[0] + e];
      children.push_back(child < 0 ? -1 : child + (int32_t)first);
    }
    structureOffsets.push_back(first + count);
    validateStructure(k);
  } catch (...) {
    structureOffsets.resize(k + 1);
    childOffsets.resize(first + 1);
    children.resize(firstEdge);
    throw;
  }
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// Lists the cycle that closes at the end of `path`: "2 -> 5 -> 2", shortened
/// in the middle if it is long.
static std::string cycleText(const std::vector<int32_t> &path, int32_t again,
                             int64_t first) {
  auto begin = std::find(path.begin(), path.end(), again);
  int64_t length = path.end() - begin;
  std::string text;
  for (int64_t i = 0; i < length; ++i) {
    if (length > 16 && i == 8) {
      text += "... -> ";
      i = length - 8;
    }
    text += std::to_string(begin[i] - first) + " -> ";
  }
  return text + std::to_string(again - first);
}

void Forest::validateStructure(int64_t k) const {
  int64_t first = structureOffsets[k], end = structureOffsets[k + 1];
  bool childrenFirst = true;
  for (int64_t v = first; v < end; ++v) {
    for (int64_t e = childOffsets[v]; e < childOffsets[v + 1]; ++e) {
      int32_t child = children[e];
      if (child == -1)
        continue;
      if (child < first || child >= end)
        fail(ESPALIER_MALFORMED,
             "structure %lld: child %lld of vertex %lld is %lld; expected a "
             "vertex in [0, %lld) or -1 for an absent child",
             (long long)k, (long long)(e - childOffsets[v]),
             (long long)(v - first), (long long)(child - first),
             (long long)(end - first));
      childrenFirst &= child < v;
    }
  }
  // Where every child comes before its parent there is no cycle.
  if (childrenFirst)
    return;

  // Depth-first search with an explicit stack: `path` is the way from the
  // start to the current vertex, `next` the edge to follow from each.
  enum : char { Unseen, OnPath, Done };
  std::vector<char> state(end - first, Unseen);
  std::vector<int32_t> path;
  std::vector<int64_t> next;
  for (int64_t start = first; start < end; ++start) {
    if (state[start - first] != Unseen)
      continue;
    path.push_back((int32_t)start);
    next.push_back(childOffsets[start]);
    state[start - first] = OnPath;
    while (!path.empty()) {
      int32_t v = path.back();
      if (next.back() == childOffsets[v + 1]) {
        state[v - first] = Done;
        path.pop_back();
        next.pop_back();
        continue;
      }
      int32_t child = children[next.back()++];
      if (child == -1 || state[child - first] == Done)
        continue;
      if (state[child - first] == OnPath)
        fail(ESPALIER_MALFORMED,
             "structure %lld has a cycle, from parent to child: %s; only "
             "acyclic "
             "structures can be evaluated",
             (long long)k, cycleText(path, child, first).c_str());
      state[child - first] = OnPath;
      path.push_back(child);
      next.push_back(childOffsets[child]);
    }
  }
}

void Forest::validate() const {
  if (structureOffsets.empty() || structureOffsets[0] != 0 ||
      childOffsets.empty() || childOffsets[0] != 0)
    fail(ESPALIER_MALFORMED, "a forest's offsets must start with 0");
  if (vertices() > INT32_MAX)
    fail(ESPALIER_MALFORMED, "%lld vertices; a batch has at most %d",
         (long long)vertices(), INT32_MAX);
  for (int64_t k = 0; k < structures(); ++k)
    if (structureOffsets[k + 1] < structureOffsets[k])
      fail(ESPALIER_MALFORMED,
           "structure %lld begins at vertex %lld and ends at %lld; offsets "
           "must not descend",
           (long long)k, (long long)structureOffsets[k],
           (long long)structureOffsets[k + 1]);
  if (structureOffsets.back() != vertices())
    fail(ESPALIER_MALFORMED,
         "the structures have %lld vertices but %lld vertices have child lists",
         (long long)structureOffsets.back(), (long long)vertices());
  for (int64_t v = 0; v < vertices(); ++v)
    if (childOffsets[v + 1] < childOffsets[v])
      fail(ESPALIER_MALFORMED,
           "structure %lld: the child offsets of vertex %lld go from %lld to "
           "%lld; they must not descend",
           (long long)structureOf(v),
           (long long)(v - structureOffsets[structureOf(v)]),
           (long long)childOffsets[v], (long long)childOffsets[v + 1]);
  if (childOffsets.back() != (int64_t)children.size())
    fail(ESPALIER_MALFORMED,
         "the child offsets end at %lld but there are %lld children",
         (long long)childOffsets.back(), (long long)children.size());
  for (int64_t k = 0; k < structures(); ++k)
    validateStructure(k);
}

//===----------------------------------------------------------------------===//
// Looking up
//===----------------------------------------------------------------------===//

int64_t Forest::structureOf(int64_t v) const {
  // The last structure that begins at or before v; empty ones begin with v
  // too but come before the one that owns it.
  auto after =
      std::upper_bound(structureOffsets.begin(), structureOffsets.end(), v);
  return after - structureOffsets.begin() - 1;
}

Forest Forest::slice(int64_t begin, int64_t end) const {
  if (begin < 0 || end < begin || end > structures())
    fail(ESPALIER_INVALID_ARGUMENT,
         "cannot take structures [%lld, %lld) of a batch of %lld",
         (long long)begin, (long long)end, (long long)structures());
  int64_t first = structureOffsets[begin], last = structureOffsets[end];
  int64_t firstEdge = childOffsets[first], lastEdge = childOffsets[last];

  Forest part;
  part.structureOffsets.reserve(end - begin + 1);
  for (int64_t k = begin; k < end; ++k)
    part.structureOffsets.push_back(structureOffsets[k + 1] - first);
  part.childOffsets.reserve(last - first + 1);
  for (int64_t v = first; v < last; ++v)
    part.childOffsets.push_back(childOffsets[v + 1] - firstEdge);
  part.children.reserve(lastEdge - firstEdge);
  for (int64_t e = firstEdge; e < lastEdge; ++e)
    part.children.push_back(children[e] < 0 ? -1
                                            : children[e] - (int32_t)first);

  checkFields();
  for (const auto &[name, field] : fields) {
    // Rows of the same memory.
    Tensor rows = field;
    rows.shape[0] = last - first;
    if (vertices() > 0)
      rows.data += field.bytes() / vertices() * first;
    part.fields[name] = std::move(rows);
  }
  return part;
}

Forest Forest::select(const int64_t *numbers, int64_t count) const {
  checkFields();
  int64_t vertexCount = 0, edgeCount = 0;
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = numbers[i];
    if (k < 0 || k >= structures())
      fail(ESPALIER_INVALID_ARGUMENT,
           "cannot take structure %lld of a batch of %lld", (long long)k,
           (long long)structures());
    int64_t first = structureOffsets[k], last = structureOffsets[k + 1];
    vertexCount += last - first;
    edgeCount += childOffsets[last] - childOffsets[first];
    if (vertexCount > INT32_MAX)
      fail(ESPALIER_INVALID_ARGUMENT,
           "the first %lld of the structures to take have more than %d "
           "vertices, which is all that a batch can have",
           (long long)i + 1, INT32_MAX);
  }

  Forest part;
  part.structureOffsets.reserve(count + 1);
  part.childOffsets.reserve(vertexCount + 1);
  part.children.reserve(edgeCount);
  for (int64_t i = 0; i < count; ++i) {
    int64_t first = structureOffsets[numbers[i]];
    int64_t last = structureOffsets[numbers[i] + 1];
    int64_t vertexShift = part.vertices() - first;
    int64_t edgeShift = (int64_t)part.children.size() - childOffsets[first];
    for (int64_t v = first; v < last; ++v)
      part.childOffsets.push_back(childOffsets[v + 1] + edgeShift);
    for (int64_t e = childOffsets[first]; e < childOffsets[last]; ++e)
      part.children.push_back(
          children[e] < 0 ? -1 : (int32_t)(children[e] + vertexShift));
    part.structureOffsets.push_back(part.vertices());
  }

  for (const auto &[name, field] : fields) {
    std::vector<int64_t> shape = field.shape;
    shape[0] = vertexCount;
    Tensor rows = Tensor::uninitialized(field.dtype, shape);
    size_t rowBytes = vertices() > 0 ? field.bytes() / vertices() : 0;
    char *out = rows.mutableData();
    for (int64_t i = 0; i < count && rowBytes > 0; ++i) {
      int64_t first = structureOffsets[numbers[i]];
      size_t bytes = (structureOffsets[numbers[i] + 1] - first) * rowBytes;
      if (bytes > 0)
        std::memcpy(out, field.data + first * rowBytes, bytes);
      out += bytes;
    }
    part.fields[name] = std::move(rows);
  }
  return part;
}

void Forest::checkFields() const {
  for (const auto &[name, field] : fields)
    if (field.shape.empty() || field.shape[0] != vertices())
      fail(ESPALIER_INVALID_ARGUMENT,
           "field '%s' has shape %s but the batch has %lld vertices; set it "
           "again after appending structures",
           name.c_str(), shapeString(field.shape, field.dtype).c_str(),
           (long long)vertices());
}

} // namespace espalier
