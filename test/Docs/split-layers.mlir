// The example in the description of split-layers is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Plan/Transforms/Passes.td split-layers %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --split-layers=parts=2 -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @f(%x: tensor<4x3x8x8xf32> {nn.input = "x"},
             %w: tensor<8x3x1x1xf32> {nn.param = "w"})
    -> (tensor<f32> {nn.output = "y"}) {
  %0 = nn.conv2d %x, %w : tensor<4x3x8x8xf32>, tensor<8x3x1x1xf32>
  %1 = nn.sum_channels %0 : tensor<4x8x8x8xf32>
  %2 = nn.sum %1 : tensor<8xf32>
  return %2 : tensor<f32>
}

//--- after.mlir
func.func @f(%arg0: tensor<4x3x8x8xf32> {nn.input = "x"}, %arg1: tensor<8x3x1x1xf32> {nn.param = "w"}) -> (tensor<f32> {nn.output = "y"}) {
  %extracted_slice = tensor.extract_slice %arg0[0, 0, 0, 0] [2, 3, 8, 8] [1, 1, 1, 1] : tensor<4x3x8x8xf32> to tensor<2x3x8x8xf32>
  %0 = nn.conv2d %extracted_slice, %arg1 : tensor<2x3x8x8xf32>, tensor<8x3x1x1xf32>
  %1 = nn.sum_channels %0 : tensor<2x8x8x8xf32>
  %extracted_slice_0 = tensor.extract_slice %arg0[2, 0, 0, 0] [2, 3, 8, 8] [1, 1, 1, 1] : tensor<4x3x8x8xf32> to tensor<2x3x8x8xf32>
  %2 = nn.conv2d %extracted_slice_0, %arg1 : tensor<2x3x8x8xf32>, tensor<8x3x1x1xf32>
  %3 = nn.sum_channels %2 : tensor<2x8x8x8xf32>
  %4 = nn.elementwise(%1, %3) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%arg2: tensor<8xf32>, %arg3: tensor<8xf32>):
    %6 = arith.addf %arg2, %arg3 : tensor<8xf32>
    nn.yield %6 : tensor<8xf32>
  }
  %5 = nn.sum %4 : tensor<8xf32>
  return %5 : tensor<f32>
}
