//===- ValidateLayers.cpp -------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/ValidateLayers.h"

#include "memory/Arena.h"
#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <iterator>
#include <vector>

namespace espalier {

namespace {

/// What a kind of layer has.
struct LayerTraits {
  uint32_t kind;
  const char *name;
  uint32_t minOperands, maxOperands, results;
  uint32_t flags; // that it may have
  bool anyDtype;  // otherwise f32 or f64
};

constexpr LayerTraits kTraits[] = {
    {ESPALIER_LAYER_CONV2D, "conv2d", 3, 4, 1, 0, false},
    {ESPALIER_LAYER_CONV2D_TRANSPOSE, "conv2d_transpose", 3, 3, 1, 0, false},
    {ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT, "conv2d_weight_adjoint", 3, 3, 1,
     ESPALIER_LAYER_ACCUMULATE, false},
    {ESPALIER_LAYER_MAX_POOL2D, "max_pool2d", 2, 2, 1, 0, false},
    {ESPALIER_LAYER_MAX_POOL2D_ADJOINT, "max_pool2d_adjoint", 3, 3, 1, 0,
     false},
    {ESPALIER_LAYER_AVG_POOL2D, "avg_pool2d", 2, 2, 1,
     ESPALIER_LAYER_COUNT_PADDING, false},
    {ESPALIER_LAYER_AVG_POOL2D_ADJOINT, "avg_pool2d_adjoint", 2, 2, 1,
     ESPALIER_LAYER_COUNT_PADDING, false},
    {ESPALIER_LAYER_BATCH_NORM, "batch_norm", 6, 6, 3, 0, false},
    {ESPALIER_LAYER_BATCH_NORM_INFERENCE, "batch_norm_inference", 6, 6, 1, 0,
     false},
    {ESPALIER_LAYER_BATCH_NORM_ADJOINT, "batch_norm_adjoint", 8, 8, 3, 0,
     false},
    {ESPALIER_LAYER_LRN, "lrn", 2, 2, 1, 0, false},
    {ESPALIER_LAYER_LRN_ADJOINT, "lrn_adjoint", 3, 3, 1, 0, false},
    {ESPALIER_LAYER_SUM_CHANNELS, "sum_channels", 2, 2, 1,
     ESPALIER_LAYER_ACCUMULATE, false},
    {ESPALIER_LAYER_PAD, "pad", 2, 2, 1, 0, false},
    {ESPALIER_LAYER_CONCAT, "concat", 2, UINT32_MAX, 1, 0, true},
    {ESPALIER_LAYER_SLICE, "slice", 2, 2, 1, 0, true},
    {ESPALIER_LAYER_SPREAD_CHANNELS, "spread_channels", 2, 2, 1, 0, false},
    {ESPALIER_LAYER_MATMUL, "matmul", 3, 4, 1,
     ESPALIER_LAYER_TRANSPOSE_A | ESPALIER_LAYER_TRANSPOSE_B |
         ESPALIER_LAYER_ACCUMULATE,
     false},
};

const LayerTraits *traitsOf(uint32_t kind) {
  for (const LayerTraits &traits : kTraits)
    if (traits.kind == kind)
      return &traits;
  return nullptr;
}

using Shape = std::vector<int64_t>;

/// Extents and attributes stay below this, so that sums and products of two
/// of them are numbers.
constexpr int64_t kMaxExtent = INT32_MAX;

/// Checks one step. The first fault is kept.
class LayerValidator {
public:
  LayerValidator(const espalier_entry &entry, const espalier_step &step,
                 const LayerTraits &traits)
      : entry(entry), step(step), layer(*step.layer), traits(traits) {}

  std::string run() {
    checkTable();
    if (fault.empty())
      checkOperands();
    if (fault.empty())
      checkKind();
    if (fault.empty())
      checkWorkspace();
    return fault;
  }

private:
  void checkTable();
  void checkOperands();
  void checkKind();
  int64_t patchesBytes();
  int64_t placesOf(uint32_t o);
  void checkWorkspace();
  void checkConvolution(uint32_t image, uint32_t weight, uint32_t result);
  void checkPool(uint32_t image, uint32_t result);
  void checkBatchNorm();
  void checkLrn();
  void checkSumChannels();
  void checkPad();
  void checkConcat();
  void checkSlice();
  void checkMatmul();
  void checkSpreadChannels();

