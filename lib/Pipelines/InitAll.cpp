//===- InitAll.cpp - Registration, for tools --------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/InitAll.h"

#include "espalier/Conversion/Passes.h"
#include "espalier/Dialect/Model/IR/Model.h"
#include "espalier/Dialect/NN/Transforms/Passes.h"
#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"
#include "espalier/Pipelines/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void espalier::registerAllDialects(DialectRegistry &registry) {
  registry.insert<nn::NNDialect, vertex::VertexDialect, model::ModelDialect,
                  arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, tensor::TensorDialect, ub::UBDialect,
                  mlir::vector::VectorDialect>();
  nn::registerBatchableUpstreamOps(registry);
  nn::registerDifferentiableUpstreamOps(registry);
  nn::registerLayerUpstreamOps(registry);
}

void espalier::registerAllPasses() {
  nn::registerNNPasses();
  vertex::registerVertexPasses();
  registerConversionPasses();
  registerCanonicalizerPass();
  registerCSEPass();
  registerSymbolDCEPass();
  PassPipelineRegistration<PipelineOptions>(
      "espalier-batching-pipeline",
      "From model IR to tensors of rows and loops over tasks",
      buildBatchingPipeline);
  PassPipelineRegistration<PipelineOptions>(
      "espalier-pipeline", "From model IR to model tables and LLVM kernels",
      [](OpPassManager &manager, const PipelineOptions &options) {
        buildBatchingPipeline(manager, options);
        buildLoweringPipeline(manager, options);
      });
}
