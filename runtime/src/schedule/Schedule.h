//===- Schedule.h - Which vertices run together -----------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which the vertices of a forest are evaluated. A vertex's place
// in that order is its row. Vertices without a present child, leaves, have the
// first rows.
//
// Without types, vertices are sorted by level (0 for leaves, else one more than
// the highest child), and within a level by their number. Under the batched
// policy a level is a task, under the serial policy every row is.
//
// Where equal vertices are shared (EqualVertices), a vertex that another one
// stands for has no row of its own but that one's; rows are those of the
// others. Equal vertices have equal levels, and become ready at the same time,
// so they are in one task whatever the policy.
//
// With types, tasks are those of TypedTasks, of one type each. Leaves are
// sorted by type; then come all inner vertices of the first type, task after
// task, then those of the next. So a task is a range of rows, and a type's
// leaves and its inner vertices are one range each, but rows of a later task
// may come before those of an earlier one. The serial policy runs the same
// tasks row by row.
//
// All tables are flat arrays that keep their memory from one `build` to the
// next, and building takes O(vertices + edges) without recursion.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_SCHEDULE_SCHEDULE_H
#define ESPALIER_SCHEDULE_SCHEDULE_H

#include "espalier/runtime.h"
#include "schedule/TypedTasks.h"

#include <cstdint>
#include <vector>

namespace espalier {

class Forest;

/// Rows [begin, end).
struct RowRange {
  int64_t begin;
  int64_t end;
};

class Schedule {
public:
  /// A place among the children of `row`: the child in `slot`.
  struct ParentSlot {
    int32_t row;
    int32_t slot;
  };

  /// Orders the vertices of `forest`, which must be valid. The child table has
  /// `arity` slots; a vertex with more children is an error, unless arity is
  /// 0: then children only order the vertices. It has the rows of leaves, all
  /// absent, only if `leafChildren` asks for them. `types` are valid, too; all
  /// vertices are alike if there are fewer than two. `representatives` has for
  /// each vertex the one that stands for it; without, each does so itself.
  void build(const Forest &forest, uint32_t arity, espalier_policy policy,
             bool leafChildren, VertexTypes types = {},
             const int32_t *representatives = nullptr);

  /// Vertices with a row of their own.
  int64_t vertices() const { return rowCount; }
  int64_t structures() const { return (int64_t)rootRows.size(); }
  /// Those of them without a present child; they have rows [0, leaves()).
  int64_t leaves() const { return leafCount; }

  /// Task t has rows [taskBegin(t), taskEnd(t)), all of type taskType(t).
  int64_t tasks() const { return (int64_t)taskRows.size(); }
  int64_t taskBegin(int64_t t) const { return taskRows[t].begin; }
  int64_t taskEnd(int64_t t) const { return taskRows[t].end; }
  int32_t taskType(int64_t t) const {
    return taskTypes.empty() ? 0 : taskTypes[t];
  }
  /// The first task whose vertices have children; all after it do, too.
  int64_t firstInnerTask() const { return innerTask; }
  /// The leaves of a type, and its inner vertices.
  RowRange leavesOf(uint32_t type) const { return leafRows[type]; }
  RowRange innerOf(uint32_t type) const { return innerRows[type]; }

  /// For each row its vertex, and for each vertex of the forest its row.
  const int32_t *vertexOfRow() const { return vertexOfRows.data(); }
  const int32_t *rowOfVertex() const { return rowOfVertices.data(); }
  /// From `row` on, the row of each row's child in `slot`, or -1.
  const int32_t *childRows(uint32_t slot, int64_t row) const {
    return childTable.data() + slot * (rowCount - firstTableRow) +
           (row - firstTableRow);
  }
  /// For each structure its last vertex as row and as vertex; -1 if it has no
  /// vertex.
  const int32_t *rootRow() const { return rootRows.data(); }
  const int32_t *rootVertex() const { return rootVertices.data(); }

  /// Tables that few programs need, for the forest of the last `build`. Each
  /// keeps its memory, too. Parents are those that have the vertex in a slot of
  /// the child table. Shared vertices are part of many structures, and may be
  /// the root of many: these two tables are for vertices, and for roots, that
  /// are not shared.
  void buildParents();
  void buildStructures(const Forest &forest);
  void buildRootStructures();

  /// Where row `row` is a child: parentSlots()[parentsBegin(row)] up to
  /// parentsBegin(row + 1), ordered by row and slot of the parent.
  int64_t parentsBegin(int64_t row) const { return parentSlotOffsets[row]; }
  const ParentSlot *parentSlots() const { return parentSlotTable.data(); }
  /// For each row the structure that it is part of, and the one whose root it
  /// is, or -1.
  const int32_t *structureOfRow() const { return structureOfRows.data(); }
  const int32_t *rootStructureOfRow() const {
    return rootStructureOfRows.data();
  }

  /// Whether the children of rows [begin, end) in `slot` are all present and
  /// lie one after another, so that they can be read in place.
  bool contiguousChildren(uint32_t slot, int64_t begin, int64_t end) const;

private:
  struct Task {
    int32_t begin;
    int32_t end;
  };

  void assignLevels(const Forest &forest, uint32_t arity);
  bool levelsInOnePass(const Forest &forest, uint32_t arity);
  void levelsByKahn(const Forest &forest);
  void assignTypedTasks(const Forest &forest, uint32_t arity,
                        VertexTypes types);
  void layOutTasks(const std::vector<int32_t> &taskOf,
                   const int32_t *representatives, int64_t leafTasks,
                   uint32_t types);
  void splitTasks();
  void fillRows(const std::vector<int32_t> &taskOf,
                const int32_t *representatives);
  void fillChildTable(const Forest &forest, bool leafChildren);
  void fillRoots(const Forest &forest);

  int64_t rowCount = 0;
  int64_t leafCount = 0;
  int64_t innerTask = 0;
  int64_t firstTableRow = 0;
  uint32_t slots = 0;
  std::vector<Task> taskRows;
  std::vector<int32_t> taskTypes; // empty: all 0
  std::vector<RowRange> leafRows; // by type
  std::vector<RowRange> innerRows;
  std::vector<int32_t> vertexOfRows;
  std::vector<int32_t> rowOfVertices;
  std::vector<int32_t> childTable;
  std::vector<int32_t> rootRows;
  std::vector<int32_t> rootVertices;
  std::vector<int64_t> parentSlotOffsets;
  std::vector<ParentSlot> parentSlotTable;
  std::vector<int32_t> structureOfRows;
  std::vector<int32_t> rootStructureOfRows;

  /// Working memory of `build`.
  std::vector<int32_t> levels;
  std::vector<int32_t> nextRows; // by task
  std::vector<Task> wholeTasks;
  std::vector<int32_t> wholeTypes;
  std::vector<int32_t> waiting;
  std::vector<int32_t> queue;
  Forest parents; // of each vertex, as its children
  TypedTasks typed;
};

} // namespace espalier

#endif // ESPALIER_SCHEDULE_SCHEDULE_H
