//===- Program.h - An entry while it is being lowered -----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_CONVERSION_LOWERTOMODEL_PROGRAM_H
#define ESPALIER_CONVERSION_LOWERTOMODEL_PROGRAM_H

#include "espalier/Analysis/RowSpaces.h"

#include <string>

namespace espalier {

struct Graph {
  std::string name;
  int64_t arity;
  /// 0: an argument. Otherwise graph `reverseOf - 1` with every edge turned
  /// round.
  int64_t reverseOf = 0;
  /// How many types of vertices there are, and the field that has them.
  int64_t types = 1;
  std::string typeField;
  /// Whether equal vertices may share a row.
  bool shared = false;
};

struct Buffer {
  model::BufferKind kind;
  std::string name;
  RowSpace space;
  mlir::RankedTensorType row;
  mlir::ElementsAttr value;
};

/// A buffer and how a step finds a row in it; see espalier_step_operand.
struct Operand {
  int64_t buffer = -1;
  model::Access access = model::Access::row;
  /// Of an access by id: the ids' buffer.
  int64_t slot = 0;
  int64_t column = 0;
  int64_t elements = 0;
  /// Of a matrix that an outer_sum writes: the elements between its rows.
  int64_t stride = 0;
};

struct Weight {
  int64_t buffer, row, rows;
  llvm::SmallVector<int64_t> begins, counts;
  bool transposed;
};

/// From `sum_rows` on, reductions: they make one value of all rows of a phase.
enum class StepKind {
  copy,
  embed,
  matmul,
  launch,
  sum_parents,
  reduce_children,
  sum_vertices,
  max_vertices,
  sum_rows,
  outer_sum,
  combine_rows
};

struct Step {
  Step(StepKind kind, mlir::Location loc) : kind(kind), loc(loc) {}
  StepKind kind;
  mlir::Location loc;
  /// Those that are written come last.
  llvm::SmallVector<Operand> operands;
  bool reduces() const { return kind >= StepKind::sum_rows; }
  /// Whether what it reads has other rows than its phase.
  bool findsRowsItself() const {
    return kind == StepKind::sum_parents || kind == StepKind::sum_vertices ||
           kind == StepKind::max_vertices;
  }
  int64_t results = 0;
  int64_t weight = -1;
  /// Of a reduction of children.
  model::Reduction reduction = model::Reduction::sum;
  /// It runs over the edges of its phase's rows.
  bool overEdges = false;
  std::string kernel;
  int64_t flops = 0, bytes = 0;
};

struct Phase {
  std::string name;
  model::Rows rows;
  int64_t graph;
  /// Only vertices of this type.
  std::optional<int64_t> type;
  llvm::SmallVector<Step> steps;
};

struct Program {
  llvm::SmallVector<Graph> graphs;
  llvm::SmallVector<Buffer> buffers;
  llvm::SmallVector<Weight> weights;
  llvm::SmallVector<Phase> phases;

  int64_t addBuffer(model::BufferKind kind, llvm::StringRef name,
                    RowSpace space, mlir::RankedTensorType row);
  /// The number of an equal weight, if there is one.
  int64_t addWeight(const Weight &weight);
  /// Appends a step over `space`, or over `loop` if that is set, to the last
  /// phase. A step over edges runs in a phase over their parents if it may run
  /// there, otherwise to a new one.
  void addStep(Step step, RowSpace space, std::optional<model::Rows> loop);
  /// Appends a phase in which nothing is done.
  void addEmptyPhase(model::Rows rows, int64_t graph,
                     std::optional<int64_t> type);
  /// The next step starts a new phase.
  void closePhase() { open = false; }
  /// Names the phases, and finds the buffers that live within one block of one
  /// phase.
  void finish();
  /// Writes it out as a model.entry, without buffers that no step touches.
  void emit(mlir::OpBuilder &builder, mlir::Location loc,
            llvm::StringRef name) const;

private:
  bool open = false;
};

} // namespace espalier

#endif // ESPALIER_CONVERSION_LOWERTOMODEL_PROGRAM_H
