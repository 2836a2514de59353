//===- Program.cpp - An entry while it is being lowered ---------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

using namespace mlir;
using namespace espalier;

using model::Access;
using model::BufferKind;
using model::Rows;

int64_t Program::addBuffer(BufferKind kind, StringRef name, RowSpace space,
                           RankedTensorType row) {
  buffers.push_back({kind, name.str(), space, row, {}});
  return buffers.size() - 1;
}

int64_t Program::addWeight(const Weight &weight) {
  for (auto [number, other] : llvm::enumerate(weights))
    if (other.buffer == weight.buffer && other.row == weight.row &&
        other.rows == weight.rows && other.begins == weight.begins &&
        other.counts == weight.counts && other.transposed == weight.transposed)
      return number;
  weights.push_back(weight);
  return weights.size() - 1;
}

void Program::addStep(Step step, RowSpace space, std::optional<Rows> loop) {
  step.overEdges = space.rows == Rows::edges;
  Rows rows = loop.value_or(step.overEdges ? Rows::inner : space.rows);
  bool fits = open && !phases.empty() && phases.back().rows == rows &&
              phases.back().graph == space.graph &&
              phases.back().type == space.type &&
              phases.back().steps.back().reduces() == step.reduces();
  // A step may read its own row of what an earlier step of its phase wrote;
  // other rows are only there once the phase is over. In a loop children's
  // rows are: they belong to earlier tasks.
  if (fits && !loop)
    for (const Operand &operand :
         ArrayRef(step.operands).drop_back(step.results)) {
      bool own = operand.access == Access::row ||
                 (operand.access == Access::shared && !step.reduces());
      if (own && !step.findsRowsItself())
        continue;
      for (const Step &earlier : phases.back().steps)
        for (const Operand &written :
             ArrayRef(earlier.operands).take_back(earlier.results))
          fits &= written.buffer != operand.buffer;
    }
  // Rows found by ids may be any block's.
  if (fits)
    for (const Operand &written :
         ArrayRef(step.operands).take_back(step.results))
      if (written.access == Access::id)
        for (const Step &earlier : phases.back().steps)
          for (const Operand &used : earlier.operands)
            fits &= used.buffer != written.buffer;
  if (!fits)
    phases.push_back({"", rows, space.graph, space.type, {}});
  open = true;
  phases.back().steps.push_back(std::move(step));
}

void Program::addEmptyPhase(Rows rows, int64_t graph,
                            std::optional<int64_t> type) {
  phases.push_back({"", rows, graph, type, {}});
  open = false;
}

void Program::finish() {
  // When a phase runs, in the words of the vertex dialect.
  bool looped = false;
  for (Phase &phase : phases) {
    bool forward = phase.rows == Rows::tasks || phase.rows == Rows::inner_tasks;
    bool backward = phase.rows == Rows::tasks_reversed ||
                    phase.rows == Rows::inner_tasks_reversed;
    bool loop = forward || backward;
    looped |= loop;
    if (!phase.steps.empty() && phase.steps.front().reduces())
      phase.name = "sums";
    else if (phase.rows == Rows::structures)
      phase.name = "structures";
    else if (phase.rows == Rows::one)
      phase.name = "shared";
    else if (loop)
      phase.name = forward ? "path" : "reversed path";
    else if (phase.rows == Rows::leaves)
      phase.name = looped ? "lazy leaves" : "leaves";
    else
      phase.name = looped ? "lazy" : "eager";
  }

  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    if (buffer.kind != BufferKind::dynamic)
      continue;
    const Phase *home = nullptr;
    bool local =
        buffer.space.rows != Rows::one && buffer.space.rows != Rows::edges;
    for (const Phase &phase : phases)
      for (const Step &step : phase.steps)
        for (const Operand &operand : step.operands) {
          if (operand.buffer != (int64_t)number)
            continue;
          // Reductions read all rows, and parents have rows of their own.
          bool ofBlock =
              !step.reduces() &&
              !(step.findsRowsItself() && &operand == &step.operands.front());
          local &= operand.access == Access::row && ofBlock &&
                   (!home || home == &phase);
          home = &phase;
        }
    if (home && local)
      buffer.kind = BufferKind::scratch;
  }
}

