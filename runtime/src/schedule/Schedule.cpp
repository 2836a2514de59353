//===- Schedule.cpp -------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "schedule/Schedule.h"

#include "graph/Reverse.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>

namespace espalier {

//===----------------------------------------------------------------------===//
// Which vertices are a task
//===----------------------------------------------------------------------===//

[[noreturn]] static void failArity(const Forest &forest, int64_t v,
                                   uint32_t arity) {
  int64_t k = forest.structureOf(v);
  fail(ESPALIER_INVALID_ARGUMENT,
       "structure %lld: vertex %lld has %lld children, but the model reads at "
       "most %u; compile it for a larger arity or binarize the structures",
       (long long)k, (long long)(v - forest.structureOffsets[k]),
       (long long)(forest.childOffsets[v + 1] - forest.childOffsets[v]), arity);
}

/// Computes levels of vertices whose children all come before them, as every
/// reader of trees and sequences writes them. False if one does not.
bool Schedule::levelsInOnePass(const Forest &forest, uint32_t arity) {
  const int64_t *offsets = forest.childOffsets.data();
  const int32_t *children = forest.children.data();
  int32_t *level = levels.data();
  bool childrenFirst = true;
  for (int64_t v = 0; v < forest.vertices(); ++v) {
    int64_t begin = offsets[v], end = offsets[v + 1];
    if (arity != 0 && end - begin > (int64_t)arity)
      failArity(forest, v, arity);
    int32_t highest = -1;
    for (int64_t e = begin; e < end; ++e) {
      int32_t child = children[e];
      if (child < 0)
        continue;
      if (child >= v) {
        childrenFirst = false;
        break;
      }
      highest = std::max(highest, level[child]);
    }
    level[v] = highest + 1;
  }
  return childrenFirst;
}

/// Computes levels of vertices in any order: a vertex enters the queue when
/// its last child has left it.
void Schedule::levelsByKahn(const Forest &forest) {
  int64_t count = forest.vertices();
  levels.assign(count, 0);
  waiting.assign(count, 0);
  queue.resize(count);
  reverseEdges(forest, parents);
  for (int32_t parent : parents.children)
    ++waiting[parent];

  int64_t head = 0, tail = 0;
  for (int64_t v = 0; v < count; ++v)
    if (waiting[v] == 0)
      queue[tail++] = (int32_t)v;
  while (head < tail) {
    int32_t child = queue[head++];
    for (int64_t e = parents.childOffsets[child];
         e < parents.childOffsets[child + 1]; ++e) {
      int32_t parent = parents.children[e];
      levels[parent] = std::max(levels[parent], levels[child] + 1);
      if (--waiting[parent] == 0)
        queue[tail++] = parent;
    }
  }
  if (tail != count) {
    forest.validate(); // lists the cycle
    fail(ESPALIER_INTERNAL, "the scheduler left %lld of %lld vertices out",
         (long long)(count - tail), (long long)count);
  }
}

void Schedule::assignLevels(const Forest &forest, uint32_t arity) {
  levels.resize(forest.vertices());
  if (!levelsInOnePass(forest, arity))
    levelsByKahn(forest);
}

void Schedule::assignTypedTasks(const Forest &forest, uint32_t arity,
                                VertexTypes types) {
  if (arity != 0)
    for (int64_t v = 0; v < forest.vertices(); ++v)
      if (forest.childOffsets[v + 1] - forest.childOffsets[v] > (int64_t)arity)
        failArity(forest, v, arity);
  typed.assign(forest, types);
}

//===----------------------------------------------------------------------===//
// Which rows they have
//===----------------------------------------------------------------------===//

/// Gives tasks their rows: those of leaves first, then type by type.
void Schedule::layOutTasks(const std::vector<int32_t> &taskOf,
                           const int32_t *representatives, int64_t leafTasks,
                           uint32_t types) {
  // First the sizes.
  taskRows.clear();
  for (int64_t v = 0; v < (int64_t)taskOf.size(); ++v) {
    if (representatives && representatives[v] != v)
      continue;
    if (taskOf[v] >= (int32_t)taskRows.size())
      taskRows.resize(taskOf[v] + 1, Task{0, 0});
    ++taskRows[taskOf[v]].end;
  }
  int32_t row = 0;
  auto place = [&](int64_t t) {
    int32_t size = taskRows[t].end;
    taskRows[t] = {row, row + size};
    row += size;
  };
  leafRows.assign(types, RowRange{0, 0});
  innerRows.resize(types);
  for (int64_t t = 0; t < leafTasks; ++t) {
    place(t);
    leafRows[taskType(t)] = {taskRows[t].begin, row};
  }
  leafCount = row;
  for (uint32_t type = 0; type < types; ++type) {
    innerRows[type].begin = row;
    for (int64_t t = leafTasks; t < tasks(); ++t)
      if (taskType(t) == (int32_t)type)
        place(t);
    innerRows[type].end = row;
  }
  rowCount = row;
  innerTask = leafTasks;
}

/// A stable counting sort, by task, of the vertices with a row of their own.
void Schedule::fillRows(const std::vector<int32_t> &taskOf,
                        const int32_t *representatives) {
  nextRows.resize(taskRows.size());
  for (size_t t = 0; t < taskRows.size(); ++t)
    nextRows[t] = taskRows[t].begin;
  int64_t count = (int64_t)taskOf.size();
  vertexOfRows.resize(rowCount);
  rowOfVertices.resize(count);
  for (int64_t v = 0; v < count; ++v) {
    if (representatives && representatives[v] != v)
      continue;
    int32_t r = nextRows[taskOf[v]]++;
    rowOfVertices[v] = r;
    vertexOfRows[r] = (int32_t)v;
  }
  if (representatives)
    for (int64_t v = 0; v < count; ++v)
      rowOfVertices[v] = rowOfVertices[representatives[v]];
}

/// Makes every row a task.
void Schedule::splitTasks() {
  wholeTasks.swap(taskRows);
  wholeTypes.swap(taskTypes);
  taskRows.clear();
  taskTypes.clear();
  for (size_t t = 0; t < wholeTasks.size(); ++t)
    for (int32_t row = wholeTasks[t].begin; row < wholeTasks[t].end; ++row) {
      taskRows.push_back({row, row + 1});
      if (!wholeTypes.empty())
        taskTypes.push_back(wholeTypes[t]);
    }
  innerTask = leafCount;
}

/// Row by row, so that each slot of the table is written in order.
void Schedule::fillChildTable(const Forest &forest, bool leafChildren) {
  const int64_t *offsets = forest.childOffsets.data();
  firstTableRow = leafChildren ? 0 : leafCount;
  int64_t tableRows = rowCount - firstTableRow;
  childTable.resize(tableRows * slots);
  for (int64_t i = 0; i < tableRows; ++i) {
    int32_t v = vertexOfRows[firstTableRow + i];
    int64_t begin = offsets[v], found = offsets[v + 1] - begin;
    for (int64_t slot = 0; slot < (int64_t)slots; ++slot) {
      int32_t child = slot < found ? forest.children[begin + slot] : -1;
      childTable[slot * tableRows + i] = child < 0 ? -1 : rowOfVertices[child];
    }
  }
}

void Schedule::fillRoots(const Forest &forest) {
  int64_t count = forest.structures();
  rootRows.resize(count);
  rootVertices.resize(count);
  for (int64_t k = 0; k < count; ++k) {
    int64_t first = forest.structureOffsets[k];
    int64_t end = forest.structureOffsets[k + 1];
    rootVertices[k] = first == end ? -1 : (int32_t)(end - 1);
    rootRows[k] = first == end ? -1 : rowOfVertices[end - 1];
  }
}

void Schedule::build(const Forest &forest, uint32_t arity,
                     espalier_policy policy, bool leafChildren,
                     VertexTypes types, const int32_t *representatives) {
  slots = arity;
  bool hasTypes = types.count > 1;
  taskTypes.clear();
  if (hasTypes) {
    assignTypedTasks(forest, arity, types);
    taskTypes = typed.typeOfTask();
  } else {
    assignLevels(forest, arity);
  }
  const std::vector<int32_t> &taskOf = hasTypes ? typed.taskOfVertex() : levels;
  layOutTasks(taskOf, representatives,
              hasTypes ? typed.leafTasks() : forest.vertices() > 0,
              hasTypes ? types.count : 1);
  fillRows(taskOf, representatives);
  if (policy == ESPALIER_POLICY_SERIAL)
    splitTasks();
  fillChildTable(forest, leafChildren);
  fillRoots(forest);
}

//===----------------------------------------------------------------------===//
// Tables that few programs need
//===----------------------------------------------------------------------===//

void Schedule::buildParents() {
  // In compressed rows: count, sum, fill, by which every start moves to the
  // place of the one before.
  parentSlotOffsets.assign(rowCount + 2, 0);
  int64_t tableRows = rowCount - firstTableRow;
  for (int32_t child : childTable)
    if (child >= 0)
      ++parentSlotOffsets[child + 2];
  for (int64_t r = 0; r < rowCount; ++r)
    parentSlotOffsets[r + 2] += parentSlotOffsets[r + 1];
  parentSlotTable.resize(parentSlotOffsets[rowCount + 1]);
  for (int64_t i = 0; i < tableRows; ++i)
    for (uint32_t slot = 0; slot < slots; ++slot) {
      int32_t child = childTable[slot * tableRows + i];
      if (child >= 0)
        parentSlotTable[parentSlotOffsets[child + 1]++] = {
            (int32_t)(firstTableRow + i), (int32_t)slot};
    }
}

void Schedule::buildStructures(const Forest &forest) {
  structureOfRows.resize(rowCount);
  for (int64_t k = 0; k < structures(); ++k)
    for (int64_t v = forest.structureOffsets[k];
         v < forest.structureOffsets[k + 1]; ++v)
      structureOfRows[rowOfVertices[v]] = (int32_t)k;
}

void Schedule::buildRootStructures() {
  rootStructureOfRows.assign(rowCount, -1);
  for (int64_t k = 0; k < structures(); ++k)
    if (rootRows[k] >= 0)
      rootStructureOfRows[rootRows[k]] = (int32_t)k;
}

bool Schedule::contiguousChildren(uint32_t slot, int64_t begin,
                                  int64_t end) const {
  if (begin == end)
    return true;
  const int32_t *rows = childRows(slot, begin);
  int64_t count = end - begin;
  // Most ranges that are not contiguous are told apart by their ends.
  if (rows[0] < 0 || rows[count - 1] - rows[0] != count - 1)
    return false;
  bool contiguous = true;
  for (int64_t i = 0; i < count; ++i)
    contiguous &= rows[i] - rows[0] == i;
  return contiguous;
}

} // namespace espalier
