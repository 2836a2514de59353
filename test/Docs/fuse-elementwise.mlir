// The example in the description of fuse-elementwise is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/NN/Transforms/Passes.td fuse-elementwise %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --fuse-elementwise -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @example(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

//--- after.mlir
func.func @example(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %1 = nn.elementwise(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %2 = arith.addf %a, %b : tensor<8xf32>
    %3 = math.tanh %2 : tensor<8xf32>
    nn.yield %3 : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}
