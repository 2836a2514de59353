//===- LayerInterfaces.cpp - What is asked of layers ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LayerOpInterface of this dialect's operators and of upstream ones, and the
// costs (CostOpInterface) of those that work on whole tensors only.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/abi.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace espalier::nn;

static_assert(static_cast<int>(AlgorithmKind::direct) ==
                      ESPALIER_ALGORITHM_DIRECT &&
                  static_cast<int>(AlgorithmKind::patches) ==
                      ESPALIER_ALGORITHM_PATCHES,
              "models have the numbers of the runtime's algorithms");

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t elementsOf(Value value) {
  return typeOf(value).getNumElements();
}

/// Cuts along the batch of an operator with one result.
static Cuts cut(ArrayRef<Cut> operands, Cut result = Cut::rows) {
  return {SmallVector<Cut>(operands), {result}};
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Of the convolution with images of `shape` as its result.
static int64_t convolutionFlops(RankedTensorType result,
                                RankedTensorType weight) {
  // Each element is a sum over a window of the input's channels in its group.
  int64_t output = weight.getDimSize(0);
  return output == 0
             ? 0
             : 2 * result.getNumElements() * (weight.getNumElements() / output);
}

int64_t Conv2dOp::getFlops() {
  return convolutionFlops(typeOf(getResult()), typeOf(getWeight())) +
         (getBias() ? elementsOf(getResult()) : 0);
}
int64_t Conv2dTransposeOp::getFlops() {
  return convolutionFlops(typeOf(getInput()), typeOf(getWeight()));
}
int64_t Conv2dWeightAdjointOp::getFlops() {
  return convolutionFlops(typeOf(getAdjoint()), typeOf(getResult()));
}

template <typename Op>
static Layer describeConvolution(Op op, LayerKind kind,
                                 RankedTensorType weight) {
  Windows windows = windowsOfConvolution(op, weight.getShape());
  Layer layer;
  layer.kind = kind;
  layer.window = windows.size;
  layer.strides = windows.strides;
  layer.dilations = windows.dilations;
  layer.padding = windows.padding;
  layer.groups = op.getGroups();
  return layer;
}

Layer Conv2dOp::getLayer() {
  return describeConvolution(*this, LayerKind::conv2d, typeOf(getWeight()));
}
Layer Conv2dTransposeOp::getLayer() {
  return describeConvolution(*this, LayerKind::conv2d_transpose,
                             typeOf(getWeight()));
}
Layer Conv2dWeightAdjointOp::getLayer() {
  return describeConvolution(*this, LayerKind::conv2d_weight_adjoint,
                             typeOf(getResult()));
}

Cuts Conv2dOp::getCuts() {
  SmallVector<Cut> operands(getNumOperands(), Cut::whole);
  operands[0] = Cut::rows;
  return cut(operands);
}
Cuts Conv2dTransposeOp::getCuts() { return cut({Cut::rows, Cut::whole}); }
Cuts Conv2dWeightAdjointOp::getCuts() {
  return cut({Cut::rows, Cut::rows}, Cut::sum);
}

/// Of a convolution whose `made` images have `madeChannels` in a group, each a
/// sum over patches of `readChannels` and a window of `weight`'s extents.
static SmallVector<Algorithm> convolutionAlgorithms(int64_t madeChannels,
                                                    int64_t readChannels,
                                                    RankedTensorType weight,
                                                    RankedTensorType made) {
  if (!weight.hasStaticShape() || !made.hasStaticShape())
    return {};
  int64_t elements = readChannels * weight.getDimSize(2) * weight.getDimSize(3);
  int64_t points = made.getDimSize(0) * made.getDimSize(2) * made.getDimSize(3);
  // Patches that are gathered once anyway need not be kept.
  if (elements == 0 || points == 0 || madeChannels <= ESPALIER_PATCHES_CHANNELS)
    return {};
  constexpr int64_t kPoints = ESPALIER_PATCHES_POINTS;
  int64_t pointBytes = llvm::alignTo(
      elements * llvm::divideCeil(made.getElementTypeBitWidth(), 8), 64);
  // More points than these at a time make it no faster (docs/performance.md);
  // with fewer, threads have less to share.
  int64_t many = std::min<int64_t>(4 * kPoints, llvm::alignTo(points, kPoints));
  SmallVector<Algorithm> algorithms;
  if (many > kPoints)
    algorithms.push_back({AlgorithmKind::patches, pointBytes * many});
  algorithms.push_back({AlgorithmKind::patches, pointBytes * kPoints});
  algorithms.push_back({AlgorithmKind::direct, 0});
  return algorithms;
}

SmallVector<Algorithm> Conv2dOp::getAlgorithms() {
  RankedTensorType weight = typeOf(getWeight());
  return convolutionAlgorithms(
      weight.getDimSize(0) / static_cast<int64_t>(getGroups()),
      weight.getDimSize(1), weight, typeOf(getResult()));
}
SmallVector<Algorithm> Conv2dTransposeOp::getAlgorithms() {
  RankedTensorType weight = typeOf(getWeight());
  return convolutionAlgorithms(weight.getDimSize(1),
                               weight.getDimSize(0) /
                                   static_cast<int64_t>(getGroups()),
                               weight, typeOf(getResult()));
}
SmallVector<Algorithm> Conv2dWeightAdjointOp::getAlgorithms() {
  // The patches are those of the convolution.
  RankedTensorType weight = typeOf(getResult());
  return convolutionAlgorithms(
      weight.getDimSize(0) / static_cast<int64_t>(getGroups()),
      weight.getDimSize(1), weight, typeOf(getAdjoint()));
}

bool Conv2dOp::isCheckpoint() { return true; }
bool Conv2dTransposeOp::isCheckpoint() { return true; }
bool Conv2dWeightAdjointOp::isCheckpoint() { return true; }

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

template <typename Op> static Layer describePool(Op op, LayerKind kind) {
  Windows windows = windowsOfPool(op);
  Layer layer;
  layer.kind = kind;
  layer.window = windows.size;
  layer.strides = windows.strides;
  layer.padding = windows.padding;
  return layer;
}

template <typename Op> static Layer describeMean(Op op, LayerKind kind) {
  Layer layer = describePool(op, kind);
  layer.countPadding = op.getCountPadding();
  return layer;
}

Layer MaxPool2dOp::getLayer() {
  return describePool(*this, LayerKind::max_pool2d);
}
Layer MaxPool2dAdjointOp::getLayer() {
  return describePool(*this, LayerKind::max_pool2d_adjoint);
}
Layer AvgPool2dOp::getLayer() {
  return describeMean(*this, LayerKind::avg_pool2d);
}
Layer AvgPool2dAdjointOp::getLayer() {
  return describeMean(*this, LayerKind::avg_pool2d_adjoint);
}

/// An operation for each element of each window.
template <typename Op> static int64_t poolFlops(Op op, Value pooled) {
  Windows windows = windowsOfPool(op);
  return elementsOf(pooled) * windows.size[0] * windows.size[1];
}

int64_t MaxPool2dOp::getFlops() { return poolFlops(*this, getResult()); }
int64_t MaxPool2dAdjointOp::getFlops() {
  return poolFlops(*this, getAdjoint());
}
int64_t AvgPool2dOp::getFlops() { return poolFlops(*this, getResult()); }
int64_t AvgPool2dAdjointOp::getFlops() {
  return poolFlops(*this, getAdjoint());
}

Cuts MaxPool2dOp::getCuts() { return cut({Cut::rows}); }
Cuts MaxPool2dAdjointOp::getCuts() { return cut({Cut::rows, Cut::rows}); }
Cuts AvgPool2dOp::getCuts() { return cut({Cut::rows}); }
Cuts AvgPool2dAdjointOp::getCuts() { return cut({Cut::rows}); }

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

// A sum, a sum of squared differences, and a product and a sum.
int64_t BatchNormOp::getFlops() { return 6 * elementsOf(getInput()); }
int64_t BatchNormInferenceOp::getFlops() { return 2 * elementsOf(getInput()); }
// Two sums, of a product the one, and what makes the input's.
int64_t BatchNormAdjointOp::getFlops() { return 9 * elementsOf(getInput()); }
// The sum over channels can move along; a power counts ten.
int64_t LrnOp::getFlops() { return 16 * elementsOf(getInput()); }
int64_t LrnAdjointOp::getFlops() { return 34 * elementsOf(getInput()); }
int64_t SoftmaxAdjointOp::getFlops() { return 4 * elementsOf(getOutput()); }

template <typename Op> static Layer describeNorm(Op op, LayerKind kind) {
  Layer layer;
  layer.kind = kind;
  layer.epsilon = op.getEpsilon().convertToDouble();
  return layer;
}

Layer BatchNormOp::getLayer() {
  return describeNorm(*this, LayerKind::batch_norm);
}
Layer BatchNormInferenceOp::getLayer() {
  return describeNorm(*this, LayerKind::batch_norm_inference);
}
Layer BatchNormAdjointOp::getLayer() {
  return describeNorm(*this, LayerKind::batch_norm_adjoint);
}

template <typename Op> static Layer describeResponse(Op op, LayerKind kind) {
  Layer layer;
  layer.kind = kind;
  layer.size = op.getSize();
  layer.alpha = op.getAlpha().convertToDouble();
  layer.beta = op.getBeta().convertToDouble();
  layer.bias = op.getBias().convertToDouble();
  return layer;
}

Layer LrnOp::getLayer() { return describeResponse(*this, LayerKind::lrn); }
Layer LrnAdjointOp::getLayer() {
  return describeResponse(*this, LayerKind::lrn_adjoint);
}

// The statistics are those of the whole batch, so batch_norm has no cuts.
Cuts BatchNormInferenceOp::getCuts() {
  return cut({Cut::rows, Cut::whole, Cut::whole, Cut::whole, Cut::whole});
}
Cuts LrnOp::getCuts() { return cut({Cut::rows}); }
Cuts LrnAdjointOp::getCuts() { return cut({Cut::rows, Cut::rows}); }
Cuts SoftmaxAdjointOp::getCuts() {
  if (typeOf(getOutput()).getRank() < 2)
    return {};
  return cut({Cut::rows, Cut::rows});
}

SmallVector<unsigned> BatchNormOp::getInPlaceOperands(unsigned result) {
  if (result == 0)
    return {0};
  return {};
}
SmallVector<unsigned> BatchNormInferenceOp::getInPlaceOperands(unsigned) {
  return {0};
}
SmallVector<unsigned> BatchNormAdjointOp::getInPlaceOperands(unsigned result) {
  // That of the input over d.
  if (result == 0)
    return {4};
  return {};
}
SmallVector<unsigned> LrnAdjointOp::getInPlaceOperands(unsigned) { return {1}; }
SmallVector<unsigned> SoftmaxAdjointOp::getInPlaceOperands(unsigned) {
  return {1, 0};
}

//===----------------------------------------------------------------------===//
// Channels, borders
//===----------------------------------------------------------------------===//

int64_t SumChannelsOp::getFlops() { return elementsOf(getInput()); }
int64_t SpreadChannelsOp::getFlops() { return 0; }
int64_t PadOp::getFlops() { return 0; }

static Layer kindOnly(LayerKind kind) {
  Layer layer;
  layer.kind = kind;
  return layer;
}

Layer SumChannelsOp::getLayer() { return kindOnly(LayerKind::sum_channels); }
Layer SpreadChannelsOp::getLayer() {
  return kindOnly(LayerKind::spread_channels);
}
Layer PadOp::getLayer() {
  Layer layer = kindOnly(LayerKind::pad);
  layer.padding = numbersOf<4>(getPadding());
  layer.value = getValue().convertToDouble();
  return layer;
}

Cuts SumChannelsOp::getCuts() { return cut({Cut::rows}, Cut::sum); }
Cuts SpreadChannelsOp::getCuts() { return cut({Cut::whole}); }
Cuts PadOp::getCuts() { return cut({Cut::rows}); }

//===----------------------------------------------------------------------===//
// Operators that also work on one row, or on rows of dynamic number
//===----------------------------------------------------------------------===//

/// Whether `value` has rows of a batch, rather than being one.
static bool hasRows(Value value, int64_t rank = 2) {
  return typeOf(value).getRank() == rank;
}

Layer MatmulOp::getLayer() { return kindOnly(LayerKind::matmul); }
Layer DenseOp::getLayer() { return kindOnly(LayerKind::dense); }
Layer OuterSumOp::getLayer() {
  Layer layer = kindOnly(LayerKind::matmul);
  layer.transposeA = true;
  return layer;
}
Layer SumRowsOp::getLayer() {
  // Of N x C, channels and columns are the same; of others there is no layer.
  bool channels = typeOf(getRows()).getRank() == 2;
  return kindOnly(channels ? LayerKind::sum_channels : LayerKind::generated);
}

bool MatmulOp::isCheckpoint() { return true; }
bool DenseOp::isCheckpoint() { return true; }
bool OuterSumOp::isCheckpoint() { return true; }

Cuts MatmulOp::getCuts() {
  if (!hasRows(getInput()))
    return {};
  return cut({Cut::rows, Cut::whole});
}
Cuts DenseOp::getCuts() {
  if (!hasRows(getInput()))
    return {};
  return cut({Cut::rows, Cut::whole, Cut::whole});
}
Cuts OuterSumOp::getCuts() { return cut({Cut::rows, Cut::rows}, Cut::sum); }
Cuts SumRowsOp::getCuts() { return cut({Cut::rows}, Cut::sum); }
Cuts SumOp::getCuts() {
  if (typeOf(getInput()).getRank() == 0)
    return {};
  bool perRow = isRowsType(getInput().getType());
  return cut({Cut::rows}, perRow ? Cut::rows : Cut::sum);
}
Cuts BroadcastOp::getCuts() {
  if (typeOf(getResult()).getRank() == 0)
    return {};
  return cut({isRowsType(getScalar().getType()) ? Cut::rows : Cut::whole});
}
Cuts EmbeddingOp::getCuts() {
  if (!hasRows(getIds(), 1))
    return {};
  return cut({Cut::whole, Cut::rows});
}
Cuts ScatterRowsOp::getCuts() {
  if (!hasRows(getIds(), 1))
    return {};
  return cut({Cut::rows, Cut::rows}, Cut::sum);
}
Cuts SoftmaxOp::getCuts() {
  if (!hasRows(getInput()))
    return {};
  return cut({Cut::rows});
}
Cuts LayerNormOp::getCuts() {
  if (!hasRows(getInput()))
    return {};
  Cut own = hasRows(getScale()) ? Cut::rows : Cut::whole;
  return cut({Cut::rows, own, own});
}
Cuts LayerNormAdjointOp::getCuts() {
  if (!hasRows(getInput()))
    return {};
  Cut own = hasRows(getScale()) ? Cut::rows : Cut::whole;
  return {{Cut::rows, own, Cut::rows}, {Cut::rows, Cut::rows}};
}
Cuts DropoutOp::getCuts() {
  if (!hasRows(getRow(), 1))
    return {};
  return cut(
      {Cut::rows, hasRows(getSeed(), 1) ? Cut::rows : Cut::whole, Cut::rows});
}
Cuts SoftmaxCrossEntropyOp::getCuts() {
  if (!hasRows(getLogits()))
    return {};
  return cut({Cut::rows, Cut::rows});
}
Cuts SoftmaxCrossEntropyAdjointOp::getCuts() {
  if (!hasRows(getLogits()))
    return {};
  return cut({Cut::rows, Cut::rows, Cut::rows});
}
Cuts BinaryCrossEntropyOp::getCuts() {
  if (!hasRows(getLogits()))
    return {};
  return cut({Cut::rows, Cut::rows});
}
Cuts BinaryCrossEntropyAdjointOp::getCuts() {
  if (!hasRows(getLogits()))
    return {};
  return cut({Cut::rows, Cut::rows, Cut::rows});
}
Cuts CorrectOp::getCuts() {
  if (!hasRows(getLogits()))
    return {};
  return cut({Cut::rows, Cut::rows});
}

SmallVector<unsigned> SoftmaxOp::getInPlaceOperands(unsigned) { return {0}; }
SmallVector<unsigned> LayerNormOp::getInPlaceOperands(unsigned) { return {0}; }
SmallVector<unsigned> DropoutOp::getInPlaceOperands(unsigned) { return {0}; }
SmallVector<unsigned>
SoftmaxCrossEntropyAdjointOp::getInPlaceOperands(unsigned) {
  return {0};
}
SmallVector<unsigned>
BinaryCrossEntropyAdjointOp::getInPlaceOperands(unsigned) {
  return {0};
}

//===----------------------------------------------------------------------===//
// Upstream operators
//===----------------------------------------------------------------------===//

namespace {
struct ConcatLayer
    : LayerOpInterface::ExternalModel<ConcatLayer, tensor::ConcatOp> {
  Layer getLayer(Operation *op) const {
    Layer layer = kindOnly(LayerKind::concat);
    layer.axis = cast<tensor::ConcatOp>(op).getDim();
    return layer;
  }
  Cuts getCuts(Operation *op) const {
    if (cast<tensor::ConcatOp>(op).getDim() == 0)
      return {};
    return cut(SmallVector<Cut>(op->getNumOperands(), Cut::rows));
  }
};

struct SliceLayer
    : LayerOpInterface::ExternalModel<SliceLayer, tensor::ExtractSliceOp> {
  Layer getLayer(Operation *op) const {
    Layer layer = kindOnly(LayerKind::slice);
    llvm::append_range(layer.offsets,
                       cast<tensor::ExtractSliceOp>(op).getStaticOffsets());
    return layer;
  }
  Cuts getCuts(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    if (op->getNumOperands() != 1 || slice.getType().getRank() == 0 ||
        slice.getType().getRank() != slice.getSourceType().getRank() ||
        slice.getType().getDimSize(0) != slice.getSourceType().getDimSize(0))
      return {};
    return cut({Cut::rows});
  }
  void fitToRows(Operation *op, int64_t rows) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    sizes[0] = rows;
    slice.setStaticSizes(sizes);
  }
};

/// The same elements in another shape.
template <typename Op>
struct ViewLayer : LayerOpInterface::ExternalModel<ViewLayer<Op>, Op> {
  Layer getLayer(Operation *) const { return kindOnly(LayerKind::view); }
  Cuts getCuts(Operation *op) const {
    auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    bool same = from && to && op->getNumOperands() == 1 && from.getRank() > 0 &&
                to.getRank() > 0 && from.getDimSize(0) == to.getDimSize(0);
    return same ? cut({Cut::rows}) : Cuts();
  }
  SmallVector<unsigned> getInPlaceOperands(Operation *, unsigned) const {
    return {0};
  }
  void fitToRows(Operation *op, int64_t rows) const {
    // The only one whose attributes have the shape.
    if constexpr (std::is_same_v<Op, tensor::ExpandShapeOp>) {
      auto expand = cast<tensor::ExpandShapeOp>(op);
      SmallVector<int64_t> shape(expand.getStaticOutputShape());
      shape[0] = rows;
      expand.setStaticOutputShape(shape);
    }
  }
};
} // namespace

