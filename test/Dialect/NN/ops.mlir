// Every operator parses, prints and parses again, in its own syntax and in the
// generic one.
// RUN: espalier-opt %s | espalier-opt | FileCheck %s
// RUN: espalier-opt %s --mlir-print-op-generic | espalier-opt | FileCheck %s

// A product of one row, and of a batch of rows.
// CHECK-LABEL: @matmul
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[XS:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8x4xf32>
func.func @matmul(%x: tensor<8xf32>, %xs: tensor<?x8xf32>, %W: tensor<8x4xf32>)
    -> (tensor<4xf32>, tensor<?x4xf32>) {
  // CHECK: %[[ROW:.*]] = nn.matmul %[[X]], %[[W]] : tensor<8xf32>, tensor<8x4xf32>
  %row = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf32>
  // CHECK: %[[ROWS:.*]] = nn.matmul %[[XS]], %[[W]] : tensor<?x8xf32>, tensor<8x4xf32>
  %rows = nn.matmul %xs, %W : tensor<?x8xf32>, tensor<8x4xf32>
  // CHECK: return %[[ROW]], %[[ROWS]] : tensor<4xf32>, tensor<?x4xf32>
  return %row, %rows : tensor<4xf32>, tensor<?x4xf32>
}

// A batch of known size is a batch too, and f64 an element type.
// CHECK-LABEL: @matmul_static_batch_f64
func.func @matmul_static_batch_f64(%xs: tensor<3x8xf64>, %W: tensor<8x4xf64>) -> tensor<3x4xf64> {
  // CHECK: nn.matmul %{{.*}}, %{{.*}} : tensor<3x8xf64>, tensor<8x4xf64>
  %0 = nn.matmul %xs, %W : tensor<3x8xf64>, tensor<8x4xf64>
  return %0 : tensor<3x4xf64>
}

// CHECK-LABEL: @dense
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<4xf32>
func.func @dense(%x: tensor<?x8xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: nn.dense %[[X]], %[[W]], %[[B]] : tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf32>
  %0 = nn.dense %x, %W, %b : tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf32>
  return %0 : tensor<?x4xf32>
}

// One id gives one row, a tensor of ids a row each.
// CHECK-LABEL: @embedding
// CHECK-SAME: %[[TABLE:.*]]: tensor<100x8xf32>, %[[ID:.*]]: tensor<i32>, %[[IDS:.*]]: tensor<?xi32>
func.func @embedding(%table: tensor<100x8xf32>, %id: tensor<i32>, %ids: tensor<?xi32>)
    -> (tensor<8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[ROW:.*]] = nn.embedding %[[TABLE]][%[[ID]]] : tensor<100x8xf32>, tensor<i32>
  %row = nn.embedding %table[%id] : tensor<100x8xf32>, tensor<i32>
  // CHECK: %[[ROWS:.*]] = nn.embedding %[[TABLE]][%[[IDS]]] : tensor<100x8xf32>, tensor<?xi32>
  %rows = nn.embedding %table[%ids] : tensor<100x8xf32>, tensor<?xi32>
  // CHECK: return %[[ROW]], %[[ROWS]] : tensor<8xf32>, tensor<?x8xf32>
  return %row, %rows : tensor<8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: @softmax
func.func @softmax(%x: tensor<5xf32>, %xs: tensor<?x5xf64>) -> (tensor<5xf32>, tensor<?x5xf64>) {
  // CHECK: nn.softmax %{{.*}} : tensor<5xf32>
  %row = nn.softmax %x : tensor<5xf32>
  // CHECK: nn.softmax %{{.*}} : tensor<?x5xf64>
  %rows = nn.softmax %xs : tensor<?x5xf64>
  return %row, %rows : tensor<5xf32>, tensor<?x5xf64>
}

// A default epsilon is not printed. Over a batch, scale and shift are one row for
// all, or one for each.
// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<8xf32>, %xs: tensor<?x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
  %0 = nn.layer_norm %x, %g, %b {epsilon = 1.0e-5} : tensor<8xf32>, tensor<8xf32>
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-03 : f64} : tensor<?x8xf32>, tensor<8xf32>
  %1 = nn.layer_norm %xs, %g, %b {epsilon = 1.0e-3} : tensor<?x8xf32>, tensor<8xf32>
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>
  %2 = nn.layer_norm %1, %xs, %xs : tensor<?x8xf32>, tensor<?x8xf32>
  // CHECK: nn.layer_norm_adjoint %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
  %dx, %dg = nn.layer_norm_adjoint %2, %g, %xs : tensor<?x8xf32>, tensor<8xf32>
  return %dx : tensor<?x8xf32>
}

