//===- Operators.cpp - Choosing the function of an operator -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string reference::describeShape(const Array &array) {
  return "[" +
         llvm::join(llvm::map_range(
                        array.shape,
                        [](int64_t extent) { return std::to_string(extent); }),
                    ", ") +
         "]";
}

std::string Context::describe(int64_t row, int64_t rows) const {
  int64_t v = vertex >= 0 ? vertex : row;
  if (vertex < 0 && rows != structures.vertices()) {
    bool perStructure = rows == structures.count();
    return (perStructure ? "structure " : "row ") + std::to_string(row);
  }
  const std::vector<int64_t> &offsets = structures.offsets;
  int64_t k =
      std::upper_bound(offsets.begin(), offsets.end(), v) - offsets.begin() - 1;
  return "structure " + std::to_string(k) + ", vertex " +
         std::to_string(v - offsets[k]);
}

LogicalResult
reference::verifyValue(const Array &array, Type type,
                       function_ref<InFlightDiagnostic()> emitError) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element) && !element.isInteger(1) &&
      !element.isInteger(32) && !type.isIndex())
    return emitError() << "has the type " << type
                       << ", and the interpreter knows floats, i32 and i1";
  ArrayRef<int64_t> expected;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!isa<RankedTensorType>(type))
      return emitError() << "has the type " << type
                         << ", and the interpreter knows ranked tensors";
    expected = shaped.getShape();
  }
  bool matches = expected.size() == array.shape.size();
  for (size_t i = 0; matches && i != expected.size(); ++i)
    matches =
        ShapedType::isDynamic(expected[i]) || expected[i] == array.shape[i];
  if (!matches)
    return emitError() << "has the type " << type << ", but the shape "
                       << describeShape(array);
  return success();
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

static FailureOr<Array> evaluateOne(Operation *op, Operands operands,
                                    const Context &context) {
  using Result = FailureOr<Array>;
  if (isElementwise(op))
    return elementwise(op, operands);
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::ConstantOp op) { return constant(op); })
      .Case([&](tensor::ConcatOp op) { return concat(op, operands); })
      .Case(
          [&](tensor::ExtractSliceOp op) { return extractSlice(op, operands); })
      .Case([&](tensor::InsertSliceOp op) { return insertSlice(op, operands); })
      .Case<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
          [&](Operation *op) { return reshape(op, operands); })
      .Case([&](tensor::SplatOp op) { return splat(op, operands); })
      .Case([&](nn::MatmulOp) -> Result { return matmul(operands); })
      .Case([&](nn::DenseOp) -> Result { return dense(operands); })
      .Case(
          [&](nn::EmbeddingOp op) { return embedding(op, operands, context); })
      .Case([&](tensor::DimOp op) { return dim(op, operands); })
      .Case([&](nn::SoftmaxOp) -> Result { return softmax(operands); })
      .Case([&](nn::SoftmaxAdjointOp) -> Result {
        return softmaxAdjoint(operands);
      })
      .Case(
          [&](nn::LayerNormOp op) -> Result { return layerNorm(op, operands); })
      .Case([&](nn::DropoutOp op) -> Result { return dropout(op, operands); })
      .Case([&](nn::SoftmaxCrossEntropyOp) -> Result {
        return softmaxCrossEntropy(operands);
      })
      .Case([&](nn::SoftmaxCrossEntropyAdjointOp) -> Result {
        return softmaxCrossEntropyAdjoint(operands);
      })
      .Case([&](nn::BinaryCrossEntropyOp) -> Result {
        return binaryCrossEntropy(operands);
      })
      .Case([&](nn::BinaryCrossEntropyAdjointOp) -> Result {
        return binaryCrossEntropyAdjoint(operands);
      })
      .Case([&](nn::CorrectOp) -> Result { return correct(operands); })
      .Case(
          [&](nn::BroadcastOp op) -> Result { return broadcast(op, operands); })
      .Case([&](nn::SumOp op) -> Result { return sum(op, operands); })
      .Case([&](nn::SumRowsOp) -> Result { return sumRows(operands); })
      .Case([&](nn::TransposeOp) -> Result { return transpose(operands); })
      .Case(
          [&](nn::RowMatmulOp op) -> Result { return rowMatmul(op, operands); })
      .Case([&](nn::OuterOp op) -> Result { return outer(op, operands); })
      .Case([&](nn::OuterSumOp op) { return outerSum(op, operands); })
      .Case([&](nn::ScatterRowsOp op) { return scatterRows(op, operands); })
      .Case([&](nn::UpdateRowsOp op) { return updateRows(op, operands); })
      .Case([&](nn::Conv2dOp op) -> Result { return conv2d(op, operands); })
      .Case([&](nn::Conv2dTransposeOp op) -> Result {
        return conv2dTranspose(op, operands);
      })
      .Case([&](nn::Conv2dWeightAdjointOp op) -> Result {
        return conv2dWeightAdjoint(op, operands);
      })
      .Case(
          [&](nn::MaxPool2dOp op) -> Result { return maxPool2d(op, operands); })
      .Case([&](nn::MaxPool2dAdjointOp op) -> Result {
        return maxPool2dAdjoint(op, operands);
      })
      .Case(
          [&](nn::AvgPool2dOp op) -> Result { return avgPool2d(op, operands); })
      .Case([&](nn::AvgPool2dAdjointOp op) -> Result {
        return avgPool2dAdjoint(op, operands);
      })
      .Case([&](nn::SumChannelsOp) -> Result { return sumChannels(operands); })
      .Case([&](nn::SpreadChannelsOp op) -> Result {
        return spreadChannels(op, operands);
      })
      .Case([&](nn::BatchNormInferenceOp op) -> Result {
        return batchNormInference(op, operands);
      })
      .Case([&](nn::LrnOp op) -> Result { return lrn(op, operands); })
      .Case([&](nn::LrnAdjointOp op) -> Result {
        return lrnAdjoint(op, operands);
      })
      .Case([&](nn::PadOp op) -> Result { return pad(op, operands); })
      .Default([](Operation *op) -> Result {
        return op->emitOpError("is not supported by the interpreter");
      });
}

FailureOr<SmallVector<ArrayPtr>>
reference::evaluate(Operation *op, Operands operands, const Context &context) {
  SmallVector<ArrayPtr> results;
  if (auto group = dyn_cast<nn::ElementwiseOp>(op)) {
    FailureOr<SmallVector<ArrayPtr>> several =
        elementwiseGroup(group, operands, context);
    if (failed(several))
      return failure();
    results = std::move(*several);
  } else if (auto norm = dyn_cast<nn::LayerNormAdjointOp>(op)) {
    results = layerNormAdjoint(norm, operands);
  } else if (auto norm = dyn_cast<nn::BatchNormOp>(op)) {
    results = batchNorm(norm, operands);
  } else if (auto norm = dyn_cast<nn::BatchNormAdjointOp>(op)) {
    results = batchNormAdjoint(norm, operands);
  } else if (isa<nn::CombineRowsOp>(op)) {
    results = combineRows(operands);
  } else {
    FailureOr<Array> one = evaluateOne(op, operands, context);
    if (failed(one))
      return failure();
    results.push_back(std::make_shared<Array>(std::move(*one)));
  }
  for (unsigned index = 0; index != results.size(); ++index)
    if (failed(
            verifyValue(*results[index], op->getResult(index).getType(), [&] {
              return op->emitOpError("result #") << index << " ";
            })))
      return failure();
  return results;
}
