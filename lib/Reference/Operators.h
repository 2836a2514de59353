//===- Operators.h - One function per operator ------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators whose results depend on nothing but their operands. Those that
// know of vertices are in Interpreter.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_LIB_REFERENCE_OPERATORS_H
#define ESPALIER_LIB_REFERENCE_OPERATORS_H

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Reference/Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <memory>
#include <string>

namespace espalier::reference {

using ArrayPtr = std::shared_ptr<const Array>;
using Operands = llvm::ArrayRef<ArrayPtr>;

/// What the operators see of the batch, for messages.
struct Context {
  const Structures &structures;
  /// The vertex that is evaluated; -1 outside of vertex functions.
  int64_t vertex = -1;

  /// "structure 2, vertex 5" for the current vertex or, outside of vertex
  /// functions, for row `row` of `rows`.
  std::string describe(int64_t row, int64_t rows) const;
};

/// "[2, 300]", for messages.
std::string describeShape(const Array &array);

/// Evaluates any operator of this file's kind, and checks its results against
/// their types. An operator that is not supported is an error that names it.
mlir::FailureOr<llvm::SmallVector<ArrayPtr>>
evaluate(mlir::Operation *op, Operands operands, const Context &context);

/// Reports an error unless `array` can be a value of `type`.
mlir::LogicalResult
verifyValue(const Array &array, mlir::Type type,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

//===----------------------------------------------------------------------===//
// Elementwise.cpp
//===----------------------------------------------------------------------===//

/// Whether `op` does the same to every element of its operands, and is known.
bool isElementwise(mlir::Operation *op);
mlir::FailureOr<Array> elementwise(mlir::Operation *op, Operands operands);

//===----------------------------------------------------------------------===//
// Tensors.cpp
//===----------------------------------------------------------------------===//

mlir::FailureOr<Array> constant(mlir::arith::ConstantOp op);
mlir::FailureOr<Array> concat(mlir::tensor::ConcatOp op, Operands operands);
mlir::FailureOr<Array> extractSlice(mlir::tensor::ExtractSliceOp op,
                                    Operands operands);
mlir::FailureOr<Array> insertSlice(mlir::tensor::InsertSliceOp op,
                                   Operands operands);
/// The elements of the only operand in the shape of the only result.
mlir::FailureOr<Array> reshape(mlir::Operation *op, Operands operands);
mlir::FailureOr<Array> splat(mlir::tensor::SplatOp op, Operands operands);
mlir::FailureOr<Array> dim(mlir::tensor::DimOp op, Operands operands);

//===----------------------------------------------------------------------===//
// Layers.cpp
//===----------------------------------------------------------------------===//

Array matmul(Operands operands);
Array dense(Operands operands);
mlir::FailureOr<Array> embedding(nn::EmbeddingOp op, Operands operands,
                                 const Context &context);
Array softmax(Operands operands);
Array softmaxAdjoint(Operands operands);
Array layerNorm(nn::LayerNormOp op, Operands operands);
llvm::SmallVector<ArrayPtr> layerNormAdjoint(nn::LayerNormAdjointOp op,
                                             Operands operands);
Array dropout(nn::DropoutOp op, Operands operands);
mlir::FailureOr<llvm::SmallVector<ArrayPtr>>
elementwiseGroup(nn::ElementwiseOp op, Operands operands,
                 const Context &context);

//===----------------------------------------------------------------------===//
// Images.cpp
//===----------------------------------------------------------------------===//

Array conv2d(nn::Conv2dOp op, Operands operands);
Array conv2dTranspose(nn::Conv2dTransposeOp op, Operands operands);
Array conv2dWeightAdjoint(nn::Conv2dWeightAdjointOp op, Operands operands);
Array maxPool2d(nn::MaxPool2dOp op, Operands operands);
Array maxPool2dAdjoint(nn::MaxPool2dAdjointOp op, Operands operands);
Array avgPool2d(nn::AvgPool2dOp op, Operands operands);
Array avgPool2dAdjoint(nn::AvgPool2dAdjointOp op, Operands operands);
Array sumChannels(Operands operands);
Array spreadChannels(nn::SpreadChannelsOp op, Operands operands);
llvm::SmallVector<ArrayPtr> batchNorm(nn::BatchNormOp op, Operands operands);
Array batchNormInference(nn::BatchNormInferenceOp op, Operands operands);
llvm::SmallVector<ArrayPtr> batchNormAdjoint(nn::BatchNormAdjointOp op,
                                             Operands operands);
Array lrn(nn::LrnOp op, Operands operands);
Array lrnAdjoint(nn::LrnAdjointOp op, Operands operands);
Array pad(nn::PadOp op, Operands operands);

//===----------------------------------------------------------------------===//
// Losses.cpp
//===----------------------------------------------------------------------===//

Array softmaxCrossEntropy(Operands operands);
Array softmaxCrossEntropyAdjoint(Operands operands);
Array binaryCrossEntropy(Operands operands);
Array binaryCrossEntropyAdjoint(Operands operands);
Array correct(Operands operands);

//===----------------------------------------------------------------------===//
// Matrices.cpp
//===----------------------------------------------------------------------===//

Array broadcast(nn::BroadcastOp op, Operands operands);
Array sum(nn::SumOp op, Operands operands);
Array sumRows(Operands operands);
Array transpose(Operands operands);
Array rowMatmul(nn::RowMatmulOp op, Operands operands);
Array outer(nn::OuterOp op, Operands operands);
mlir::FailureOr<Array> outerSum(nn::OuterSumOp op, Operands operands);
mlir::FailureOr<Array> scatterRows(nn::ScatterRowsOp op, Operands operands);
llvm::SmallVector<ArrayPtr> combineRows(Operands operands);
mlir::FailureOr<Array> updateRows(nn::UpdateRowsOp op, Operands operands);

} // namespace espalier::reference

#endif // ESPALIER_LIB_REFERENCE_OPERATORS_H