void espalier::nn::registerLayerUpstreamOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ConcatOp::attachInterface<ConcatLayer>(*context);
    tensor::ExtractSliceOp::attachInterface<SliceLayer>(*context);
    tensor::CollapseShapeOp::attachInterface<
        ViewLayer<tensor::CollapseShapeOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<ViewLayer<tensor::ExpandShapeOp>>(
        *context);
    tensor::CastOp::attachInterface<ViewLayer<tensor::CastOp>>(*context);
  });
}

//===----------------------------------------------------------------------===//
// Any operator
//===----------------------------------------------------------------------===//

/// Whether `op` does the same to every element: one operator, or a group.
static bool isElementwise(Operation *op) {
  return isa<ElementwiseOp>(op) || OpTrait::hasElementwiseMappableTraits(op);
}

StringRef espalier::nn::getName(AlgorithmKind kind) {
  switch (kind) {
  case AlgorithmKind::direct:
    return "direct";
  case AlgorithmKind::patches:
    return "patches";
  }
  llvm_unreachable("unknown algorithm");
}

SmallVector<Algorithm> espalier::nn::getAlgorithms(Operation *op) {
  auto layer = dyn_cast<LayerOpInterface>(op);
  return layer ? layer.getAlgorithms() : SmallVector<Algorithm>();
}

