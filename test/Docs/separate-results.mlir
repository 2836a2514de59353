// The example in the description of separate-results is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Plan/Transforms/Passes.td separate-results %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --separate-results -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @f(%x: tensor<2x3x5x5xf32> {nn.input = "x"})
    -> (tensor<2x3x4x4xf32> {nn.output = "y"}, tensor<2x3x4x4xf32> {nn.output = "z"}) {
  %0 = nn.max_pool2d %x {window = [2, 2]} : tensor<2x3x5x5xf32>
  return %0, %0 : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>
}

//--- after.mlir
func.func @f(%arg0: tensor<2x3x5x5xf32> {nn.input = "x"}) -> (tensor<2x3x4x4xf32> {nn.output = "y"}, tensor<2x3x4x4xf32> {nn.output = "z"}) {
  %0 = nn.max_pool2d %arg0 {window = [2, 2]} : tensor<2x3x5x5xf32>
  %1 = nn.elementwise(%0) : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  ^bb0(%arg1: tensor<2x3x4x4xf32>):
    nn.yield %arg1 : tensor<2x3x4x4xf32>
  }
  return %0, %1 : tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>
}
