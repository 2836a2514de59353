//===- TypedTasks.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/TypedTasks.h"

#include "graph/Reverse.h"
#include "support/Error.h"

#include <algorithm>

namespace espalier {

/// Fills `order` with the vertices, children before parents, and `waiting` with
/// how many children each has.
void TypedTasks::sortTopologically(const Forest &forest) {
  int64_t count = forest.vertices();
  reverseEdges(forest, parents);
  waiting.assign(count, 0);
  for (int32_t parent : parents.children)
    ++waiting[parent];
  // Children left to be put in order; `longest` is free until later.
  longest = waiting;
  order.clear();
  order.reserve(count);
  for (int64_t v = 0; v < count; ++v)
    if (waiting[v] == 0)
      order.push_back((int32_t)v);
  for (size_t i = 0; i < order.size(); ++i)
    for (int64_t e = parents.childOffsets[order[i]];
         e < parents.childOffsets[order[i] + 1]; ++e)
      if (--longest[parents.children[e]] == 0)
        order.push_back(parents.children[e]);
  if ((int64_t)order.size() != count) {
    forest.validate(); // lists the cycle
    fail(ESPALIER_INTERNAL, "the scheduler left %lld of %lld vertices out",
         (long long)(count - (int64_t)order.size()), (long long)count);
  }
}

void TypedTasks::computeHeights(const Forest &forest, VertexTypes types) {
  int64_t count = forest.vertices();
  heights.assign(count, 0);
  byType.assign(types.count, Type{-1, 0, 0, 0});
  for (int64_t v = 0; v < count; ++v)
    if (waiting[v] > 0)
      byType[types.of[v]].height = 1; // there are some
  int64_t counts = 0;
  for (uint32_t t = 0; t < types.count; ++t) {
    Type &type = byType[t];
    type.firstCount = counts;
    if (type.height == 0)
      continue;
    longest.assign(count, 0);
    for (int64_t i = count; i-- > 0;) {
      int32_t v = order[i];
      if (waiting[v] > 0 && types.of[v] == (int32_t)t) {
        heights[v] = ++longest[v];
        type.height = std::max<int64_t>(type.height, heights[v]);
      }
      for (int64_t e = forest.childOffsets[v]; e < forest.childOffsets[v + 1];
           ++e)
        if (forest.children[e] >= 0)
          longest[forest.children[e]] =
              std::max(longest[forest.children[e]], longest[v]);
    }
    counts += type.height;
    bound += type.height;
  }
  readyAt.assign(counts, 0);
  leftAt.assign(counts, 0);
  for (int64_t v = 0; v < count; ++v)
    if (heights[v] > 0)
      ++leftAt[byType[types.of[v]].firstCount + heights[v] - 1];
}

/// A vertex whose last child is done.
void TypedTasks::release(int32_t vertex, VertexTypes types) {
  Type &type = byType[types.of[vertex]];
  ++readyAt[type.firstCount + heights[vertex] - 1];
  ++type.ready;
  nextReady[vertex] = type.firstReady;
  type.firstReady = vertex;
}

/// Leaves are `order`'s first vertices.
void TypedTasks::runLeaves(VertexTypes types) {
  std::vector<int32_t> &taskOfType = longest;
  taskOfType.assign(types.count, -1);
  size_t leaves = 0;
  for (; leaves < order.size() && waiting[order[leaves]] == 0; ++leaves)
    taskOfType[types.of[order[leaves]]] = 0;
  for (uint32_t t = 0; t < types.count; ++t)
    if (taskOfType[t] == 0) {
      taskOfType[t] = (int32_t)taskTypes.size();
      taskTypes.push_back((int32_t)t);
    }
  leafTaskCount = (int64_t)taskTypes.size();
  bound += leafTaskCount;
  for (size_t i = 0; i < leaves; ++i)
    tasks[order[i]] = taskOfType[types.of[order[i]]];
  for (size_t i = 0; i < leaves; ++i)
    for (int64_t e = parents.childOffsets[order[i]];
         e < parents.childOffsets[order[i] + 1]; ++e)
      if (--waiting[parents.children[e]] == 0)
        release(parents.children[e], types);
}

/// The type of the next task, or -1 if no vertex is ready.
int64_t TypedTasks::choose() {
  int64_t best = -1, bestReady = 0, bestLeft = 1;
  for (size_t t = 0; t < byType.size(); ++t) {
    Type &type = byType[t];
    if (type.ready == 0)
      continue;
    while (leftAt[type.firstCount + type.height - 1] == 0)
      --type.height;
    int64_t ready = readyAt[type.firstCount + type.height - 1];
    int64_t left = leftAt[type.firstCount + type.height - 1];
    int64_t difference = ready * bestLeft - bestReady * left;
    if (best < 0 || difference > 0 ||
        (difference == 0 && type.ready > byType[best].ready)) {
      best = (int64_t)t;
      bestReady = ready;
      bestLeft = left;
    }
  }
  return best;
}

/// Makes the ready vertices of `type` a task.
void TypedTasks::run(uint32_t number, VertexTypes types) {
  Type &type = byType[number];
  int32_t first = type.firstReady, task = (int32_t)taskTypes.size();
  type.firstReady = -1;
  type.ready = 0;
  taskTypes.push_back((int32_t)number);
  for (int32_t v = first; v >= 0; v = nextReady[v]) {
    tasks[v] = task;
    --readyAt[type.firstCount + heights[v] - 1];
    --leftAt[type.firstCount + heights[v] - 1];
  }
  // A vertex that becomes ready begins a list of its own.
  for (int32_t v = first, next; v >= 0; v = next) {
    next = nextReady[v];
    for (int64_t e = parents.childOffsets[v]; e < parents.childOffsets[v + 1];
         ++e)
      if (--waiting[parents.children[e]] == 0)
        release(parents.children[e], types);
  }
}

void TypedTasks::assign(const Forest &forest, VertexTypes types) {
  tasks.resize(forest.vertices());
  nextReady.resize(forest.vertices());
  taskTypes.clear();
  bound = 0;
  sortTopologically(forest);
  computeHeights(forest, types);
  runLeaves(types);
  for (int64_t type = choose(); type >= 0; type = choose())
    run((uint32_t)type, types);
}

} // namespace espalier
