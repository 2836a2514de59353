//===- NN.h - Layer operators -----------------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_NN_IR_NN_H
#define ESPALIER_DIALECT_NN_IR_NN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <array>

namespace espalier::nn {

/// How generated code reaches the row that it works on.
class RowAccess {
public:
  virtual ~RowAccess() = default;
  /// Elements [column, column + lanes of `type`) of operand `index`'s row;
  /// `column` is an i64, `type` an element type or a vector of it.
  virtual mlir::Value load(mlir::OpBuilder &builder, unsigned index,
                           mlir::Value column, mlir::Type type) = 0;
  /// Stores `value` from `column` on in result `index`'s row.
  virtual void store(mlir::OpBuilder &builder, unsigned index,
                     mlir::Value column, mlir::Value value) = 0;
  /// Lanes of a vector register for elements of `type`.
  virtual int64_t lanes(mlir::Type type) = 0;
  /// Whether a result may lie where an operand does.
  virtual bool isInPlace() = 0;
};

/// The adjoints of values, dL/dvalue for a scalar L, while they are being found
/// from the last operator to the first. An adjoint has its value's type.
class Adjoints {
public:
  virtual ~Adjoints() = default;
  /// Whether anybody asks for the adjoint of `operand`.
  virtual bool wants(mlir::Value operand) = 0;
  /// The adjoint of `result`, complete by the time its operator is visited;
  /// null if L does not depend on it.
  virtual mlir::Value of(mlir::Value result) = 0;
  /// Adds to the adjoint of `operand`; does nothing if nobody wants it.
  virtual void add(mlir::Value operand, mlir::Value adjoint) = 0;
  /// The same for the elements of `operand` from `offset` on in dimension
  /// `dim`, as many as `adjoint` has there.
  virtual void addSlice(mlir::Value operand, int64_t dim, int64_t offset,
                        mlir::Value adjoint) = 0;
};

/// What the runtime's library does for an operator over whole tensors.
enum class LayerKind {
  /// Nothing: it is generated code, by row (RowKernelOpInterface) or by
  /// element.
  generated,
  /// Nothing: the result is the operand in another shape.
  view,
  conv2d,
  conv2d_transpose,
  conv2d_weight_adjoint,
  max_pool2d,
  max_pool2d_adjoint,
  avg_pool2d,
  avg_pool2d_adjoint,
  batch_norm,
  batch_norm_inference,
  batch_norm_adjoint,
  lrn,
  lrn_adjoint,
  /// Also of N x C.
  sum_channels,
  spread_channels,
  pad,
  /// Side by side along `axis`.
  concat,
  /// The part that begins at `offsets`.
  slice,
  /// Of operand 0, or with `transposeA` its transpose, and operand 1.
  matmul,
  /// The same plus a bias.
  dense,
};

/// A layer and its numbers, as far as its kind has them.
struct Layer {
  LayerKind kind = LayerKind::generated;
  std::array<int64_t, 2> window{1, 1}, strides{1, 1}, dilations{1, 1};
  /// Top, left, bottom, right.
  std::array<int64_t, 4> padding{0, 0, 0, 0};
  int64_t groups = 1;
  int64_t axis = 0;
  llvm::SmallVector<int64_t> offsets;
  int64_t size = 0;
  double epsilon = 0, alpha = 0, beta = 0, bias = 0, value = 0;
  bool countPadding = false, transposeA = false;
};

/// Which part of an operand or a result an operator on some rows [begin, end)
/// of the batch (dimension 0) has.
enum class Cut {
  /// All of it.
  whole,
  /// Its rows [begin, end).
  rows,
  /// Of a result: a term, which those of the other rows are added to.
  sum,
};

/// By operand and by result; both empty if an operator works on the batch as a
/// whole.
struct Cuts {
  llvm::SmallVector<Cut> operands, results;
  bool areThere() const { return !results.empty(); }
};

/// How the runtime's library computes a convolution; numbered as in
/// espalier/abi.h. Both give the same bits.
enum class AlgorithmKind {
  /// Patches of images are gathered where they are read, several times, if a
  /// result has many channels.
  direct,
  /// They are gathered once, into a workspace for those of some points at a
  /// time.
  patches,
};
/// As `plan.algorithm` and machine files have it.
llvm::StringRef getName(AlgorithmKind kind);

struct Algorithm {
  AlgorithmKind kind = AlgorithmKind::direct;
  int64_t workspaceBytes = 0;
};

namespace detail {
/// Bytes of one row of the operands and results that are batched, or of all
/// of them where none is.
int64_t rowBytes(mlir::Operation *op);
} // namespace detail

/// `type` with a leading dynamic dimension: rows of it.
mlir::RankedTensorType getRowsType(mlir::Type type);
/// `type` without its leading dimension: one row.
mlir::RankedTensorType getRowType(mlir::Type type);
/// Whether the leading dimension of `type`, and only that, is dynamic.
bool isRowsType(mlir::Type type);
/// A constant of the tensor type `type` filled with zeros.
mlir::Value buildZeros(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Type type);
/// Whether `value` is a constant of zeros (of either sign).
bool isZeros(mlir::Value value);

/// A slice of `source` from `offset` in dimension `dim` with the shape of
/// `type`; all of the other dimensions, of rows as many as there are.
mlir::Value buildSlice(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value source, mlir::RankedTensorType type,
                       int64_t dim, int64_t offset);

/// A group of elementwise operators on `operands` with one result; `build`
/// makes them of the group's arguments, which have the operands' types.
mlir::Value buildElementwise(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Type result,
    mlir::ValueRange operands,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> build);

/// Gives what has the shape `from` in the body of an elementwise group the
/// shape `to`.
void reshapeBody(mlir::Operation *group, llvm::ArrayRef<int64_t> from,
                 llvm::ArrayRef<int64_t> to);

/// A copy of `op`, which has cuts, on `operands`, which have `rows` rows where
/// the cuts say so.
mlir::Operation *cloneForRows(mlir::OpBuilder &builder, mlir::Operation *op,
                              mlir::ValueRange operands, int64_t rows);

/// Whether `op` has no effect but its results, which are defined for all values
/// of its operands.
bool isTotal(mlir::Operation *op);

/// What `op` says by LayerOpInterface, or, of elementwise operators, its trait.
/// The latter take over the memory of any operand of the result's type.
bool isCheckpoint(mlir::Operation *op);
Cuts getCuts(mlir::Operation *op);
llvm::SmallVector<Algorithm> getAlgorithms(mlir::Operation *op);
llvm::SmallVector<unsigned> getInPlaceOperands(mlir::Operation *op,
                                               unsigned result);
/// What the only result of `op` is another shape of; null if nothing.
mlir::Value getViewed(mlir::Operation *op);
/// What an operator over static shapes costs in all: by CostOpInterface, or an
/// operation an element. What only moves elements has no flops; a view or a
/// constant costs nothing.
int64_t getTotalFlops(mlir::Operation *op);
int64_t getTotalBytes(mlir::Operation *op);

/// Attaches BatchableOpInterface to the tensor operators that may appear in a
/// vertex function.
void registerBatchableUpstreamOps(mlir::DialectRegistry &registry);
/// Attaches DifferentiableOpInterface to operators of arith, math and tensor.
void registerDifferentiableUpstreamOps(mlir::DialectRegistry &registry);
/// Attaches LayerOpInterface to operators of tensor.
void registerLayerUpstreamOps(mlir::DialectRegistry &registry);

} // namespace espalier::nn

#include "espalier/Dialect/NN/IR/NNInterfaces.h.inc"

#include "espalier/Dialect/NN/IR/NNDialect.h.inc"

#define GET_OP_CLASSES
#include "espalier/Dialect/NN/IR/NNOps.h.inc"

#endif // ESPALIER_DIALECT_NN_IR_NN_H
