// The example in the description of hoist-slices is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/NN/Transforms/Passes.td hoist-slices %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --hoist-slices -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @example(%x: tensor<8xf32>, %W: tensor<8x12xf32>, %b: tensor<12xf32>) -> tensor<4xf32> {
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x12xf32>
  %1 = arith.addf %0, %b : tensor<12xf32>
  %i = tensor.extract_slice %1[0] [4] [1] : tensor<12xf32> to tensor<4xf32>
  return %i : tensor<4xf32>
}

//--- after.mlir
func.func @example(%x: tensor<8xf32>, %W: tensor<8x12xf32>, %b: tensor<12xf32>) -> tensor<4xf32> {
  %w = tensor.extract_slice %W[0, 0] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %0 = nn.matmul %x, %w : tensor<8xf32>, tensor<8x4xf32>
  %c = tensor.extract_slice %b[0] [4] [1] : tensor<12xf32> to tensor<4xf32>
  %i = arith.addf %0, %c : tensor<4xf32>
  return %i : tensor<4xf32>
}
