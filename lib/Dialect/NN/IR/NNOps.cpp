//===- NNOps.cpp - Types, verifiers and folders of layer operators --------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/CommonFolders.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace espalier::nn;

//===----------------------------------------------------------------------===//
// matmul, dense, embedding, softmax
//===----------------------------------------------------------------------===//

/// The type of `x W`, or an error that names the broken constraint.
static FailureOr<RankedTensorType>
inferProduct(std::optional<Location> loc, Type inputType, Type weightType) {
  auto input = cast<RankedTensorType>(inputType);
  auto weight = cast<RankedTensorType>(weightType);
  if (input.getRank() != 1 && input.getRank() != 2)
    return emitOptionalError(loc,
                             "[C1] expects an input of rank 1 or 2, but "
                             "got ",
                             input);
  if (!weight.hasStaticShape())
    return emitOptionalError(
        loc, "[C4] expects a weight of static shape, but got ", weight);
  if (input.getShape().back() != weight.getDimSize(0))
    return emitOptionalError(loc,
                             "[C2] expects the input's last dimension to "
                             "be the weight's first, ",
                             weight.getDimSize(0), ", but got ", input);
  if (input.getElementType() != weight.getElementType())
    return emitOptionalError(loc, "[C3] expects equal element types, but got ",
                             input, " and ", weight);
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = weight.getDimSize(1);
  return RankedTensorType::get(shape, input.getElementType());
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto type = inferProduct(loc, adaptor.getInput().getType(),
                           adaptor.getWeight().getType());
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult DenseOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto type = inferProduct(loc, adaptor.getInput().getType(),
                           adaptor.getWeight().getType());
  if (failed(type))
    return failure();
  auto bias = cast<RankedTensorType>(adaptor.getBias().getType());
  auto row = RankedTensorType::get(type->getShape().take_back(),
                                   type->getElementType());
  if (bias != row)
    return emitOptionalError(loc, "[C5] expects a bias of type ", row,
                             ", but got ", bias);
  types.push_back(*type);
  return success();
}

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto table = cast<RankedTensorType>(adaptor.getTable().getType());
  auto ids = cast<RankedTensorType>(adaptor.getIds().getType());
  if (ids.getRank() > 1)
    return emitOptionalError(loc, "[C1] expects ids of rank 0 or 1, but got ",
                             ids);
  SmallVector<int64_t> shape(ids.getShape());
  shape.push_back(table.getDimSize(1));
  types.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}

/// [C1] of operators that normalise each row.
static LogicalResult verifyRowsOfColumns(Operation *op, Type rows) {
  auto type = cast<RankedTensorType>(rows);
  if (type.getRank() != 1 && type.getRank() != 2)
    return op->emitOpError("[C1] expects rank 1 or 2, but got ") << type;
  if (type.isDynamicDim(type.getRank() - 1) || type.getShape().back() == 0)
    return op->emitOpError("[C1] expects a static, non-empty last dimension, "
                           "but got ")
           << type;
  return success();
}

LogicalResult SoftmaxOp::verify() {
  return verifyRowsOfColumns(*this, getInput().getType());
}

//===----------------------------------------------------------------------===//
// layer_norm, dropout
//===----------------------------------------------------------------------===//

/// One row of `scaleType` serves all rows of `inputType`, or each has its own.
static LogicalResult verifyNorm(Operation *op, Type inputType, Type scaleType) {
  if (failed(verifyRowsOfColumns(op, inputType)))
    return failure();
  auto input = cast<RankedTensorType>(inputType);
  auto row = RankedTensorType::get(input.getShape().take_back(),
                                   input.getElementType());
  if (scaleType == row || scaleType == input)
    return success();
  return op->emitOpError("[C2] expects a scale of type ")
         << row << (input == row ? "" : ", or a row of it for each row")
         << ", but got " << scaleType;
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getInput().getType(), getScale().getType());
}

LogicalResult LayerNormAdjointOp::verify() {
  return verifyNorm(*this, getInput().getType(), getScale().getType());
}

LogicalResult DropoutOp::verify() {
  double probability = getProbability().convertToDouble();
  if (!(probability >= 0 && probability < 1))
    return emitOpError("[C1] expects a probability of at least 0 and below 1, "
                       "but got ")
           << probability;
  Type input = getInput().getType();
  auto scalar = RankedTensorType::get({}, IntegerType::get(getContext(), 32));
  Type perRow = isRowsType(input) ? getRowsType(scalar) : scalar;
  // What has a static shape is one row, or a batch of as many as it begins
  // with.
  auto shape = cast<RankedTensorType>(input).getShape();
  if (perRow == scalar && getRow().getType() != scalar && !shape.empty())
    perRow = RankedTensorType::get(shape.front(), scalar.getElementType());
  if (getRow().getType() != perRow)
    return emitOpError("[C2] expects a number for each row of ")
           << input << ", " << perRow << ", but got " << getRow().getType();
  if (getSeed().getType() != scalar && getSeed().getType() != perRow)
    return emitOpError("[C2] expects a seed, or one for each row, but got ")
           << getSeed().getType();
  return success();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getProbability().isZero() ? getInput() : OpFoldResult();
}

