//===- BatchableUpstreamOps.cpp - Batched forms of tensor operators -------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// BatchableOpInterface for the operators of the tensor dialect that may appear
// in a vertex function.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

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
    tensor::ExtractSliceOp::attachInterface<BatchableExtractSlice>(*context);
  });
}
