//===- ModelOps.td - Entries, buffers, phases and steps ----*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_MODEL_IR_MODELOPS
#define ESPALIER_DIALECT_MODEL_IR_MODELOPS

include "espalier/Dialect/Model/IR/ModelDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Model_Op<string mnemonic, list<Trait> traits = []>
    : Op<Model_Dialect, mnemonic, traits>;

def Model_EntryOp : Model_Op<"entry", [
    IsolatedFromAbove, NoTerminator, SingleBlock, Symbol]> {
  let summary = "A function of a model that programs can call.";
  let description = [{
    `graphs` names its graphs, `arities` the children per vertex that it reads
    of each. `reverse_of` says of each graph whether it is an argument (0) or
    graph n with every edge turned round (n + 1); without it all are arguments.
    `types` says of each how many types of vertices it has, and `by` the field
    of its structures that has them, "" where all are alike; without them all
    are alike in every graph.
    `shared` says of each graph whether its equal vertices may share a row;
    without it none may.
    `memory` is what the memory plan of a layered network says of the whole:
    bytes of the device's memory, of the host's pool, and of the budget that the
    plan was made for (0: none); `machine` is the name of that machine.

    ```mlir
    model.entry @tag graphs ["words", "words reversed"] arities [1, 1]
        reverse_of [0, 1] { ... }
    model.entry @read graphs ["lattices"] arities [0] types [2] by ["type"]
        { ... }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$graphs,
                       DenseI64ArrayAttr:$arities,
                       OptionalAttr<DenseI64ArrayAttr>:$reverse_of,
                       OptionalAttr<DenseI64ArrayAttr>:$types,
                       OptionalAttr<StrArrayAttr>:$type_fields,
                       OptionalAttr<DenseBoolArrayAttr>:$shared,
                       OptionalAttr<DenseI64ArrayAttr>:$memory,
                       OptionalAttr<StrAttr>:$machine);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `graphs` $graphs `arities` $arities
    (`reverse_of` $reverse_of^)? (`types` $types^ `by` $type_fields)?
    (`shared` $shared^)? (`memory` $memory^ `for` $machine)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Model_BufferOp : Model_Op<"buffer", [HasParent<"EntryOp">]> {
  let summary = "A buffer: rows of equal shape and type.";
  let description = [{
    `row` is the type of one row. `value` is the data of a `constant`. In a
    planned entry `offset` is where the buffer lies, and `until` the number of
    the last phase in which that memory is its own, where this is later than the
    last that touches it: a copy of it is still going on.

    ```mlir
    %h = model.buffer dynamic "h" rows vertices of 0 : tensor<256xf32>
    %y = model.buffer dynamic "y" rows one of 0 at 4096 until 7
        : tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = (ins Model_BufferKind:$kind, StrAttr:$name,
      Model_Rows:$rows, I64Attr:$graph, TypeAttr:$row,
      OptionalAttr<ElementsAttr>:$value, OptionalAttr<I64Attr>:$offset,
      OptionalAttr<I64Attr>:$until);
  let results = (outs Model_BufferType:$buffer);
  let assemblyFormat = [{
    $kind $name `rows` $rows `of` $graph (`at` $offset^)? (`until` $until^)?
    (`=` $value^)? attr-dict `:` $row
  }];
  let hasVerifier = 1;
}

def Model_WeightOp : Model_Op<"weight", [HasParent<"EntryOp">]> {
  let summary = "The right-hand side of a matmul, packed at load.";
  let description = [{
    Rows [row, row + k) of a rank-2 parameter, and of these rows the columns
    [begins[i], begins[i] + counts[i]), side by side; `transposed`, the transpose
    of that.

    ```mlir
    %w = model.weight %W row 0 for 300 columns [0, 768] for [256, 512]
    ```
  }];
  let arguments = (ins Model_BufferType:$source, I64Attr:$row, I64Attr:$rows,
      DenseI64ArrayAttr:$begins, DenseI64ArrayAttr:$counts,
      UnitAttr:$transposed);
  let results = (outs Model_BufferType:$weight);
  let assemblyFormat = [{
    $source `row` $row `for` $rows `columns` $begins `for` $counts
    (`transposed` $transposed^)? attr-dict
  }];
}

def Model_PhaseOp : Model_Op<"phase", [
    HasParent<"EntryOp">, NoTerminator, SingleBlock]> {
  let summary = "Steps that run over one range of rows.";
  let description = [{
    With `type` only those of vertices of one type, from 0 on. Phases over the
    same tasks that follow one another, each of a type, are one loop.

    ```mlir
    model.phase "path" rows inner_tasks of 0 { ... }
    model.phase "path" rows inner_tasks of 0 type 1 { ... }
    ```
  }];
  let arguments = (ins StrAttr:$name, Model_Rows:$rows, I64Attr:$graph,
                       OptionalAttr<I64Attr>:$vertex_type);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `rows` $rows `of` $graph (`type` $vertex_type^)?
    attr-dict-with-keyword $body
  }];
}

