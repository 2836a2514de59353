// The example in the description of expand-scatter-rows is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/NN/Transforms/Passes.td expand-scatter-rows %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --expand-scatter-rows -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @example(%rows: tensor<?x8xf32>, %ids: tensor<?xi32>) -> tensor<100x8xf32> {
  %dE = nn.scatter_rows %rows by %ids
      : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
  return %dE : tensor<100x8xf32>
}

//--- after.mlir
func.func @example(%rows: tensor<?x8xf32>, %ids: tensor<?xi32>) -> tensor<100x8xf32> {
  %sums, %owners = nn.combine_rows %rows by %ids : tensor<?x8xf32>, tensor<?xi32>
  %zeros = nn.elementwise() : () -> tensor<100x8xf32> {
    %0 = arith.constant dense<0.0> : tensor<100x8xf32>
    nn.yield %0 : tensor<100x8xf32>
  }
  %copy = nn.elementwise(%sums) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%row: tensor<8xf32>):
    nn.yield %row : tensor<8xf32>
  }
  %dE = nn.update_rows %zeros by %owners with %copy
      : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
  return %dE : tensor<100x8xf32>
}
