//===- WeightedRows.h - Sums over vertices that share rows ------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where equal vertices share a row, a sum over vertices counts that row as
// often as there are vertices (see `share-vertices`).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DIALECT_VERTEX_TRANSFORMS_WEIGHTEDROWS_H
#define ESPALIER_DIALECT_VERTEX_TRANSFORMS_WEIGHTEDROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace espalier::vertex {

/// Whether vertices of some graph of `entry` may share rows.
bool hasSharedVertices(mlir::func::FuncOp entry);

/// Whether `rows`, of an entry that applies vertex functions, are known to be
/// those of structures, which share nothing.
bool isOfStructures(mlir::Value rows);

/// `rows` of floats, each times its multiplicity.
mlir::Value weighRows(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value rows);

} // namespace espalier::vertex

#endif // ESPALIER_DIALECT_VERTEX_TRANSFORMS_WEIGHTEDROWS_H
