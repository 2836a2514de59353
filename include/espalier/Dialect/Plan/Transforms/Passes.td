//===- Passes.td - Memory plans of layered networks --------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_TRANSFORMS_PASSES
#define ESPALIER_DIALECT_PLAN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignBuffersPass : Pass<"assign-buffers", "::mlir::func::FuncOp"> {
  let summary = "Gives every tensor of a layered network its place in memory.";
  let description = [{
    Tensors whose lifetimes do not overlap may lie at the same offset, and a
    result may take over the memory of an operand that ends there, where the
    operator allows it (`LayerOpInterface`). The new value of a parameter lies
    where the old one does. Offsets are chosen by a packer that is free of IR
    (espalier/Planning/AssignBuffers.h).

    Needs: a layered network: static shapes, no graphs, one block. Other
    functions are left alone.
    Guarantees: every value that has memory of its own has a `plan.offsets`, every
    argument on the device a `plan.offset`, all multiples of 64; the function
    has its `plan.memory`. Nothing else changes, but that the operator that
    makes a parameter's new value moves behind those that read the old one.
    Limits: a function whose new value of a parameter is read before the last
    operator that reads the old one is an error.
    Reports: remark `assigned` in category `assign-buffers` with the bytes of the
    arena, and the load, which no arena is smaller than.

    ```mlir
    func.func @f(%x: tensor<2x3x8x8xf32> {nn.input = "x"})
        -> (tensor<2x3x4x4xf32> {nn.output = "y"}) {
      %0 = nn.relu %x : tensor<2x3x8x8xf32>
      %1 = nn.max_pool2d %0 {window = [2, 2], strides = [2, 2]} : tensor<2x3x8x8xf32>
      return %1 : tensor<2x3x4x4xf32>
    }
    ```
    becomes
    ```mlir
    %0 = nn.relu %arg0 {plan.offsets = array<i64: 1536>} : tensor<2x3x8x8xf32>
    %1 = nn.max_pool2d %0 {plan.offsets = array<i64: 3072>, strides = [2, 2], window = [2, 2]} : tensor<2x3x8x8xf32>
    ```
  }];
  let options = [
    Option<"inPlace", "in-place", "bool", "true",
           "Results may take over the memory of operands">,
  ];
  let dependentDialects = ["::espalier::plan::PlanDialect"];
}

def SeparateResultsPass : Pass<"separate-results", "::mlir::func::FuncOp"> {
  let summary = "Gives each result of a layered network memory of its own.";
  let description = [{
    A result is made where its user wants it, and the new value of a parameter
    where the old one is. A result that no operator makes for that alone is
    copied: an argument, a constant, some rows of an input, or what is another
    result as well. The new value of a parameter that is the old one of another
    is copied twice, so that all old values are read before a new one is written
    (two parameters can be exchanged).

    Needs: a layered network that is not planned yet. Other functions are left
    alone.
    Guarantees: the same results, each made by an operator of its own, but for
    parameters that stay what they are.

    ```mlir
    func.func @f(%x: tensor<2x3x5x5xf32> {nn.input = "x"})
        -> (tensor<2x3x4x4xf32> {nn.output = "y"}, tensor<2x3x4x4xf32> {nn.output = "z"}) {
      %0 = nn.max_pool2d %x {window = [2, 2]} : tensor<2x3x5x5xf32>
      return %0, %0 : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>
    }
    ```
    becomes
    ```mlir
    %0 = nn.max_pool2d %arg0 {window = [2, 2]} : tensor<2x3x5x5xf32>
    %1 = nn.elementwise(%0) : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
    ^bb0(%arg1: tensor<2x3x4x4xf32>):
      nn.yield %arg1 : tensor<2x3x4x4xf32>
    }
    return %0, %1 : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>
    ```
  }];
  let dependentDialects = ["::espalier::plan::PlanDialect",
                           "::espalier::nn::NNDialect"];
}

