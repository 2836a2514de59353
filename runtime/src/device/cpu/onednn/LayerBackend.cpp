//===- LayerBackend.cpp - Layers by oneDNN --------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN's fast convolutions want blocks of channels side by side. But for
// windows of one point, copying images and weights to such layouts and back
// costs less than its kernels for plain layouts lose (docs/performance.md), so
// each part does so for its own images.
//
// A convolution is cut by images; where there are fewer of these than threads,
// into ranges of the channels that it writes. The adjoint of a weight, a sum
// over images, is computed for each part of the images; then these sums are
// added up in order, so that bits depend on the number of threads that the
// layer was made for, but not on when they run.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/onednn/LayerBackend.h"

#include "device/cpu/onednn/Threads.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

namespace espalier {
namespace {

using Memory = dnnl::memory;
using Dims = Memory::dims;
using Desc = Memory::desc;

constexpr auto kF32 = Memory::data_type::f32;

int64_t alignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// [begin, end) of `extent`, cut into `parts`.
struct Range {
  int64_t begin, end;
  Range(int64_t extent, int64_t parts, int64_t part)
      : begin(extent * part / parts), end(extent * (part + 1) / parts) {}
  int64_t size() const { return end - begin; }
};

/// A stream of the calling thread's.
dnnl::stream &stream() {
  thread_local dnnl::stream own(oneDnnEngine());
  return own;
}

Memory at(const Desc &desc, const void *data) {
  return Memory(desc, oneDnnEngine(), const_cast<void *>(data));
}

Desc any(const Dims &dims) { return Desc(dims, kF32, Memory::format_tag::any); }

/// A copy between two layouts of a tensor; nothing if they are the same.
class Copy {
public:
  Copy() = default;
  Copy(const Desc &from, const Desc &to, bool accumulates = false)
      : from(from), to(to) {
    if (from == to && !accumulates)
      return;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (accumulates) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    dnnl::reorder::primitive_desc desc(oneDnnEngine(), from, oneDnnEngine(), to,
                                       attributes);
    scratchpad = desc.scratchpad_desc();
    primitive = dnnl::reorder(desc);
    isNeeded = true;
  }
  void run(const void *source, void *target, char *scratch) const {
    primitive.execute(stream(),
                      {{DNNL_ARG_FROM, at(from, source)},
                       {DNNL_ARG_TO, at(to, target)},
                       {DNNL_ARG_SCRATCHPAD, at(scratchpad, scratch)}});
  }
  int64_t scratchBytes() const {
    return isNeeded ? alignUp((int64_t)scratchpad.get_size()) : 0;
  }
  bool isNeeded = false;

private:
  Desc from, to, scratchpad;
  dnnl::reorder primitive;
};

class Layer {
public:
  virtual ~Layer() = default;
  virtual int64_t scratchBytes() const = 0;
  virtual int64_t stages() const = 0;
  virtual int64_t parts(int64_t stage) const = 0;
  virtual void run(int64_t stage, int64_t part, float *const *operands,
                   char *scratch) const = 0;
};

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// What the three kinds of convolution share.
class ConvolutionBase : public Layer {
protected:
  explicit ConvolutionBase(const OneDnnConvolution &shape) : shape(shape) {}

