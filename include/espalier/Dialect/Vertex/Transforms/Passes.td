//===- Passes.td - Transformations of vertex functions -----*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_VERTEX_TRANSFORMS_PASSES
#define ESPALIER_DIALECT_VERTEX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ShareVerticesPass : Pass<"share-vertices", "::mlir::ModuleOp"> {
  let summary = "Lets the runtime evaluate equal vertices once.";
  let description = [{
    Vertices of a batch that pull equal rows and have equal children have equal
    states: words that occur often, phrases that do, structures that are in the
    batch twice. The runtime finds them (hash-consing, in a time proportional to
    the number of vertices), and one of them stands for all. Where a graph
    allows for that, this pass marks it, and weights sums over its vertices in the
    entry by `vertex.multiplicity`; `differentiate` weights the loss of a vertex
    in the same way. Nothing else has to change: adjoints are linear in what
    they start from, so that the adjoint of a vertex which stands for m is the sum
    of theirs.

    Needs: run it before `differentiate`.
    Guarantees: results are equal, but for the order of sums over vertices.
    Limits: not for a graph that is also turned round, or over whose vertices
    rows of structures are spread; no graph of an entry where a vertex function
    or a layer over vertices has `nn.dropout` (its row numbers tell vertices
    apart), or with a sum over vertices by another operator than `nn.sum_rows`. A
    gradient through `segment_sum` or `segment_max` spreads rows of structures,
    too, so the runtime evaluates all vertices for it.
    Reports: remark `shared` in category `share-vertices` for each graph, passed,
    with the sums weighted, or missed, with the reason.

    ```mlir
    func.func @total(%g: !vertex.graph, %e: tensor<?xf32>) -> tensor<f32> {
      %h = vertex.apply @f() over %g pull("x" = %e) -> "h"
          : (), (tensor<?xf32>) -> tensor<?xf32>
      %s = nn.sum_rows %h : tensor<?xf32>
      return %s : tensor<f32>
    }
    ```
    becomes
    ```mlir
    func.func @total(%g: !vertex.graph {vertex.shared}, %e: tensor<?xf32>) -> tensor<f32> {
      %h = vertex.apply @f() over %g pull("x" = %e) -> "h"
          : (), (tensor<?xf32>) -> tensor<?xf32>
      %m = vertex.multiplicity %h : tensor<?xf32> -> tensor<?xf32>
      %0 = arith.mulf %h, %m : tensor<?xf32>
      %s = nn.sum_rows %0 : tensor<?xf32>
      return %s : tensor<f32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::espalier::nn::NNDialect"];
}

def DifferentiatePass : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Makes the gradient of a loss.";
  let description = [{
    For an entry with a result named `loss` (a float, or a batch of floats, of
    which the loss is the sum) makes the function `@ENTRY.gradient`, which
    returns the same results, the loss summed, and the derivative of the loss
    with respect to each parameter, as `gradient.NAME`. A parameter of which the
    entry itself returns a new value (`nn.update`), such as the running
    statistics of a batch norm, is not trained: it has none.

    A vertex function F that the entry applies becomes two (Xu et al., "Cavs",
    USENIX ATC 2018, section 3.4): `@F.primal`, which also pushes what the
    backward pass needs, and `@F.adjoint`, a reversed function: gather becomes
    scatter_child, scatter gather_parents, pull push and push pull, and a
    parameter's gradient is reduced over all vertices. What is pushed for the
    backward pass are the fewest bytes from which its formulas can be had by
    running cheap operators again; a vertex's state, and what it pulled, are
    there anyway and count as nothing.

    Functions that are applied by type become primals and adjoints applied by
    it. A state that one adjoint needs of children every primal keeps, since a
    child may be of any type.

    Needs: run it before `fuse-elementwise`; operators that the loss depends on
    have DifferentiableOpInterface.
    Guarantees: the entry itself is unchanged; gradients are sums over the
    batch.
    Limits: states of rank 0, and reversed functions, are errors.
    Reports: remark `saved` in category `differentiate` for each vertex
    function, with the values and the bytes that are kept a vertex, states not
    counted.

    ```mlir
    vertex.func @f() state(tensor<8xf32>) arity(1) {
      %h = vertex.gather 0 : tensor<8xf32>
      %x = vertex.pull "x" : tensor<8xf32>
      %0 = arith.addf %h, %x : tensor<8xf32>
      %1 = math.tanh %0 : tensor<8xf32>
      vertex.scatter %1 : tensor<8xf32>
      vertex.push "h" %1 : tensor<8xf32>
    }
    ```
    has the adjoint
    ```mlir
    vertex.func @f.adjoint() state(tensor<8xf32>) arity(1) reversed {
      %y = vertex.pull "state.0" : tensor<8xf32>
      %p = vertex.gather_parents : tensor<8xf32>
      %q = vertex.pull "adjoint.h" : tensor<8xf32>
      %d = arith.addf %p, %q : tensor<8xf32>
      %0 = arith.mulf %y, %y : tensor<8xf32>
      %1 = nn.fill %y with 1.0 : tensor<8xf32>
      %2 = arith.subf %1, %0 : tensor<8xf32>
      %3 = arith.mulf %d, %2 : tensor<8xf32>
      vertex.push "adjoint.x" %3 : tensor<8xf32>
      vertex.scatter_child 0 %3 : tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"entry", "entry", "std::string", "\"\"",
           "The entry to differentiate; the only one with a result named `loss` "
           "if it is not given">,
    Option<"recompute", "recompute", "bool", "true",
           "Compute cheap values again instead of keeping them">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect", "::espalier::nn::NNDialect",
                           "::espalier::vertex::VertexDialect"];
}

def SpecializeLeavesPass : Pass<"specialize-leaves", "::mlir::ModuleOp"> {
  let summary = "Derives a leaf variant and an inner variant of F.";
  let description = [{
    At a vertex without children every gather is zeros; at one with children
    every pull `at leaves` is. Half the vertices of a binary tree are leaves,
    and their recurrent products are products with zeros. This pass clones each
    vertex function of arity > 0 into a leaf variant of arity 0, named by
    `leaf(...)`, and folds zeros in both.

    Needs: nothing. Best after `expand-dense`, so that a product with zeros
    vanishes and its bias stays.
    Guarantees: functions with a leaf variant read no pull `at leaves`; leaf
    variants gather nothing. Values are equal, except that zero times infinity
    or NaN, and zero plus minus zero, count as what they are times or plus a
    plain zero.
    Limits: which vertices have children is all that variants differ by.
    Reports: remark `specialized` in category `specialize-leaves` with the
    operators left in each variant.

    ```mlir
    vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) {
      %h = vertex.gather 0 : tensor<8xf32>
      %x = vertex.pull "x" at leaves : tensor<8xf32>
      %0 = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
      %1 = arith.addf %0, %x : tensor<8xf32>
      vertex.scatter %1 : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) leaf(@f.leaf) {
      %h = vertex.gather 0 : tensor<8xf32>
      %0 = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
      vertex.scatter %0 : tensor<8xf32>
    }
    vertex.func @f.leaf(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
      %x = vertex.pull "x" at leaves : tensor<8xf32>
      vertex.scatter %x : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def HoistChildOperatorsPass : Pass<"hoist-child-operators", "::mlir::ModuleOp"> {
  let summary = "Moves work out of regions over children.";
  let description = [{
    What a `vertex.map_children` computes from the vertex alone moves in front of
    it. A product, or another operator that is dear, of the child's state alone
    is done by the child: its result joins the function's state. A child of
    several parents then does it once, and it is one product over vertices.
    Functions that are applied together, by type, share a state: all of them do
    it.

    Needs: nothing. Run it before `differentiate`, which runs regions again.
    Guarantees: the same values, bit by bit.
    Limits: operators that read both the child and the vertex stay.
    Reports: remark `hoisted` in category `hoist-child-operators` with the number
    of states added.

    ```mlir
    vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
      %s = vertex.map_children sum {
      ^bb0(%h: tensor<8xf32>):
        %u = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
        %t = math.tanh %u : tensor<8xf32>
        vertex.yield(%t) : tensor<8xf32>
      } : tensor<8xf32>
      vertex.scatter %s : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(0) {
      %s = vertex.map_children sum {
      ^bb0(%h: tensor<8xf32>, %u: tensor<8xf32>):
        %t = math.tanh %u : tensor<8xf32>
        vertex.yield(%t) : tensor<8xf32>
      } : tensor<8xf32>
      %0 = nn.matmul %s, %U : tensor<8xf32>, tensor<8x8xf32>
      vertex.scatter %s, %0 : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
}

def SplitProductsPass : Pass<"split-products", "::mlir::ModuleOp"> {
  let summary = "Splits products of pulled and gathered values.";
  let description = [{
    A product of a concatenation of which some pieces depend on gathers and
    others do not becomes a sum of products, each with its rows of the weight.
    Those that do not are eager: they run over all vertices before the first
    task.

    Needs: `expand-dense`. Run it before `differentiate`.
    Guarantees: equal values but for the order of sums.
    Limits: pieces of one `tensor.concat`.
    Reports: remark `split` in category `split-products` with the number of
    products that one became.

    ```mlir
    %xh = tensor.concat dim(0) %x, %h : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
    %y = nn.matmul %xh, %W : tensor<12xf32>, tensor<12x8xf32>
    ```
    becomes, where `%x` is pulled and `%h` gathered,
    ```mlir
    %W_x = tensor.extract_slice %W[0, 0] [4, 8] [1, 1] : tensor<12x8xf32> to tensor<4x8xf32>
    %0 = nn.matmul %x, %W_x : tensor<4xf32>, tensor<4x8xf32>
    %W_h = tensor.extract_slice %W[4, 0] [8, 8] [1, 1] : tensor<12x8xf32> to tensor<8x8xf32>
    %1 = nn.matmul %h, %W_h : tensor<8xf32>, tensor<8x8xf32>
    %y = arith.addf %0, %1 : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::espalier::nn::NNDialect"];
}

def PrunePushesPass : Pass<"prune-pushes", "::mlir::ModuleOp"> {
  let summary = "Drops what variants push for nobody.";
  let description = [{
    A row that no reader of a result reads is replaced by zeros, and what only
    made it is erased. A leaf variant then pushes none of what an adjoint's leaf
    variant does not pull.

    Needs: `specialize-leaves`. Run it before `hoist-slices`, which narrows
    products to the columns still read.
    Guarantees: all rows that somebody reads are unchanged.
    Limits: readers are told apart only if they are applies over the same graph,
    by the same types.
    Reports: remark `pruned` in category `prune-pushes` for each function.

    ```mlir
    vertex.push "saved.1" %forget : tensor<256xf32>
    ```
    becomes, in the leaf variant,
    ```mlir
    %zeros = arith.constant dense<0.0> : tensor<256xf32>
    vertex.push "saved.1" %zeros : tensor<256xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ClassifyOperatorsPass : Pass<"classify-operators", "::mlir::ModuleOp"> {
  let summary = "Finds when each operator of F can run.";
  let description = [{
    An operator that no gather reaches is eager: it can run before the first
    task, over all vertices. One that reaches no scatter is lazy: it can wait
    until after the last task, over all vertices. The others lie on a path from
    a gather to a scatter and run per task (Xu et al., "Cavs", USENIX ATC 2018,
    section 3.5, proposition 2). What is both eager and lazy goes where fewer
    bytes are kept in between.

    Needs: nothing. Run it after `fuse-elementwise`: a group has one phase.
    Guarantees: every operator of every vertex function has the attribute
    `vertex.phase`; eager ones depend on eager ones only, path ones on no lazy
    one.
    Limits: none.
    Reports: remark `phase` in category `classify-operators` on each operator,
    with its name, its phase and the reason.

    ```mlir
    %x = vertex.pull "x" : tensor<8xf32>
    %h = vertex.gather 0 : tensor<8xf32>
    %0 = arith.addf %h, %x : tensor<8xf32>
    vertex.scatter %0 : tensor<8xf32>
    vertex.push "h" %0 : tensor<8xf32>
    ```
    becomes
    ```mlir
    %x = vertex.pull "x" {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
    %h = vertex.gather 0 {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
    %0 = arith.addf %h, %x {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
    vertex.scatter %0 {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
    vertex.push "h" %0 {vertex.phase = #vertex.phase<lazy>} : tensor<8xf32>
    ```
  }];
  let options = [
    Option<"eager", "eager", "bool", "true",
           "Run eager operators before the first task; otherwise per task">,
    Option<"lazy", "lazy", "bool", "true",
           "Run lazy operators after the last task; otherwise per task">,
  ];
}

def BatchVerticesPass : Pass<"batch-vertices", "::mlir::ModuleOp"> {
  let summary = "Turns applies into rows and a loop over batching tasks.";
  let description = [{
    Each `vertex.apply` is replaced by batched operators: its eager operators
    over all rows, a `vertex.tasks` loop with the path operators, and the lazy
    operators over all rows. What the leaf variant computes comes first and
    enters the loop as its initial rows.

    Of functions that are applied by type each has its own leaves and its own
    other vertices; the loop has a body for each. A function without a leaf
    variant is its own there. The graph notes how many types there are
    (`vertex.types`) and the field that has them (`vertex.type_field`).

    Needs: `classify-operators` and `fuse-elementwise` (with `singletons` where
    fusion is not wanted).
    Guarantees: no `vertex.apply` and no `vertex.func` of the module is left;
    every operator is in its form over rows.
    Limits: an operator without BatchableOpInterface is an error; so are a
    product with a weight that differs from vertex to vertex, a layer over
    values of rank 2, and applies over one graph that choose by different fields
    or between different numbers of functions. Modules inside the module are left alone.

    ```mlir
    %h = vertex.apply @sum() over %g pull("x" = %e) -> "h"
        : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
    with F adding the child's state to x, in a group, becomes
    ```mlir
    %x = vertex.pull_rows %g, %e : tensor<?x8xf32>
    %s = vertex.tasks %g arity 1 eager(%x : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
    ^bb0(%done: tensor<?x8xf32>, %x_task: tensor<?x8xf32>):
      %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
      %n = nn.elementwise(%c, %x_task) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %0 = arith.addf %a, %b : tensor<8xf32>
        nn.yield %0 : tensor<8xf32>
      }
      vertex.yield(%n) : tensor<?x8xf32>
    }
    %h = vertex.push_rows %g, %s : tensor<?x8xf32>
    ```
  }];
  let dependentDialects = ["::espalier::nn::NNDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // ESPALIER_DIALECT_VERTEX_TRANSFORMS_PASSES
