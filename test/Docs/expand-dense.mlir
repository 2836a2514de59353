// The example in the description of expand-dense is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/NN/Transforms/Passes.td expand-dense %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --expand-dense -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @example(%x: tensor<8xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %y = nn.dense %x, %W, %b : tensor<8xf32>, tensor<8x4xf32>, tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- after.mlir
func.func @example(%x: tensor<8xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf32>
  %y = arith.addf %0, %b : tensor<4xf32>
  return %y : tensor<4xf32>
}