class Model_Step<string mnemonic> : Model_Op<mnemonic, [HasParent<"PhaseOp">]>;

def Model_CopyOp : Model_Step<"copy"> {
  let summary = "Copies rows.";
  let arguments = (ins Model_BufferType:$source, Model_BufferType:$target,
      Model_OperandAttr:$source_at, Model_OperandAttr:$target_at,
      UnitAttr:$over_edges);
  let assemblyFormat = [{
    $source $source_at `to` $target $target_at
    (`over_edges` $over_edges^)? attr-dict
  }];
}

def Model_EmbedOp : Model_Step<"embed"> {
  let summary = "Rows of a table by id; zeros for negative ids.";
  let arguments = (ins Model_BufferType:$ids, Model_BufferType:$table,
      Model_BufferType:$target, Model_OperandAttr:$ids_at,
      Model_OperandAttr:$table_at, Model_OperandAttr:$target_at);
  let assemblyFormat = [{
    $table $table_at `by` $ids $ids_at `to` $target $target_at attr-dict
  }];
}

def Model_MatmulOp : Model_Step<"matmul"> {
  let summary = "Rows times a packed weight.";
  let arguments = (ins Model_BufferType:$source, Model_BufferType:$weight,
      Model_BufferType:$target, Model_OperandAttr:$source_at,
      Model_OperandAttr:$target_at, UnitAttr:$over_edges);
  let assemblyFormat = [{
    $source $source_at `by` $weight `to` $target $target_at
    (`over_edges` $over_edges^)? attr-dict
  }];
}

def Model_SumParentsOp : Model_Step<"sum_parents"> {
  let summary = "For each row, the sum of what its parents have for its slot.";
  let arguments = (ins Model_BufferType:$source, Model_BufferType:$target,
      Model_OperandAttr:$source_at, Model_OperandAttr:$target_at);
  let assemblyFormat = [{
    $source $source_at `to` $target $target_at attr-dict
  }];
}

def Model_ReduceChildrenOp : Model_Step<"reduce_children"> {
  let summary = "For each row, its edges' rows combined.";
  let arguments = (ins Model_Reduction:$reduction, Model_BufferType:$source,
      Model_BufferType:$target, Model_OperandAttr:$source_at,
      Model_OperandAttr:$target_at);
  let assemblyFormat = [{
    $reduction $source $source_at `to` $target $target_at attr-dict
  }];
}

class Model_ReduceVerticesStep<string mnemonic> : Model_Step<mnemonic> {
  let arguments = (ins Model_BufferType:$source, Model_BufferType:$target,
      Model_OperandAttr:$source_at, Model_OperandAttr:$target_at);
  let assemblyFormat = [{
    $source $source_at `to` $target $target_at attr-dict
  }];
}

def Model_SumVerticesOp : Model_ReduceVerticesStep<"sum_vertices"> {
  let summary = "For each structure, the sum over its vertices.";
}

def Model_MaxVerticesOp : Model_ReduceVerticesStep<"max_vertices"> {
  let summary = "For each structure, the maximum over its vertices.";
}

def Model_SumRowsOp : Model_Step<"sum_rows"> {
  let summary = "The sum of the phase's rows. A reduction.";
  let arguments = (ins Model_BufferType:$source, Model_BufferType:$target,
      Model_OperandAttr:$source_at, Model_OperandAttr:$target_at);
  let assemblyFormat = [{
    $source $source_at `to` $target $target_at attr-dict
  }];
}

def Model_OuterSumOp : Model_Step<"outer_sum"> {
  let summary = "The sum over the phase's rows of outer products. A reduction.";
  let arguments = (ins Model_BufferType:$x, Model_BufferType:$y,
      Model_BufferType:$target, Model_OperandAttr:$x_at,
      Model_OperandAttr:$y_at, Model_OperandAttr:$target_at);
  let assemblyFormat = [{
    $x $x_at `,` $y $y_at `to` $target $target_at attr-dict
  }];
}

