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
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getLayer", "getCuts", "isCheckpoint"]>]> {
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
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getLayer", "getCuts", "isCheckpoint"]>]> {
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
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
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
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getCuts", "getInPlaceOperands"]>]> {
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

def NN_LayerNormOp : NN_Op<"layer_norm", [Pure,
    AllTypesMatch<["input", "result"]>, AllTypesMatch<["scale", "shift"]>,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getCuts", "getInPlaceOperands"]>]> {
  let summary = "Rows brought to mean 0 and variance 1, scaled and shifted.";
  let description = [{
    `(x - mean) / sqrt(variance + epsilon) * scale + shift` over each row (Ba et
    al. 2016). The variance is that of the row itself, divided by its length.

    Constraints: (C1) the input has rank 1 or 2, with a static, non-empty last
    dimension; (C2) scale and shift are one row of it, or, for a batch, a row
    each.

    ```mlir
    %y = nn.layer_norm %x, %g, %b {epsilon = 1.0e-5}
        : tensor<?x256xf32>, tensor<256xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$input, NN_Rows:$scale, NN_Rows:$shift,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $shift attr-dict `:` type($input) `,` type($scale)
  }];
  let hasVerifier = 1;
}

def NN_LayerNormAdjointOp : NN_Op<"layer_norm_adjoint", [Pure,
    AllTypesMatch<["input", "adjoint", "inputAdjoint", "scaleAdjoint"]>,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
  let summary = "The adjoints of the input and the scale of a layer_norm.";
  let description = [{
    With n the row brought to mean 0 and variance 1, and d the adjoint: n d is
    what the row adds to the adjoint of the scale, and the input's is
    `(s - mean(s) - n mean(s n)) / sqrt(variance + epsilon)` with s = d scale.
    Constraints as `nn.layer_norm`.

    ```mlir
    %dx, %dg = nn.layer_norm_adjoint %x, %g, %d {epsilon = 1.0e-5}
        : tensor<?x256xf32>, tensor<256xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$input, NN_Rows:$scale, NN_Rows:$adjoint,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs NN_Rows:$inputAdjoint, NN_Rows:$scaleAdjoint);
  let assemblyFormat = [{
    $input `,` $scale `,` $adjoint attr-dict `:` type($input) `,` type($scale)
  }];
  let hasVerifier = 1;
}

/// One number a row, or the same for all.
def NN_Integers : RankedTensorOf<[I32]>;

def NN_DropoutOp : NN_Op<"dropout", [Pure, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getCuts", "getInPlaceOperands"]>]> {
  let summary = "Zeros in place of some elements, the others scaled up.";
  let description = [{
    An element is dropped with the given probability p; the others are divided
    by 1 - p (Srivastava et al. 2014). Nothing is drawn: whether column c of a
    row is kept is a function of the seed, the site, the row's number and c, so
    the backward pass, another batch, or another number of threads drop the
    same. An entry for inference has no dropout.

    The row's number is an operand, so that the caller says what a row is: the
    vertex's place in the data set, say, pulled. Layers that must not drop the
    same elements have different sites. With all arithmetic modulo 2^32,

        mix(a):  a ^= a >> 16; a *= 0x7feb352d; a ^= a >> 15;
                 a *= 0x846ca68b; a ^= a >> 16
        key  = mix(mix(seed + 0x9e3779b9 site) + row)
        kept = (mix(key + 0x9e3779b9 c) >> 1) < round(2^31 (1 - p))

    Constraints: (C1) 0 <= p < 1; (C2) there is one number for each row, and one
    seed, or one for each row. A tensor of static shape is one row if it has one
    number, and a batch of rows along its first dimension if it has as many:
    images, of which c numbers all elements.

    ```mlir
    %y = nn.dropout %x, %seed, %row {probability = 0.5, site = 1 : i32}
        : tensor<?x256xf32>, tensor<i32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins NN_Rows:$input, NN_Integers:$seed, NN_Integers:$row,
                       F64Attr:$probability,
                       DefaultValuedAttr<I32Attr, "0">:$site);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $input `,` $seed `,` $row attr-dict
    `:` type($input) `,` type($seed) `,` type($row)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// An element is kept if its 31 random bits are less than this.
    uint32_t getThreshold();
  }];
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

def NN_Labels : RankedTensorOf<[I32]>;

def NN_SoftmaxCrossEntropyOp : NN_Op<"softmax_cross_entropy", [Pure,
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
  let summary = "Negative log-probability of a class, by row.";
  let description = [{
    `log sum exp(x - max x) + (max x - x[label])`: a scalar, or one for each row
    of a batch. Rows whose label is negative have no label: their loss and its
    adjoint are 0. Those of rows whose label is no class are NaN.

    Constraints: (C1) logits have rank 1 or 2, with a static, non-empty last
    dimension; (C2) there is one label a row.

    ```mlir
    %l = nn.softmax_cross_entropy %x, %label : tensor<?x5xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins NN_Rows:$logits, NN_Labels:$labels);
  let results = (outs NN_Rows:$loss);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict `:` type($logits) `,` type($labels)
  }];
}

