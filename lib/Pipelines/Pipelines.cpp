//===- Pipelines.cpp - The order of passes ----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Pipelines/Pipelines.h"

#include "espalier/Conversion/Passes.h"
#include "espalier/Dialect/NN/Transforms/Passes.h"
#include "espalier/Dialect/Plan/Transforms/Passes.h"
#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace espalier;

void espalier::buildBatchingPipeline(OpPassManager &manager,
                                     const PipelineOptions &options) {
  if (!options.results.empty()) {
    nn::KeepResultsPassOptions keep;
    keep.results.assign(options.results.begin(), options.results.end());
    manager.addPass(nn::createKeepResultsPass(keep));
  }
  manager.addPass(createCanonicalizerPass());
  // A bias on its own stays when its product with zeros goes. Around vertex
  // functions it becomes a group, which has no derivative, so that waits.
  manager.addNestedPass<vertex::FuncOp>(nn::createExpandDensePass());
  if (options.split)
    manager.addPass(vertex::createSplitProductsPass());
  if (options.hoist)
    manager.addPass(vertex::createHoistChildOperatorsPass());
  // Before differentiating, which weights the loss as this does sums.
  if (options.share)
    manager.addPass(vertex::createShareVerticesPass());
  if (options.gradient || !options.train.empty()) {
    vertex::DifferentiatePassOptions derivative;
    derivative.entry = options.loss;
    derivative.recompute = options.recompute;
    manager.addPass(vertex::createDifferentiatePass(derivative));
  }
  if (!options.train.empty()) {
    nn::AddTrainStepPassOptions step;
    step.optimizer = options.train;
    step.clip = options.clip;
    step.decay = options.decay;
    manager.addPass(nn::createAddTrainStepPass(step));
  }
  manager.addPass(nn::createExpandDensePass());
  if (options.specialize)
    manager.addPass(vertex::createSpecializeLeavesPass());
  manager.addPass(vertex::createPrunePushesPass());
  // After specialising, which is what leaves columns unread.
  manager.addPass(nn::createHoistSlicesPass());
  // Merges slices of one value, so that groups read it once.
  manager.addPass(createCSEPass());
  manager.addPass(createCanonicalizerPass());
  nn::FuseElementwisePassOptions fusion;
  fusion.singletons = !options.fuse;
  manager.addPass(nn::createFuseElementwisePass(fusion));
  // A group has one phase, so groups come first.
  vertex::ClassifyOperatorsPassOptions phases;
  phases.eager = options.eager;
  phases.lazy = options.lazy;
  manager.addPass(vertex::createClassifyOperatorsPass(phases));
  manager.addPass(vertex::createBatchVerticesPass());
  manager.addPass(createCanonicalizerPass());
  // Sums over vertices leave arithmetic between the applies.
  manager.addPass(nn::createFuseElementwisePass(fusion));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Last: each table is filled by itself, though all start as the same zeros.
  manager.addPass(nn::createExpandScatterRowsPass());
  buildPlanningPipeline(manager, options);
}

void espalier::buildPlanningPipeline(OpPassManager &manager,
                                     const PipelineOptions &options) {
  manager.addNestedPass<func::FuncOp>(plan::createSeparateResultsPass());
  manager.addNestedPass<func::FuncOp>(plan::createOrderOperatorsPass());
  if (!options.budget.empty() || !options.machine.empty()) {
    plan::PlanMemoryPassOptions memory;
    memory.budget = options.budget;
    memory.machine = options.machine;
    memory.inPlace = options.inPlace;
    memory.split = options.splitLayers;
    memory.offload = options.offload;
    memory.recompute = options.recomputeLayers;
    manager.addNestedPass<func::FuncOp>(plan::createPlanMemoryPass(memory));
  }
  plan::AssignBuffersPassOptions assignment;
  assignment.inPlace = options.inPlace;
  manager.addNestedPass<func::FuncOp>(
      plan::createAssignBuffersPass(assignment));
  // Which algorithm is faster is the machine's business.
  if (options.selectAlgorithms && !options.machine.empty()) {
    plan::SelectConvAlgorithmsPassOptions algorithms;
    algorithms.machine = options.machine;
    manager.addNestedPass<func::FuncOp>(
        plan::createSelectConvAlgorithmsPass(algorithms));
  }
}

void espalier::buildLoweringPipeline(OpPassManager &manager,
                                     const PipelineOptions &options) {
  LowerToModelPassOptions lowering;
  lowering.vectorBits = options.vectorBits;
  manager.addPass(createLowerToModelPass(lowering));
  // Kernels of equal rows share address arithmetic and constants.
  manager.addPass(createCSEPass());
  manager.addPass(createExpandMathPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createLowerKernelsPass());
  manager.addPass(createCSEPass());
}
