// RUN: espalier-opt %s --expand-dense | FileCheck %s

// In a vertex function and around one, the bias of one row is an addition.
// CHECK-LABEL: vertex.func @one_row
// CHECK-SAME: %[[W:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<4xf32>
vertex.func @one_row(%W: tensor<8x4xf32>, %b: tensor<4xf32>) arity(0) {
  // CHECK-NEXT: %[[X:.*]] = vertex.pull "x"
  %x = vertex.pull "x" : tensor<8xf32>
  // CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[W]] : tensor<8xf32>, tensor<8x4xf32>
  // CHECK-NEXT: %[[Y:.*]] = arith.addf %[[PRODUCT]], %[[B]] : tensor<4xf32>
  %y = nn.dense %x, %W, %b : tensor<8xf32>, tensor<8x4xf32>, tensor<4xf32>
  // CHECK-NEXT: vertex.push "y" %[[Y]]
  vertex.push "y" %y : tensor<4xf32>
}

// Over a batch, a group adds the bias to every row.
// CHECK-LABEL: @batch
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<4xf32>
func.func @batch(%x: tensor<?x8xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[W]]
  // CHECK-NEXT: %[[Y:.*]] = nn.elementwise(%[[PRODUCT]], %[[B]]) : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<4xf32>, %[[BIAS:.*]]: tensor<4xf32>):
  // CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[ROW]], %[[BIAS]] : tensor<4xf32>
  // CHECK-NEXT: nn.yield %[[SUM]]
  // CHECK-NEXT: }
  %y = nn.dense %x, %W, %b : tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf32>
  // CHECK-NEXT: return %[[Y]]
  return %y : tensor<?x4xf32>
}

// In f64 too.
// CHECK-LABEL: @f64
func.func @f64(%x: tensor<8xf64>, %W: tensor<8x4xf64>, %b: tensor<4xf64>) -> tensor<4xf64> {
  // CHECK: nn.matmul
  // CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} : tensor<4xf64>
  %y = nn.dense %x, %W, %b : tensor<8xf64>, tensor<8x4xf64>, tensor<4xf64>
  return %y : tensor<4xf64>
}

// Without dense layers nothing changes.
// CHECK-LABEL: @nothing_to_do
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: return
func.func @nothing_to_do(%x: tensor<8xf32>, %W: tensor<8x4xf32>) -> tensor<4xf32> {
  %y = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf32>
  return %y : tensor<4xf32>
}

// A batch of static size: a layer of a network.
// CHECK-LABEL: @static_batch
func.func @static_batch(%x: tensor<3x8xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  // CHECK: nn.dense %{{.*}}, %{{.*}}, %{{.*}} : tensor<3x8xf32>
  %y = nn.dense %x, %W, %b : tensor<3x8xf32>, tensor<8x4xf32>, tensor<4xf32>
  return %y : tensor<3x4xf32>
}