  const espalier_buffer_desc &buffer(uint32_t o) const {
    return entry.buffers[step.operands[o].buffer];
  }
  const int64_t *shape(uint32_t o) const { return buffer(o).shape; }
  /// The first extent, and the product of all others.
  Shape matrix(uint32_t o) const {
    Shape extents{shape(o)[0], 1};
    for (uint32_t i = 1; i < buffer(o).rank; ++i)
      extents[1] *= shape(o)[i];
    return extents;
  }
  std::string describe(uint32_t o) const {
    return shapeString({shape(o), shape(o) + buffer(o).rank}, buffer(o).dtype);
  }
  bool isResult(uint32_t o) const {
    return o >= step.operand_count - step.result_count;
  }
  bool expect(bool condition, const char *fmt, ...)
      __attribute__((format(printf, 3, 4)));
  bool expectRank(uint32_t o, uint32_t rank);
  bool expectRows(uint32_t o, uint32_t as);
  bool expectShape(uint32_t o, const Shape &expected);
  bool expectAttributes(const char *name, const int64_t *values, int count,
                        int64_t least);

  const espalier_entry &entry;
  const espalier_step &step;
  const espalier_layer &layer;
  const LayerTraits &traits;
  std::string fault;
};

} // namespace

/// Returns `condition`; notes a fault if it does not hold.
bool LayerValidator::expect(bool condition, const char *fmt, ...) {
  if (condition)
    return true;
  if (!fault.empty())
    return false;
  char text[400];
  va_list args;
  va_start(args, fmt);
  std::vsnprintf(text, sizeof(text), fmt, args);
  va_end(args);
  fault = std::string(traits.name) + ": " + text;
  return false;
}

bool LayerValidator::expectRank(uint32_t o, uint32_t rank) {
  return expect(buffer(o).rank == rank, "operand %u is %s, expected rank %u", o,
                describe(o).c_str(), rank);
}

/// Of any ranks: rows of as many elements.
bool LayerValidator::expectRows(uint32_t o, uint32_t as) {
  return expect(buffer(o).rank > 0 && buffer(as).rank > 0 &&
                    matrix(o)[1] == matrix(as)[1],
                "operand %u is %s, expected rows as those of %s", o,
                describe(o).c_str(), describe(as).c_str());
}

bool LayerValidator::expectShape(uint32_t o, const Shape &expected) {
  Shape there(shape(o), shape(o) + buffer(o).rank);
  return expect(there == expected, "operand %u is %s, expected %s", o,
                describe(o).c_str(),
                shapeString(expected, buffer(o).dtype).c_str());
}

bool LayerValidator::expectAttributes(const char *name, const int64_t *values,
                                      int count, int64_t least) {
  for (int i = 0; i < count; ++i)
    if (!expect(values[i] >= least && values[i] <= kMaxExtent,
                "%s %d is %lld, expected %lld to %lld", name, i,
                (long long)values[i], (long long)least, (long long)kMaxExtent))
      return false;
  return true;
}

void LayerValidator::checkTable() {
  expect(step.operand_count >= traits.minOperands &&
             step.operand_count <= traits.maxOperands,
         "%u operands, expected %u%s", step.operand_count, traits.minOperands,
         traits.maxOperands == traits.minOperands       ? ""
         : traits.maxOperands == traits.minOperands + 1 ? " or one more"
                                                        : " or more");
  expect(step.result_count == traits.results, "%u results, expected %u",
         step.result_count, traits.results);
  expect((layer.flags & ~traits.flags) == 0, "flags 0x%x, expected only 0x%x",
         layer.flags, traits.flags);
}

void LayerValidator::checkOperands() {
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    const espalier_step_operand &operand = step.operands[o];
    const espalier_buffer_desc &desc = buffer(o);
    if (!expect(desc.rows == ESPALIER_ROWS_ONE &&
                    operand.access == ESPALIER_ACCESS_SHARED &&
                    operand.column == 0 &&
                    operand.elements == desc.row_elements,
                "operand %u is elements [%lld, %lld + %lld) of buffer %u with "
                "access %u, expected the whole buffer, with rows ONE, and "
                "access SHARED",
                o, (long long)operand.column, (long long)operand.column,
                (long long)operand.elements, operand.buffer, operand.access))
      return;
    if (!expect(desc.dtype == buffer(step.operand_count - 1).dtype &&
                    (traits.anyDtype || desc.dtype != ESPALIER_I32),
                "operand %u is %s and the result is %s, expected %s", o,
                dtypeName(desc.dtype),
                dtypeName(buffer(step.operand_count - 1).dtype),
                traits.anyDtype ? "equal types" : "all f32 or all f64"))
      return;
    for (uint32_t other = 0; other < o; ++other)
      if (!expect(!isResult(o) || buffer(o).row_elements == 0 ||
                      operand.buffer != step.operands[other].buffer ||
                      mayBeInPlace(layer.kind, other, o),
                  "operands %u and %u are both buffer %u, expected that what "
                  "is written has a buffer of its own",
                  other, o, operand.buffer))
        return;
  }
}