def OrderOperatorsPass : Pass<"order-operators", "::mlir::func::FuncOp"> {
  let summary = "Brings operators into an order that needs little memory.";
  let description = [{
    Which tensors are there at a time depends on the order of operators. Of
    several orders the one with the lowest peak is taken, and never one with a
    higher peak than the function's own: the route of Wang et al. ("SuperNeurons",
    PPoPP 2018, algorithm 1), a depth-first walk in which an operator runs when
    the last of its operands is there; the function's own order with updates right
    behind the gradients that they use up; and one that prefers the operator
    that frees most.

    Needs: a layered network that is not planned yet. Other functions are left
    alone.
    Guarantees: the same operators, each after those whose results it reads; new
    values of parameters after all that reads the old ones.
    Reports: remark `ordered` in category `order-operators` with the peak before
    and after, and the operator that the peak is at.

    ```mlir
    %0 = nn.conv2d %x, %v : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
    %1 = nn.conv2d %x, %w : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
    %2 = nn.max_pool2d %0 {window = [8, 8]} : tensor<1x4x8x8xf32>
    %3 = nn.max_pool2d %1 {window = [8, 8]} : tensor<1x4x8x8xf32>
    ```
    becomes
    ```mlir
    %0 = nn.conv2d %arg0, %arg1 : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
    %1 = nn.max_pool2d %0 {window = [8, 8]} : tensor<1x4x8x8xf32>
    %2 = nn.conv2d %arg0, %arg2 : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
    %3 = nn.max_pool2d %2 {window = [8, 8]} : tensor<1x4x8x8xf32>
    ```
  }];
  let options = [
    Option<"order", "order", "std::string", "\"best\"",
           "best, route (depth first), updates-first or freeing-first">,
  ];
  let dependentDialects = ["::espalier::plan::PlanDialect"];
}

