//===- LayerOps.cpp - Operators of layered networks -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, verifiers and folders. An operator and its adjoints are checked by the
// same functions: the adjoint of a convolution is right if the convolution that
// it belongs to is.
//
// Types are inferred while an operator is parsed, before anything has been
// verified, so nothing is taken for granted here.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace espalier::nn;

using MaybeLocation = std::optional<Location>;

/// `type` as a tensor of floats, of static shape and one of `ranks`; null if it
/// is none.
static RankedTensorType layerType(Type type, ArrayRef<int64_t> ranks) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  bool known = tensor && tensor.hasStaticShape() &&
               isa<Float32Type, Float64Type>(tensor.getElementType()) &&
               llvm::is_contained(ranks, tensor.getRank());
  return known ? tensor : RankedTensorType();
}

static LogicalResult noImages(MaybeLocation loc, Type type) {
  return emitOptionalError(loc,
                           "expects f32 or f64 tensors of rank 4 and static "
                           "shape, but got ",
                           type);
}

/// As IR has it: "[1, 1]".
static std::string text(Attribute attribute) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  if (attribute)
    attribute.print(stream, /*elideType=*/true);
  else
    stream << "nothing";
  return result;
}

/// The attributes that types are inferred from. While an operator is parsed
/// they are in a dictionary still, without those that have a default.
template <typename Op, typename Adaptor>
static typename Op::Properties
propertiesOf(MLIRContext *context, MaybeLocation loc, Adaptor adaptor) {
  typename Op::Properties properties = adaptor.getProperties();
  // What is of another type is reported, and stays unset.
  if (DictionaryAttr parsed = adaptor.getAttributes())
    (void)Op::setPropertiesFromAttr(properties, parsed, [&] {
      return emitError(loc ? *loc : UnknownLoc::get(context));
    });
  Op::populateDefaultProperties(OperationName(Op::getOperationName(), context),
                                properties);
  return properties;
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

namespace {
/// The numbers of a convolution that are not in its operands.
struct Convolution {
  ArrayAttr strides, padding, dilations;
  int64_t groups;

  template <typename Op> static Convolution of(Op op) {
    return {op.getStrides(), op.getPadding(), op.getDilations(),
            static_cast<int64_t>(op.getGroups())};
  }
};
} // namespace

/// The type of the convolution of `inputType` with `weightType`, or an error
/// that names the broken constraint.
static FailureOr<RankedTensorType> inferConvolution(MaybeLocation loc,
                                                    const Convolution &of,
                                                    Type inputType,
                                                    Type weightType) {
  RankedTensorType input = layerType(inputType, {4});
  RankedTensorType weight = layerType(weightType, {4});
  if (!input || !weight)
    return noImages(loc, input ? weightType : inputType);
  if (input.getElementType() != weight.getElementType())
    return emitOptionalError(loc, "[C1] expects equal element types, but got ",
                             input, " and ", weight);
  auto strides = readNumbers<2>(of.strides, 1);
  auto dilations = readNumbers<2>(of.dilations, 1);
  auto padding = readNumbers<4>(of.padding, 0);
  if (!strides || !dilations)
    return emitOptionalError(loc,
                             "[C2] expects two strides and two dilations of at "
                             "least 1, but got ",
                             text(of.strides), " and ", text(of.dilations));
  if (!padding)
    return emitOptionalError(
        loc, "[C2] expects four paddings of at least 0, but got ",
        text(of.padding));
  int64_t channels = input.getDimSize(1);
  if (of.groups < 1 || channels % of.groups != 0 ||
      channels / of.groups != weight.getDimSize(1) ||
      weight.getDimSize(0) % of.groups != 0)
    return emitOptionalError(loc, "[C3] expects a weight of O x ", channels,
                             " / ", of.groups,
                             " x height x width, where the groups divide both "
                             "numbers of channels, but got ",
                             weight);
  Windows windows{{weight.getDimSize(2), weight.getDimSize(3)},
                  *strides,
                  *dilations,
                  *padding,
                  /*roundUp=*/false};
  SmallVector<int64_t> shape{input.getDimSize(0), weight.getDimSize(0)};
  for (size_t dim : {0, 1}) {
    int64_t extent = input.getDimSize(2 + dim);
    if (!windows.fits(extent, dim))
      return emitOptionalError(
          loc,
          "[C4] expects a window that fits into the padded image, but got ",
          windows.reach(dim), " elements ", dim == 0 ? "high" : "wide", " of ",
          weight, " in ", extent + (*padding)[dim] + (*padding)[dim + 2],
          " of ", input);
    shape.push_back(windows.count(extent, dim));
  }
  return RankedTensorType::get(shape, input.getElementType());
}

LogicalResult Conv2dOp::inferReturnTypes(MLIRContext *context,
                                         MaybeLocation loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  Type weightType = adaptor.getWeight().getType();
  Properties of = propertiesOf<Conv2dOp>(context, loc, adaptor);
  auto type = inferConvolution(
      loc, {of.strides, of.padding, of.dilations, of.groups.getInt()},
      adaptor.getInput().getType(), weightType);
  if (failed(type))
    return failure();
  if (Value bias = adaptor.getBias()) {
    auto expected =
        RankedTensorType::get(type->getShape()[1], type->getElementType());
    auto biasType = dyn_cast<RankedTensorType>(bias.getType());
    if (biasType && biasType.getElementType() != type->getElementType())
      return emitOptionalError(loc,
                               "[C1] expects equal element types, but got ",
                               biasType, " and ", weightType);
    if (bias.getType() != expected)
      return emitOptionalError(loc, "[C5] expects a bias of type ", expected,
                               ", but got ", bias.getType());
  }
  types.push_back(*type);
  return success();
}

LogicalResult Conv2dTransposeOp::verify() {
  auto type = inferConvolution(getLoc(), Convolution::of(*this),
                               getResult().getType(), getWeight().getType());
  if (failed(type))
    return failure();
  if (getInput().getType() != *type)
    return emitOpError("[C4] expects an input of the type of the convolution "
                       "of the result, ")
           << *type << ", but got " << getInput().getType();
  return success();
}

LogicalResult Conv2dWeightAdjointOp::verify() {
  auto type = inferConvolution(getLoc(), Convolution::of(*this),
                               getInput().getType(), getResult().getType());
  if (failed(type))
    return failure();
  if (getAdjoint().getType() != *type)
    return emitOpError("[C4] expects an adjoint of the type of the "
                       "convolution, ")
           << *type << ", but got " << getAdjoint().getType();
  return success();
}

namespace {
/// Zeros around the input are what padding means.
struct PadOfConvolution : OpRewritePattern<Conv2dOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(Conv2dOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    if (!pad || !pad.getValue().isZero())
      return rewriter.notifyMatchFailure(op, "its input has no zeros around");
    auto total = numbersOf<4>(op.getPadding());
    for (auto [sum, own] : llvm::zip(total, numbersOf<4>(pad.getPadding())))
      sum += own;
    rewriter.modifyOpInPlace(op, [&] {
      op.getInputMutable().assign(pad.getInput());
      op.setPaddingAttr(rewriter.getI64ArrayAttr(total));
    });
    return success();
  }
};
} // namespace