bool espalier::nn::isCheckpoint(Operation *op) {
  auto layer = dyn_cast<LayerOpInterface>(op);
  return layer && layer.isCheckpoint();
}

Cuts espalier::nn::getCuts(Operation *op) {
  if (auto layer = dyn_cast<LayerOpInterface>(op))
    return layer.getCuts();
  if (!isElementwise(op))
    return {};
  // What has no dimension is the same for all rows.
  auto of = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() > 0 ? Cut::rows : Cut::whole;
  };
  Cuts cuts;
  for (Type type : op->getOperandTypes())
    cuts.operands.push_back(of(type));
  for (Type type : op->getResultTypes())
    cuts.results.push_back(of(type));
  return llvm::is_contained(cuts.results, Cut::whole) ? Cuts() : cuts;
}

void espalier::nn::reshapeBody(Operation *group, ArrayRef<int64_t> from,
                               ArrayRef<int64_t> to) {
  auto reshape = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.getShape() == from)
      value.setType(type.clone(to));
  };
  for (Region &region : group->getRegions())
    for (Block &block : region) {
      llvm::for_each(block.getArguments(), reshape);
      for (Operation &op : block) {
        llvm::for_each(op.getResults(), reshape);
        // A constant holds its type, too.
        DenseElementsAttr splat;
        if (matchPattern(&op, m_Constant(&splat)) && splat.isSplat())
          op.setAttr("value", splat.resizeSplat(
                                  cast<ShapedType>(op.getResult(0).getType())));
      }
    }
}