def Model_CombineRowsOp : Model_Step<"combine_rows"> {
  let summary = "Adds up the phase's rows that have equal ids. A reduction.";
  let arguments = (ins Model_BufferType:$ids, Model_BufferType:$source,
      Model_BufferType:$owners, Model_BufferType:$target,
      Model_OperandAttr:$ids_at, Model_OperandAttr:$source_at,
      Model_OperandAttr:$owners_at, Model_OperandAttr:$target_at);
  let assemblyFormat = [{
    $source $source_at `by` $ids $ids_at `to` $target $target_at `by` $owners
    $owners_at attr-dict
  }];
}

def Model_LaunchOp : Model_Op<"launch", [HasParent<"PhaseOp">,
                                         AttrSizedOperandSegments]> {
  let summary = "Runs a generated kernel on rows.";
  let description = [{
    Operands in the order that the kernel expects, the last `written` of them
    written; `by_ids` has the buffer of ids for each operand with an `id`
    access, in order. `flops` and `bytes` are the costs of one row. With
    `batch_rows` it runs over that many rows of whole tensors.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
      Variadic<Model_BufferType>:$buffers, Variadic<Model_BufferType>:$by_ids,
      ArrayAttr:$at, I64Attr:$written, I64Attr:$flops, I64Attr:$bytes,
      UnitAttr:$over_edges, OptionalAttr<I64Attr>:$batch_rows);
  let assemblyFormat = [{
    $kernel `(` $buffers `)` (`ids` `(` $by_ids^ `)`)? `at` $at
    `results` $written `flops` $flops `bytes` $bytes
    (`over_edges` $over_edges^)? (`batch_rows` $batch_rows^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Layered networks: steps over whole tensors
//===----------------------------------------------------------------------===//

def Model_LayerOp : Model_Step<"layer"> {
  let summary = "A layer over whole buffers.";
  let description = [{
    Operands in the order of `espalier_layer`'s kinds, the last `written` of
    them written. Attributes that a kind does not have are left out.

    ```mlir
    model.layer conv2d(%x, %w, %y) results 1 flops 1024 bytes 512
        {padding = array<i64: 1, 1, 1, 1>}
    ```
  }];
  let arguments = (ins Model_LayerKind:$kind,
      Variadic<Model_BufferType>:$buffers, I64Attr:$written, I64Attr:$flops,
      I64Attr:$bytes,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$window,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$strides,
      DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilations,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$padding,
      DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">:$offsets,
      DefaultValuedAttr<I64Attr, "1">:$groups,
      DefaultValuedAttr<I64Attr, "0">:$axis,
      DefaultValuedAttr<I64Attr, "0">:$size,
      DefaultValuedAttr<F64Attr, "0.0">:$epsilon,
      DefaultValuedAttr<F64Attr, "0.0">:$alpha,
      DefaultValuedAttr<F64Attr, "0.0">:$beta,
      DefaultValuedAttr<F64Attr, "0.0">:$bias,
      DefaultValuedAttr<F64Attr, "0.0">:$value,
      DefaultValuedAttr<I64Attr, "0">:$algorithm,
      OptionalAttr<DenseI64ArrayAttr>:$workspace,
      UnitAttr:$count_padding, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
      UnitAttr:$accumulate);
  let assemblyFormat = [{
    $kind `(` $buffers `)` `results` $written `flops` $flops `bytes` $bytes
    attr-dict
  }];
  let hasVerifier = 1;
  // All other attributes as their defaults.
  let builders = [OpBuilder<
      (ins "LayerKind":$kind, "::mlir::ValueRange":$buffers,
           "int64_t":$written, "int64_t":$flops, "int64_t":$bytes), [{
        $_state.addOperands(buffers);
        auto &layer = $_state.getOrAddProperties<Properties>();
        layer.kind = LayerKindAttr::get($_builder.getContext(), kind);
        layer.written = $_builder.getI64IntegerAttr(written);
        layer.flops = $_builder.getI64IntegerAttr(flops);
        layer.bytes = $_builder.getI64IntegerAttr(bytes);
      }]>];
}

def Model_OffloadOp : Model_Step<"offload"> {
  let summary = "Starts a copy from the device to the host.";
  let arguments = (ins Model_BufferType:$source, Model_BufferType:$target);
  let assemblyFormat = "$source `to` $target attr-dict";
}

def Model_PrefetchOp : Model_Step<"prefetch"> {
  let summary = "Starts a copy from the host to the device.";
  let description = [{
    Of as many of the source's elements, from `column` on, as the target has.
  }];
  let arguments = (ins Model_BufferType:$source, Model_BufferType:$target,
                       DefaultValuedAttr<I64Attr, "0">:$column);
  let assemblyFormat = "$source `to` $target attr-dict";
}

#endif // ESPALIER_DIALECT_MODEL_IR_MODELOPS