// CHECK-LABEL: @dropout
func.func @dropout(%x: tensor<8xf32>, %xs: tensor<?x8xf64>, %seed: tensor<i32>, %row: tensor<i32>,
                   %rows: tensor<?xi32>) -> (tensor<8xf32>, tensor<?x8xf64>) {
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} {probability = 5.000000e-01 : f64} : tensor<8xf32>, tensor<i32>, tensor<i32>
  %0 = nn.dropout %x, %seed, %row {probability = 0.5, site = 0 : i32} : tensor<8xf32>, tensor<i32>, tensor<i32>
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} {probability = 1.000000e-01 : f64, site = 3 : i32} : tensor<?x8xf64>, tensor<i32>, tensor<?xi32>
  %1 = nn.dropout %xs, %seed, %rows {probability = 0.1, site = 3 : i32} : tensor<?x8xf64>, tensor<i32>, tensor<?xi32>
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} {probability = 0.000000e+00 : f64} : tensor<?x8xf64>, tensor<?xi32>, tensor<?xi32>
  %2 = nn.dropout %1, %rows, %rows {probability = 0.0} : tensor<?x8xf64>, tensor<?xi32>, tensor<?xi32>
  return %0, %2 : tensor<8xf32>, tensor<?x8xf64>
}

// One label a row, or, for yes-or-no labels, one an element.
// CHECK-LABEL: @losses
func.func @losses(%x: tensor<?x5xf32>, %y: tensor<?x1xf32>, %z: tensor<3xf64>, %l: tensor<?xi32>,
                  %m: tensor<?x5xi32>, %n: tensor<3xi32>) -> tensor<?xi32> {
  // CHECK: %[[L:.*]] = nn.softmax_cross_entropy %{{.*}}, %{{.*}} : tensor<?x5xf32>, tensor<?xi32>
  %0 = nn.softmax_cross_entropy %x, %l : tensor<?x5xf32>, tensor<?xi32>
  // CHECK: nn.softmax_cross_entropy_adjoint %{{.*}}, %{{.*}}, %[[L]] : tensor<?x5xf32>, tensor<?xi32>, tensor<?xf32>
  %1 = nn.softmax_cross_entropy_adjoint %x, %l, %0 : tensor<?x5xf32>, tensor<?xi32>, tensor<?xf32>
  // CHECK: nn.binary_cross_entropy %{{.*}}, %{{.*}} : tensor<?x5xf32>, tensor<?x5xi32>
  %2 = nn.binary_cross_entropy %1, %m : tensor<?x5xf32>, tensor<?x5xi32>
  // CHECK: nn.binary_cross_entropy %{{.*}}, %{{.*}} : tensor<?x1xf32>, tensor<?xi32>
  %3 = nn.binary_cross_entropy %y, %l : tensor<?x1xf32>, tensor<?xi32>
  // CHECK: nn.binary_cross_entropy_adjoint %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x1xf32>, tensor<?xi32>, tensor<?xf32>
  %4 = nn.binary_cross_entropy_adjoint %y, %l, %2 : tensor<?x1xf32>, tensor<?xi32>, tensor<?xf32>
  // CHECK: nn.binary_cross_entropy %{{.*}}, %{{.*}} : tensor<3xf64>, tensor<3xi32>
  %5 = nn.binary_cross_entropy %z, %n : tensor<3xf64>, tensor<3xi32>
  // CHECK: nn.correct %{{.*}}, %{{.*}} : tensor<?x5xf32>, tensor<?xi32>
  %6 = nn.correct %x, %l : tensor<?x5xf32>, tensor<?xi32>
  return %6 : tensor<?xi32>
}