/// What splitting makes operators of.
defvar SplittingDialects = ["::espalier::plan::PlanDialect",
    "::espalier::nn::NNDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];

def SplitLayersPass : Pass<"split-layers", "::mlir::func::FuncOp"> {
  let summary = "Runs layers for a part of the batch at a time.";
  let description = [{
    No plan is below what one operator reads and writes. Operators that need
    more than `limit` bytes, and those that make or read the same batches, are
    split along the batch into `parts`: what has rows of the batch gets a value
    for each part, gradients of weights are added up, and batch norm becomes
    operators whose sums are those of the whole batch. `plan-memory` does this
    by itself, with as few parts as it needs.

    Needs: a layered network that is not planned yet. Other functions are left
    alone.
    Guarantees: the same values, but for the order of sums over the batch.
    Limits: operators that mix samples (and have no `getCuts` of
    `LayerOpInterface`) read whole batches.
    Reports: remark `split` in category `split-layers` with the number of
    operators that were split.

    ```mlir
    %0 = nn.conv2d %x, %w : tensor<4x3x8x8xf32>, tensor<8x3x1x1xf32>
    %1 = nn.sum_channels %0 : tensor<4x8x8x8xf32>
    %2 = nn.sum %1 : tensor<8xf32>
    ```
    becomes, in two parts,
    ```mlir
    %extracted_slice = tensor.extract_slice %arg0[0, 0, 0, 0] [2, 3, 8, 8] [1, 1, 1, 1] : tensor<4x3x8x8xf32> to tensor<2x3x8x8xf32>
    %0 = nn.conv2d %extracted_slice, %arg1 : tensor<2x3x8x8xf32>, tensor<8x3x1x1xf32>
    %1 = nn.sum_channels %0 : tensor<2x8x8x8xf32>
    %extracted_slice_0 = tensor.extract_slice %arg0[2, 0, 0, 0] [2, 3, 8, 8] [1, 1, 1, 1] : tensor<4x3x8x8xf32> to tensor<2x3x8x8xf32>
    %2 = nn.conv2d %extracted_slice_0, %arg1 : tensor<2x3x8x8xf32>, tensor<8x3x1x1xf32>
    %3 = nn.sum_channels %2 : tensor<2x8x8x8xf32>
    %4 = nn.elementwise(%1, %3) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%arg2: tensor<8xf32>, %arg3: tensor<8xf32>):
      %6 = arith.addf %arg2, %arg3 : tensor<8xf32>
      nn.yield %6 : tensor<8xf32>
    }
    %5 = nn.sum %4 : tensor<8xf32>
    ```
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "0",
           "Bytes above which an operator is split; 0: all that can be">,
    Option<"parts", "parts", "int32_t", "2", "How many parts">,
  ];
  let dependentDialects = SplittingDialects;
}

defvar PlanningOptions = [
  Option<"budget", "budget", "std::string", "\"\"",
         "Bytes of the device's memory, e.g. 12GiB; empty: the machine's">,
  Option<"machine", "machine", "std::string", "\"\"",
         "File that describes the device and its link (docs/machines)">,
  Option<"inPlace", "in-place", "bool", "true",
         "Results may take over the memory of operands">,
  Option<"split", "split", "bool", "true",
         "Layers may run for a part of the batch at a time (split-layers)">,
];

def PlanMemoryPass : Pass<"plan-memory", "::mlir::func::FuncOp"> {
  let summary = "Fits a layered network into the memory of a device.";
  let description = [{
    Of every tensor, between each two operators that read it, it is decided
    whether it is kept, offloaded to the host and fetched again, or computed
    again, whichever costs least, until the tensors that are there at a time,
    and their fragments, fit the budget (espalier/Planning/PlanMemory.h, after
    Wang et al., "SuperNeurons", PPoPP 2018, sections 3.3 and 3.4). Nothing is
    moved or computed again if all fits.

    Needs: a layered network, best in the order of `order-operators`. Other
    functions are left alone.
    Guarantees: the same values, bit by bit, unless no plan is found without
    splitting layers (`split-layers`), after which sums over the batch may
    differ by their order; what is there at a time is within the budget once `assign-buffers` has run. Offloads are `plan.offload`,
    `plan.prefetch` and `plan.release`; operators that run again are marked
    `plan.again`; parameters that live on the host have no `plan.offset`.
    Limits: a budget that no plan is found for is an error that names the
    smallest budget, the operator at the peak, and the largest tensors there.
    Reports: remark `planned` in category `plan-memory` with the peak, the number
    of operators that run again, the bytes that are copied, and into how many
    parts large layers are split.

    ```mlir
    %a = nn.lrn %x {size = 1} : tensor<1x1x32x32xf32>
    %b = nn.conv2d %a, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %c = nn.conv2d %b, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %d = nn.max_pool2d %c {window = [32, 32]} : tensor<1x1x32x32xf32>
    %e = nn.max_pool2d %a {window = [32, 32]} : tensor<1x1x32x32xf32>
    ```
    becomes, where there is room for two of these tensors,
    ```mlir
    %0 = plan.prefetch %arg0 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32> -> tensor<1x1x32x32xf32>
    %1 = nn.lrn %0 {plan.offsets = array<i64: 64>, size = 1 : i64} : tensor<1x1x32x32xf32>
    %2 = plan.offload %1 : tensor<1x1x32x32xf32>
    %3 = nn.conv2d %1, %arg1 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %4 = nn.conv2d %3, %arg1 {plan.offsets = array<i64: 64>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %5 = plan.prefetch %2 {plan.offsets = array<i64: 4160>} : !plan.host<tensor<1x1x32x32xf32>> -> tensor<1x1x32x32xf32>
    %6 = nn.max_pool2d %4 {plan.offsets = array<i64: 8256>, window = [32, 32]} : tensor<1x1x32x32xf32>
    %7 = nn.max_pool2d %5 {plan.offsets = array<i64: 64>, window = [32, 32]} : tensor<1x1x32x32xf32>
    ```
  }];
  let options = PlanningOptions # [
    Option<"offload", "offload", "bool", "true", "Tensors may go to the host">,
    Option<"recompute", "recompute", "bool", "true",
           "Operators may run again">,
  ];
  let dependentDialects = SplittingDialects;
}

def PlanRecomputePass : Pass<"plan-recompute", "::mlir::func::FuncOp"> {
  let summary = "Fits a layered network into memory by computing again.";
  let description = [{
    As `plan-memory`, but nothing is offloaded.

    Needs, guarantees, limits: those of `plan-memory`.

    ```mlir
    %a = nn.lrn %x {size = 1} : tensor<1x1x32x32xf32>
    %b = nn.conv2d %a, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %c = nn.conv2d %b, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %d = nn.max_pool2d %c {window = [32, 32]} : tensor<1x1x32x32xf32>
    %e = nn.max_pool2d %a {window = [32, 32]} : tensor<1x1x32x32xf32>
    ```
    becomes, where there is room for two of these tensors,
    ```mlir
    %0 = nn.lrn %arg0 {plan.offsets = array<i64: 8256>, plan.operator = 0 : i64, size = 1 : i64} : tensor<1x1x32x32xf32>
    %1 = nn.conv2d %0, %arg1 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %2 = nn.conv2d %1, %arg1 {plan.offsets = array<i64: 8256>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %3 = nn.max_pool2d %2 {plan.offsets = array<i64: 4160>, window = [32, 32]} : tensor<1x1x32x32xf32>
    %4 = nn.lrn %arg0 {plan.again = 1 : i64, plan.offsets = array<i64: 4224>, plan.operator = 0 : i64, size = 1 : i64} : tensor<1x1x32x32xf32>
    %5 = nn.max_pool2d %4 {plan.offsets = array<i64: 8320>, window = [32, 32]} : tensor<1x1x32x32xf32>
    ```
  }];
  let options = PlanningOptions;
  let dependentDialects = SplittingDialects;
}

def PlanOffloadPass : Pass<"plan-offload", "::mlir::func::FuncOp"> {
  let summary = "Fits a layered network into memory by copies to the host.";
  let description = [{
    As `plan-memory`, but nothing is computed again.

    Needs, guarantees, limits: those of `plan-memory`.

    ```mlir
    %a = nn.lrn %x {size = 1} : tensor<1x1x32x32xf32>
    %b = nn.conv2d %a, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %c = nn.conv2d %b, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %d = nn.max_pool2d %c {window = [32, 32]} : tensor<1x1x32x32xf32>
    %e = nn.max_pool2d %a {window = [32, 32]} : tensor<1x1x32x32xf32>
    ```
    becomes, where there is room for two of these tensors,
    ```mlir
    %0 = plan.prefetch %arg0 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32> -> tensor<1x1x32x32xf32>
    %1 = nn.lrn %0 {plan.offsets = array<i64: 64>, size = 1 : i64} : tensor<1x1x32x32xf32>
    %2 = plan.offload %1 : tensor<1x1x32x32xf32>
    %3 = nn.conv2d %1, %arg1 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %4 = nn.conv2d %3, %arg1 {plan.offsets = array<i64: 64>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
    %5 = plan.prefetch %2 {plan.offsets = array<i64: 4160>} : !plan.host<tensor<1x1x32x32xf32>> -> tensor<1x1x32x32xf32>
    %6 = nn.max_pool2d %4 {plan.offsets = array<i64: 8256>, window = [32, 32]} : tensor<1x1x32x32xf32>
    %7 = nn.max_pool2d %5 {plan.offsets = array<i64: 64>, window = [32, 32]} : tensor<1x1x32x32xf32>
    ```
  }];
  let options = PlanningOptions;
  let dependentDialects = SplittingDialects;
}

def SelectConvAlgorithmsPass : Pass<"select-conv-algorithms", "::mlir::func::FuncOp"> {
  let summary = "Lets convolutions use what memory is free for workspaces.";
  let description = [{
    Each convolution, and each of its adjoints, is computed by the fastest of its
    algorithms (`LayerOpInterface`) whose workspace fits what is free in the
    arena at its step, up to the budget (espalier/Planning/SelectAlgorithms.h,
    after Wang et al., "SuperNeurons", PPoPP 2018, section 3.5). How much faster
    than without a workspace an algorithm is, the machine's file says
    (`algorithms`); one that it does not list is not used. Memory that is still
    copied to the host is not free.

    Needs: a layered network that `assign-buffers` has run on, and a machine.
    Other functions are left alone.
    Guarantees: a `plan.algorithm` and a `plan.workspace` where a workspace is
    used, and `plan.memory` with the bytes of the arena, which stay within the
    budget, or, without one, within the machine's memory. Nothing else changes;
    the algorithms of the runtime compute the same bits.
    Limits: no tensor is moved to make room.
    Reports: for each step that has a choice remark `selected` in category
    `select-conv-algorithms`, with the algorithm, its workspace, the bytes that
    are free, the runner-up, and the fastest, if that is too large; the same as
    lines of `plan.notes`.

    ```mlir
    func.func @f(%x: tensor<1x8x16x16xf32> {nn.input = "x", plan.offset = 0 : i64},
                 %w: tensor<100x8x3x3xf32> {nn.param = "w", plan.offset = 8192 : i64})
        -> (tensor<1x100x14x14xf32> {nn.output = "y"})
        attributes {plan.memory = #plan.memory<device 115392, host 0, budget 200000, machine "local-cpu-builtin">} {
      %0 = nn.conv2d %x, %w {plan.offsets = array<i64: 36992>} : tensor<1x8x16x16xf32>, tensor<100x8x3x3xf32>
      return %0 : tensor<1x100x14x14xf32>
    }
    ```
    becomes, with a machine on which `patches` are faster,
    ```mlir
    %0 = nn.conv2d %arg0, %arg1 {plan.algorithm = "patches", plan.offsets = array<i64: 36992>, plan.workspace = array<i64: 61440, 115392>} : tensor<1x8x16x16xf32>, tensor<100x8x3x3xf32>
    ```
  }];
  let options = [
    Option<"machine", "machine", "std::string", "\"\"",
           "File that describes the device (docs/machines)">,
  ];
  let dependentDialects = ["::espalier::plan::PlanDialect"];
}

#endif // ESPALIER_DIALECT_PLAN_TRANSFORMS_PASSES