/// Of windows at steps of `stride` over `extent` elements and the padding, how
/// many there are; -1 if not even one fits. Rounded up if it `ceils`.
static int64_t windows(int64_t extent, int64_t before, int64_t after,
                       int64_t window, int64_t stride, bool ceils = false) {
  int64_t room = extent + before + after - window;
  return room < 0 ? -1 : (room + (ceils ? stride - 1 : 0)) / stride + 1;
}

void LayerValidator::checkConvolution(uint32_t image, uint32_t weight,
                                      uint32_t result) {
  if (!expectRank(image, 4) || !expectRank(weight, 4) ||
      !expectRank(result, 4) ||
      !expectAttributes("stride", layer.strides, 2, 1) ||
      !expectAttributes("dilation", layer.dilations, 2, 1) ||
      !expectAttributes("padding", layer.padding, 4, 0) ||
      !expectAttributes("groups", &layer.groups, 1, 1))
    return;
  const int64_t *w = shape(weight), *x = shape(image);
  if (!expect(w[0] % layer.groups == 0 && w[1] <= kMaxExtent &&
                  x[1] == w[1] * layer.groups,
              "images of %lld channels with a weight of %lldx%lld channels in "
              "%lld groups",
              (long long)x[1], (long long)w[0], (long long)w[1],
              (long long)layer.groups))
    return;
  Shape expected = {x[0], w[0], 0, 0};
  for (int i = 0; i < 2; ++i) {
    if (!expect(
            w[2 + i] >= 1 && w[2 + i] <= kMaxExtent && x[2 + i] <= kMaxExtent,
            "window extent %d is %lld of an image's %lld, expected 1 to "
            "%lld",
            i, (long long)w[2 + i], (long long)x[2 + i], (long long)kMaxExtent))
      return;
    // Less than 2^62 + 2^31.
    int64_t window = (w[2 + i] - 1) * layer.dilations[i] + 1;
    expected[2 + i] = windows(x[2 + i], layer.padding[i], layer.padding[2 + i],
                              window, layer.strides[i]);
    if (!expect(expected[2 + i] >= 0,
                "a window of %lld with padding %lld and %lld does not fit into "
                "an image of %lld",
                (long long)window, (long long)layer.padding[i],
                (long long)layer.padding[2 + i], (long long)x[2 + i]))
      return;
  }
  expectShape(result, expected);
  if (step.operand_count == 4)
    expectShape(2, {w[0]});
}

