//===- ConvolutionShape.h - The extents of a convolution --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_DEVICE_CPU_LAYERS_CONVOLUTIONSHAPE_H
#define ESPALIER_DEVICE_CPU_LAYERS_CONVOLUTIONSHAPE_H

#include "device/cpu/layers/Layer.h"

namespace espalier {

/// Which operand of a convolution, or of an adjoint of it, is what: the images
/// with the input's shape, those with the result's, and the weight or what has
/// its shape.
struct ConvolutionRoles {
  size_t image, weight, result;
};
inline ConvolutionRoles convolutionRoles(const LayerProblem &problem) {
  switch (problem.layer.kind) {
  case ESPALIER_LAYER_CONV2D:
    return {0, 1, problem.operands.size() - 1};
  case ESPALIER_LAYER_CONV2D_TRANSPOSE:
    return {2, 1, 0};
  default: // ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT
    return {0, 2, 1};
  }
}

struct ConvolutionShape {
  int64_t images, groups;
  /// Channels of a group: of the image, and of the result.
  int64_t imageChannels, resultChannels;
  int64_t height, width;             // of the image
  int64_t windowHeight, windowWidth; // of the weight
  int64_t resultHeight, resultWidth;
  int64_t strides[2], dilations[2], padding[4];

  explicit ConvolutionShape(const LayerProblem &problem) {
    const espalier_layer &layer = problem.layer;
    ConvolutionRoles roles = convolutionRoles(problem);
    const int64_t *image = problem.operands[roles.image].shape;
    const int64_t *weight = problem.operands[roles.weight].shape;
    const int64_t *result = problem.operands[roles.result].shape;
    images = image[0];
    groups = layer.groups;
    imageChannels = weight[1];
    resultChannels = weight[0] / groups;
    height = image[2];
    width = image[3];
    windowHeight = weight[2];
    windowWidth = weight[3];
    resultHeight = result[2];
    resultWidth = result[3];
    for (int i = 0; i < 2; ++i) {
      strides[i] = layer.strides[i];
      dilations[i] = layer.dilations[i];
    }
    for (int i = 0; i < 4; ++i)
      padding[i] = layer.padding[i];
  }

  int64_t window() const { return windowHeight * windowWidth; }
  int64_t imageArea() const { return height * width; }
  int64_t resultArea() const { return resultHeight * resultWidth; }
  /// Elements of a weight's row: of all that one result channel reads.
  int64_t taps() const { return imageChannels * window(); }
};

} // namespace espalier

#endif // ESPALIER_DEVICE_CPU_LAYERS_CONVOLUTIONSHAPE_H
