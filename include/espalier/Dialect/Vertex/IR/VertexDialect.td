//===- VertexDialect.td - Vertex functions -----------------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files of this dialect, and what each may include:
//   VertexDialect.td  the dialect, its type and enums    (nothing of ours)
//   VertexOps.td      what users write                   (VertexDialect.td)
//   VertexRowOps.td   what batching makes of it          (VertexOps.td)
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_VERTEX_IR_VERTEXDIALECT
#define ESPALIER_DIALECT_VERTEX_IR_VERTEXDIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Vertex_Dialect : Dialect {
  let name = "vertex";
  let summary = "Networks whose structure changes with every input.";
  let description = [{
    A vertex function F says what one vertex of an input graph computes; an
    apply evaluates it over every vertex of a batch of input graphs, children
    before parents (Xu et al., "Cavs", USENIX ATC 2018, section 3). Four
    operators connect a vertex to the rest:

    | operator  | reads or writes                                           |
    | --------- | --------------------------------------------------------- |
    | `gather`  | the state of a child; zeros where the child is absent     |
    | `scatter` | the vertex's own state, for its parents to gather         |
    | `pull`    | the vertex's row of a tensor outside                      |
    | `push`    | the vertex's row of a result outside                      |

    Values in F have no batch dimension. `batch-vertices` turns applies into
    tensors of rows, a row a vertex, and a loop over batching tasks; the
    operators that it makes (`pull_rows`, `tasks`, `gather_rows`, `push_rows`,
    ...) are not meant to be written by hand, but print and parse like any.

    Rows outside, those of pulled and pushed tensors, are in the caller's vertex
    order. Rows inside are in schedule order: vertices without children first,
    then task by task. The runtime owns the permutation.
  }];
  let cppNamespace = "::espalier::vertex";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Vertex_GraphType : TypeDef<Vertex_Dialect, "Graph"> {
  let mnemonic = "graph";
  let summary = "The structures of a batch.";
  let description = [{
    A forest of input graphs: for each vertex its ordered child slots, each a
    vertex of the same structure or absent. Known only at run time.
  }];
}

def Vertex_Place : I32EnumAttr<"Place", "which vertices", [
    I32EnumAttrCase<"all", 0>,
    I32EnumAttrCase<"leaves", 1>,
    I32EnumAttrCase<"inner", 2>]> {
  let cppNamespace = "::espalier::vertex";
}

def Vertex_Reduction : I32EnumAttr<"Reduction", "how children are combined", [
    I32EnumAttrCase<"sum", 0>,
    I32EnumAttrCase<"max", 1>,
    I32EnumAttrCase<"mean", 2>]> {
  let cppNamespace = "::espalier::vertex";
}

def Vertex_Phase : I32EnumAttr<"Phase", "when an operator can run", [
    I32EnumAttrCase<"eager", 0>,
    I32EnumAttrCase<"path", 1>,
    I32EnumAttrCase<"lazy", 2>]> {
  let cppNamespace = "::espalier::vertex";
  let genSpecializedAttr = 0;
}
/// On every operator of a vertex function, as `vertex.phase`, once
/// `classify-operators` has run.
def Vertex_PhaseAttr : EnumAttr<Vertex_Dialect, Vertex_Phase, "phase"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // ESPALIER_DIALECT_VERTEX_IR_VERTEXDIALECT