void LayerValidator::checkPool(uint32_t image, uint32_t result) {
  if (!expectRank(image, 4) || !expectRank(result, 4) ||
      !expectAttributes("window", layer.window, 2, 1) ||
      !expectAttributes("stride", layer.strides, 2, 1) ||
      !expectAttributes("padding", layer.padding, 4, 0))
    return;
  const int64_t *x = shape(image), *y = shape(result);
  if (!expect(x[0] == y[0] && x[1] == y[1],
              "images are %s and results are %s, expected as many images and "
              "channels",
              describe(image).c_str(), describe(result).c_str()))
    return;
  for (int i = 0; i < 2; ++i) {
    const int64_t size = x[2 + i], count = y[2 + i], window = layer.window[i];
    const int64_t before = layer.padding[i], after = layer.padding[2 + i];
    int64_t floor = size > kMaxExtent ? -1
                                      : windows(size, before, after, window,
                                                layer.strides[i]);
    int64_t ceiling =
        floor < 0 ? -1
                  : windows(size, before, after, window, layer.strides[i],
                            /*ceils=*/true);
    if (!expect(count >= 0 && (count == floor || count == ceiling),
                "%lld windows of %lld at steps of %lld over %lld elements with "
                "padding %lld and %lld, expected %lld, or %lld rounded up",
                (long long)count, (long long)window,
                (long long)layer.strides[i], (long long)size, (long long)before,
                (long long)after, (long long)floor, (long long)ceiling))
      return;
    // The first window ends, and the last one begins, inside the image.
    if (!expect(count == 0 || (before < window && size > 0 &&
                               (count - 1) * layer.strides[i] - before < size),
                "a window of %lld lies wholly outside of an image of %lld with "
                "padding %lld and %lld",
                (long long)window, (long long)size, (long long)before,
                (long long)after))
      return;
  }
}

void LayerValidator::checkBatchNorm() {
  bool isAdjoint = layer.kind == ESPALIER_LAYER_BATCH_NORM_ADJOINT;
  if (!expect(buffer(0).rank >= 2, "operand 0 is %s, expected rank 2 or more",
              describe(0).c_str()) ||
      !expect(layer.epsilon >= 0, "epsilon is %g, expected at least 0",
              layer.epsilon))
    return;
  // Operands with the images' shape; all others have an element a channel.
  uint32_t images[] = {0,
                       layer.kind == ESPALIER_LAYER_BATCH_NORM             ? 3u
                       : layer.kind == ESPALIER_LAYER_BATCH_NORM_INFERENCE ? 5u
                                                                           : 4u,
                       isAdjoint ? 5u : 0u};
  for (uint32_t o = 1; o < step.operand_count; ++o) {
    bool isImages = o == images[1] || o == images[2];
    if (!expectShape(o, isImages ? Shape(shape(0), shape(0) + buffer(0).rank)
                                 : Shape{shape(0)[1]}))
      return;
  }
}

void LayerValidator::checkLrn() {
  if (!expectRank(0, 4))
    return;
  for (uint32_t o = 1; o < step.operand_count; ++o)
    expectShape(o, Shape(shape(0), shape(0) + 4));
  expect(layer.size >= 1 && layer.size % 2 == 1 && layer.size <= kMaxExtent,
         "size is %lld, expected an odd number of at least 1",
         (long long)layer.size);
  expect(layer.bias > 0 && layer.alpha >= 0,
         "bias is %g and alpha is %g, expected a positive bias and an alpha "
         "of at least 0",
         layer.bias, layer.alpha);
}

void LayerValidator::checkSumChannels() {
  if (expect(buffer(0).rank >= 2, "operand 0 is %s, expected rank 2 or more",
             describe(0).c_str()))
    expectShape(1, {shape(0)[1]});
}

void LayerValidator::checkPad() {
  if (!expectRank(0, 4) || !expectAttributes("padding", layer.padding, 4, 0))
    return;
  const int64_t *x = shape(0);
  expectShape(1, {x[0], x[1], x[2] + layer.padding[0] + layer.padding[2],
                  x[3] + layer.padding[1] + layer.padding[3]});
}

void LayerValidator::checkConcat() {
  const uint32_t last = step.operand_count - 1, rank = buffer(last).rank;
  if (!expect(layer.axis < rank, "axis %u of rank %u", layer.axis, rank))
    return;
  int64_t sum = 0;
  for (uint32_t o = 0; o < last; ++o) {
    bool areRows = layer.axis == 0 && buffer(o).rank != rank;
    if (areRows ? !expectRows(o, last) : !expectRank(o, rank))
      return;
    Shape expected(shape(last), shape(last) + rank);
    expected[layer.axis] = shape(o)[layer.axis];
    if ((!areRows && !expectShape(o, expected)) ||
        !expect(!__builtin_add_overflow(sum, shape(o)[layer.axis], &sum),
                "too many elements"))
      return;
  }
  expect(sum == shape(last)[layer.axis],
         "inputs have %lld elements along axis %u, the result has %lld",
         (long long)sum, layer.axis, (long long)shape(last)[layer.axis]);
}

