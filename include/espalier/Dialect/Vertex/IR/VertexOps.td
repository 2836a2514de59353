//===- VertexOps.td - What users write ---------------------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_VERTEX_IR_VERTEXOPS
#define ESPALIER_DIALECT_VERTEX_IR_VERTEXOPS

include "espalier/Dialect/NN/IR/NNInterfaces.td"
include "espalier/Dialect/Vertex/IR/VertexDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Vertex_Op<string mnemonic, list<Trait> traits = []>
    : Op<Vertex_Dialect, mnemonic, traits>;

/// Reads what neighbours have scattered: it can run once they are done.
def Vertex_Gathers : NativeOpTrait<"Gathers"> {
  let cppNamespace = "::espalier::vertex";
}
/// Writes what neighbours gather.
def Vertex_Scatters : NativeOpTrait<"Scatters"> {
  let cppNamespace = "::espalier::vertex";
}
/// Writes a result outside.
def Vertex_Emits : NativeOpTrait<"Emits"> {
  let cppNamespace = "::espalier::vertex";
}

//===----------------------------------------------------------------------===//
// The vertex function
//===----------------------------------------------------------------------===//

def Vertex_FuncOp : Vertex_Op<"func", [
    IsolatedFromAbove, NoTerminator, SingleBlock, FunctionOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A vertex function: what one vertex computes.";
  let description = [{
    Arguments are parameters, shared by every vertex. `state` lists the types
    that a vertex scatters and its parents gather. `arity` is the number of
    child slots. `leaf`, set by `specialize-leaves`, names the variant that
    vertices without children use.

    A function that is `reversed` runs over the parents before their children:
    it gathers what its parents scattered to it (`gather_parents`), and scatters
    to each of its children (`scatter_child`). `differentiate` makes such
    functions, as adjoints of others.

    Constraints:
    (F1) arguments, state and every value inside are ranked tensors of static
    shape (no batch dimension) of f32, f64, i32 or, inside only, i1;
    (F2) exactly one scatter if there is state, no scatter or gather if not;
    (F3) the scatter comes after every gather it depends on (SSA order);
    (F4) pull names with different types, or pushed names twice, are rejected;
    (F5) `leaf` names a vertex function of arity 0 with the same arguments,
    state and pushes;
    (F6) operators inside are free of side effects, besides scatter and push,
    and defined for all operands: an integer division needs a constant divisor;
    (F7) the arity is at most 2147483647;
    (F8) only a reversed function gathers from parents and scatters to
    children, and it does nothing else with its state; (F2) and (F3) are about
    other functions.

    ```mlir
    vertex.func @rnn(%W: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) {
      %h = vertex.gather 0 : tensor<8xf32>
      %x = vertex.pull "x" : tensor<8xf32>
      %0 = nn.matmul %h, %W : tensor<8xf32>, tensor<8x8xf32>
      %1 = arith.addf %0, %x : tensor<8xf32>
      %2 = math.tanh %1 : tensor<8xf32>
      vertex.scatter %2 : tensor<8xf32>
      vertex.push "h" %2 : tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    TypeArrayAttr:$state,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$arity,
    OptionalAttr<FlatSymbolRefAttr>:$leaf,
    UnitAttr:$reversed,
    OptionalAttr<StrAttr>:$sym_visibility,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// FunctionOpInterface.
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    /// The types of the state, in order.
    ::llvm::SmallVector<::mlir::Type> getStateTypes() {
      return ::llvm::to_vector(getState().getAsValueRange<::mlir::TypeAttr>());
    }
    /// The scatter, or null in a function without state.
    ScatterOp getScatter();
    /// The type pulled under `name`, or null.
    ::mlir::Type getPulledType(::llvm::StringRef name);
    /// The push of `name`, or null.
    PushOp getPush(::llvm::StringRef name);
    /// The types of what the function pushes, rows, and reduces, by name.
    ::llvm::StringMap<::mlir::Type> getResultsByName();
  }];
}

def Vertex_GatherOp : Vertex_Op<"gather", [Pure, HasParent<"FuncOp">, Vertex_Gathers]> {
  let summary = "The state of the child in a slot.";
  let description = [{
    Zeros where the vertex has no child in this slot.

    Constraints: (G1) the slot is less than the function's arity; (G2) result
    types are the function's state types, in order.

    ```mlir
    %h, %c = vertex.gather 0 : tensor<256xf32>, tensor<256xf32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$slot);
  let results = (outs Variadic<AnyRankedTensor>:$states);
  let assemblyFormat = "$slot attr-dict `:` type($states)";
  let hasVerifier = 1;
}

def Vertex_ScatterOp : Vertex_Op<"scatter", [HasParent<"FuncOp">, Vertex_Scatters]> {
  let summary = "Sets the state of the vertex.";
  let description = [{
    Constraints: (S1) operand types are the function's state types, in order.

    ```mlir
    vertex.scatter %h, %c : tensor<256xf32>, tensor<256xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$states);
  let assemblyFormat = "$states attr-dict `:` type($states)";
  let hasVerifier = 1;
}

def Vertex_MapChildrenOp : Vertex_Op<"map_children", [
    Pure, HasParent<"FuncOp">, Vertex_Gathers,
    SingleBlockImplicitTerminator<"::espalier::vertex::YieldOp">]> {
  let summary = "Evaluates a region for every child, and combines the results.";
  let description = [{
    The region's arguments are the state of one child; it may read values of the
    vertex, too. What it yields is summed, averaged, or its largest taken,
    element by element, over all children, of which there may be any number;
    without any the results are zeros.

    Constraints: (M1) the region's arguments are the function's state types, in
    order; (M2) it yields the types of the results; (M3) operators inside are
    free of side effects, defined for all operands, and have no regions.

    ```mlir
    %sum, %fc = vertex.map_children sum {
    ^bb0(%h: tensor<256xf32>, %c: tensor<256xf32>):
      ...
      vertex.yield(%h, %f) : tensor<256xf32>, tensor<256xf32>
    } : tensor<256xf32>, tensor<256xf32>
    ```
  }];
  let arguments = (ins Vertex_Reduction:$reduction);
  let results = (outs Variadic<AnyRankedTensor>:$combined);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$reduction $body attr-dict `:` type($combined)";
  let hasRegionVerifier = 1;
}

def Vertex_PullOp : Vertex_Op<"pull", [Pure, HasParent<"FuncOp">]> {
  let summary = "The vertex's row of a tensor outside.";
  let description = [{
    With `at leaves` it is pulled by vertices without children only, and is
    zeros elsewhere; with `at inner` the other way round. Saying so lets
    `specialize-leaves` drop what would multiply zeros.

    Constraints: (P1) the apply binds the name to rows of this type.

    ```mlir
    %x = vertex.pull "word" at leaves : tensor<300xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place);
  let results = (outs AnyRankedTensor:$row);
  let assemblyFormat = "$name (`at` $place^)? attr-dict `:` type($row)";
}

def Vertex_PushOp : Vertex_Op<"push", [HasParent<"FuncOp">, Vertex_Emits]> {
  let summary = "The vertex's row of a result outside.";
  let description = [{
    With `at leaves` only vertices without children push it, and the rows of the
    others are zeros; with `at inner` the other way round.

    ```mlir
    vertex.push "hidden" %h : tensor<256xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$row,
      DefaultValuedAttr<Vertex_Place, "Place::all">:$place);
  let assemblyFormat = "$name $row (`at` $place^)? attr-dict `:` type($row)";
}

//===----------------------------------------------------------------------===//
// What adjoints need
//===----------------------------------------------------------------------===//

def Vertex_GatherParentsOp : Vertex_Op<"gather_parents", [
    Pure, HasParent<"FuncOp">, Vertex_Gathers]> {
  let summary = "The sum of what the parents scattered to this vertex.";
  let description = [{
    Over all parents, and over all slots that the vertex is in; zeros at roots.
    The adjoint of `scatter`.

    Constraints: (B1) result types are the function's state types, in order.

    ```mlir
    %dh, %dc = vertex.gather_parents : tensor<256xf32>, tensor<256xf32>
    ```
  }];
  let results = (outs Variadic<AnyRankedTensor>:$states);
  let assemblyFormat = "attr-dict `:` type($states)";
  let hasVerifier = 1;
}

def Vertex_ScatterChildOp : Vertex_Op<"scatter_child", [
    HasParent<"FuncOp">, Vertex_Scatters]> {
  let summary = "What the child in a slot gathers from this parent.";
  let description = [{
    Goes nowhere if there is no child in this slot; the child of a slot that
    nothing is scattered to gets zeros. The adjoint of `gather`.

    Constraints: (B2) operand types are the function's state types, in order;
    (B3) the slot is less than the function's arity, and only scattered to once.

    ```mlir
    vertex.scatter_child 0 %dh, %dc : tensor<256xf32>, tensor<256xf32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$slot,
                       Variadic<AnyRankedTensor>:$states);
  let assemblyFormat = "$slot $states attr-dict `:` type($states)";
  let hasVerifier = 1;
}

def Vertex_ScatterChildrenOp : Vertex_Op<"scatter_children", [
    HasParent<"FuncOp">, Vertex_Scatters,
    SingleBlockImplicitTerminator<"::espalier::vertex::YieldOp">]> {
  let summary = "What every child gathers from this parent.";
  let description = [{
    The region's arguments are the child's rows of pulled tensors; it may read
    values of the vertex, too. It yields what the child gathers, then values
    that are summed over all children: the results. The adjoint of
    `map_children`.

    Constraints: (B4) it yields the function's state types, then the types of
    the results; (M3) as `map_children`.

    ```mlir
    %ds = vertex.scatter_children ["state.0"] {
    ^bb0(%h: tensor<256xf32>):
      ...
      vertex.yield(%dh, %d) : tensor<256xf32>, tensor<256xf32>
    } : tensor<256xf32>
    ```
  }];
  let arguments = (ins StrArrayAttr:$names);
  let results = (outs Variadic<AnyRankedTensor>:$sums);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$names $body attr-dict (`:` type($sums)^)?";
  let hasRegionVerifier = 1;
}

def Vertex_PullChildOp : Vertex_Op<"pull_child", [Pure, HasParent<"FuncOp">]> {
  let summary = "The child's row of a tensor outside.";
  let description = [{
    Zeros where the vertex has no child in this slot: with a state that was
    pushed, what `gather` gave.

    Constraints: (P1) the apply binds the name to rows of this type; (P2) the
    slot is less than the function's arity.

    ```mlir
    %c = vertex.pull_child "c" 0 : tensor<256xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$slot);
  let results = (outs AnyRankedTensor:$row);
  let assemblyFormat = "$name $slot attr-dict `:` type($row)";
  let hasVerifier = 1;
}

def Vertex_ReduceOp : Vertex_Op<"reduce", [HasParent<"FuncOp">, Vertex_Emits]> {
  let summary = "Adds to a result that is the sum over all vertices.";
  let description = [{
    The result of the apply has the value's type, without a batch dimension. The
    adjoint of a parameter: what all vertices share, all contribute to.

    ```mlir
    vertex.reduce "adjoint.b" %db : tensor<1280xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Around it
//===----------------------------------------------------------------------===//

def Vertex_ApplyOp : Vertex_Op<"apply", [Pure,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Evaluates a vertex function over every vertex of a graph.";
  let description = [{
    Pulled tensors have one row a vertex, in the caller's order; so have the
    results, one for each name listed after `->`.

    With several functions, `by` names the field of the structures that has the
    type of each vertex: the function at that place in the list, from 0 on,
    evaluates it. All have the same states, so that a vertex of one type reads
    children of another. What only some of them push has rows of zeros at the
    vertices of the others. A vertex may have as many children as the largest of
    their arities; those that its own function has no slot for are not read.

    Constraints:
    (A1) the callees are vertex functions in this module;
    (A2) arguments match the parameters of each in number and type;
    (A3) every name that one of them pulls is bound once, to rows of the pulled
    type; a name that none pulls, e.g. because nobody read what it pulled, is
    ignored;
    (A4) every name that one of them pushes is listed once, with rows of the
    pushed type, and every name that one reduces with the reduced type; other
    names are not listed;
    (A5) there is a field if there are several callees, and only then;
    (A6) all callees have the same states, and are reversed or not.

    ```mlir
    %h = vertex.apply @tree_lstm(%W, %U, %b) over %trees
        pull("word" = %e) -> "hidden"
        : (tensor<300x1280xf32>, tensor<512x1280xf32>, tensor<1280xf32>),
          (tensor<?x300xf32>) -> tensor<?x256xf32>
    %y = vertex.apply [@character, @word] by "type" (%U) over %lattices
        -> "hidden" : (tensor<8x8xf32>), () -> tensor<?x8xf32>
    ```
  }];
  let arguments = (ins
    ConfinedAttr<FlatSymbolRefArrayAttr, [ArrayMinCount<1>]>:$callees,
    OptionalAttr<StrAttr>:$type_field,
    Variadic<AnyRankedTensor>:$parameters,
    Vertex_GraphType:$graph,
    Variadic<AnyRankedTensor>:$pulled,
    StrArrayAttr:$pull_names,
    StrArrayAttr:$push_names);
  let results = (outs Variadic<AnyRankedTensor>:$pushed);
  let assemblyFormat = [{
    custom<Callees>($callees, $type_field) `(` $parameters `)` `over` $graph
    custom<Pulls>($pull_names, $pulled) custom<Pushes>($push_names) attr-dict
    `:` custom<ApplyTypes>(type($parameters), type($pulled), type($pushed))
  }];
}

def Vertex_RootsOp : Vertex_Op<"roots", [Pure,
    AllTypesMatch<["rows", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "The rows of the roots: one row a structure.";
  let description = [{
    The root of a structure is its last vertex. A structure without vertices
    gives a row of zeros, the state that a parent would gather from an absent
    child; of integers, -1: no id and no label.

    ```mlir
    %r = vertex.roots %trees, %h : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, AnyRankedTensor:$rows);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$graph `,` $rows attr-dict `:` type($rows)";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Vertex_MultiplicityOp : Vertex_Op<"multiplicity", [Pure,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "For each row, how many rows of the caller it stands for.";
  let description = [{
    1, unless the runtime evaluates equal vertices once (`share-vertices`): then
    one of them stands for all. A sum over vertices has to be weighted by it,
    and that is what it is for; no other result may depend on it. Rows of
    structures stand for one structure each. The values of the rows make no
    difference, so its adjoint is nothing.

    Constraints: (H1) the result is a batch of floats.

    ```mlir
    %m = vertex.multiplicity %losses : tensor<?xf32> -> tensor<?xf32>
    %weighted = arith.mulf %losses, %m : tensor<?xf32>
    %loss = nn.sum_rows %weighted : tensor<?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$rows);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$rows attr-dict `:` type($rows) `->` type($result)";
  let hasVerifier = 1;
}

def Vertex_AtRootsOp : Vertex_Op<"at_roots", [Pure,
    AllTypesMatch<["rows", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "A row a vertex: the structure's at its root, zeros elsewhere.";
  let description = [{
    The adjoint of `roots`.

    ```mlir
    %dh = vertex.at_roots %trees, %dr : tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph, AnyRankedTensor:$rows);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$graph `,` $rows attr-dict `:` type($rows)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Between structures, and turned round
//===----------------------------------------------------------------------===//

def Vertex_ReverseOp : Vertex_Op<"reverse", [Pure]> {
  let summary = "The same structures with every edge turned round.";
  let description = [{
    The children of a vertex are its parents in `graph`, in the order of their
    numbers, once for each slot. Vertices, structures, and the caller's order of
    both are the same, and so is the root of a structure, its last vertex. What
    an apply over one pushes, an apply over the other can pull: a network in two
    directions.

    Constraints: (W1) the graph is not itself reversed. Turned round twice, a
    graph would not be the same: slots of absent children are gone.

    ```mlir
    %back = vertex.reverse %sentences : !vertex.graph
    ```
  }];
  let arguments = (ins Vertex_GraphType:$graph);
  let results = (outs Vertex_GraphType:$result);
  let assemblyFormat = "$graph attr-dict `:` type($graph)";
  let hasVerifier = 1;
}

class Vertex_StructureOp<string mnemonic> : Vertex_Op<mnemonic, [Pure,
    AllTypesMatch<["rows", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let arguments = (ins Vertex_GraphType:$graph, AnyRankedTensor:$rows);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$graph `,` $rows attr-dict `:` type($rows)";
  let hasVerifier = 1;
}

def Vertex_SpreadStructuresOp : Vertex_StructureOp<"spread_structures"> {
  let summary = "A row a vertex: that of the structure it is part of.";
  let description = [{
    With several graphs, rows of structures belong to all of them: the k-th
    structure of one goes with the k-th of the other, and what was read from the
    structures of an encoder is spread over those of a decoder. The runtime
    checks that there are as many of one as of the other. The adjoint of
    `segment_sum`.

    ```mlir
    %c = vertex.spread_structures %targets, %r : tensor<?x256xf32>
    ```
  }];
}

def Vertex_SegmentSumOp : Vertex_StructureOp<"segment_sum"> {
  let summary = "A row a structure: the sum over its vertices.";
  let description = [{
    In the caller's order; zeros for a structure without vertices.

    ```mlir
    %s = vertex.segment_sum %trees, %h : tensor<?x256xf32>
    ```
  }];
}

def Vertex_SegmentMaxOp : Vertex_StructureOp<"segment_max"> {
  let summary = "A row a structure: element by element, the maximum over its "
                "vertices.";
  let description = [{
    NaN where one of them is NaN; zeros for a structure without vertices. The
    adjoint goes to the vertices that have the maximum, in equal parts.

    ```mlir
    %m = vertex.segment_max %trees, %h : tensor<?x256xf32>
    ```
  }];
}

#endif // ESPALIER_DIALECT_VERTEX_IR_VERTEXOPS