void Conv2dOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<PadOfConvolution>(context);
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

namespace {
struct Pool {
  ArrayAttr window, strides, padding;
  bool roundUp;
};
} // namespace

/// The type of the pool of `inputType`, or an error that names the broken
/// constraint.
static FailureOr<RankedTensorType> inferPool(MaybeLocation loc, const Pool &of,
                                             Type inputType) {
  RankedTensorType input = layerType(inputType, {4});
  if (!input)
    return noImages(loc, inputType);
  auto size = readNumbers<2>(of.window, 1);
  auto strides = readNumbers<2>(of.strides, 1);
  auto padding = readNumbers<4>(of.padding, 0);
  if (!size || !strides)
    return emitOptionalError(loc,
                             "[C1] expects a window of two sizes and two "
                             "strides of at least 1, but got ",
                             text(of.window), " and ", text(of.strides));
  if (!padding)
    return emitOptionalError(
        loc, "[C1] expects four paddings of at least 0, but got ",
        text(of.padding));
  Windows windows{*size, *strides, {1, 1}, *padding, of.roundUp};
  SmallVector<int64_t> shape(input.getShape().take_front(2));
  for (size_t dim : {0, 1}) {
    if (std::max((*padding)[dim], (*padding)[dim + 2]) >= (*size)[dim])
      return emitOptionalError(loc,
                               "[C2] expects paddings less than the window, "
                               "but got ",
                               text(of.padding), " and ", text(of.window));
    int64_t extent = input.getDimSize(2 + dim);
    if (extent == 0 || !windows.fits(extent, dim))
      return emitOptionalError(
          loc,
          "[C3] expects a window that fits into the padded image, but got ",
          (*size)[dim], " elements ", dim == 0 ? "high" : "wide", " in ",
          extent + (*padding)[dim] + (*padding)[dim + 2], " of ", input);
    shape.push_back(windows.count(extent, dim));
  }
  return RankedTensorType::get(shape, input.getElementType());
}

