//===- BatchableUpstreamOps.cpp - Batched forms of tensor operators -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BatchableOpInterface for the operators of the tensor dialect that may appear
// in a vertex function, and RowKernelOpInterface for concatenations that cannot
// be made in place.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace espalier::nn;

namespace {
struct BatchableConcat
    : BatchableOpInterface::ExternalModel<BatchableConcat, tensor::ConcatOp> {
  FailureOr<SmallVector<Value>> buildBatched(Operation *op, OpBuilder &builder,
                                             ValueRange operands) const {
    auto concat = cast<tensor::ConcatOp>(op);
    auto batched = tensor::ConcatOp::create(builder, op->getLoc(),
                                            getRowsType(concat.getType()),
                                            concat.getDim() + 1, operands);
    return SmallVector<Value>{batched};
  }
  bool needsRows(Operation *) const { return true; }
};

/// Copies the pieces: of each, a run of elements for every position in the
/// dimensions before the one that they are joined in.
struct ConcatRow
    : RowKernelOpInterface::ExternalModel<ConcatRow, tensor::ConcatOp> {
  void buildRow(Operation *op, OpBuilder &builder, RowAccess &access) const {
    auto concat = cast<tensor::ConcatOp>(op);
    Location loc = op->getLoc();
    int64_t batched = isRowsType(concat.getType()) ? 1 : 0;
    int64_t runs = 1, length = 1;
    auto shape = concat.getType().getShape().drop_front(batched);
    for (auto [dim, extent] : llvm::enumerate(shape))
      ((int64_t)dim + batched < (int64_t)concat.getDim() ? runs : length) *=
          extent;
    if (runs * length == 0)
      return;
    Type element = concat.getType().getElementType();
    auto number = [&](OpBuilder &nested, int64_t value) -> Value {
      return arith::ConstantIntOp::create(nested, loc, nested.getI64Type(),
                                          value);
    };
    scf::ForOp::create(
        builder, loc, number(builder, 0), number(builder, runs),
        number(builder, 1), ValueRange(),
        [&](OpBuilder &nested, Location, Value run, ValueRange) {
          int64_t begin = 0;
          for (auto [index, piece] : llvm::enumerate(concat.getInputs())) {
            auto type = cast<RankedTensorType>(piece.getType());
            int64_t own =
                (batched ? getRowType(type) : type).getNumElements() / runs;
            copyRun(nested, loc, access, index, element, own, run, begin,
                    length);
            begin += own;
          }
          scf::YieldOp::create(nested, loc);
        });
  }

private:
  /// Run `run` of piece `index`, of `own` elements, goes to `begin` in the
  /// result's run of `length`.
  static void copyRun(OpBuilder &builder, Location loc, RowAccess &access,
                      unsigned index, Type element, int64_t own, Value run,
                      int64_t begin, int64_t length) {
    auto number = [&](OpBuilder &nested, int64_t value) -> Value {
      return arith::ConstantIntOp::create(nested, loc, nested.getI64Type(),
                                          value);
    };
    Value from = arith::MulIOp::create(builder, loc, run, number(builder, own));
    Value to = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, run, number(builder, length)),
        number(builder, begin));
    auto copy = [&](OpBuilder &nested, Value at, int64_t lanes) {
      Value loaded = access.load(nested, index,
                                 arith::AddIOp::create(nested, loc, from, at),
                                 VectorType::get({lanes}, element));
      access.store(nested, 0, arith::AddIOp::create(nested, loc, to, at),
                   loaded);
    };
    int64_t lanes = access.lanes(element), whole = own / lanes * lanes;
    if (whole != 0)
      scf::ForOp::create(
          builder, loc, number(builder, 0), number(builder, whole),
          number(builder, lanes), ValueRange(),
          [&](OpBuilder &nested, Location, Value at, ValueRange) {
            copy(nested, at, lanes);
            scf::YieldOp::create(nested, loc);
          });
    if (whole != own)
      copy(builder, number(builder, whole), own - whole);
  }
};

struct BatchableExtractSlice
    : BatchableOpInterface::ExternalModel<BatchableExtractSlice,
                                          tensor::ExtractSliceOp> {
  FailureOr<SmallVector<Value>> buildBatched(Operation *op, OpBuilder &builder,
                                             ValueRange operands) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    if (slice.getSourceType().getRank() != slice.getType().getRank() ||
        !slice.getOffsets().empty() || !slice.getSizes().empty() ||
        !slice.getStrides().empty())
      return op->emitOpError("has no batched form unless its offsets and sizes "
                             "are static and its rank is its source's");
    SmallVector<OpFoldResult> offsets{builder.getIndexAttr(0)};
    SmallVector<OpFoldResult> sizes{
        tensor::DimOp::create(builder, op->getLoc(), operands[0], 0)
            .getResult()};
    SmallVector<OpFoldResult> strides{builder.getIndexAttr(1)};
    llvm::append_range(offsets, slice.getMixedOffsets());
    llvm::append_range(sizes, slice.getMixedSizes());
    llvm::append_range(strides, slice.getMixedStrides());
    auto batched = tensor::ExtractSliceOp::create(
        builder, op->getLoc(), getRowsType(slice.getType()), operands[0],
        offsets, sizes, strides);
    return SmallVector<Value>{batched};
  }
};
} // namespace

void espalier::nn::registerBatchableUpstreamOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ConcatOp::attachInterface<BatchableConcat>(*context);
    tensor::ConcatOp::attachInterface<ConcatRow>(*context);
    tensor::ExtractSliceOp::attachInterface<BatchableExtractSlice>(*context);
  });
}
