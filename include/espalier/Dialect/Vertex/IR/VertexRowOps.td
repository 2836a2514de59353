//===- VertexRowOps.td - What batching makes of it ---------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tensor here has a leading dynamic dimension: its rows. Their number is
// known at run time only, but which vertices they stand for is known here.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_VERTEX_IR_VERTEXROWOPS
#define ESPALIER_DIALECT_VERTEX_IR_VERTEXROWOPS

include "espalier/Dialect/Vertex/IR/VertexOps.td"

def Vertex_Rows : Type<
    CPred<"::espalier::vertex::isRowsType($_self)">,
    "ranked tensor whose leading dimension, and only that, is dynamic">;

def Vertex_PullRowsOp : Vertex_Op<"pull_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "Rows in the caller's order, brought into schedule order.";
  let description = [{
    ```mlir
    %x = vertex.pull_rows %trees, %e at leaves : tensor<?x300xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = [{
    $graph `,` $rows (`at` $place^)? (`of` $vertex_type^)? attr-dict `:` type($rows)
  }];
  let hasCanonicalizer = 1;
}

def Vertex_PushRowsOp : Vertex_Op<"push_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "Rows of all vertices in schedule order, in the caller's order.";
  let description = [{
    ```mlir
    %hidden = vertex.push_rows %trees, %h : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = "$graph `,` $rows attr-dict `:` type($rows)";
  let hasCanonicalizer = 1;
}

def Vertex_RootRowsOp : Vertex_Op<"root_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "The roots' rows of rows in schedule order.";
  let description = [{
    As `roots`, but of all vertices in schedule order.

    ```mlir
    %r = vertex.root_rows %trees, %h : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = "$graph `,` $rows attr-dict `:` type($rows)";
}

def Vertex_JoinRowsOp : Vertex_Op<"join_rows", [Pure,
    SameOperandsAndResultType]> {
  let summary = "Rows of all vertices, from those of leaves and of the others.";
  let description = [{
    In schedule order leaves come first, so the result is the one after the
    other, and costs nothing: both are written where it lies. With n types of
    vertices there are 2n pieces, in schedule order: the leaves of each type,
    then the others of each type.

    Constraints: (J1) there are two pieces for each type.

    ```mlir
    %x = vertex.join_rows %l, %i : tensor<?x256xf32>
    %y = vertex.join_rows %l0, %l1, %i0, %i1 : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Variadic<Vertex_Rows>:$pieces);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = "$pieces attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many types of vertices there are; 1 if all are alike.
    int64_t getTypes() { return getPieces().size() / 2; }
    /// Which vertices piece `index` is of: leaves or inner ones, and of which
    /// type, which is none if all are alike.
    Place getPlace(int64_t index) {
      return index < getTypes() ? Place::leaves : Place::inner;
    }
    ::std::optional<int64_t> getVertexType(int64_t index) {
      return getTypes() == 1 ? ::std::nullopt
                             : ::std::optional<int64_t>(index % getTypes());
    }
  }];
}