void LayerValidator::checkSlice() {
  uint32_t rank = buffer(0).rank;
  if (buffer(1).rank != rank) {
    if (!expectRows(1, 0))
      return;
    for (uint32_t i = 1; i < ESPALIER_MAX_RANK; ++i)
      expect(layer.offsets[i] == 0,
             "offset %lld along dimension %u of rows that have another shape",
             (long long)layer.offsets[i], i);
    rank = 1;
  }
  for (uint32_t i = 0; i < rank; ++i)
    expect(layer.offsets[i] >= 0 && shape(1)[i] <= shape(0)[i] &&
               layer.offsets[i] <= shape(0)[i] - shape(1)[i],
           "elements [%lld, %lld + %lld) of %lld along dimension %u",
           (long long)layer.offsets[i], (long long)layer.offsets[i],
           (long long)shape(1)[i], (long long)shape(0)[i], i);
}

void LayerValidator::checkMatmul() {
  uint32_t out = step.operand_count - 1;
  for (uint32_t o : {0u, 1u, out})
    if (!expect(buffer(o).rank >= 2,
                "operand %u is %s, expected rank 2 or more", o,
                describe(o).c_str()))
      return;
  bool a = layer.flags & ESPALIER_LAYER_TRANSPOSE_A;
  bool b = layer.flags & ESPALIER_LAYER_TRANSPOSE_B;
  Shape left = matrix(0), right = matrix(1), product = matrix(out);
  if (!expect(left[a ? 0 : 1] == right[b ? 1 : 0],
              "%s%s times %s%s, expected equal inner extents",
              describe(0).c_str(), a ? ", transposed," : "",
              describe(1).c_str(), b ? ", transposed" : ""))
    return;
  expect(product == Shape({left[a ? 1 : 0], right[b ? 0 : 1]}),
         "the result is %s, expected %lld rows of %lld elements",
         describe(out).c_str(), (long long)left[a ? 1 : 0],
         (long long)right[b ? 0 : 1]);
  if (out != 3)
    return;
  expectShape(2, {product[1]});
  expect(!(layer.flags & ESPALIER_LAYER_ACCUMULATE),
         "it adds a bias to what is in its result");
}

void LayerValidator::checkSpreadChannels() {
  if (expect(buffer(1).rank >= 2, "operand 1 is %s, expected rank 2 or more",
             describe(1).c_str()))
    expectShape(0, {shape(1)[1]});
}

void LayerValidator::checkKind() {
  switch (layer.kind) {
  case ESPALIER_LAYER_CONV2D:
    return checkConvolution(0, 1, step.operand_count - 1);
  case ESPALIER_LAYER_CONV2D_TRANSPOSE:
    return checkConvolution(2, 1, 0);
  case ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT:
    return checkConvolution(0, 2, 1);
  case ESPALIER_LAYER_MAX_POOL2D:
  case ESPALIER_LAYER_AVG_POOL2D:
    return checkPool(0, 1);
  case ESPALIER_LAYER_MAX_POOL2D_ADJOINT:
    checkPool(0, 1);
    if (fault.empty())
      expectShape(2, Shape(shape(0), shape(0) + 4));
    return;
  case ESPALIER_LAYER_AVG_POOL2D_ADJOINT:
    return checkPool(1, 0);
  case ESPALIER_LAYER_BATCH_NORM:
  case ESPALIER_LAYER_BATCH_NORM_INFERENCE:
  case ESPALIER_LAYER_BATCH_NORM_ADJOINT:
    return checkBatchNorm();
  case ESPALIER_LAYER_LRN:
  case ESPALIER_LAYER_LRN_ADJOINT:
    return checkLrn();
  case ESPALIER_LAYER_SUM_CHANNELS:
    return checkSumChannels();
  case ESPALIER_LAYER_PAD:
    return checkPad();
  case ESPALIER_LAYER_CONCAT:
    return checkConcat();
  case ESPALIER_LAYER_SLICE:
    return checkSlice();
  case ESPALIER_LAYER_MATMUL:
    return checkMatmul();
  case ESPALIER_LAYER_SPREAD_CHANNELS:
    return checkSpreadChannels();
  }
}