  Dims imageDims(int64_t images, int64_t channels) const {
    return {images, channels, shape.height, shape.width};
  }
  Dims resultDims(int64_t images, int64_t results) const {
    return {images, results, shape.resultHeight, shape.resultWidth};
  }
  static Desc plainImages(const Dims &dims) {
    return Desc(dims, kF32, Memory::format_tag::nchw);
  }
  /// The layout that is fastest, copies included. With a window of one point
  /// the convolution is a product of plain matrices, which loses less than
  /// copies cost, unless images are so small that a matrix has few columns.
  Desc imageLayout(const Dims &dims) const {
    constexpr int64_t kMinArea = 64;
    const bool isProduct = shape.windowHeight == 1 && shape.windowWidth == 1 &&
                           shape.strides[0] == 1 && shape.strides[1] == 1 &&
                           shape.groups == 1 &&
                           shape.resultHeight * shape.resultWidth >= kMinArea;
    return isProduct ? plainImages(dims) : any(dims);
  }
  /// A weight, or a range of its channels or results if it has one group.
  Dims weightDims(int64_t channels, int64_t results) const {
    if (shape.groups == 1)
      return {results, channels, shape.windowHeight, shape.windowWidth};
    return {shape.groups, results / shape.groups, channels / shape.groups,
            shape.windowHeight, shape.windowWidth};
  }
  /// Where such a range is in the whole weight.
  Desc plainWeight(const Dims &dims) const {
    if (shape.groups > 1)
      return Desc(dims, kF32, Memory::format_tag::goihw);
    const int64_t window = shape.windowHeight * shape.windowWidth;
    return Desc(dims, kF32,
                Dims{shape.channels * window, window, shape.windowWidth, 1});
  }
  Dims strides() const { return {shape.strides[0], shape.strides[1]}; }
  Dims dilations() const {
    return {shape.dilations[0] - 1, shape.dilations[1] - 1};
  }
  Dims paddingBefore() const { return {shape.padding[0], shape.padding[1]}; }
  Dims paddingAfter() const { return {shape.padding[2], shape.padding[3]}; }
  static dnnl::primitive_attr attributes() {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attributes;
  }
  dnnl::convolution_forward::primitive_desc
  describeForward(const Desc &image, const Desc &weight, const Desc &bias,
                  const Desc &result) const {
    return {{dnnl::prop_kind::forward_training,
             dnnl::algorithm::convolution_direct, image, weight, bias, result,
             strides(), dilations(), paddingBefore(), paddingAfter()},
            attributes(),
            oneDnnEngine()};
  }

  OneDnnConvolution shape;
};

/// A forward convolution, or the adjoint of its input: images in, images out.
class ImageConvolution final : public ConvolutionBase {
public:
  explicit ImageConvolution(const OneDnnConvolution &shape)
      : ConvolutionBase(shape), isForward(shape.kind == shape.Forward),
        byChannels(shape.images == 1 && shape.groups == 1) {
    const int64_t written = isForward ? shape.results : shape.channels;
    // Ranges of fewer channels are not worth a thread's while.
    constexpr int64_t kMinChannels = 16;
    cuts = byChannels
               ? std::max<int64_t>(1, std::min<int64_t>(shape.threads,
                                                        written / kMinChannels))
               : std::min<int64_t>(shape.threads, shape.images);
    for (int64_t part = 0; part < cuts; ++part) {
      Range range(byChannels ? written : shape.images, cuts, part);
      for (piece = 0; piece < pieces.size(); ++piece)
        if (pieces[piece].size == range.size())
          break;
      if (piece == pieces.size())
        pieces.push_back(makePiece(range.size()));
      pieceOf.push_back(piece);
    }
    // Parts of other sizes read the same weight.
    sharesWeight = !byChannels;
    for (const Piece &other : pieces)
      sharesWeight &= other.weight == pieces[0].weight;
    for (const Piece &other : pieces) {
      weightBytes = std::max(
          weightBytes, other.copyWeight.isNeeded ? bytesOf(other.weight) : 0);
      copyBytes = std::max(copyBytes, other.copyWeight.scratchBytes());
      partBytes = std::max(
          partBytes,
          (other.copyIn.isNeeded ? bytesOf(other.in) : 0) +
              (other.copyOut.isNeeded ? bytesOf(other.out) : 0) +
              std::max({other.copyIn.scratchBytes(),
                        other.copyOut.scratchBytes(),
                        alignUp((int64_t)other.scratchpad.get_size())}));
    }
  }

  int64_t scratchBytes() const override {
    return weightCopies() * (weightBytes + copyBytes) + cuts * partBytes;
  }
  int64_t stages() const override { return 2; }
  int64_t parts(int64_t stage) const override {
    return stage == 0 ? weightCopies() : cuts;
  }