uint32_t DropoutOp::getThreshold() {
  double kept = 1 - getProbability().convertToDouble();
  return static_cast<uint32_t>(std::round(std::ldexp(kept, 31)));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// The type of one element of `elementType` for each row of `logits`.
static FailureOr<RankedTensorType> inferPerRow(std::optional<Location> loc,
                                               Type logitsType, Type labelsType,
                                               Type elementType) {
  auto logits = cast<RankedTensorType>(logitsType);
  auto labels = cast<RankedTensorType>(labelsType);
  if ((logits.getRank() != 1 && logits.getRank() != 2) ||
      logits.isDynamicDim(logits.getRank() - 1) ||
      logits.getShape().back() == 0)
    return emitOptionalError(loc,
                             "[C1] expects logits of rank 1 or 2 with a "
                             "static, non-empty last dimension, but got ",
                             logits);
  if (labels.getShape() != logits.getShape().drop_back())
    return emitOptionalError(loc, "[C2] expects one label a row of ", logits,
                             ", but got ", labels);
  return RankedTensorType::get(labels.getShape(), elementType);
}

LogicalResult SoftmaxCrossEntropyOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  Type logits = adaptor.getLogits().getType();
  auto type = inferPerRow(loc, logits, adaptor.getLabels().getType(),
                          getElementTypeOrSelf(logits));
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

/// [C3] of the adjoints of losses.
static LogicalResult verifyPerRow(Operation *op, FailureOr<Type> perRow,
                                  Type adjoint) {
  if (failed(perRow))
    return failure();
  if (adjoint == *perRow)
    return success();
  return op->emitOpError("[C3] expects one adjoint a row, ")
         << *perRow << ", but got " << adjoint;
}

LogicalResult SoftmaxCrossEntropyAdjointOp::verify() {
  Type logits = getLogits().getType();
  return verifyPerRow(*this,
                      inferPerRow(getLoc(), logits, getLabels().getType(),
                                  getElementTypeOrSelf(logits)),
                      getAdjoint().getType());
}

/// The type of the losses of `logits` with yes-or-no labels.
static FailureOr<RankedTensorType>
inferBinaryLoss(std::optional<Location> loc, Type logitsType, Type labelsType) {
  auto logits = cast<RankedTensorType>(logitsType);
  auto labels = cast<RankedTensorType>(labelsType);
  Type element = logits.getElementType();
  bool oneColumn = logits.getRank() > 0 && logits.getShape().back() == 1 &&
                   labels.getShape() == logits.getShape().drop_back();
  if (!oneColumn && labels.getShape() == logits.getShape() &&
      logits.getRank() > 0)
    labels = RankedTensorType::get(labels.getShape().drop_back(),
                                   labels.getElementType());
  else if (!oneColumn && logits.getRank() > 0 && logits.getRank() <= 2 &&
           !logits.isDynamicDim(logits.getRank() - 1))
    return emitOptionalError(loc, "[C2] expects a label for each element of ",
                             logits, ", but got ", labels);
  return inferPerRow(loc, logits, labels, element);
}

LogicalResult BinaryCrossEntropyOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  auto type = inferBinaryLoss(loc, adaptor.getLogits().getType(),
                              adaptor.getLabels().getType());
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult BinaryCrossEntropyAdjointOp::verify() {
  return verifyPerRow(
      *this,
      inferBinaryLoss(getLoc(), getLogits().getType(), getLabels().getType()),
      getAdjoint().getType());
}

LogicalResult CorrectOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto type =
      inferPerRow(loc, adaptor.getLogits().getType(),
                  adaptor.getLabels().getType(), IntegerType::get(context, 32));
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

//===----------------------------------------------------------------------===//
// Sums, matrices, rows of a table
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  auto scalar = cast<RankedTensorType>(getScalar().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  bool rows = isRowsType(scalar);
  if (scalar.getRank() != (rows ? 1 : 0) || isRowsType(result) != rows ||
      (!rows && !result.hasStaticShape()) ||
      scalar.getElementType() != result.getElementType())
    return emitOpError("[C1] expects a scalar and a static shape of its type, "
                       "or a batch of both, but got ")
           << scalar << " and " << result;
  return success();
}

LogicalResult SumOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getInput().getType());
  types.push_back(RankedTensorType::get(
      isRowsType(type) ? type.getShape().take_front() : ArrayRef<int64_t>(),
      type.getElementType()));
  return success();
}

