//===- VertexOps.td - What users write ---------------------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_VERTEX_IR_VERTEXOPS
#define ESPALIER_DIALECT_VERTEX_IR_VERTEXOPS

include "espalier/Dialect/Vertex/IR/VertexDialect.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Vertex_Op<string mnemonic, list<Trait> traits = []>
    : Op<Vertex_Dialect, mnemonic, traits>;

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
    (F7) the arity is at most 2147483647.

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
  }];
}

def Vertex_GatherOp : Vertex_Op<"gather", [Pure, HasParent<"FuncOp">]> {
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

def Vertex_ScatterOp : Vertex_Op<"scatter", [HasParent<"FuncOp">]> {
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

def Vertex_PushOp : Vertex_Op<"push", [HasParent<"FuncOp">]> {
  let summary = "The vertex's row of a result outside.";
  let description = [{
    ```mlir
    vertex.push "hidden" %h : tensor<256xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$row);
  let assemblyFormat = "$name $row attr-dict `:` type($row)";
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

    Constraints:
    (A1) the callee is a vertex function in this module;
    (A2) arguments match its parameters in number and type;
    (A3) every name that it pulls is bound once, to rows of the pulled type; a
    name that it does not pull, e.g. because nobody read what it pulled, is
    ignored;
    (A4) every name that it pushes is listed once, with rows of the pushed
    type; names that it does not push are not listed.

    ```mlir
    %h = vertex.apply @tree_lstm(%W, %U, %b) over %trees
        pull("word" = %e) -> "hidden"
        : (tensor<300x1280xf32>, tensor<512x1280xf32>, tensor<1280xf32>),
          (tensor<?x300xf32>) -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$callee,
    Variadic<AnyRankedTensor>:$parameters,
    Vertex_GraphType:$graph,
    Variadic<AnyRankedTensor>:$pulled,
    StrArrayAttr:$pull_names,
    StrArrayAttr:$push_names);
  let results = (outs Variadic<AnyRankedTensor>:$pushed);
  let assemblyFormat = [{
    $callee `(` $parameters `)` `over` $graph
    custom<Pulls>($pull_names, $pulled) custom<Pushes>($push_names) attr-dict
    `:` custom<ApplyTypes>(type($parameters), type($pulled), type($pushed))
  }];
}

def Vertex_RootsOp : Vertex_Op<"roots", [Pure, AllTypesMatch<["rows", "result"]>]> {
  let summary = "The rows of the roots: one row a structure.";
  let description = [{
    The root of a structure is its last vertex. A structure without vertices
    gives a row of zeros: the state that a parent would gather from an absent
    child.

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

#endif // ESPALIER_DIALECT_VERTEX_IR_VERTEXOPS
