//===- Passes.td - Transformations of layer operators ------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_NN_TRANSFORMS_PASSES
#define ESPALIER_DIALECT_NN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ExpandDensePass : Pass<"expand-dense"> {
  let summary = "Splits a dense layer into its product and its bias.";
  let description = [{
    A bias is one more elementwise operator, so once it stands alone it joins
    the group that follows, and the product goes to a library as it is.

    Needs: nothing.
    Guarantees: no `nn.dense` is left over one row, or over rows of dynamic
    number; results are equal bit by bit. Over a batch of static size it is a
    layer of a network, and stays.
    Limits: none.

    ```mlir
    %y = nn.dense %x, %W, %b : tensor<8xf32>, tensor<8x4xf32>, tensor<4xf32>
    ```
    becomes
    ```mlir
    %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf32>
    %y = arith.addf %0, %b : tensor<4xf32>
    ```
    and, over a batch, the same with an `nn.elementwise` that adds the bias to
    every row.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::espalier::nn::NNDialect"];
}

def HoistSlicesPass : Pass<"hoist-slices"> {
  let summary = "Moves slices towards where the sliced value is made.";
  let description = [{
    Gates are slices of one wide product. A slice of an elementwise result is
    the elementwise result of slices; moved up there, every gate's arithmetic
    has the width of the state, so `fuse-elementwise` can join the gates into one
    cell. A product of which only some columns are read is replaced by the
    product with those columns of the weight: a leaf of a Tree-LSTM then never
    computes the forget gates that it does not need.

    Needs: nothing. Run it after `specialize-leaves`, which is what makes
    columns unread.
    Guarantees: the same values, bit by bit; no slice of an elementwise result
    is left whose source is read by static slices only.
    Limits: static, unit-stride slices of rank-1 values in vertex functions.
    Reports: remark `narrowed` in category `hoist-slices` with the columns
    computed and those saved.

    ```mlir
    %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x12xf32>
    %1 = arith.addf %0, %b : tensor<12xf32>
    %i = tensor.extract_slice %1[0] [4] [1] : tensor<12xf32> to tensor<4xf32>
    ```
    becomes, if nothing else reads `%1`,
    ```mlir
    %w = tensor.extract_slice %W[0, 0] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
    %0 = nn.matmul %x, %w : tensor<8xf32>, tensor<8x4xf32>
    %c = tensor.extract_slice %b[0] [4] [1] : tensor<12xf32> to tensor<4xf32>
    %i = arith.addf %0, %c : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect", "::espalier::nn::NNDialect"];
}

def FuseElementwisePass : Pass<"fuse-elementwise"> {
  let summary = "Groups directly linked elementwise operators into kernels.";
  let description = [{
    Elementwise operators are cheap in arithmetic and dear in memory traffic, so
    maximal groups of them become one `nn.elementwise` each (Xu et al., "Cavs",
    USENIX ATC 2018, section 3.5). Groups are found by union-find over the
    edges between elementwise operators of one shape.

    Needs: nothing. Run it after `expand-dense` and `hoist-slices`.
    Guarantees: every operator with the trait ElementwiseMappable on tensors of
    floats is in an `nn.elementwise`; results are equal bit by bit; no cycle is
    ever made: an edge is left alone if merging its two groups would let a path
    leave the group and come back; elementwise operators that nobody reads are
    gone. Conditions (i1) are in the group that reads them, once for each reader,
    also without fusion: nothing keeps them in memory.
    Limits: two operators that only share an operand are not directly linked,
    and stay apart; outside of vertex functions that holds for a broadcast, too.
    Where thousands of operators may lie between two, they are left apart.
    Reports: remark `group` in category `fuse-elementwise` with the numbers of
    operators, inputs and outputs of a group.

    ```mlir
    %0 = arith.addf %x, %y : tensor<8xf32>
    %1 = math.tanh %0 : tensor<8xf32>
    ```
    becomes
    ```mlir
    %1 = nn.elementwise(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %2 = arith.addf %a, %b : tensor<8xf32>
      %3 = math.tanh %2 : tensor<8xf32>
      nn.yield %3 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"singletons", "singletons", "bool", "false",
           "Leave every operator in a group of its own, but for conditions (no "
           "fusion): the reference that fusion is compared with">,
  ];
  let dependentDialects = ["::espalier::nn::NNDialect"];
}

def KeepResultsPass : Pass<"keep-results", "::mlir::ModuleOp"> {
  let summary = "Leaves results of an entry out.";
  let description = [{
    The entry returns the results that are listed, in the order that it has
    them in, and no others. What only made the others goes, with the inputs that
    only it read; parameters and graphs stay.

    Needs: nothing. Run it first.
    Guarantees: results that are kept are unchanged, and so are the new values
    of parameters.
    Limits: one entry; a name that it has no result of is an error.

    ```mlir
    func.func @classify(%x: tensor<?x8xf32> {nn.input = "x"}, %y: tensor<?x8xf32> {nn.input = "y"})
        -> (tensor<?x8xf32> {nn.output = "logits"}, tensor<?x8xf32> {nn.output = "hidden"}) {
      %h = math.tanh %x : tensor<?x8xf32>
      %i = math.tanh %y : tensor<?x8xf32>
      return %h, %i : tensor<?x8xf32>, tensor<?x8xf32>
    }
    ```
    becomes, with `results=logits`,
    ```mlir
    func.func @classify(%x: tensor<?x8xf32> {nn.input = "x"})
        -> (tensor<?x8xf32> {nn.output = "logits"}) {
      %h = math.tanh %x : tensor<?x8xf32>
      return %h : tensor<?x8xf32>
    }
    ```
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"\"",
           "The entry; the module's first function if it is not given">,
    ListOption<"results", "results", "std::string", "The results to keep">,
  ];
}

def AddTrainStepPass : Pass<"add-train-step", "::mlir::ModuleOp"> {
  let summary = "Turns a gradient into an entry that trains.";
  let description = [{
    The function whose results are gradients of parameters (`nn.gradient`, set
    by `differentiate`) becomes the entry `train_step`, which returns the new
    values of its parameters instead (`nn.update`), and of what the optimiser
    remembers of them (`nn.state`). It takes more arguments, all scalars:

    | argument         | meaning                                              |
    | ---------------- | ---------------------------------------------------- |
    | `learning_rate`  |                                                      |
    | `gradient_scale` | gradients are multiplied by it; 1 for sums over the batch |
    | `clip_norm`      | the longest gradient allowed, all parameters together, scaled; 0: any (with `clip`) |
    | `weight_decay`   | added, times the parameter, to its gradient; by Adam to the change itself (with `decay`) |

    With g the gradient after scaling, clipping and decay:

    | optimiser | p becomes p minus learning_rate times                      |
    | --------- | ----------------------------------------------------------- |
    | sgd       | g                                                           |
    | momentum  | m, where m becomes momentum m + g                           |
    | adagrad   | g / (sqrt s + epsilon), where s becomes s + g g (Duchi et al. 2011) |
    | adam      | (Kingma and Ba 2015, algorithm 1), decay decoupled (Loshchilov and Hutter 2019) |

    The table of an embedding, whose gradient is an `nn.scatter_rows`, changes
    in the rows that were looked up only; what the optimiser remembers of its
    other rows stays as it is, too.

    Needs: `differentiate`. Run `fuse-elementwise` afterwards.
    Guarantees: results that are no gradients stay; with `clip` there is one
    more, `gradient_norm`, the length before clipping.
    Limits: all parameters have one element type. A table with several
    gradients (looked up twice) is updated as a whole.

    ```mlir
    func.func @loss.gradient(%W: tensor<8xf32> {nn.param = "W"})
        -> (tensor<8xf32> {nn.output = "gradient.W", nn.gradient = "W"})
    ```
    becomes, without clipping and decay,
    ```mlir
    func.func @train_step(%W: tensor<8xf32> {nn.param = "W"},
                          %rate: tensor<f32> {nn.input = "learning_rate"},
                          %scale: tensor<f32> {nn.input = "gradient_scale"})
        -> (tensor<8xf32> {nn.update = "W"})
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"sgd\"",
           "sgd, momentum, adagrad or adam">,
    Option<"name", "name", "std::string", "\"train_step\"",
           "The name of the entry">,
    Option<"clip", "clip", "bool", "true", "Clip gradients by their norm">,
    Option<"decay", "decay", "bool", "true", "Decay weights">,
    Option<"momentum", "momentum", "double", "0.9", "Of momentum">,
    Option<"beta1", "beta1", "double", "0.9", "Of Adam">,
    Option<"beta2", "beta2", "double", "0.999", "Of Adam">,
    Option<"epsilon", "epsilon", "double", "1e-8", "Of Adagrad and Adam">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::espalier::nn::NNDialect"];
}

def ExpandScatterRowsPass : Pass<"expand-scatter-rows"> {
  let summary = "Builds tables of few rows, where somebody wants them whole.";
  let description = [{
    An `nn.scatter_rows` that no optimiser took apart, a gradient that is
    returned for example, becomes a table of zeros in which rows are replaced.

    Needs: nothing. Guarantees: no batched `nn.scatter_rows` is left.
    Limits: none.

    ```mlir
    %dE = nn.scatter_rows %rows by %ids
        : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
    ```
    becomes
    ```mlir
    %sums, %owners = nn.combine_rows %rows by %ids : tensor<?x8xf32>, tensor<?xi32>
    %zeros = nn.elementwise() : () -> tensor<100x8xf32> {
      %0 = arith.constant dense<0.0> : tensor<100x8xf32>
      nn.yield %0 : tensor<100x8xf32>
    }
    %copy = nn.elementwise(%sums) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%row: tensor<8xf32>):
      nn.yield %row : tensor<8xf32>
    }
    %dE = nn.update_rows %zeros by %owners with %copy
        : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::espalier::nn::NNDialect"];
}

#endif // ESPALIER_DIALECT_NN_TRANSFORMS_PASSES
