//===- NNOps.td - Layer operators --------------------------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_NN_IR_NNOPS
#define ESPALIER_DIALECT_NN_IR_NNOPS

include "espalier/Dialect/NN/IR/NNDialect.td"
include "espalier/Dialect/NN/IR/NNInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, traits>;

/// One row or a batch of rows of floats.
def NN_Rows : RankedTensorOf<[F32, F64]>;
def NN_Matrix : 2DTensorOf<[F32, F64]>;
def NN_Row : 1DTensorOf<[F32, F64]>;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

def NN_MatmulOp : NN_Op<"matmul", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "Product of rows with a matrix.";
  let description = [{
    `y = x W` for one row x of K elements, or for each row of a batch, and W of
    K x N.

    Constraints: (C1) x has rank 1 or 2; (C2) its last dimension equals the
    first of W, both static; (C3) element types are equal; (C4) W is static.

    ```mlir
    %y = nn.matmul %x, %W : tensor<300xf32>, tensor<300x1280xf32>
    %z = nn.matmul %xs, %W : tensor<?x300xf32>, tensor<300x1280xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$input, NN_Matrix:$weight);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight attr-dict `:` type($input) `,` type($weight)
  }];
}

def NN_DenseOp : NN_Op<"dense", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "Dense layer: product with a matrix, plus a bias.";
  let description = [{
    `y = x W + b`, by row. Constraints as `nn.matmul` (C1-C4), and (C5) b has
    as many elements as W has columns.

    ```mlir
    %y = nn.dense %x, %W, %b
        : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$input, NN_Matrix:$weight, NN_Row:$bias);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $bias attr-dict
    `:` type($input) `,` type($weight) `,` type($bias)
  }];
}

def NN_EmbeddingOp : NN_Op<"embedding", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>]> {
  let summary = "Rows of a table by id.";
  let description = [{
    Row `ids[i]` of the table for every i. A negative id gives a row of zeros: a
    vertex without a word. An id outside the table is an error when it runs.

    Constraints: (C1) ids have rank 0 or 1.

    ```mlir
    %e = nn.embedding %table[%ids] : tensor<20000x300xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins NN_Matrix:$table, RankedTensorOf<[I32]>:$ids);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $table `[` $ids `]` attr-dict `:` type($table) `,` type($ids)
  }];
}

def NN_SoftmaxOp : NN_Op<"softmax", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<BatchableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>]> {
  let summary = "Softmax over the last dimension.";
  let description = [{
    `exp(x - max x) / sum exp(x - max x)` over each row.

    Constraints: (C1) rank 1 or 2, with a static, non-empty last dimension.

    ```mlir
    %p = nn.softmax %logits : tensor<?x5xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$input);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Activations: elementwise, on floats and vectors and tensors of them
//===----------------------------------------------------------------------===//

def NN_FloatLike : AnyTypeOf<[F32, F64, VectorOfAnyRankOf<[F32, F64]>,
    RankedTensorOf<[F32, F64]>]>;

class NN_Activation<string mnemonic>
    : NN_Op<mnemonic, !listconcat(ElementwiseMappable.traits,
        [Pure, SameOperandsAndResultType,
         DeclareOpInterfaceMethods<ExpandableOpInterface>])> {
  let arguments = (ins NN_FloatLike:$input);
  let results = (outs NN_FloatLike:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def NN_SigmoidOp : NN_Activation<"sigmoid"> {
  let summary = "Logistic function, 1 / (1 + exp(-x)).";
  let description = [{
    Within 4 ulp in f32. Saturates to 0 and 1 without overflow.
    ```mlir
    %y = nn.sigmoid %x : tensor<256xf32>
    ```
  }];
}

def NN_ReluOp : NN_Activation<"relu"> {
  let summary = "max(x, 0). NaN stays NaN.";
  let description = [{
    ```mlir
    %y = nn.relu %x : tensor<256xf32>
    ```
  }];
}

def NN_GeluOp : NN_Activation<"gelu"> {
  let summary = "Gaussian error linear unit, x erfc(-x / sqrt 2) / 2.";
  let description = [{
    The exact form (Hendrycks and Gimpel 2016), not its approximation by tanh.
    ```mlir
    %y = nn.gelu %x : tensor<256xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Elementwise groups
//===----------------------------------------------------------------------===//

def NN_ElementwiseOp : NN_Op<"elementwise", [Pure, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::espalier::nn::YieldOp">,
    DeclareOpInterfaceMethods<BatchableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>]> {
  let summary = "A group of elementwise operators that runs as one kernel.";
  let description = [{
    The body says what happens to one row: its arguments and the values in it
    have row types (`tensor<256xf32>`). An input is either such a row, shared by
    all rows, or a batch of them (`tensor<?x256xf32>`); if any input is a batch,
    so are all results. The body is therefore the same before and after batching.

    Constraints: (C1) each input has its block argument's type, or that with one
    leading dynamic dimension; (C2) so has each result with the yielded value's
    type, with the leading dimension exactly if some input has one; (C3) all
    values in the body have the same static shape; (C4) the body holds only
    operators with the trait ElementwiseMappable and constants of one value.

    Made by `fuse-elementwise`.

    ```mlir
    %y = nn.elementwise(%x, %b)
        : (tensor<?x256xf32>, tensor<256xf32>) -> tensor<?x256xf32> {
    ^bb0(%row: tensor<256xf32>, %bias: tensor<256xf32>):
      %0 = arith.addf %row, %bias : tensor<256xf32>
      %1 = math.tanh %0 : tensor<256xf32>
      nn.yield %1 : tensor<256xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Whether any input has a batch dimension.
    bool isBatched();
  }];
}

def NN_YieldOp : NN_Op<"yield", [Pure, Terminator,
                                 HasParent<"ElementwiseOp">]> {
  let summary = "The results of an elementwise group.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "">];
}

#endif // ESPALIER_DIALECT_NN_IR_NNOPS