/// The same, of an operator whose result is inferred.
template <typename Op, typename Adaptor>
static LogicalResult inferPool(MLIRContext *context, MaybeLocation loc,
                               Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto of = propertiesOf<Op>(context, loc, adaptor);
  auto type =
      inferPool(loc, {of.window, of.strides, of.padding, bool(of.ceil_mode)},
                adaptor.getInput().getType());
  if (failed(type))
    return failure();
  types.push_back(*type);
  return success();
}

LogicalResult MaxPool2dOp::inferReturnTypes(MLIRContext *context,
                                            MaybeLocation loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferPool<MaxPool2dOp>(context, loc, adaptor, types);
}

LogicalResult AvgPool2dOp::inferReturnTypes(MLIRContext *context,
                                            MaybeLocation loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  return inferPool<AvgPool2dOp>(context, loc, adaptor, types);
}

/// [C4] of the adjoints of pools.
template <typename Op>
static LogicalResult verifyPoolAdjoint(Op op, Type inputType) {
  auto type = inferPool(
      op.getLoc(),
      {op.getWindow(), op.getStrides(), op.getPadding(), op.getCeilMode()},
      inputType);
  if (failed(type))
    return failure();
  if (op.getAdjoint().getType() != *type)
    return op.emitOpError("[C4] expects an adjoint of the type of the pool, ")
           << *type << ", but got " << op.getAdjoint().getType();
  return success();
}

LogicalResult MaxPool2dAdjointOp::verify() {
  return verifyPoolAdjoint(*this, getInput().getType());
}

LogicalResult AvgPool2dAdjointOp::verify() {
  return verifyPoolAdjoint(*this, getResult().getType());
}

// The largest of one element, and its mean, are itself.

OpFoldResult MaxPool2dOp::fold(FoldAdaptor) {
  return windowsOfPool(*this).areElements() ? getInput() : OpFoldResult();
}

OpFoldResult AvgPool2dOp::fold(FoldAdaptor) {
  return windowsOfPool(*this).areElements() ? getInput() : OpFoldResult();
}

OpFoldResult AvgPool2dAdjointOp::fold(FoldAdaptor) {
  return windowsOfPool(*this).areElements() ? getAdjoint() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

/// One number for each channel of `images`.
static RankedTensorType perChannel(RankedTensorType images) {
  return RankedTensorType::get(images.getDimSize(1), images.getElementType());
}

/// [C1] of operators with numbers for each channel.
static LogicalResult checkPerChannel(MaybeLocation loc, RankedTensorType images,
                                     Type type) {
  if (type == perChannel(images))
    return success();
  return emitOptionalError(loc, "[C1] expects one number for each channel of ",
                           images, ", ", perChannel(images), ", but got ",
                           type);
}

static LogicalResult checkEpsilon(MaybeLocation loc, StringRef label,
                                  const APFloat &epsilon) {
  if (epsilon.isFinite() && !epsilon.isNegative())
    return success();
  return emitOptionalError(loc, label,
                           " expects an epsilon that is not negative, but got ",
                           epsilon.convertToDouble());
}

/// All constraints of statistics over a batch.
static LogicalResult checkBatchNorm(MaybeLocation loc, Type inputType,
                                    Type scaleType, const APFloat &epsilon) {
  RankedTensorType input = layerType(inputType, {2, 4});
  if (!input)
    return emitOptionalError(loc,
                             "expects f32 or f64 tensors of rank 2 or 4 and "
                             "static shape, but got ",
                             inputType);
  if (failed(checkPerChannel(loc, input, scaleType)))
    return failure();
  if (input.getNumElements() == 0)
    return emitOptionalError(
        loc, "[C2] expects channels with elements, but got ", input);
  return checkEpsilon(loc, "[C3]", epsilon);
}

LogicalResult BatchNormOp::inferReturnTypes(MLIRContext *context,
                                            MaybeLocation loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  Type input = adaptor.getInput().getType();
  Type scale = adaptor.getScale().getType();
  Properties of = propertiesOf<BatchNormOp>(context, loc, adaptor);
  if (failed(checkBatchNorm(loc, input, scale, of.epsilon.getValue())))
    return failure();
  types.append({input, scale, scale});
  return success();
}

LogicalResult BatchNormAdjointOp::verify() {
  return checkBatchNorm(getLoc(), getInput().getType(), getScale().getType(),
                        getEpsilon());
}

LogicalResult BatchNormInferenceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  return success(
      succeeded(checkPerChannel(getLoc(), input, getScale().getType())) &&
      succeeded(checkEpsilon(getLoc(), "[C2]", getEpsilon())));
}

