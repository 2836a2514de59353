// Every operator parses, prints and parses again, in its own syntax and in the
// generic one.
// RUN: espalier-opt %s | espalier-opt | FileCheck %s
// RUN: espalier-opt %s --mlir-print-op-generic | espalier-opt | FileCheck %s

// CHECK-LABEL: model.entry @classify graphs ["trees"] arities [2] {
model.entry @classify graphs ["trees"] arities [2] {
  // A buffer of every kind, over all sorts of rows.
  // CHECK: %[[TABLE:.*]] = model.buffer parameter "table" rows one of 0 : tensor<100x8xf32>
  %table = model.buffer parameter "table" rows one of 0 : tensor<100x8xf32>
  // CHECK: %[[IDS:.*]] = model.buffer input "ids" rows caller of 0 : tensor<i32>
  %ids = model.buffer input "ids" rows caller of 0 : tensor<i32>
  // CHECK: %[[ROOTS:.*]] = model.buffer output "roots" rows structures of 0 : tensor<4xf32>
  %roots = model.buffer output "roots" rows structures of 0 : tensor<4xf32>
  // CHECK: %[[X:.*]] = model.buffer dynamic "" rows leaves of 0 : tensor<8xf32>
  %x = model.buffer dynamic "" rows leaves of 0 : tensor<8xf32>
  // CHECK: %[[H:.*]] = model.buffer dynamic "h" rows vertices of 0 : tensor<4xf32>
  %h = model.buffer dynamic "h" rows vertices of 0 : tensor<4xf32>
  // CHECK: %[[S:.*]] = model.buffer scratch "" rows inner of 0 : tensor<4xf32>
  %s = model.buffer scratch "" rows inner of 0 : tensor<4xf32>
  // CHECK: %[[ONES:.*]] = model.buffer constant "ones" rows one of 0 = dense<1.000000e+00> : tensor<4xf32> : tensor<4xf32>
  %ones = model.buffer constant "ones" rows one of 0 = dense<1.0> : tensor<4xf32> : tensor<4xf32>
  // CHECK: %[[W:.*]] = model.weight %[[TABLE]] row 0 for 8 columns [0, 6] for [2, 2]
  %w = model.weight %table row 0 for 8 columns [0, 6] for [2, 2]

  // CHECK: model.phase "leaves" rows leaves of 0 {
  model.phase "leaves" rows leaves of 0 {
    // CHECK-NEXT: model.embed %[[TABLE]] <shared 0, 0 for 800> by %[[IDS]] <caller 0, 0 for 1> to %[[X]] <row 0, 0 for 8>
    model.embed %table <shared 0, 0 for 800> by %ids <caller 0, 0 for 1> to %x <row 0, 0 for 8>
    // CHECK-NEXT: model.matmul %[[X]] <row 0, 0 for 8> by %[[W]] to %[[H]] <row 0, 0 for 4>
    model.matmul %x <row 0, 0 for 8> by %w to %h <row 0, 0 for 4>
  }
  // CHECK: model.phase "path" rows inner_tasks of 0 {
  model.phase "path" rows inner_tasks of 0 {
    // CHECK-NEXT: model.launch @kernel(%[[H]], %[[H]], %[[ONES]], %[[S]])
    // CHECK-SAME: at [#model.at<child 0, 0 for 4>, #model.at<child 1, 0 for 4>, #model.at<shared 0, 0 for 4>, #model.at<row 0, 0 for 4>]
    // CHECK-SAME: results 1 flops 8 bytes 48
    model.launch @kernel(%h, %h, %ones, %s)
        at [#model.at<child 0, 0 for 4>, #model.at<child 1, 0 for 4>, #model.at<shared 0, 0 for 4>, #model.at<row 0, 0 for 4>]
        results 1 flops 8 bytes 48
    // CHECK-NEXT: model.copy %[[S]] <row 0, 0 for 4> to %[[H]] <row 0, 0 for 4>
    model.copy %s <row 0, 0 for 4> to %h <row 0, 0 for 4>
  }
  // CHECK: model.phase "structures" rows structures of 0 {
  model.phase "structures" rows structures of 0 {
    // CHECK-NEXT: model.copy %[[H]] <root 0, 0 for 4> to %[[ROOTS]] <row 0, 0 for 4>
    model.copy %h <root 0, 0 for 4> to %roots <row 0, 0 for 4>
  }
}

// Several graphs, one of them another's reverse, and readouts.
// CHECK-LABEL: model.entry @shared graphs ["a", "b"] arities [1, 2] shared [true, false] {
// CHECK-NEXT: model.buffer multiplicity "many" rows vertices of 0 : tensor<f32>
model.entry @shared graphs ["a", "b"] arities [1, 2] shared [true, false] {
  %0 = model.buffer multiplicity "many" rows vertices of 0 : tensor<f32>
}

// CHECK-LABEL: model.entry @graphs graphs ["a", "b", "a reversed"] arities [1, 2, 1] reverse_of [0, 0, 1] {
model.entry @graphs graphs ["a", "b", "a reversed"] arities [1, 2, 1] reverse_of [0, 0, 1] {
  // CHECK: %[[X:.*]] = model.buffer input
  %x = model.buffer input "x" rows caller of 0 : tensor<4xf32>
  // CHECK: %[[S:.*]] = model.buffer output
  %s = model.buffer output "s" rows structures of 0 : tensor<4xf32>
  model.phase "structures" rows structures of 0 {
    // CHECK: model.sum_vertices %[[X]] <row 0, 0 for 4> to %[[S]] <row 0, 0 for 4>
    model.sum_vertices %x <row 0, 0 for 4> to %s <row 0, 0 for 4>
    // CHECK: model.max_vertices %[[X]] <row 0, 0 for 4> to %[[S]] <row 0, 0 for 4>
    model.max_vertices %x <row 0, 0 for 4> to %s <row 0, 0 for 4>
  }
}
// A training step: weights read as they are and transposed, a loop in the other
// direction, reductions, and a kernel that replaces rows of a table by id.
// CHECK-LABEL: model.entry @train_step graphs ["trees"] arities [2] {
model.entry @train_step graphs ["trees"] arities [2] {
  // CHECK: %[[TABLE:.*]] = model.buffer parameter "table" rows one of 0 : tensor<100x8xf32>
  %table = model.buffer parameter "table" rows one of 0 : tensor<100x8xf32>
  // CHECK: %[[STATE:.*]] = model.buffer state "table.momentum" rows one of 0 : tensor<100x8xf32>
  %state = model.buffer state "table.momentum" rows one of 0 : tensor<100x8xf32>
  // CHECK: %[[IDS:.*]] = model.buffer dynamic "" rows leaves of 0 : tensor<i32>
  %ids = model.buffer dynamic "" rows leaves of 0 : tensor<i32>
  // CHECK: %[[X:.*]] = model.buffer dynamic "" rows leaves of 0 : tensor<8xf32>
  %x = model.buffer dynamic "" rows leaves of 0 : tensor<8xf32>
  // CHECK: %[[D:.*]] = model.buffer dynamic "" rows vertices of 0 : tensor<16xf32>
  %d = model.buffer dynamic "" rows vertices of 0 : tensor<16xf32>
  // CHECK: %[[DW:.*]] = model.buffer dynamic "" rows one of 0 : tensor<8x20xf32>
  %dW = model.buffer dynamic "" rows one of 0 : tensor<8x20xf32>
  // CHECK: %[[DS:.*]] = model.buffer dynamic "" rows structures of 0 : tensor<8xf32>
  %ds = model.buffer dynamic "" rows structures of 0 : tensor<8xf32>
  // CHECK: model.weight %[[TABLE]] row 4 for 2 columns [0] for [8] transposed
  %w = model.weight %table row 4 for 2 columns [0] for [8] transposed

  // CHECK: model.phase "reversed path" rows tasks_reversed of 0 {
  model.phase "reversed path" rows tasks_reversed of 0 {
    // CHECK-NEXT: model.sum_parents %[[D]] <row 0, 0 for 16> to %[[X]] <row 0, 0 for 8>
    model.sum_parents %d <row 0, 0 for 16> to %x <row 0, 0 for 8>
    // CHECK-NEXT: model.copy %[[DS]] <root_structure 0, 0 for 8> to %[[D]] <row 0, 8 for 8>
    model.copy %ds <root_structure 0, 0 for 8> to %d <row 0, 8 for 8>
    // CHECK-NEXT: model.copy %[[DS]] <structure 0, 0 for 8> to %[[D]] <row 0, 0 for 8>
    model.copy %ds <structure 0, 0 for 8> to %d <row 0, 0 for 8>
  }
  // CHECK: model.phase "reversed path" rows inner_tasks_reversed of 0 {
  model.phase "reversed path" rows inner_tasks_reversed of 0 {
  }
  // CHECK: model.phase "sums" rows leaves of 0 {
  model.phase "sums" rows leaves of 0 {
    // CHECK-NEXT: model.combine_rows %[[X]] <row 0, 0 for 8> by %[[IDS]] <row 0, 0 for 1> to %[[X]] <row 0, 0 for 8> by %[[IDS]] <row 0, 0 for 1>
    model.combine_rows %x <row 0, 0 for 8> by %ids <row 0, 0 for 1> to %x <row 0, 0 for 8> by %ids <row 0, 0 for 1>
    // CHECK-NEXT: model.outer_sum %[[X]] <row 0, 0 for 8>, %[[X]] <row 0, 0 for 8> to %[[DW]] <shared 0, 12 for 148 stride 20>
    model.outer_sum %x <row 0, 0 for 8>, %x <row 0, 0 for 8> to %dW <shared 0, 12 for 148 stride 20>
    // CHECK-NEXT: model.sum_rows %[[X]] <row 0, 0 for 8> to %[[DW]] <shared 0, 0 for 8>
    model.sum_rows %x <row 0, 0 for 8> to %dW <shared 0, 0 for 8>
  }
  // CHECK: model.phase "lazy leaves" rows leaves of 0 {
  model.phase "lazy leaves" rows leaves of 0 {
    // CHECK-NEXT: model.launch @update(%[[X]], %[[TABLE]], %[[STATE]]) ids(%[[IDS]], %[[IDS]])
    // CHECK-SAME: at [#model.at<row 0, 0 for 8>, #model.at<id 0, 0 for 8>, #model.at<id 0, 0 for 8>]
    // CHECK-SAME: results 2 flops 16 bytes 160
    model.launch @update(%x, %table, %state) ids(%ids, %ids)
        at [#model.at<row 0, 0 for 8>, #model.at<id 0, 0 for 8>, #model.at<id 0, 0 for 8>]
        results 2 flops 16 bytes 160
  }
}

// An entry without graphs.
// CHECK-LABEL: model.entry @empty graphs [] arities [] {
model.entry @empty graphs [] arities [] {
}

// Types of vertices, in one graph of two.
// CHECK-LABEL: model.entry @types graphs ["a", "b"] arities [1, 2] types [1, 2] by ["", "kind"] {
model.entry @types graphs ["a", "b"] arities [1, 2] types [1, 2] by ["", "kind"] {
  // CHECK: model.phase "path" rows inner_tasks of 1 type 0 {
  model.phase "path" rows inner_tasks of 1 type 0 {
  }
  // CHECK: model.phase "path" rows inner_tasks of 1 type 1 {
  model.phase "path" rows inner_tasks of 1 type 1 {
  }
}