def NN_SoftmaxCrossEntropyAdjointOp : NN_Op<"softmax_cross_entropy_adjoint", [
    Pure, AllTypesMatch<["logits", "result"]>,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getCuts", "getInPlaceOperands"]>]> {
  let summary = "The adjoint of the logits of a softmax_cross_entropy.";
  let description = [{
    `(softmax(x) - onehot(label)) * adjoint`; zeros in rows without a label.

    Constraints: (C1) and (C2) as for `nn.softmax_cross_entropy`; (C3) there is
    one adjoint a row.

    ```mlir
    %dx = nn.softmax_cross_entropy_adjoint %x, %label, %dl
        : tensor<?x5xf32>, tensor<?xi32>, tensor<?xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$logits, NN_Labels:$labels, NN_Rows:$adjoint);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $logits `,` $labels `,` $adjoint attr-dict
    `:` type($logits) `,` type($labels) `,` type($adjoint)
  }];
  let hasVerifier = 1;
}

def NN_BinaryCrossEntropyOp : NN_Op<"binary_cross_entropy", [Pure,
    InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
  let summary = "Negative log-probability of yes-or-no labels, by row.";
  let description = [{
    `log(1 + exp(-x))` for elements whose label is 1, `log(1 + exp(x))` for
    those whose label is 0, nothing for those whose label is negative, summed
    over each row: a scalar, or one for each row of a batch. Other labels make
    it NaN.

    Constraints: (C1) logits have rank 1 or 2, with a static, non-empty last
    dimension; (C2) labels have the shape of the logits, or, if these have one
    column, that without it.

    ```mlir
    %l = nn.binary_cross_entropy %x, %label : tensor<?x1xf32>, tensor<?xi32>
    %m = nn.binary_cross_entropy %y, %tags : tensor<?x20xf32>, tensor<?x20xi32>
    ```
  }];
  let arguments = (ins NN_Rows:$logits, NN_Labels:$labels);
  let results = (outs NN_Rows:$loss);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict `:` type($logits) `,` type($labels)
  }];
}

def NN_BinaryCrossEntropyAdjointOp : NN_Op<"binary_cross_entropy_adjoint", [
    Pure, AllTypesMatch<["logits", "result"]>,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getCuts", "getInPlaceOperands"]>]> {
  let summary = "The adjoint of the logits of a binary_cross_entropy.";
  let description = [{
    `(sigmoid(x) - label) * adjoint`; zeros where there is no label.

    Constraints: (C1) and (C2) as for `nn.binary_cross_entropy`; (C3) there is
    one adjoint a row.

    ```mlir
    %dx = nn.binary_cross_entropy_adjoint %x, %label, %dl
        : tensor<?x1xf32>, tensor<?xi32>, tensor<?xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$logits, NN_Labels:$labels, NN_Rows:$adjoint);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $logits `,` $labels `,` $adjoint attr-dict
    `:` type($logits) `,` type($labels) `,` type($adjoint)
  }];
  let hasVerifier = 1;
}

