//===- Tensors.cpp - Constants, concatenations, slices ----------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators that move elements.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static double toDouble(APFloat value) {
  bool lossy;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  return value.convertToDouble();
}

static double toDouble(const APInt &value) {
  return value.getBitWidth() == 1 ? (double)value.getZExtValue()
                                  : value.signedRoundToDouble();
}

/// The elements of type T, or none if they are not there.
template <typename T, typename Resource>
static std::vector<double> copyOf(Resource resource) {
  std::optional<ArrayRef<T>> values = resource.tryGetAsArrayRef();
  return values ? std::vector<double>(values->begin(), values->end())
                : std::vector<double>();
}

/// The elements of a constant that is kept outside of the IR's text.
static std::vector<double> copyOfResource(DenseResourceElementsAttr resource) {
  if (auto f32 = dyn_cast<DenseF32ResourceElementsAttr>(resource))
    return copyOf<float>(f32);
  if (auto f64 = dyn_cast<DenseF64ResourceElementsAttr>(resource))
    return copyOf<double>(f64);
  if (auto i32 = dyn_cast<DenseI32ResourceElementsAttr>(resource))
    return copyOf<int32_t>(i32);
  return {};
}

FailureOr<Array> reference::constant(arith::ConstantOp op) {
  Attribute value = op.getValue();
  if (auto scalar = dyn_cast<FloatAttr>(value))
    return Array{{}, {toDouble(scalar.getValue())}};
  if (auto scalar = dyn_cast<IntegerAttr>(value))
    return Array{{}, {toDouble(scalar.getValue())}};

  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return op.emitOpError("has a type that the interpreter does not know: ")
           << op.getType();
  Array result = Array::zeros(type.getShape().vec());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    std::vector<double> data = copyOfResource(resource);
    if (data.size() != result.data.size())
      return op.emitOpError("refers to the resource '")
             << resource.getRawHandle().getKey()
             << "', whose data are not there (were they elided when the IR was "
                "printed?) or not of f32, f64 or i32";
    result.data = std::move(data);
    return result;
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return op.emitOpError("has a value that the interpreter cannot read; "
                          "expected dense elements");
  size_t i = 0;
  if (isa<FloatType>(type.getElementType())) {
    for (APFloat element : dense.getValues<APFloat>())
      result.data[i++] = toDouble(element);
    return result;
  }
  for (APInt element : dense.getValues<APInt>())
    result.data[i++] = toDouble(element);
  return result;
}

FailureOr<Array> reference::splat(tensor::SplatOp op, Operands operands) {
  if (!op.getType().hasStaticShape())
    return op.emitOpError("of dynamic shape is not supported by the "
                          "interpreter");
  Array result = Array::zeros(op.getType().getShape().vec());
  std::fill(result.data.begin(), result.data.end(), operands[0]->data[0]);
  return result;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

FailureOr<Array> reference::reshape(Operation *op, Operands operands) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  const Array &source = *operands[0];
  // A cast changes what is known of the shape, not the shape.
  if (isa<tensor::CastOp>(op))
    return source;
  if (!type || !type.hasStaticShape())
    return op->emitOpError("of dynamic shape is not supported by the "
                           "interpreter");
  return Array{type.getShape().vec(), source.data};
}

FailureOr<Array> reference::dim(tensor::DimOp op, Operands operands) {
  const std::vector<int64_t> &shape = operands[0]->shape;
  double index = operands[1]->data[0];
  if (!(index >= 0 && index < shape.size()))
    return op.emitOpError("asks for dimension ")
           << (int64_t)index << " of " << describeShape(*operands[0]);
  return Array{{}, {(double)shape[(size_t)index]}};
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Where the element at `position` lies in an array of `shape`.
static int64_t linearize(ArrayRef<int64_t> position, ArrayRef<int64_t> shape) {
  int64_t index = 0;
  for (auto [at, extent] : llvm::zip_equal(position, shape))
    index = index * extent + at;
  return index;
}

/// Calls `visit` with every position in an array of `shape`, in order.
static void forEachPosition(ArrayRef<int64_t> shape,
                            function_ref<void(ArrayRef<int64_t>)> visit) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  SmallVector<int64_t> position(shape.size(), 0);
  for (int64_t i = 0; i != count; ++i) {
    visit(position);
    for (size_t d = shape.size(); d-- != 0;) {
      if (++position[d] != shape[d])
        break;
      position[d] = 0;
    }
  }
}

