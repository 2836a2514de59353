// The example in the description of order-operators is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Plan/Transforms/Passes.td order-operators %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --order-operators -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @f(%x: tensor<1x1x8x8xf32> {nn.input = "x"},
             %v: tensor<4x1x1x1xf32> {nn.param = "v"},
             %w: tensor<4x1x1x1xf32> {nn.param = "w"})
    -> (tensor<1x4x1x1xf32> {nn.output = "y"}, tensor<1x4x1x1xf32> {nn.output = "z"}) {
  %0 = nn.conv2d %x, %v : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
  %1 = nn.conv2d %x, %w : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
  %2 = nn.max_pool2d %0 {window = [8, 8]} : tensor<1x4x8x8xf32>
  %3 = nn.max_pool2d %1 {window = [8, 8]} : tensor<1x4x8x8xf32>
  return %2, %3 : tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>
}

//--- after.mlir
func.func @f(%arg0: tensor<1x1x8x8xf32> {nn.input = "x"}, %arg1: tensor<4x1x1x1xf32> {nn.param = "v"}, %arg2: tensor<4x1x1x1xf32> {nn.param = "w"}) -> (tensor<1x4x1x1xf32> {nn.output = "y"}, tensor<1x4x1x1xf32> {nn.output = "z"}) {
  %0 = nn.conv2d %arg0, %arg1 : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
  %1 = nn.max_pool2d %0 {window = [8, 8]} : tensor<1x4x8x8xf32>
  %2 = nn.conv2d %arg0, %arg2 : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
  %3 = nn.max_pool2d %2 {window = [8, 8]} : tensor<1x4x8x8xf32>
  return %1, %3 : tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>
}