template <typename Op> static LogicalResult verifyResponse(Op op) {
  int64_t size = op.getSize();
  if (size < 1 || size % 2 == 0)
    return op.emitOpError("[C1] expects a size that is odd and positive, but "
                          "got ")
           << size;
  APFloat alpha = op.getAlpha(), bias = op.getBias();
  if (!alpha.isFinite() || !bias.isFinite() ||
      (alpha.isNegative() && !alpha.isZero()) || bias.isNegative() ||
      bias.isZero())
    return op.emitOpError("[C2] expects a positive bias and an alpha that is "
                          "not negative, but got ")
           << bias.convertToDouble() << " and " << alpha.convertToDouble();
  return success();
}

LogicalResult LrnOp::verify() { return verifyResponse(*this); }
LogicalResult LrnAdjointOp::verify() { return verifyResponse(*this); }

LogicalResult SoftmaxAdjointOp::verify() {
  auto type = cast<RankedTensorType>(getOutput().getType());
  int64_t rank = type.getRank();
  if ((rank == 1 || rank == 2) && !type.isDynamicDim(rank - 1) &&
      type.getShape().back() != 0)
    return success();
  return emitOpError("[C1] expects rank 1 or 2, with a static, non-empty last "
                     "dimension, but got ")
         << type;
}

//===----------------------------------------------------------------------===//
// Channels, borders
//===----------------------------------------------------------------------===//

LogicalResult SumChannelsOp::inferReturnTypes(MLIRContext *, MaybeLocation loc,
                                              Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  RankedTensorType input = layerType(adaptor.getInput().getType(), {2, 4});
  if (!input)
    return emitOptionalError(loc,
                             "expects an f32 or f64 tensor of rank 2 or 4 and "
                             "static shape, but got ",
                             adaptor.getInput().getType());
  types.push_back(perChannel(input));
  return success();
}

/// Of images of one element there is nothing to add.
OpFoldResult SumChannelsOp::fold(FoldAdaptor) {
  auto spread = getInput().getDefiningOp<SpreadChannelsOp>();
  auto type = cast<RankedTensorType>(getInput().getType());
  bool alone = type.getNumElements() == type.getDimSize(1);
  return spread && alone ? spread.getInput() : OpFoldResult();
}

LogicalResult SpreadChannelsOp::verify() {
  return checkPerChannel(getLoc(), cast<RankedTensorType>(getType()),
                         getInput().getType());
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *context, MaybeLocation loc,
                                      Adaptor adaptor,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType input = layerType(adaptor.getInput().getType(), {4});
  if (!input)
    return noImages(loc, adaptor.getInput().getType());
  Properties of = propertiesOf<PadOp>(context, loc, adaptor);
  auto padding = readNumbers<4>(of.padding, 0);
  if (!padding)
    return emitOptionalError(
        loc, "[C1] expects four paddings of at least 0, but got ",
        text(of.padding));
  SmallVector<int64_t> shape(input.getShape());
  for (size_t dim : {0, 1})
    shape[2 + dim] += (*padding)[dim] + (*padding)[dim + 2];
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getType() == getInput().getType() ? getInput() : OpFoldResult();
}