  void run(int64_t stage, int64_t part, float *const *operands,
           char *scratch) const override {
    const Piece &piece = pieces[pieceOf[part]];
    const float *weight = operands[1];
    Range channels(isForward ? shape.results : shape.channels, cuts, part);
    if (byChannels)
      weight += channels.begin * shape.windowHeight * shape.windowWidth *
                (isForward ? shape.channels : 1);
    char *packed = scratch + (sharesWeight ? 0 : part * weightBytes);
    char *afterWeights = scratch + weightCopies() * (weightBytes + copyBytes);
    if (stage == 0) {
      if (piece.copyWeight.isNeeded)
        piece.copyWeight.run(weight, packed,
                             scratch + weightCopies() * weightBytes +
                                 part * copyBytes);
      return;
    }
    Range images(shape.images, byChannels ? 1 : cuts, byChannels ? 0 : part);
    const int64_t read =
        isForward ? shape.channels * shape.height * shape.width
                  : shape.results * shape.resultHeight * shape.resultWidth;
    const int64_t writtenArea = isForward
                                    ? shape.resultHeight * shape.resultWidth
                                    : shape.height * shape.width;
    const int64_t written =
        (isForward ? shape.results : shape.channels) * writtenArea;
    const float *from = operands[0] + images.begin * read;
    float *to = operands[isForward && shape.hasBias ? 3 : 2] +
                images.begin * written +
                (byChannels ? channels.begin * writtenArea : 0);
    char *mine = afterWeights + part * partBytes;
    const void *in = from;
    void *out = to;
    if (piece.copyIn.isNeeded) {
      in = mine;
      mine += bytesOf(piece.in);
    }
    if (piece.copyOut.isNeeded) {
      out = mine;
      mine += bytesOf(piece.out);
    }
    if (piece.copyIn.isNeeded)
      piece.copyIn.run(from, const_cast<void *>(in), mine);
    const void *usedWeight =
        piece.copyWeight.isNeeded ? (const void *)packed : (const void *)weight;
    if (isForward) {
      std::unordered_map<int, Memory> arguments = {
          {DNNL_ARG_SRC, at(piece.in, in)},
          {DNNL_ARG_WEIGHTS, at(piece.weight, usedWeight)},
          {DNNL_ARG_DST, at(piece.out, out)},
          {DNNL_ARG_SCRATCHPAD, at(piece.scratchpad, mine)}};
      if (shape.hasBias)
        arguments.emplace(
            DNNL_ARG_BIAS,
            at(piece.bias, operands[2] + (byChannels ? channels.begin : 0)));
      piece.primitive.execute(stream(), arguments);
    } else {
      piece.primitive.execute(
          stream(), {{DNNL_ARG_DIFF_DST, at(piece.in, in)},
                     {DNNL_ARG_WEIGHTS, at(piece.weight, usedWeight)},
                     {DNNL_ARG_DIFF_SRC, at(piece.out, out)},
                     {DNNL_ARG_SCRATCHPAD, at(piece.scratchpad, mine)}});
    }
    if (piece.copyOut.isNeeded)
      piece.copyOut.run(out, to, mine);
  }

private:
  /// What is made for so many images, or so many of the channels written.
  struct Piece {
    int64_t size;
    Desc in, weight, bias, out, scratchpad;
    dnnl::primitive primitive;
    Copy copyIn, copyWeight, copyOut;
  };

  static int64_t bytesOf(const Desc &desc) {
    return alignUp((int64_t)desc.get_size());
  }
  int64_t weightCopies() const { return sharesWeight ? 1 : cuts; }

  Piece makePiece(int64_t size) const {
    const int64_t images = byChannels ? shape.images : size;
    const int64_t channels = byChannels && !isForward ? size : shape.channels;
    const int64_t results = byChannels && isForward ? size : shape.results;
    const Dims image = imageDims(images, channels);
    const Dims result = resultDims(images, results);
    const Dims weight = weightDims(channels, results);
    Piece piece;
    piece.size = size;
    if (shape.hasBias)
      piece.bias = Desc({results}, kF32, Memory::format_tag::x);
    auto forward = describeForward(imageLayout(image), any(weight), piece.bias,
                                   imageLayout(result));
    if (isForward) {
      piece.in = forward.src_desc();
      piece.weight = forward.weights_desc();
      piece.out = forward.dst_desc();
      piece.scratchpad = forward.scratchpad_desc();
      piece.primitive = dnnl::convolution_forward(forward);
    } else {
      dnnl::convolution_backward_data::primitive_desc backward(
          {dnnl::algorithm::convolution_direct, imageLayout(image), any(weight),
           imageLayout(result), strides(), dilations(), paddingBefore(),
           paddingAfter()},
          attributes(), oneDnnEngine(), forward);
      piece.in = backward.diff_dst_desc();
      piece.weight = backward.weights_desc();
      piece.out = backward.diff_src_desc();
      piece.scratchpad = backward.scratchpad_desc();
      piece.primitive = dnnl::convolution_backward_data(backward);
    }
    piece.copyIn = Copy(plainImages(isForward ? image : result), piece.in);
    piece.copyWeight = Copy(plainWeight(weight), piece.weight);
    piece.copyOut = Copy(piece.out, plainImages(isForward ? result : image));
    return piece;
  }

