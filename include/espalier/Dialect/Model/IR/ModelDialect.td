//===- ModelDialect.td - The tables of a compiled model ----*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files of this dialect, and what each may include:
//   ModelDialect.td  the dialect, its type, attributes and enums
//   ModelOps.td      entries, buffers, phases and steps (ModelDialect.td)
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_MODEL_IR_MODELDIALECT
#define ESPALIER_DIALECT_MODEL_IR_MODELDIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Model_Dialect : Dialect {
  let name = "model";
  let summary = "Entries, phases and steps: what the runtime executes.";
  let description = [{
    The tables of a compiled model (espalier/abi.h) as IR, one to one, so that
    they can be read, checked and compared before they become constant data. An
    entry has buffers and phases; a phase has steps, which work row by row; a
    step has operands, each a buffer and how to find a row in it.
  }];
  let cppNamespace = "::espalier::model";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Model_BufferType : TypeDef<Model_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A buffer of an entry.";
}

/// Numbers are those of ESPALIER_ROWS_*.
def Model_Rows : I32EnumAttr<"Rows", "which rows", [
    I32EnumAttrCase<"one", 0>,
    I32EnumAttrCase<"vertices", 1>,
    I32EnumAttrCase<"leaves", 2>,
    I32EnumAttrCase<"inner", 3>,
    I32EnumAttrCase<"caller", 4>,
    I32EnumAttrCase<"structures", 5>,
    I32EnumAttrCase<"tasks", 6>,
    I32EnumAttrCase<"inner_tasks", 7>,
    I32EnumAttrCase<"tasks_reversed", 8>,
    I32EnumAttrCase<"inner_tasks_reversed", 9>,
    I32EnumAttrCase<"edges", 10>]> {
  let cppNamespace = "::espalier::model";
}

/// Numbers are those of ESPALIER_BUFFER_*.
def Model_BufferKind : I32EnumAttr<"BufferKind", "what a buffer is", [
    I32EnumAttrCase<"parameter", 0>,
    I32EnumAttrCase<"input", 1>,
    I32EnumAttrCase<"output", 2>,
    I32EnumAttrCase<"dynamic", 3>,
    I32EnumAttrCase<"scratch", 4>,
    I32EnumAttrCase<"constant", 5>,
    I32EnumAttrCase<"state", 6>,
    I32EnumAttrCase<"multiplicity", 7>,
    I32EnumAttrCase<"host", 8>]> {
  let cppNamespace = "::espalier::model";
}

/// Numbers are those of ESPALIER_ACCESS_*.
def Model_Access : I32EnumAttr<"Access", "how a step finds a row", [
    I32EnumAttrCase<"row", 0>,
    I32EnumAttrCase<"shared", 1>,
    I32EnumAttrCase<"child", 2>,
    I32EnumAttrCase<"caller", 3>,
    I32EnumAttrCase<"root", 4>,
    I32EnumAttrCase<"caller_root", 5>,
    I32EnumAttrCase<"root_structure", 6>,
    I32EnumAttrCase<"structure", 7>,
    I32EnumAttrCase<"id", 8>,
    I32EnumAttrCase<"edge_child", 9>,
    I32EnumAttrCase<"edge_parent", 10>]> {
  let cppNamespace = "::espalier::model";
  let genSpecializedAttr = 0;
}

/// In the order of ESPALIER_STEP_SUM_CHILDREN and following.
def Model_Reduction : I32EnumAttr<"Reduction", "how edges are combined", [
    I32EnumAttrCase<"sum", 0>,
    I32EnumAttrCase<"max", 1>,
    I32EnumAttrCase<"mean", 2>]> {
  let cppNamespace = "::espalier::model";
}

/// Numbers are those of ESPALIER_LAYER_*.
def Model_LayerKind : I32EnumAttr<"LayerKind", "what a layer computes", [
    I32EnumAttrCase<"conv2d", 1>,
    I32EnumAttrCase<"conv2d_transpose", 2>,
    I32EnumAttrCase<"conv2d_weight_adjoint", 3>,
    I32EnumAttrCase<"max_pool2d", 4>,
    I32EnumAttrCase<"max_pool2d_adjoint", 5>,
    I32EnumAttrCase<"avg_pool2d", 6>,
    I32EnumAttrCase<"avg_pool2d_adjoint", 7>,
    I32EnumAttrCase<"batch_norm", 8>,
    I32EnumAttrCase<"batch_norm_inference", 9>,
    I32EnumAttrCase<"batch_norm_adjoint", 10>,
    I32EnumAttrCase<"lrn", 11>,
    I32EnumAttrCase<"lrn_adjoint", 12>,
    I32EnumAttrCase<"sum_channels", 13>,
    I32EnumAttrCase<"pad", 14>,
    I32EnumAttrCase<"concat", 15>,
    I32EnumAttrCase<"slice", 16>,
    I32EnumAttrCase<"matmul", 17>,
    I32EnumAttrCase<"spread_channels", 18>]> {
  let cppNamespace = "::espalier::model";
}

def Model_OperandAttr : AttrDef<Model_Dialect, "Operand"> {
  let mnemonic = "at";
  let summary = "How a step reads or writes a buffer.";
  let description = [{
    Columns [column, column + elements) of the row found by `access`; `slot` is
    the child slot of a `child` access, and 0 otherwise. `stride` is given of
    the result of an `outer_sum`: the elements between rows of the matrix.
  }];
  let parameters = (ins EnumParameter<Model_Access>:$access, "int64_t":$slot,
                        "int64_t":$column, "int64_t":$elements,
                        DefaultValuedParameter<"int64_t", "0">:$stride);
  let assemblyFormat = [{
    `<` $access $slot `,` $column `for` $elements (`stride` $stride^)? `>`
  }];
}

#endif // ESPALIER_DIALECT_MODEL_IR_MODELDIALECT