// CHECK-LABEL: @sums
func.func @sums(%s: tensor<f32>, %t: tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>, tensor<2x4xf32>) {
  // CHECK: nn.broadcast %{{.*}} : tensor<f32> -> tensor<2x4xf32>
  %0 = nn.broadcast %s : tensor<f32> -> tensor<2x4xf32>
  // CHECK: nn.broadcast %{{.*}} : tensor<?xf32> -> tensor<?x2x4xf32>
  %1 = nn.broadcast %t : tensor<?xf32> -> tensor<?x2x4xf32>
  // CHECK: nn.sum %{{.*}} : tensor<2x4xf32>
  %2 = nn.sum %0 : tensor<2x4xf32>
  // CHECK: nn.sum %{{.*}} : tensor<?x2x4xf32>
  %3 = nn.sum %1 : tensor<?x2x4xf32>
  // CHECK: nn.sum_rows %{{.*}} : tensor<?x2x4xf32>
  %4 = nn.sum_rows %1 : tensor<?x2x4xf32>
  return %2, %3, %4 : tensor<f32>, tensor<?xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: @matrices
func.func @matrices(%x: tensor<8xf32>, %y: tensor<4xf32>, %xs: tensor<?x8xf32>, %ys: tensor<?x4xf32>)
    -> (tensor<4x8xf32>, tensor<8xf32>, tensor<?x4xf32>, tensor<8x4xf32>) {
  // CHECK: %[[ONE:.*]] = nn.outer %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<4xf32>
  %0 = nn.outer %x, %y : tensor<8xf32>, tensor<4xf32>
  // CHECK: %[[ALL:.*]] = nn.outer %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x4xf32>
  %1 = nn.outer %xs, %ys : tensor<?x8xf32>, tensor<?x4xf32>
  // CHECK: nn.transpose %[[ONE]] : tensor<8x4xf32>
  %2 = nn.transpose %0 : tensor<8x4xf32>
  // CHECK: nn.row_matmul %{{.*}}, %[[ONE]] transposed : tensor<4xf32>, tensor<8x4xf32>
  %3 = nn.row_matmul %y, %0 transposed : tensor<4xf32>, tensor<8x4xf32>
  // CHECK: nn.row_matmul %{{.*}}, %[[ALL]] : tensor<?x8xf32>, tensor<?x8x4xf32>
  %4 = nn.row_matmul %xs, %1 : tensor<?x8xf32>, tensor<?x8x4xf32>
  // CHECK: nn.outer_sum %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x4xf32>
  %5 = nn.outer_sum %xs, %ys : tensor<?x8xf32>, tensor<?x4xf32>
  return %2, %3, %4, %5 : tensor<4x8xf32>, tensor<8xf32>, tensor<?x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @rows_of_tables
func.func @rows_of_tables(%E: tensor<100x8xf32>, %x: tensor<8xf32>, %i: tensor<i32>, %xs: tensor<?x8xf32>,
                          %is: tensor<?xi32>) -> (tensor<100x8xf32>, tensor<100x8xf32>, tensor<100x8xf32>) {
  // CHECK: nn.scatter_rows %{{.*}} by %{{.*}} : tensor<8xf32>, tensor<i32> -> tensor<100x8xf32>
  %0 = nn.scatter_rows %x by %i : tensor<8xf32>, tensor<i32> -> tensor<100x8xf32>
  // CHECK: nn.scatter_rows %{{.*}} by %{{.*}} : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
  %1 = nn.scatter_rows %xs by %is : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
  // CHECK: %[[SUMS:.*]], %[[OWNERS:.*]] = nn.combine_rows %{{.*}} by %{{.*}} : tensor<?x8xf32>, tensor<?xi32>
  %sums, %owners = nn.combine_rows %xs by %is : tensor<?x8xf32>, tensor<?xi32>
  // CHECK: nn.update_rows %{{.*}} by %[[OWNERS]] with %[[SUMS]] : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
  %2 = nn.update_rows %E by %owners with %sums : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
  return %0, %1, %2 : tensor<100x8xf32>, tensor<100x8xf32>, tensor<100x8xf32>
}

// Activations work on floats, vectors and tensors of them.
// CHECK-LABEL: @activations
func.func @activations(%scalar: f32, %vector: vector<8xf64>, %tensor: tensor<?x8xf32>)
    -> (f32, vector<8xf64>, tensor<?x8xf32>) {
  // CHECK: nn.sigmoid %{{.*}} : f32
  %0 = nn.sigmoid %scalar : f32
  // CHECK: nn.relu %{{.*}} : vector<8xf64>
  %1 = nn.relu %vector : vector<8xf64>
  // CHECK: nn.gelu %{{.*}} : tensor<?x8xf32>
  %2 = nn.gelu %tensor : tensor<?x8xf32>
  return %0, %1, %2 : f32, vector<8xf64>, tensor<?x8xf32>
}

// CHECK-LABEL: @fill
func.func @fill(%x: f64, %v: vector<8xf32>, %xs: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: nn.fill %{{.*}} with 5.000000e-01 : f64
  %0 = nn.fill %x with 0.5 : f64
  // CHECK: nn.fill %{{.*}} with 1.000000e+00 : vector<8xf32>
  %1 = nn.fill %v with 1.0 : vector<8xf32>
  // CHECK: nn.fill %{{.*}} with -2.000000e+00 : tensor<?x8xf32>
  %2 = nn.fill %xs with -2.0 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// A group over rows: its body says what happens to one of them.
// CHECK-LABEL: @elementwise
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[B:.*]]: tensor<8xf32>
func.func @elementwise(%x: tensor<?x8xf32>, %b: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[GROUP:.*]]:2 = nn.elementwise(%[[X]], %[[B]]) : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<8xf32>, %[[BIAS:.*]]: tensor<8xf32>):
  // CHECK: %[[SUM:.*]] = arith.addf %[[ROW]], %[[BIAS]]
  // CHECK: %[[TANH:.*]] = math.tanh %[[SUM]]
  // CHECK: nn.yield %[[SUM]], %[[TANH]] : tensor<8xf32>, tensor<8xf32>
  %0:2 = nn.elementwise(%x, %b) : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^bb0(%row: tensor<8xf32>, %bias: tensor<8xf32>):
    %1 = arith.addf %row, %bias : tensor<8xf32>
    %2 = math.tanh %1 : tensor<8xf32>
    nn.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  // CHECK: return %[[GROUP]]#0, %[[GROUP]]#1
  return %0#0, %0#1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// A group may read nothing, yield nothing, or both.
// CHECK-LABEL: @elementwise_of_nothing
func.func @elementwise_of_nothing() -> tensor<8xf32> {
  // CHECK: nn.elementwise() : () -> tensor<8xf32>
  %0 = nn.elementwise() : () -> tensor<8xf32> {
    %1 = arith.constant dense<2.0> : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  // CHECK: nn.elementwise() : () -> ()
  nn.elementwise() : () -> () {
  }
  return %0 : tensor<8xf32>
}

// Rows of a group may have any rank, of any element type.
// CHECK-LABEL: @elementwise_of_matrices
func.func @elementwise_of_matrices(%x: tensor<?x2x3xi32>) -> tensor<?x2x3xi32> {
  // CHECK: nn.elementwise(%{{.*}}) : (tensor<?x2x3xi32>) -> tensor<?x2x3xi32>
  %0 = nn.elementwise(%x) : (tensor<?x2x3xi32>) -> tensor<?x2x3xi32> {
  ^bb0(%row: tensor<2x3xi32>):
    %1 = arith.addi %row, %row : tensor<2x3xi32>
    nn.yield %1 : tensor<2x3xi32>
  }
  return %0 : tensor<?x2x3xi32>
}

// A scalar argument is there to be broadcast; it may be one for all rows.
// CHECK-LABEL: @elementwise_with_scalars
func.func @elementwise_with_scalars(%x: tensor<?x8xf32>, %s: tensor<f32>, %t: tensor<?xf32>) -> tensor<?x8xf32> {
  // CHECK: nn.elementwise(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x8xf32>, tensor<f32>, tensor<?xf32>) -> tensor<?x8xf32>
  %0 = nn.elementwise(%x, %s, %t) : (tensor<?x8xf32>, tensor<f32>, tensor<?xf32>) -> tensor<?x8xf32> {
  ^bb0(%row: tensor<8xf32>, %a: tensor<f32>, %b: tensor<f32>):
    // CHECK: nn.broadcast %{{.*}} : tensor<f32> -> tensor<8xf32>
    %1 = nn.broadcast %a : tensor<f32> -> tensor<8xf32>
    %2 = nn.broadcast %b : tensor<f32> -> tensor<8xf32>
    %3 = arith.mulf %row, %1 : tensor<8xf32>
    %4 = arith.addf %3, %2 : tensor<8xf32>
    nn.yield %4 : tensor<8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// What the outside binds has a name.
// CHECK-LABEL: @names
// CHECK-SAME: tensor<?xi32> {nn.input = "ids"}, %{{.*}}: tensor<100x8xf32> {nn.param = "table"}
// CHECK-SAME: -> (tensor<?x8xf32> {nn.output = "rows"})
func.func @names(%ids: tensor<?xi32> {nn.input = "ids"}, %table: tensor<100x8xf32> {nn.param = "table"})
    -> (tensor<?x8xf32> {nn.output = "rows"}) {
  %0 = nn.embedding %table[%ids] : tensor<100x8xf32>, tensor<?xi32>
  return %0 : tensor<?x8xf32>
}

// A training step returns new values of its parameters and of what it remembers.
// CHECK-LABEL: @step
// CHECK-SAME: tensor<8xf32> {nn.param = "b"}, %{{.*}}: tensor<8xf32> {nn.state = "b.momentum"}
// CHECK-SAME: -> (tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.update = "b.momentum"}, tensor<8xf32> {nn.gradient = "b", nn.output = "gradient.b"})
func.func @step(%b: tensor<8xf32> {nn.param = "b"}, %m: tensor<8xf32> {nn.state = "b.momentum"})
    -> (tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.update = "b.momentum"},
        tensor<8xf32> {nn.gradient = "b", nn.output = "gradient.b"}) {
  return %b, %m, %m : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
