//===- Pipelines.h - The order of passes ------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_PIPELINES_PIPELINES_H
#define ESPALIER_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace espalier {

struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  Option<bool> specialize{*this, "specialize",
                          llvm::cl::desc("Derive leaf and inner variants"),
                          llvm::cl::init(true)};
  Option<bool> fuse{*this, "fuse", llvm::cl::desc("Fuse elementwise operators"),
                    llvm::cl::init(true)};
  Option<std::string> train{
      *this, "train",
      llvm::cl::desc("Add an entry that trains the loss, with this optimiser"),
      llvm::cl::init("")};
  Option<bool> gradient{
      *this, "gradient",
      llvm::cl::desc("Add an entry that returns the gradient of the loss"),
      llvm::cl::init(false)};
  Option<std::string> loss{
      *this, "loss",
      llvm::cl::desc("The entry to differentiate, if there are several"),
      llvm::cl::init("")};
  ListOption<std::string> results{
      *this, "results",
      llvm::cl::desc("Results of the first entry that are wanted; all if none "
                     "is named")};
  Option<bool> clip{*this, "clip",
                    llvm::cl::desc("Training clips gradients by their norm"),
                    llvm::cl::init(true)};
  Option<bool> decay{*this, "decay", llvm::cl::desc("Training decays weights"),
                     llvm::cl::init(true)};
  Option<bool> recompute{
      *this, "recompute",
      llvm::cl::desc("Compute cheap values again for the backward pass"),
      llvm::cl::init(true)};
  Option<bool> split{
      *this, "split",
      llvm::cl::desc("Split products of pulled and gathered values"),
      llvm::cl::init(true)};
  Option<bool> hoist{
      *this, "hoist",
      llvm::cl::desc("Hoist work of children out of regions over them"),
      llvm::cl::init(true)};
  Option<bool> eager{*this, "eager",
                     llvm::cl::desc("Batch eager operators over all vertices"),
                     llvm::cl::init(true)};
  Option<bool> lazy{*this, "lazy",
                    llvm::cl::desc("Batch lazy operators over all vertices"),
                    llvm::cl::init(true)};
  Option<bool> share{*this, "share",
                     llvm::cl::desc("Evaluate equal vertices once"),
                     llvm::cl::init(true)};
  Option<std::string> budget{
      *this, "memory-budget",
      llvm::cl::desc("Bytes that a layered network may have of the device's"),
      llvm::cl::init("")};
  Option<std::string> machine{
      *this, "machine",
      llvm::cl::desc("File that describes the device and its link"),
      llvm::cl::init("")};
  Option<bool> offload{*this, "offload",
                       llvm::cl::desc("Plans may offload tensors to the host"),
                       llvm::cl::init(true)};
  Option<bool> recomputeLayers{
      *this, "recompute-layers",
      llvm::cl::desc("Plans may run layers of a network again"),
      llvm::cl::init(true)};
  Option<bool> splitLayers{
      *this, "split-layers",
      llvm::cl::desc("Plans may run layers for a part of the batch at a time"),
      llvm::cl::init(true)};
  Option<bool> selectAlgorithms{
      *this, "select-conv-algorithms",
      llvm::cl::desc("Convolutions use free memory for workspaces"),
      llvm::cl::init(true)};
  Option<bool> inPlace{
      *this, "in-place",
      llvm::cl::desc(
          "Results of layered networks take over memory of operands"),
      llvm::cl::init(true)};
  Option<unsigned> vectorBits{*this, "vector-bits",
                              llvm::cl::desc("Width of a vector register"),
                              llvm::cl::init(256)};
};

/// From model IR to tensors of rows, and from layered networks to planned ones:
/// what `espalier-compile --emit=mlir` prints.
void buildBatchingPipeline(mlir::OpPassManager &manager,
                           const PipelineOptions &options);

/// The part of it that plans layered networks.
void buildPlanningPipeline(mlir::OpPassManager &manager,
                           const PipelineOptions &options);

/// From there to model tables and kernels in the LLVM dialect.
void buildLoweringPipeline(mlir::OpPassManager &manager,
                           const PipelineOptions &options);

} // namespace espalier

#endif // ESPALIER_PIPELINES_PIPELINES_H