Operation *espalier::nn::cloneForRows(OpBuilder &builder, Operation *op,
                                      ValueRange operands, int64_t rows) {
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  for (auto [cut, value] : llvm::zip(getCuts(op).results, clone->getResults()))
    if (cut == Cut::rows) {
      auto whole = cast<RankedTensorType>(value.getType());
      SmallVector<int64_t> shape(whole.getShape());
      shape[0] = rows;
      value.setType(whole.clone(shape));
      reshapeBody(clone, whole.getShape(), shape);
    }
  if (auto layer = dyn_cast<LayerOpInterface>(clone))
    layer.fitToRows(rows);
  return clone;
}

SmallVector<unsigned> espalier::nn::getInPlaceOperands(Operation *op,
                                                       unsigned result) {
  if (auto layer = dyn_cast<LayerOpInterface>(op))
    return layer.getInPlaceOperands(result);
  SmallVector<unsigned> operands;
  if (isElementwise(op))
    for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
      if (type == op->getResult(result).getType())
        operands.push_back(index);
  return operands;
}

Value espalier::nn::getViewed(Operation *op) {
  auto layer = dyn_cast<LayerOpInterface>(op);
  bool view = layer && layer.getLayer().kind == LayerKind::view;
  return view ? op->getOperand(0) : Value();
}

int64_t espalier::nn::getTotalFlops(Operation *op) {
  if (auto cost = dyn_cast<CostOpInterface>(op))
    return cost.getFlops();
  if (!isElementwise(op))
    return 0;
  int64_t flops = 0;
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType());
        type && type.hasStaticShape())
      flops += type.getNumElements();
  return flops;
}

int64_t espalier::nn::getTotalBytes(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || getViewed(op))
    return 0;
  return detail::rowBytes(op);
}