void Program::emit(OpBuilder &builder, Location loc, StringRef name) const {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<StringRef> graphNames;
  SmallVector<int64_t> arities, sources, types;
  SmallVector<StringRef> typeFields;
  SmallVector<bool> areShared;
  for (const Graph &graph : graphs) {
    graphNames.push_back(graph.name);
    arities.push_back(graph.arity);
    sources.push_back(graph.reverseOf);
    types.push_back(graph.types);
    typeFields.push_back(graph.typeField);
    areShared.push_back(graph.shared);
  }
  DenseI64ArrayAttr reverseOf;
  if (llvm::any_of(sources, [](int64_t source) { return source != 0; }))
    reverseOf = builder.getDenseI64ArrayAttr(sources);
  DenseI64ArrayAttr typesAttr;
  ArrayAttr typeFieldsAttr;
  if (llvm::any_of(types, [](int64_t count) { return count > 1; })) {
    typesAttr = builder.getDenseI64ArrayAttr(types);
    typeFieldsAttr = builder.getStrArrayAttr(typeFields);
  }
  DenseBoolArrayAttr shared;
  if (llvm::is_contained(areShared, true))
    shared = builder.getDenseBoolArrayAttr(areShared);
  auto entry = model::EntryOp::create(
      builder, loc, builder.getStringAttr(name),
      builder.getStrArrayAttr(graphNames),
      builder.getDenseI64ArrayAttr(arities), reverseOf, typesAttr,
      typeFieldsAttr, shared, DenseI64ArrayAttr(), StringAttr());
  builder.createBlock(&entry.getBody());

  llvm::DenseSet<int64_t> touched;
  for (const Phase &phase : phases)
    for (const Step &step : phase.steps)
      for (const Operand &operand : step.operands)
        touched.insert(operand.buffer);
  for (const Weight &weight : weights)
    touched.insert(weight.buffer);

  auto bufferType = model::BufferType::get(builder.getContext());
  SmallVector<Value> bufferValues(buffers.size()), weightValues;
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    bool bound = buffer.kind == BufferKind::parameter ||
                 buffer.kind == BufferKind::input ||
                 buffer.kind == BufferKind::output ||
                 buffer.kind == BufferKind::state;
    if (bound || touched.contains(number))
      bufferValues[number] = model::BufferOp::create(
          builder, loc, bufferType, buffer.kind, buffer.name, buffer.space.rows,
          buffer.space.graph, buffer.row, buffer.value, IntegerAttr(),
          IntegerAttr());
  }
  for (const Weight &weight : weights)
    weightValues.push_back(model::WeightOp::create(
        builder, loc, bufferType, bufferValues[weight.buffer], weight.row,
        weight.rows, weight.begins, weight.counts, weight.transposed));

  auto at = [&](const Operand &operand) {
    int64_t slot = operand.access == Access::id ? 0 : operand.slot;
    return model::OperandAttr::get(builder.getContext(), operand.access, slot,
                                   operand.column, operand.elements,
                                   operand.stride);
  };
  for (const Phase &phase : phases) {
    IntegerAttr type;
    if (phase.type)
      type = builder.getI64IntegerAttr(*phase.type);
    auto phaseOp = model::PhaseOp::create(builder, loc, phase.name, phase.rows,
                                          phase.graph, type);
    OpBuilder::InsertionGuard nested(builder);
    builder.createBlock(&phaseOp.getBody());
    for (const Step &step : phase.steps) {
      ArrayRef<Operand> operands = step.operands;
      auto buffer = [&](size_t i) { return bufferValues[operands[i].buffer]; };
      switch (step.kind) {
      case StepKind::copy:
        model::CopyOp::create(builder, step.loc, buffer(0), buffer(1),
                              at(operands[0]), at(operands[1]), step.overEdges);
        break;
      case StepKind::embed:
        model::EmbedOp::create(builder, step.loc, buffer(0), buffer(1),
                               buffer(2), at(operands[0]), at(operands[1]),
                               at(operands[2]));
        break;
      case StepKind::matmul:
        model::MatmulOp::create(
            builder, step.loc, buffer(0), weightValues[step.weight], buffer(1),
            at(operands[0]), at(operands[1]), step.overEdges);
        break;
      case StepKind::reduce_children:
        model::ReduceChildrenOp::create(builder, step.loc, step.reduction,
                                        buffer(0), buffer(1), at(operands[0]),
                                        at(operands[1]));
        break;
      case StepKind::sum_parents:
        model::SumParentsOp::create(builder, step.loc, buffer(0), buffer(1),
                                    at(operands[0]), at(operands[1]));
        break;
      case StepKind::sum_vertices:
        model::SumVerticesOp::create(builder, step.loc, buffer(0), buffer(1),
                                     at(operands[0]), at(operands[1]));
        break;
      case StepKind::max_vertices:
        model::MaxVerticesOp::create(builder, step.loc, buffer(0), buffer(1),
                                     at(operands[0]), at(operands[1]));
        break;
      case StepKind::sum_rows:
        model::SumRowsOp::create(builder, step.loc, buffer(0), buffer(1),
                                 at(operands[0]), at(operands[1]));
        break;
      case StepKind::outer_sum:
        model::OuterSumOp::create(builder, step.loc, buffer(0), buffer(1),
                                  buffer(2), at(operands[0]), at(operands[1]),
                                  at(operands[2]));
        break;
      case StepKind::combine_rows:
        model::CombineRowsOp::create(
            builder, step.loc, buffer(0), buffer(1), buffer(2), buffer(3),
            at(operands[0]), at(operands[1]), at(operands[2]), at(operands[3]));
        break;
      case StepKind::launch: {
        SmallVector<Value> values, ids;
        SmallVector<Attribute> places;
        for (auto [i, operand] : llvm::enumerate(operands)) {
          values.push_back(buffer(i));
          places.push_back(at(operand));
          if (operand.access == Access::id)
            ids.push_back(bufferValues[operand.slot]);
        }
        model::LaunchOp::create(builder, step.loc, step.kernel, values, ids,
                                builder.getArrayAttr(places), step.results,
                                step.flops, step.bytes, step.overEdges,
                                IntegerAttr());
        break;
      }
      }
    }
  }
}
