//===- NNDialect.td - Layer operators ----------------------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files of this dialect, and what each may include:
//   NNDialect.td     the dialect                        (nothing of ours)
//   NNInterfaces.td  what an operator must answer       (nothing of ours)
//   NNOps.td         the operators                      (all others)
//   NNLayerOps.td    those of layered networks          (the first two)
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_NN_IR_NNDIALECT
#define ESPALIER_DIALECT_NN_IR_NNDIALECT

include "mlir/IR/DialectBase.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let summary = "Operators of neural networks that upstream dialects lack.";
  let description = [{
    Layer operators on tensors. Elementwise arithmetic is `arith` and `math`
    on tensors; this dialect adds what those lack: dense layers, embeddings,
    softmax, a few activations, and the group that elementwise fusion makes.

    Operators work on one row (`tensor<300xf32>`), as inside a vertex function,
    or on a batch of rows (`tensor<?x300xf32>`), as around it. What passes need
    to know of an operator they ask through its interfaces, so a new operator
    is one entry in NNOps.td and its interface methods.

    Entry functions name what the outside binds, as attributes of a
    `func.func`:

    | attribute     | on        | meaning                                    |
    | ------------- | --------- | ------------------------------------------ |
    | `nn.param`    | argument  | a weight, bound by this name at load       |
    | `nn.input`    | argument  | given at each call, e.g. a field of a reader |
    | `nn.output`   | result    | the name of the result                     |
    | `nn.gradient` | result    | the parameter that it is the gradient of   |
    | `nn.state`    | argument  | kept from call to call, zeros at first     |
    | `nn.update`   | result    | the parameter or state that it is the new value of |
  }];
  let cppNamespace = "::espalier::nn";
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // ESPALIER_DIALECT_NN_IR_NNDIALECT