  bool isForward;
  bool byChannels;
  int64_t cuts;
  size_t piece;
  std::vector<Piece> pieces;
  std::vector<size_t> pieceOf; // of each part
  bool sharesWeight;
  int64_t weightBytes = 0, copyBytes = 0, partBytes = 0;
};

class WeightAdjoint final : public ConvolutionBase {
public:
  explicit WeightAdjoint(const OneDnnConvolution &shape)
      : ConvolutionBase(shape),
        cuts(std::min<int64_t>(shape.threads, shape.images)) {
    const Dims weight = weightDims(shape.channels, shape.results);
    // The first size chooses the layout of the weight for all.
    Desc layout = any(weight);
    for (int64_t part = 0; part < cuts; ++part) {
      const int64_t size = Range(shape.images, cuts, part).size();
      size_t known = 0;
      while (known < pieces.size() && pieces[known].size != size)
        ++known;
      if (known == pieces.size()) {
        pieces.push_back(makePiece(size, layout));
        layout = pieces[0].weight;
      }
      pieceOf.push_back(known);
    }
    copyWeight = Copy(layout, plainWeight(weight), shape.accumulates);
    sumBytes = alignUp((int64_t)layout.get_size());
    for (const Piece &piece : pieces)
      partBytes =
          std::max(partBytes,
                   (piece.copyImage.isNeeded ? bytesOf(piece.image) : 0) +
                       (piece.copyResult.isNeeded ? bytesOf(piece.result) : 0) +
                       std::max({piece.copyImage.scratchBytes(),
                                 piece.copyResult.scratchBytes(),
                                 bytesOf(piece.scratchpad)}));
  }

  int64_t scratchBytes() const override {
    return cuts * (sumBytes + partBytes) + copyWeight.scratchBytes();
  }
  int64_t stages() const override { return 3; }
  int64_t parts(int64_t stage) const override {
    return stage == 0 ? cuts : stage == 1 && cuts > 1 ? cuts : 1;
  }

  void run(int64_t stage, int64_t part, float *const *operands,
           char *scratch) const override {
    auto sums = [&](int64_t p) {
      return reinterpret_cast<float *>(scratch + p * sumBytes);
    };
    if (stage == 0)
      return runPart(part, operands, scratch);
    if (stage == 1) {
      const Range range(sumBytes / (int64_t)sizeof(float), cuts, part);
      for (int64_t p = 1; p < cuts; ++p) {
        float *to = sums(0);
        const float *more = sums(p);
        for (int64_t i = range.begin; i < range.end; ++i)
          to[i] += more[i];
      }
      return;
    }
    if (copyWeight.isNeeded)
      copyWeight.run(sums(0), operands[2],
                     scratch + cuts * (sumBytes + partBytes));
    else
      std::copy_n(sums(0),
                  shape.results * (shape.channels / shape.groups) *
                      shape.windowHeight * shape.windowWidth,
                  operands[2]);
  }

private:
  struct Piece {
    int64_t size;
    Desc image, result, weight, scratchpad;
    dnnl::convolution_backward_weights primitive;
    Copy copyImage, copyResult;
  };

  static int64_t bytesOf(const Desc &desc) {
    return alignUp((int64_t)desc.get_size());
  }