def NN_CorrectOp : NN_Op<"correct", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
  let summary = "Whether the largest logit is the label's, by row.";
  let description = [{
    1 if it is (the first of equal ones counts), 0 if not, -1 in rows without a
    label. Constraints as `nn.softmax_cross_entropy`.

    ```mlir
    %c = nn.correct %x, %label : tensor<?x5xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins NN_Rows:$logits, NN_Labels:$labels);
  let results = (outs NN_Labels:$result);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict `:` type($logits) `,` type($labels)
  }];
}

//===----------------------------------------------------------------------===//
// Sums, and what is the same for all: each other's adjoints
//===----------------------------------------------------------------------===//

def NN_BroadcastOp : NN_Op<"broadcast", [Pure,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
  let summary = "One number in every element.";
  let description = [{
    It runs in elementwise groups, where it costs nothing.

    Constraints: (C1) the result is a tensor of static shape of the scalar's
    type, or, for a batch of scalars, rows of one.

    ```mlir
    %y = nn.broadcast %s : tensor<f32> -> tensor<256xf32>
    %z = nn.broadcast %t : tensor<?xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$scalar);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasVerifier = 1;
}

def NN_SumOp : NN_Op<"sum", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
  let summary = "The sum of all elements, by row of a batch.";
  let description = [{
    ```mlir
    %s = nn.sum %x : tensor<256xf32>
    %t = nn.sum %y : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$input);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def NN_SumRowsOp : NN_Op<"sum_rows", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "The sum of the rows of a batch: one row.";
  let description = [{
    Zeros if the batch is empty. Constraints: (C1) the operand has rows: a
    leading dimension, static or not, and the others static.

    ```mlir
    %l = nn.sum_rows %losses : tensor<?xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$rows);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = "$rows attr-dict `:` type($rows)";
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Matrices: what adjoints of products need
//===----------------------------------------------------------------------===//

def NN_TransposeOp : NN_Op<"transpose", [Pure, InferTypeOpAdaptor]> {
  let summary = "The transpose of a matrix.";
  let description = [{
    Of a weight it costs nothing: the weight is packed so.

    ```mlir
    %t = nn.transpose %W : tensor<300x1280xf32>
    ```
  }];
  let arguments = (ins NN_Matrix:$matrix);
  let results = (outs NN_Matrix:$result);
  let assemblyFormat = "$matrix attr-dict `:` type($matrix)";
  let hasFolder = 1;
}

def NN_RowMatmulOp : NN_Op<"row_matmul", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>]> {
  let summary = "Product of each row with a matrix of its own.";
  let description = [{
    `y = x M`, or with `transposed` `y = x M^T`, where every row of a batch has
    its own matrix: a value that a vertex computes, or a child's state. Where
    all rows share one, `nn.matmul` is faster.

    Constraints: (C1) x and M are one row and one matrix, or a batch of both, of
    one element type; (C2) x has as many elements as M has rows (columns, if
    transposed).

    ```mlir
    %y = nn.row_matmul %x, %M : tensor<16xf32>, tensor<16x32xf32>
    %z = nn.row_matmul %ys, %Ms transposed
        : tensor<?x32xf32>, tensor<?x16x32xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$input, NN_Rows:$matrix, UnitAttr:$transposed);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = [{
    $input `,` $matrix (`transposed` $transposed^)? attr-dict
    `:` type($input) `,` type($matrix)
  }];
}

def NN_OuterOp : NN_Op<"outer", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<BatchableOpInterface, ["needsRows"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>]> {
  let summary = "Outer product of two rows.";
  let description = [{
    `z[i, j] = x[i] y[j]`, by row of a batch: the adjoint of a product's weight,
    of which all rows' are summed (`outer_sum`), or of a row's own matrix.

    Constraints: (C1) x and y are both one row or both a batch.

    ```mlir
    %z = nn.outer %x, %y : tensor<300xf32>, tensor<1280xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$x, NN_Rows:$y);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y)";
}

