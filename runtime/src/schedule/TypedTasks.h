//===- TypedTasks.h - Tasks of vertices of one type -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where vertices have types, a task has vertices of one type only, and levels
// make too many of them: on a lattice of characters and words, a level has a
// few of either. So tasks are found step by step: of the types that have ready
// vertices one is chosen, and all its ready vertices are the next task.
//
// Which one? The height of a vertex is the number of vertices of its type on
// the longest way up from it, itself included. Tasks of a type cannot be fewer
// than the greatest height, and a task gets nearer to that only if it has all
// the vertices left that are highest. So the type is chosen of whose highest
// vertices left the largest part is ready, and the one with most ready vertices
// where that is equal. On lattices this comes within a few percent of the lower
// bound, the sum of the greatest heights (docs/performance.md has the numbers).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SCHEDULE_TYPEDTASKS_H
#define ESPALIER_SCHEDULE_TYPEDTASKS_H

#include "graph/Forest.h"

#include <cstdint>
#include <vector>

namespace espalier {

/// The type of each vertex, from 0 to count - 1, and how many types there are.
struct VertexTypes {
  const int32_t *of = nullptr;
  uint32_t count = 0;
};

class TypedTasks {
public:
  /// Gives every vertex of `forest` a task: first one of leaves for each type
  /// that has any, then as described above. O((vertices + edges) * types),
  /// without recursion; memory is kept for the next call.
  void assign(const Forest &forest, VertexTypes types);

  /// For each vertex its task.
  const std::vector<int32_t> &taskOfVertex() const { return tasks; }
  /// For each task its type.
  const std::vector<int32_t> &typeOfTask() const { return taskTypes; }
  /// How many tasks of leaves there are; they are the first.
  int64_t leafTasks() const { return leafTaskCount; }
  /// The sum of the greatest heights, and the tasks of leaves: there cannot be
  /// fewer tasks.
  int64_t lowerBound() const { return bound; }

private:
  struct Type {
    int32_t firstReady; // of a list through nextReady; -1: none
    int64_t ready;
    int64_t height;     // of the highest vertices left
    int64_t firstCount; // of its heights in readyAt and leftAt
  };

  void sortTopologically(const Forest &forest);
  void computeHeights(const Forest &forest, VertexTypes types);
  void runLeaves(VertexTypes types);
  void release(int32_t vertex, VertexTypes types);
  void run(uint32_t type, VertexTypes types);
  int64_t choose();

  Forest parents; // of each vertex, as its children
  std::vector<int32_t> order;
  std::vector<int32_t> waiting; // children that are not in a task yet
  std::vector<int32_t> heights; // 0 for leaves
  std::vector<int32_t> longest; // way up, for one type
  std::vector<int32_t> tasks;
  std::vector<int32_t> taskTypes;
  std::vector<Type> byType;
  /// For each type and height, vertices that are ready and those left in all.
  std::vector<int32_t> readyAt;
  std::vector<int32_t> leftAt;
  std::vector<int32_t> nextReady;
  int64_t leafTaskCount = 0;
  int64_t bound = 0;
};

} // namespace espalier

#endif // ESPALIER_SCHEDULE_TYPEDTASKS_H