LogicalResult SumRowsOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getRows().getType());
  if (type.getRank() == 0 || (!isRowsType(type) && !type.hasStaticShape()))
    return emitOptionalError(loc,
                             "[C1] expects rows (a leading dimension, the "
                             "others static), but got ",
                             type);
  types.push_back(getRowType(type));
  return success();
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location>,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getMatrix().getType());
  types.push_back(RankedTensorType::get(
      {type.getDimSize(1), type.getDimSize(0)}, type.getElementType()));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (auto other = getMatrix().getDefiningOp<TransposeOp>())
    return other.getMatrix();
  return {};
}

LogicalResult RowMatmulOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> loc,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto matrix = cast<RankedTensorType>(adaptor.getMatrix().getType());
  bool rows = isRowsType(input);
  int64_t rank = rows ? 2 : 1;
  if (input.getRank() != rank || matrix.getRank() != rank + 1 ||
      isRowsType(matrix) != rows || (!rows && !matrix.hasStaticShape()) ||
      input.getElementType() != matrix.getElementType())
    return emitOptionalError(loc,
                             "[C1] expects a row and a matrix, or a batch of "
                             "both, of one element type, but got ",
                             input, " and ", matrix);
  int64_t in = rank - 1, out = rank;
  if (adaptor.getTransposed())
    std::swap(in, out);
  if (input.getShape().back() != matrix.getDimSize(in))
    return emitOptionalError(loc, "[C2] expects a row of ",
                             matrix.getDimSize(in), " elements, but got ",
                             input);
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = matrix.getDimSize(out);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult OuterOp::inferReturnTypes(MLIRContext *,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto y = cast<RankedTensorType>(adaptor.getY().getType());
  int64_t rank = isRowsType(x) ? 2 : 1;
  if (x.getRank() != rank || y.getRank() != rank ||
      isRowsType(x) != isRowsType(y) ||
      x.getElementType() != y.getElementType())
    return emitOptionalError(loc,
                             "[C1] expects two rows or two batches of rows of "
                             "one element type, but got ",
                             x, " and ", y);
  SmallVector<int64_t> shape(x.getShape());
  shape.push_back(y.getShape().back());
  types.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

LogicalResult OuterSumOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto y = cast<RankedTensorType>(adaptor.getY().getType());
  auto isBatch = [](RankedTensorType type) {
    return type.getRank() == 2 && !type.isDynamicDim(1);
  };
  if (!isBatch(x) || !isBatch(y) || x.getDimSize(0) != y.getDimSize(0) ||
      x.getElementType() != y.getElementType())
    return emitOptionalError(loc,
                             "[C1] expects two batches of as many rows of one "
                             "element type, but got ",
                             x, " and ", y);
  types.push_back(RankedTensorType::get({x.getDimSize(1), y.getDimSize(1)},
                                        x.getElementType()));
  return success();
}

/// [C1] of operators on some rows of a table.
static LogicalResult verifyRowsOf(Operation *op, Type tableType, Type rowsType,
                                  Type idsType) {
  auto rows = cast<RankedTensorType>(rowsType);
  auto ids = cast<RankedTensorType>(idsType);
  auto table = cast<RankedTensorType>(tableType);
  if (rows.getRank() == ids.getRank() + 1 && table.hasStaticShape() &&
      rows.getShape().drop_back() == ids.getShape() &&
      rows.getShape().back() == table.getDimSize(1) &&
      rows.getElementType() == table.getElementType())
    return success();
  return op->emitOpError("[C1] expects one id a row, and rows of ")
         << table << ", but got " << rows << " and " << ids;
}

LogicalResult ScatterRowsOp::verify() {
  return verifyRowsOf(*this, getResult().getType(), getRows().getType(),
                      getIds().getType());
}

LogicalResult UpdateRowsOp::verify() {
  return verifyRowsOf(*this, getTable().getType(), getRows().getType(),
                      getIds().getType());
}

LogicalResult CombineRowsOp::verify() {
  auto rows = cast<RankedTensorType>(getRows().getType());
  auto ids = cast<RankedTensorType>(getIds().getType());
  if (isRowsType(rows) && rows.getRank() == 2 && isRowsType(ids) &&
      ids.getRank() == 1)
    return success();
  return emitOpError("[C1] expects a batch of rows of rank 2, with one id a "
                     "row, but got ")
         << rows << " and " << ids;
}