def NN_OuterSumOp : NN_Op<"outer_sum", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getLayer", "getCuts", "isCheckpoint"]>]> {
  let summary = "The sum over a batch of outer products.";
  let description = [{
    `x^T y`: the adjoint of a weight that is shared by all rows, as one large
    product. `sum_rows` of `outer` becomes this.

    Constraints: (C1) x and y are batches of as many rows, of one element type.

    ```mlir
    %dW = nn.outer_sum %xs, %dys : tensor<?x300xf32>, tensor<?x1280xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$x, NN_Rows:$y);
  let results = (outs NN_Matrix:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y)";
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Rows of a table: what adjoints of embeddings need
//===----------------------------------------------------------------------===//

def NN_ScatterRowsOp : NN_Op<"scatter_rows", [Pure,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getCuts"]>]> {
  let summary = "A table of zeros to which rows are added by id.";
  let description = [{
    The adjoint of an embedding's table. Rows with negative ids are left out.
    The optimisers of `add-train-step` never build the table: they
    update the rows that ids name, and no others.

    Constraints: (C1) there is one id a row, and rows are rows of the result.

    ```mlir
    %dE = nn.scatter_rows %rows by %ids
        : tensor<?x300xf32>, tensor<?xi32> -> tensor<20000x300xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$rows, RankedTensorOf<[I32]>:$ids);
  let results = (outs NN_Matrix:$result);
  let assemblyFormat = [{
    $rows `by` $ids attr-dict `:` type($rows) `,` type($ids) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_CombineRowsOp : NN_Op<"combine_rows", [Pure,
    AllTypesMatch<["rows", "sums"]>, AllTypesMatch<["ids", "owners"]>]> {
  let summary = "Adds up the rows that have the same id.";
  let description = [{
    `sums` has, at the first row of each id, the sum of its rows, and `owners`
    the id; at all other rows they are zeros and -1. Rows with negative ids
    belong to none.

    Constraints: (C1) rows are a batch of rank 2, with one id each.

    ```mlir
    %sums, %owners = nn.combine_rows %rows by %ids
        : tensor<?x300xf32>, tensor<?xi32>
    ```
  }];
  let arguments = (ins NN_Rows:$rows, RankedTensorOf<[I32]>:$ids);
  let results = (outs NN_Rows:$sums, RankedTensorOf<[I32]>:$owners);
  let assemblyFormat = "$rows `by` $ids attr-dict `:` type($rows) `,` type($ids)";
  let hasVerifier = 1;
}

def NN_UpdateRowsOp : NN_Op<"update_rows", [Pure,
    AllTypesMatch<["table", "result"]>]> {
  let summary = "A table with some of its rows replaced.";
  let description = [{
    Row `ids[i]` becomes `rows[i]`. No id may be there twice, negative ones
    excepted, which name no row.

    Constraints: (C1) there is one id a row, and rows are rows of the table.

    ```mlir
    %E1 = nn.update_rows %E by %owners with %rows
        : tensor<20000x300xf32>, tensor<?xi32>, tensor<?x300xf32>
    ```
  }];
  let arguments = (ins NN_Matrix:$table, RankedTensorOf<[I32]>:$ids,
                       NN_Rows:$rows);
  let results = (outs NN_Matrix:$result);
  let assemblyFormat = [{
    $table `by` $ids `with` $rows attr-dict
    `:` type($table) `,` type($ids) `,` type($rows)
  }];
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
         DeclareOpInterfaceMethods<ExpandableOpInterface>,
         DeclareOpInterfaceMethods<DifferentiableOpInterface>])> {
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

def NN_FillOp : NN_Op<"fill", !listconcat(ElementwiseMappable.traits,
    [Pure, SameOperandsAndResultType,
     DeclareOpInterfaceMethods<ExpandableOpInterface>])> {
  let summary = "One constant in every element.";
  let description = [{
    As many elements, and rows, as the operand has. Of static shape it folds to
    a constant.

    ```mlir
    %h = nn.fill %x with 0.5 : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins NN_FloatLike:$like, F64Attr:$value);
  let results = (outs NN_FloatLike:$result);
  let assemblyFormat = "$like `with` $value attr-dict `:` type($like)";
  let hasFolder = 1;
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
    values in the body have the same static shape, but for arguments of rank 0
    that only `nn.broadcast` reads; (C4) the body holds only operators with the
    trait ElementwiseMappable, broadcasts of arguments, and constants of one
    value.

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

include "espalier/Dialect/NN/IR/NNLayerOps.td"

#endif // ESPALIER_DIALECT_NN_IR_NNOPS
