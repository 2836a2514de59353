//===- NNInterfaces.td - What an operator must answer ------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_NN_IR_NNINTERFACES
#define ESPALIER_DIALECT_NN_IR_NNINTERFACES

include "mlir/IR/OpBase.td"

def BatchableOpInterface : OpInterface<"BatchableOpInterface"> {
  let description = [{
    An operator that has a form over a leading batch dimension: what it does to
    one row, it then does to every row. Upstream operators get this interface
    from external models (BatchableUpstreamOps.cpp).
  }];
  let cppNamespace = "::espalier::nn";
  let methods = [
    InterfaceMethod<[{
        Builds the operator over rows. `operands` stands for this operator's
        operands, each either as it was (shared by all rows) or with one leading
        dynamic dimension. At least one has it. Returns the results, all with a
        leading dynamic dimension, or failure if it has no such form.
      }],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildBatched",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
    InterfaceMethod<[{
        Whether `buildBatched` takes rows only: an operand that is shared by all
        rows is then spread over them first.
      }],
      "bool", "needsRows", (ins), "", "return false;">,
  ];
}

/// Work and traffic of an operator.
def CostOpInterface : OpInterface<"CostOpInterface"> {
  let description = [{
    What an operator costs. For an operator over a batch of unknown size these
    are the costs of one row.
  }];
  let cppNamespace = "::espalier::nn";
  let methods = [
    InterfaceMethod<"Floating-point operations (a fused multiply-add is two).",
      "int64_t", "getFlops">,
    InterfaceMethod<"Bytes read and written, shared operands excluded.",
      "int64_t", "getBytes", (ins), "", [{
        return ::espalier::nn::detail::rowBytes($_op);
      }]>,
  ];
}

def ExpandableOpInterface : OpInterface<"ExpandableOpInterface"> {
  let description = [{
    An operator that is defined by a formula over simpler ones. Code generation
    expands it on scalars or vectors, after fusion.
  }];
  let cppNamespace = "::espalier::nn";
  let methods = [
    InterfaceMethod<[{
        Builds the formula on `operands` (scalars or vectors of floats that
        stand for this operator's operands) and returns its value.
      }],
      "::mlir::Value", "buildExpansion",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
  ];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    An operator with a derivative. The same formula serves one row and a batch
    of rows, so it serves vertex functions and the dataflow around them alike.
    Upstream operators get this interface from external models
    (DifferentiableUpstreamOps.cpp).
  }];
  let cppNamespace = "::espalier::nn";
  let methods = [
    InterfaceMethod<[{
        Builds what this operator contributes to the adjoints of its operands.
        At least one result has an adjoint; `adjoints.of` tells which, and
        `adjoints.add` takes the contributions, of operands that
        `adjoints.wants`. The operands and results that the code built here
        reads are what has to be kept, or computed again, for it.
      }],
      "void", "buildAdjoint",
      (ins "::mlir::OpBuilder &":$builder,
           "::espalier::nn::Adjoints &":$adjoints)>,
  ];
}

def RowKernelOpInterface : OpInterface<"RowKernelOpInterface"> {
  let description = [{
    An operator for which code that works on one row can be generated: reads
    come through `load`, writes through `store`, each for a vector of
    consecutive elements of one operand or result.
  }];
  let cppNamespace = "::espalier::nn";
  let methods = [
    InterfaceMethod<"Generates the code for one row.",
      "void", "buildRow",
      (ins "::mlir::OpBuilder &":$builder,
           "::espalier::nn::RowAccess &":$access)>,
  ];
}

def LayerOpInterface : OpInterface<"LayerOpInterface"> {
  let description = [{
    An operator over whole tensors of static shape, as layered networks have
    them: what their lowering and their planners have to know. Upstream
    operators get this interface from external models (LayerInterfaces.cpp).
    Elementwise operators do not have it; the functions of NN.h that answer the
    same questions know them by their trait.
  }];
  let cppNamespace = "::espalier::nn";
  let methods = [
    InterfaceMethod<"What the runtime's library has to know of it.",
      "::espalier::nn::Layer", "getLayer", (ins), "", "return {};">,
    InterfaceMethod<[{
        Which operands, best first, result `result` may take the memory of, if
        nobody reads them later.
      }],
      "::llvm::SmallVector<unsigned>", "getInPlaceOperands",
      (ins "unsigned":$result), "", "return {};">,
    InterfaceMethod<[{
        Whether it is too dear to run again (a checkpoint, as of SuperNeurons):
        convolutions and dense layers.
      }],
      "bool", "isCheckpoint", (ins), "", "return false;">,
    InterfaceMethod<[{
        How it may be run for some rows of the batch at a time; no cuts if it
        may not.
      }],
      "::espalier::nn::Cuts", "getCuts", (ins), "", "return {};">,
    InterfaceMethod<[{
        The ways to compute it that need different workspaces, largest first, of
        which the last needs none; none if there is only that.
      }],
      "::llvm::SmallVector<::espalier::nn::Algorithm>", "getAlgorithms", (ins),
      "", "return {};">,
    InterfaceMethod<[{
        Adapts a copy of the operator, whose operands and results have `rows`
        rows now, to that; `cloneForRows` of NN.h asks for it.
      }],
      "void", "fitToRows", (ins "int64_t":$rows), "", "return;">,
    InterfaceMethod<[{
        Of an operator that works on the batch as a whole: builds the same of
        operators that have cuts, and returns the results, which may differ by
        the order of sums. None, if there is no such form.
      }],
      "::llvm::SmallVector<::mlir::Value>", "buildWithCuts",
      (ins "::mlir::OpBuilder &":$builder), "", "return {};">,
  ];
}

#endif // ESPALIER_DIALECT_NN_IR_NNINTERFACES