def Vertex_SelectRowsOp : Vertex_Op<"select_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "Some of the rows of all vertices in schedule order.";
  let description = [{
    A view: costs nothing.

    ```mlir
    %i = vertex.select_rows %h at inner : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_Rows:$rows, Vertex_Place:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = "$rows `at` $place (`of` $vertex_type^)? attr-dict `:` type($rows)";
  let hasCanonicalizer = 1;
}

def Vertex_SpreadRowsOp : Vertex_Op<"spread_rows", [Pure]> {
  let summary = "The same row for every vertex.";
  let description = [{
    ```mlir
    %r = vertex.spread_rows %trees, %zeros at leaves
        : tensor<256xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, AnyRankedTensor:$row,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = [{
    $graph `,` $row (`at` $place^)? (`of` $vertex_type^)? attr-dict `:` type($row) `->` type($result)
  }];
  let hasCanonicalizer = 1;
}

def Vertex_TasksOp : Vertex_Op<"tasks", [Pure, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"::espalier::vertex::YieldOp">]> {
  let summary = "The loop over batching tasks.";
  let description = [{
    Runs its body once a task: on the vertices whose children are all done, all
    of them together. `states` of the leaves' rows come in through `init`; the
    body's first arguments are the states of all rows finished so far (to be
    read by `gather_rows`), and the next ones this task's rows of the `eager`
    tensors. It yields this task's rows of the states, then of whatever else
    is wanted after the loop.

    Without `init` the loop runs over all vertices, with it over those that
    have children. State results have the rows of all vertices; other results,
    and `eager` tensors, the rows of the vertices that the loop runs over.

    Where vertices have types, a task is of one type, and there is a body for
    each. `init` has the states of the leaves of type 0, then those of type 1,
    and so on; so have the eager tensors those of each body, and the results,
    after the states, what each body yields besides them: rows of that type.

    Constraints: (T1) block arguments are the states, then the eager tensors;
    (T2) yielded types are the result types; (T3) there is an init for every
    state of every type, or, of one type, none at all; (T4) gathered slots are
    less than the arity.

    ```mlir
    %h = vertex.tasks %trees arity 1 init(%l : tensor<?x8xf32>)
        eager(%xw : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
    ^bb0(%done: tensor<?x8xf32>, %x: tensor<?x8xf32>):
      %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
      ...
      vertex.yield(%n) : tensor<?x8xf32>
    }
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph,
      Variadic<Vertex_Rows>:$inits, Variadic<Vertex_Rows>:$eager,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$arity,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$states);
  let results = (outs Variadic<Vertex_Rows>:$outputs);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = [{
    $graph `arity` $arity (`init` `(` $inits^ `:` type($inits) `)`)?
    (`eager` `(` $eager^ `:` type($eager) `)`)? `states` $states
    attr-dict-with-keyword (`->` `(` type($outputs)^ `)`)? $bodies
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The vertices that the loop runs over.
    Place getPlace() { return getInits().empty() ? Place::all : Place::inner; }
    /// What is carried from task to task.
    size_t getCarried() { return getStates(); }
    /// The inits of the states of type `type`.
    ::mlir::OperandRange getInitsOf(size_t type) {
      return getInits().slice(getInits().empty() ? 0 : type * getStates(),
                              getInits().empty() ? 0 : getStates());
    }
    /// Which type body `index` is for; none if all vertices are alike.
    ::std::optional<int64_t> getVertexType(size_t index) {
      return getBodies().size() == 1 ? ::std::nullopt
                                     : ::std::optional<int64_t>(index);
    }
    /// The eager tensors that body `index` reads.
    ::mlir::OperandRange getEagerOf(size_t index);
    /// The results that body `index` yields rows of, in the order it does.
    ::llvm::SmallVector<::mlir::Value> getOutputsOf(size_t index);
  }];
}

def Vertex_ReversedTasksOp : Vertex_Op<"reversed_tasks", [Pure,
    SingleBlockImplicitTerminator<"::espalier::vertex::YieldOp">]> {
  let summary = "The loop over batching tasks, from the last to the first.";
  let description = [{
    Runs its body once a task, on vertices whose parents are all done. The
    body's first arguments are what all vertices done so far have scattered to
    their children, for each of the `states` one tensor with `arity` rows' worth
    of columns, slot after slot (to be read by `gather_parent_rows`), and for
    each of the `edge_states` one with a row an edge; the next ones are this task's rows of the `eager` tensors. It yields this task's rows
    of the same.

    Tensors without a row an edge have the rows of the vertices that the loop
    runs over: all, or those that have children.

    Where vertices have types there is a body for each, as in `tasks`: what is
    scattered has rows of all types, other results those of one.

    Constraints: (V1) block arguments are the first results, `states` and
    `edge_states`, then the eager tensors; (V2) yielded types are the result types.

    ```mlir
    %dh = vertex.reversed_tasks %g at inner arity 2 eager(%d : tensor<?x8xf32>)
        states 1 -> (tensor<?x16xf32>) {
    ^bb0(%done: tensor<?x16xf32>, %d_task: tensor<?x8xf32>):
      %p = vertex.gather_parent_rows %g, %done at inner
          : tensor<?x16xf32> -> tensor<?x8xf32>
      ...
      vertex.yield(%n) : tensor<?x16xf32>
    }
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Variadic<Vertex_Rows>:$eager,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$arity,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$states,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$edge_states,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place);
  let results = (outs Variadic<Vertex_Rows>:$outputs);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = [{
    $graph (`at` $place^)? `arity` $arity
    (`eager` `(` $eager^ `:` type($eager) `)`)? `states` $states
    (`edge_states` $edge_states^)?
    attr-dict-with-keyword (`->` `(` type($outputs)^ `)`)? $bodies
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What is carried from task to task.
    size_t getCarried() { return getStates() + getEdgeStates(); }
    /// Which type body `index` is for; none if all vertices are alike.
    ::std::optional<int64_t> getVertexType(size_t index) {
      return getBodies().size() == 1 ? ::std::nullopt
                                     : ::std::optional<int64_t>(index);
    }
    /// The eager tensors that body `index` reads.
    ::mlir::OperandRange getEagerOf(size_t index);
    /// The results that body `index` yields rows of, in the order it does.
    ::llvm::SmallVector<::mlir::Value> getOutputsOf(size_t index);
  }];
}

def Vertex_EdgeChildRowsOp : Vertex_Op<"edge_child_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "For each edge, its child's row of rows of all vertices.";
  let description = [{
    Edges are those of all children that are there, ordered by their parents'
    rows, then by slot; with `of`, those of parents of that type.

    ```mlir
    %c = vertex.edge_child_rows %g, %h : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = "$graph `,` $rows (`of` $vertex_type^)? attr-dict `:` type($rows)";
}

def Vertex_EdgeParentRowsOp : Vertex_Op<"edge_parent_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "For each edge, its parent's row.";
  let description = [{
    ```mlir
    %p = vertex.edge_parent_rows %g, %x at inner : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = [{
    $graph `,` $rows (`at` $place^)? (`of` $vertex_type^)? attr-dict `:` type($rows)
  }];
}

def Vertex_ReduceEdgeRowsOp : Vertex_Op<"reduce_edge_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "For each vertex, its edges' rows combined.";
  let description = [{
    Over the edges to its children; zeros where it has none.

    ```mlir
    %s = vertex.reduce_edge_rows %g, sum %e at inner : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Reduction:$reduction,
      Vertex_Rows:$rows, DefaultValuedAttr<Vertex_Place, "Place::all">:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = [{
    $graph `,` $reduction $rows (`at` $place^)? (`of` $vertex_type^)? attr-dict `:` type($rows)
  }];
}

def Vertex_GatherParentEdgeRowsOp : Vertex_Op<"gather_parent_edge_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "For each vertex, the sum over the edges to its parents.";
  let description = [{
    Zeros at roots.

    ```mlir
    %p = vertex.gather_parent_edge_rows %g, %done at leaves : tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = [{
    $graph `,` $rows (`at` $place^)? (`of` $vertex_type^)? attr-dict `:` type($rows)
  }];
}

def Vertex_GatherParentRowsOp : Vertex_Op<"gather_parent_rows", [Pure]> {
  let summary = "For each row, the sum of what its parents have for it.";
  let description = [{
    `rows` has, for each vertex, the columns of its children, slot after slot;
    the result, at the vertices of `place`, the sum over all parents and slots
    that the vertex is in; zeros at roots.

    Constraints: (R2) rows have a multiple of the result's columns.

    ```mlir
    %p = vertex.gather_parent_rows %g, %done at leaves
        : tensor<?x16xf32> -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = [{
    $graph `,` $rows (`at` $place^)? (`of` $vertex_type^)? attr-dict
    `:` type($rows) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Vertex_ChildRowsOp : Vertex_Op<"child_rows", [Pure,
    AllTypesMatch<["rows", "result"]>]> {
  let summary = "For each row of some vertices, its child's row.";
  let description = [{
    Of rows of all vertices in schedule order. Zeros where the child is absent.

    ```mlir
    %c = vertex.child_rows %g, %h[0] at inner : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, Vertex_Rows:$rows,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$slot,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place,
      OptionalAttr<I64Attr>:$vertex_type);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = [{
    $graph `,` $rows `[` $slot `]` (`at` $place^)? (`of` $vertex_type^)? attr-dict `:` type($rows)
  }];
}

def Vertex_GatherRowsOp : Vertex_Op<"gather_rows", [Pure,
    AllTypesMatch<["state", "result"]>]> {
  let summary = "For each row of the task, its child's row of a state.";
  let description = [{
    Zeros where the child is absent.

    Constraints: (R1) inside `tasks`, and the state is one of its state
    arguments.

    ```mlir
    %c = vertex.gather_rows %done[0] : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_Rows:$state,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$slot);
  let results = (outs Vertex_Rows:$result);
  let assemblyFormat = "$state `[` $slot `]` attr-dict `:` type($state)";
  let hasVerifier = 1;
}

def Vertex_YieldOp : Vertex_Op<"yield", [Pure, Terminator,
                                         ParentOneOf<["TasksOp", "ReversedTasksOp",
    "MapChildrenOp", "ScatterChildrenOp"]>]> {
  let summary = "A task's rows of the results, or a child's values.";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "(`(` $values^ `)` `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), "">];
}

#endif // ESPALIER_DIALECT_VERTEX_IR_VERTEXROWOPS
