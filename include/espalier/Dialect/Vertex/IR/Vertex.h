//===- Vertex.h - Vertex functions ------------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_VERTEX_IR_VERTEX_H
#define ESPALIER_DIALECT_VERTEX_IR_VERTEX_H

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace espalier::vertex {
using nn::DifferentiableOpInterface;
using nn::isRowsType;

template <typename Op>
struct Gathers : mlir::OpTrait::TraitBase<Op, Gathers> {};
template <typename Op>
struct Scatters : mlir::OpTrait::TraitBase<Op, Scatters> {};
template <typename Op> struct Emits : mlir::OpTrait::TraitBase<Op, Emits> {};

class FuncOp;
class ScatterOp;
class PushOp;

/// All values that `op` reads: its operands, and what its regions read from
/// outside.
llvm::SmallVector<mlir::Value> getReadValues(mlir::Operation *op);

/// The attribute that `classify-operators` sets.
constexpr llvm::StringLiteral kPhaseAttrName = "vertex.phase";
/// On a graph argument, or a reverse, once `batch-vertices` has run: the
/// largest arity of the vertex functions applied over it, whatever they read
/// after optimisation.
constexpr llvm::StringLiteral kArityAttrName = "vertex.arity";
/// There, too, if functions are applied by type: how many types there are, and
/// the field of the structures that has each vertex's.
constexpr llvm::StringLiteral kTypesAttrName = "vertex.types";
constexpr llvm::StringLiteral kTypeFieldAttrName = "vertex.type_field";
/// Set by `share-vertices` on a graph whose equal vertices may share a row.
constexpr llvm::StringLiteral kSharedAttrName = "vertex.shared";
} // namespace espalier::vertex

#include "espalier/Dialect/Vertex/IR/VertexDialect.h.inc"
#include "espalier/Dialect/Vertex/IR/VertexEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "espalier/Dialect/Vertex/IR/VertexTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "espalier/Dialect/Vertex/IR/VertexAttrs.h.inc"

#define GET_OP_CLASSES
#include "espalier/Dialect/Vertex/IR/VertexOps.h.inc"

namespace espalier::vertex {
/// The functions that `apply` applies, by type of vertex.
llvm::SmallVector<FuncOp> lookupCallees(ApplyOp apply,
                                        mlir::SymbolTable &symbols);
} // namespace espalier::vertex

#endif // ESPALIER_DIALECT_VERTEX_IR_VERTEX_H
