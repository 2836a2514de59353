//===- TrainedLayer.h - A small plan by hand --------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer with its weight on the device, trained:
//
//   x, w -> dense -> y -> relu -> r; r -> loss -> l, d; d, y -> adjoint -> g
//   g, x -> weights -> dw; w, dw -> update -> w'
//
// y goes to the host and comes back for the adjoint; r takes over y's memory, g
// that of d. Operators take 1, 2, 1, 3, 4 and 1 seconds.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_UNIT_PLANNING_TRAINEDLAYER_H
#define ESPALIER_TEST_UNIT_PLANNING_TRAINEDLAYER_H

#include "RandomPlan.h"

namespace espalier::planning {

namespace trained_layer {
enum : TensorId { x, w, y, r, l, d, g, dw, w2 };
enum : OperatorId { dense, relu, loss, adjoint, weights, update };
} // namespace trained_layer

RandomPlan makeTrainedLayer();

} // namespace espalier::planning

#endif // ESPALIER_TEST_UNIT_PLANNING_TRAINEDLAYER_H