  Piece makePiece(int64_t images, const Desc &weight) const {
    const Dims image = imageDims(images, shape.channels);
    const Dims result = resultDims(images, shape.results);
    auto forward = describeForward(
        imageLayout(image), any(weightDims(shape.channels, shape.results)),
        Desc(), imageLayout(result));
    dnnl::convolution_backward_weights::primitive_desc backward(
        {dnnl::algorithm::convolution_direct, imageLayout(image), weight,
         imageLayout(result), strides(), dilations(), paddingBefore(),
         paddingAfter()},
        attributes(), oneDnnEngine(), forward);
    Piece piece;
    piece.size = images;
    piece.image = backward.src_desc();
    piece.result = backward.diff_dst_desc();
    piece.weight = backward.diff_weights_desc();
    piece.scratchpad = backward.scratchpad_desc();
    piece.primitive = dnnl::convolution_backward_weights(backward);
    piece.copyImage = Copy(plainImages(image), piece.image);
    piece.copyResult = Copy(plainImages(result), piece.result);
    return piece;
  }

  void runPart(int64_t part, float *const *operands, char *scratch) const {
    const Piece &piece = pieces[pieceOf[part]];
    const Range images(shape.images, cuts, part);
    const float *image = operands[0] + images.begin * shape.channels *
                                           shape.height * shape.width;
    const float *result = operands[1] + images.begin * shape.results *
                                            shape.resultHeight *
                                            shape.resultWidth;
    char *mine = scratch + cuts * sumBytes + part * partBytes;
    const void *usedImage = image, *usedResult = result;
    if (piece.copyImage.isNeeded) {
      usedImage = mine;
      mine += bytesOf(piece.image);
    }
    if (piece.copyResult.isNeeded) {
      usedResult = mine;
      mine += bytesOf(piece.result);
    }
    if (piece.copyImage.isNeeded)
      piece.copyImage.run(image, const_cast<void *>(usedImage), mine);
    if (piece.copyResult.isNeeded)
      piece.copyResult.run(result, const_cast<void *>(usedResult), mine);
    piece.primitive.execute(
        stream(),
        {{DNNL_ARG_SRC, at(piece.image, usedImage)},
         {DNNL_ARG_DIFF_DST, at(piece.result, usedResult)},
         {DNNL_ARG_DIFF_WEIGHTS, at(piece.weight, scratch + part * sumBytes)},
         {DNNL_ARG_SCRATCHPAD, at(piece.scratchpad, mine)}});
  }

  int64_t cuts;
  std::vector<Piece> pieces;
  std::vector<size_t> pieceOf;
  Copy copyWeight;
  int64_t sumBytes, partBytes = 0;
};

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void *createConvolution(const OneDnnConvolution *shape) {
  std::unique_ptr<Layer> layer;
  oneDnnSucceeds([&] {
    if (shape->kind == OneDnnConvolution::WeightAdjoint)
      layer = std::make_unique<WeightAdjoint>(*shape);
    else
      layer = std::make_unique<ImageConvolution>(*shape);
  });
  return layer.release();
}

const Layer &layerOf(const void *layer) {
  return *static_cast<const Layer *>(layer);
}

void destroy(void *layer) { delete static_cast<Layer *>(layer); }

int64_t scratchBytes(const void *layer) {
  return layerOf(layer).scratchBytes();
}
int64_t stages(const void *layer) { return layerOf(layer).stages(); }
int64_t parts(const void *layer, int64_t stage) {
  return layerOf(layer).parts(stage);
}

bool run(const void *layer, int64_t stage, int64_t part, float *const *operands,
         char *scratch) {
  return oneDnnSucceeds([&] {
    layerOf(layer).run(stage, part, operands, scratch);
    stream().wait();
  });
}

bool multiply(const OneDnnProduct *p) {
  return oneDnnSucceeds([&] {
    dnnl_status_t status =
        dnnl_sgemm(p->transposesA ? 'T' : 'N', p->transposesB ? 'T' : 'N', p->m,
                   p->n, p->k, 1.0f, p->a, p->ldA, p->b, p->ldB,
                   p->accumulates ? 1.0f : 0.0f, p->out, p->ldOut);
    dnnl::error::wrap_c_api(status, "could not execute a matrix product");
  });
}

const char *error() { return lastOneDnnError().c_str(); }

const OneDnnLayers layers = {sizeof(OneDnnLayers),
                             createConvolution,
                             destroy,
                             scratchBytes,
                             stages,
                             parts,
                             run,
                             multiply,
                             error};

} // namespace
} // namespace espalier

extern "C" __attribute__((visibility("default"))) const espalier::OneDnnLayers *
espalier_onednn_layers() {
  return &espalier::layers;
}