namespace {
/// The sum of a batch's outer products is one large product; the products
/// themselves are never there.
struct SumOfOuter : OpRewritePattern<SumRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SumRowsOp op,
                                PatternRewriter &rewriter) const override {
    auto outer = op.getRows().getDefiningOp<OuterOp>();
    if (!outer || !isRowsType(outer.getX().getType()))
      return rewriter.notifyMatchFailure(op, "sums no outer products");
    rewriter.replaceOpWithNewOp<OuterSumOp>(op, outer.getX(), outer.getY());
    return success();
  }
};

/// A concatenation of columns need not exist to be multiplied: its pieces make
/// the rows of the result.
struct OuterSumOfPieces : OpRewritePattern<OuterSumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(OuterSumOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getX().getDefiningOp<tensor::ConcatOp>();
    if (!concat || concat.getDim() != 1)
      return rewriter.notifyMatchFailure(op, "has no concatenation");
    SmallVector<Value> pieces;
    for (Value piece : concat.getInputs())
      pieces.push_back(
          OuterSumOp::create(rewriter, op.getLoc(), piece, op.getY()));
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(op, op.getType(), /*dim=*/0,
                                                  pieces);
    return success();
  }
};
} // namespace

void SumRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<SumOfOuter>(context);
}

void OuterSumOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<OuterSumOfPieces>(context);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// Folds an activation of a constant by evaluating it in double.
template <typename Function>
static OpFoldResult foldActivation(Attribute input, Function evaluate) {
  return constFoldUnaryOp<FloatAttr, APFloat, void>(
      ArrayRef<Attribute>(input), [&](const APFloat &x) {
        bool lossy;
        APFloat wide = x;
        wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &lossy);
        APFloat result(evaluate(wide.convertToDouble()));
        result.convert(x.getSemantics(), APFloat::rmNearestTiesToEven, &lossy);
        return result;
      });
}

OpFoldResult SigmoidOp::fold(FoldAdaptor adaptor) {
  return foldActivation(adaptor.getInput(), [](double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  });
}

OpFoldResult ReluOp::fold(FoldAdaptor adaptor) {
  if (getInput().getDefiningOp<ReluOp>())
    return getInput();
  return foldActivation(adaptor.getInput(),
                        [](double x) { return x < 0 ? 0 : x; });
}

OpFoldResult GeluOp::fold(FoldAdaptor adaptor) {
  return foldActivation(adaptor.getInput(), [](double x) {
    return 0.5 * x * std::erfc(-x * M_SQRT1_2);
  });
}

OpFoldResult FillOp::fold(FoldAdaptor) {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return {};
  bool lossy;
  APFloat value = getValue();
  value.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &lossy);
  return DenseElementsAttr::get(type, value);
}

//===----------------------------------------------------------------------===//
// elementwise
//===----------------------------------------------------------------------===//

bool ElementwiseOp::isBatched() {
  return llvm::any_of(
      llvm::zip(getInputs(), getBody().getArguments()), [](auto pair) {
        return std::get<0>(pair).getType() != std::get<1>(pair).getType();
      });
}

