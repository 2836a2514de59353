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

// What the outside binds has a name.
// CHECK-LABEL: @names
// CHECK-SAME: tensor<?xi32> {nn.input = "ids"}, %{{.*}}: tensor<100x8xf32> {nn.param = "table"}
// CHECK-SAME: -> (tensor<?x8xf32> {nn.output = "rows"})
func.func @names(%ids: tensor<?xi32> {nn.input = "ids"}, %table: tensor<100x8xf32> {nn.param = "table"})
    -> (tensor<?x8xf32> {nn.output = "rows"}) {
  %0 = nn.embedding %table[%ids] : tensor<100x8xf32>, tensor<?xi32>
  return %0 : tensor<?x8xf32>
}
