// RUN: espalier-opt %s --expand-scatter-rows | FileCheck %s

// Zeros in a group of their own, which is a table that is made; rows, added up by
// id, in a group that can be made where the table has them.
// CHECK-LABEL: func.func @batch
// CHECK-SAME: %[[ROWS:.*]]: tensor<?x8xf32>, %[[IDS:.*]]: tensor<?xi32>
// CHECK-NEXT: %[[SUMS:.*]], %[[OWNERS:.*]] = nn.combine_rows %[[ROWS]] by %[[IDS]]
// CHECK-NEXT: %[[ZEROS:.*]] = nn.elementwise() : () -> tensor<100x8xf32> {
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<100x8xf32>
// CHECK-NEXT: nn.yield %[[ZERO]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[COPY:.*]] = nn.elementwise(%[[SUMS]]) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<8xf32>):
// CHECK-NEXT: nn.yield %[[ROW]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[TABLE:.*]] = nn.update_rows %[[ZEROS]] by %[[OWNERS]] with %[[COPY]]
// CHECK-NEXT: return %[[TABLE]]
func.func @batch(%rows: tensor<?x8xf32>, %ids: tensor<?xi32>) -> tensor<100x8xf32> {
  %0 = nn.scatter_rows %rows by %ids : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}

// One row is no batch.
// CHECK-LABEL: func.func @one_row
// CHECK-NEXT: nn.scatter_rows
func.func @one_row(%row: tensor<8xf32>, %id: tensor<i32>) -> tensor<100x8xf32> {
  %0 = nn.scatter_rows %row by %id : tensor<8xf32>, tensor<i32> -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}