LogicalResult ElementwiseOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInputs().size())
    return emitOpError("[C1] expects a block argument for each of ")
           << getInputs().size() << " inputs, but got "
           << body.getNumArguments();
  for (auto [index, input, argument] :
       llvm::enumerate(getInputs(), body.getArguments()))
    if (!isa<RankedTensorType>(argument.getType()) ||
        (input.getType() != argument.getType() &&
         input.getType() != getRowsType(argument.getType())))
      return emitOpError("[C1] expects input #")
             << index << " to be " << argument.getType()
             << " or rows of it, but got " << input.getType();

  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getNumOperands() != getNumResults())
    return emitOpError("[C2] expects ")
           << getNumResults() << " yielded values, but got "
           << yield.getNumOperands();
  bool batched = isBatched();
  for (auto [index, result, yielded] :
       llvm::enumerate(getOutputs(), yield.getValues())) {
    if (!isa<RankedTensorType>(yielded.getType()))
      return emitOpError("[C2] expects tensors to be yielded, but got ")
             << yielded.getType();
    Type expected =
        batched ? Type(getRowsType(yielded.getType())) : yielded.getType();
    if (result.getType() != expected)
      return emitOpError("[C2] expects result #")
             << index << " to be " << expected << ", but got "
             << result.getType();
  }

  // What is broadcast may be a scalar.
  auto isBroadcast = [](Operation *user) { return isa<BroadcastOp>(user); };
  auto isScalar = [&](BlockArgument argument) {
    return cast<RankedTensorType>(argument.getType()).getRank() == 0 &&
           !argument.use_empty() &&
           llvm::all_of(argument.getUsers(), isBroadcast);
  };
  std::optional<ArrayRef<int64_t>> shape;
  auto checkShape = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !type.hasStaticShape())
      return emitOpError("[C3] expects tensors of static shape, but got ")
             << value.getType();
    if (!shape)
      shape = type.getShape();
    if (*shape != type.getShape())
      return emitOpError("[C3] expects one shape, but got ")
             << type << " beside "
             << RankedTensorType::get(*shape, type.getElementType());
    return success();
  };
  for (BlockArgument argument : body.getArguments())
    if (!isScalar(argument) && failed(checkShape(argument)))
      return failure();
  for (Operation &op : body.without_terminator()) {
    auto broadcast = dyn_cast<BroadcastOp>(op);
    if (broadcast && !isa<BlockArgument>(broadcast.getScalar()))
      return emitOpError("[C4] expects broadcasts of arguments only");
    if (!broadcast && !op.hasTrait<OpTrait::ConstantLike>() &&
        !OpTrait::hasElementwiseMappableTraits(&op))
      return emitOpError("[C4] expects elementwise operators, but got '")
             << op.getName() << "'";
    if (!isTotal(&op))
      return emitOpError("[C4] expects operators that are defined for all "
                         "operands, but got '")
             << op.getName() << "'";
    Attribute value;
    if (matchPattern(&op, m_Constant(&value)) && !isa<SplatElementsAttr>(value))
      return emitOpError("[C4] expects constants of one value, but got ")
             << value;
    for (Value result : op.getResults())
      if (failed(checkShape(result)))
        return failure();
  }
  return success();
}

namespace {
/// Drops inputs that the body does not read and results that nobody reads,
/// and passes an input in once.
struct TrimElementwise : OpRewritePattern<ElementwiseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOp op,
                                PatternRewriter &rewriter) const override {
    Block &body = op.getBody().front();
    auto yield = cast<YieldOp>(body.getTerminator());
    // A duplicate is read through its first occurrence.
    llvm::DenseMap<Value, unsigned> first;
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      auto [it, inserted] = first.try_emplace(input, index);
      if (!inserted)
        rewriter.replaceAllUsesWith(body.getArgument(index),
                                    body.getArgument(it->second));
    }

    llvm::BitVector deadInputs(op.getInputs().size());
    std::optional<unsigned> firstBatch;
    bool readsBatch = false;
    for (auto [index, input] : llvm::enumerate(op.getInputs())) {
      deadInputs[index] = body.getArgument(index).use_empty();
      if (!isRowsType(input.getType()))
        continue;
      readsBatch |= !deadInputs[index];
      if (!firstBatch)
        firstBatch = index;
    }
    // A group of batched results needs a batched input to say how many rows.
    if (firstBatch && !readsBatch)
      deadInputs.reset(*firstBatch);

    SmallVector<unsigned> liveResults;
    for (auto [index, result] : llvm::enumerate(op.getOutputs()))
      if (!result.use_empty())
        liveResults.push_back(index);
    if (deadInputs.none() && liveResults.size() == op.getNumResults())
      return rewriter.notifyMatchFailure(op, "everything is read");

    SmallVector<Value> liveInputs;
    for (auto [index, input] : llvm::enumerate(op.getInputs()))
      if (!deadInputs[index])
        liveInputs.push_back(input);
    SmallVector<Type> types;
    SmallVector<Value> yielded;
    for (unsigned index : liveResults) {
      types.push_back(op.getOutputs()[index].getType());
      yielded.push_back(yield.getValues()[index]);
    }
    auto trimmed =
        ElementwiseOp::create(rewriter, op.getLoc(), types, liveInputs);
    trimmed->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.modifyOpInPlace(yield,
                             [&] { yield.getValuesMutable().assign(yielded); });
    body.eraseArguments(deadInputs);
    rewriter.inlineRegionBefore(op.getBody(), trimmed.getBody(),
                                trimmed.getBody().begin());
    for (auto [index, result] : llvm::enumerate(liveResults))
      rewriter.replaceAllUsesWith(op.getOutputs()[result],
                                  trimmed.getResult(index));
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void ElementwiseOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                MLIRContext *context) {
  patterns.add<TrimElementwise>(context);
}

void YieldOp::build(OpBuilder &, OperationState &) {}

#define GET_OP_CLASSES
#include "espalier/Dialect/NN/IR/NNOps.cpp.inc"