FailureOr<Array> reference::concat(tensor::ConcatOp op, Operands operands) {
  int64_t dim = op.getDim();
  std::vector<int64_t> shape = operands[0]->shape;
  shape[dim] = 0;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    std::vector<int64_t> expected = shape;
    expected[dim] = operand->shape[dim];
    if (operand->shape != expected)
      return op.emitOpError("expects operands that differ in dimension ")
             << dim << " only, but operand #" << index << " is "
             << describeShape(*operand) << " and the first one "
             << describeShape(*operands[0]);
    shape[dim] += operand->shape[dim];
  }
  Array result = Array::zeros(shape);
  int64_t offset = 0;
  for (const ArrayPtr &operand : operands) {
    size_t next = 0;
    forEachPosition(operand->shape, [&](ArrayRef<int64_t> position) {
      SmallVector<int64_t> target(position);
      target[dim] += offset;
      result.data[linearize(target, shape)] = operand->data[next++];
    });
    offset += operand->shape[dim];
  }
  return result;
}

/// Calls `visit` with the place of every element of the slice in an array of
/// `whole`, in order; `operands` are those of `op`. Fails unless the slice is
/// inside.
template <typename Op>
static LogicalResult forEachInSlice(Op op, ArrayRef<int64_t> whole,
                                    Operands operands,
                                    function_ref<void(int64_t)> visit) {
  // Numbers that are not constants come as operands, after the tensors.
  Operands dynamic =
      operands.drop_front(operands.size() - op.getOffsets().size() -
                          op.getSizes().size() - op.getStrides().size());
  auto resolve = [&](ArrayRef<int64_t> numbers) {
    SmallVector<int64_t> known(numbers);
    for (int64_t &number : known)
      if (ShapedType::isDynamic(number)) {
        number = (int64_t)dynamic.front()->data[0];
        dynamic = dynamic.drop_front();
      }
    return known;
  };
  SmallVector<int64_t> offsets = resolve(op.getStaticOffsets());
  SmallVector<int64_t> sizes = resolve(op.getStaticSizes());
  SmallVector<int64_t> strides = resolve(op.getStaticStrides());
  for (size_t d = 0; d != whole.size(); ++d) {
    int64_t last = offsets[d] + (sizes[d] - 1) * strides[d];
    if (sizes[d] > 0 && (offsets[d] < 0 || offsets[d] >= whole[d] || last < 0 ||
                         last >= whole[d]))
      return op.emitOpError("reaches from ")
             << offsets[d] << " to " << last << " in dimension " << d
             << ", which has " << whole[d] << " elements";
  }
  forEachPosition(sizes, [&](ArrayRef<int64_t> position) {
    SmallVector<int64_t> place;
    for (size_t d = 0; d != whole.size(); ++d)
      place.push_back(offsets[d] + position[d] * strides[d]);
    visit(linearize(place, whole));
  });
  return success();
}

FailureOr<Array> reference::extractSlice(tensor::ExtractSliceOp op,
                                         Operands operands) {
  const Array &source = *operands[0];
  Array result;
  if (failed(forEachInSlice(op, source.shape, operands, [&](int64_t place) {
        result.data.push_back(source.data[place]);
      })))
    return failure();
  result.shape = op.getType().getShape().vec();
  if (op.getType().getNumDynamicDims() > 1)
    return op.emitOpError("with several dynamic dimensions is not supported by "
                          "the interpreter");
  int64_t known = 1;
  for (int64_t extent : result.shape)
    known *= ShapedType::isDynamic(extent) ? 1 : extent;
  for (int64_t &extent : result.shape)
    if (ShapedType::isDynamic(extent))
      extent = known ? (int64_t)result.data.size() / known : 0;
  return result;
}

FailureOr<Array> reference::insertSlice(tensor::InsertSliceOp op,
                                        Operands operands) {
  const Array &source = *operands[0];
  Array result = *operands[1];
  size_t next = 0;
  if (failed(forEachInSlice(op, result.shape, operands, [&](int64_t place) {
        result.data[place] = source.data[next++];
      })))
    return failure();
  return result;
}