/// Of the patches of ESPALIER_PATCHES_POINTS points of a convolution; 0 if
/// there are none, or more than can be.
int64_t LayerValidator::patchesBytes() {
  bool isAdjoint = layer.kind == ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT;
  bool isTranspose = layer.kind == ESPALIER_LAYER_CONV2D_TRANSPOSE;
  const int64_t *weight = shape(isAdjoint ? 2 : 1);
  int64_t bytes = (int64_t)dtypeSize(buffer(0).dtype);
  bool fits = true;
  for (int64_t factor : {isTranspose ? weight[0] / layer.groups : weight[1],
                         weight[2], weight[3]})
    fits &= !__builtin_mul_overflow(bytes, factor, &bytes);
  if (!expect(fits && bytes < int64_t(1) << 40,
              "its patches are more than can be addressed"))
    return 0;
  return alignUp(bytes) * ESPALIER_PATCHES_POINTS;
}

/// Images times places in one, or the largest number if there are more.
int64_t LayerValidator::placesOf(uint32_t o) {
  int64_t places = shape(o)[0];
  for (int64_t extent : {shape(o)[2], shape(o)[3]})
    if (__builtin_mul_overflow(places, extent, &places))
      return INT64_MAX;
  return places;
}

void LayerValidator::checkWorkspace() {
  bool isConvolution = layer.kind <= ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT;
  if (!expect(
          layer.algorithm == ESPALIER_ALGORITHM_DIRECT ||
              (isConvolution && layer.algorithm == ESPALIER_ALGORITHM_PATCHES),
          "unknown algorithm %u", layer.algorithm))
    return;
  const int64_t needed = layer.workspace_bytes;
  if (layer.algorithm == ESPALIER_ALGORITHM_DIRECT) {
    expect(needed == 0, "a workspace of %lld bytes, expected 0",
           (long long)needed);
  } else {
    const int64_t room = patchesBytes();
    if (!expect(needed > 0 && room > 0 && needed % room == 0,
                "a workspace of %lld bytes, expected a multiple of %lld, the "
                "patches of %d points",
                (long long)needed, (long long)room, ESPALIER_PATCHES_POINTS))
      return;
    // There are no more points than places in the larger images.
    int64_t points = 1;
    for (uint32_t o = 0; o < step.operand_count; ++o)
      if (buffer(o).rank == 4)
        points = std::max(points, placesOf(o));
    const int64_t rooms = (points - 1) / ESPALIER_PATCHES_POINTS + 1;
    expect(
        needed / room <= rooms,
        "a workspace of %lld bytes, more than the patches of all %lld points",
        (long long)needed, (long long)points);
  }
  // With a plan all that a layer works with is part of it.
  bool hasPlace = entry.plan && needed > 0;
  const int64_t place = layer.workspace_offset;
  expect(hasPlace ? place >= 0 && place % kAlignment == 0 &&
                        needed <= entry.plan->device_bytes &&
                        place <= entry.plan->device_bytes - needed
                  : place == -1,
         "its workspace of %lld bytes is at %lld, expected %s",
         (long long)needed, (long long)place,
         hasPlace ? "a multiple of 64 inside the plan's device memory"
                  : "-1, no place");
}

const char *layerName(uint32_t kind) {
  const LayerTraits *traits = traitsOf(kind);
  return traits ? traits->name : nullptr;
}

std::string findLayerFault(const espalier_entry &entry,
                           const espalier_step &step) {
  if (!step.layer)
    return "it is a layer without attributes";
  const LayerTraits *traits = traitsOf(step.layer->kind);
  if (!traits)
    return format("unknown layer %u", step.layer->kind);
  return LayerValidator(entry, step, *traits).run();
}

bool mayBeInPlace(uint32_t layerKind, uint32_t read, uint32_t result) {
  switch (layerKind) {
  case ESPALIER_LAYER_BATCH_NORM:
    return read == 0 && result == 3;
  case ESPALIER_LAYER_BATCH_NORM_INFERENCE:
    return read == 0 && result == 5;
  case ESPALIER_LAYER_BATCH_NORM_ADJOINT:
    return read == 4 && result == 5;
  case ESPALIER_LAYER_LRN_ADJOINT:
    return read == 1 && result == 2;
  default:
    return false;
  }
}

} // namespace espalier
