// The example in the description of split-products is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td split-products %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --split-products --canonicalize -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @f(%W: tensor<12x8xf32>) state(tensor<8xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<4xf32>
  %h = vertex.gather 0 : tensor<8xf32>
  %xh = tensor.concat dim(0) %x, %h : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
  %y = nn.matmul %xh, %W : tensor<12xf32>, tensor<12x8xf32>
  vertex.scatter %y : tensor<8xf32>
}

//--- after.mlir
vertex.func @f(%W: tensor<12x8xf32>) state(tensor<8xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<4xf32>
  %h = vertex.gather 0 : tensor<8xf32>
  %W_x = tensor.extract_slice %W[0, 0] [4, 8] [1, 1] : tensor<12x8xf32> to tensor<4x8xf32>
  %0 = nn.matmul %x, %W_x : tensor<4xf32>, tensor<4x8xf32>
  %W_h = tensor.extract_slice %W[4, 0] [8, 8] [1, 1] : tensor<12x8xf32> to tensor<8x8xf32>
  %1 = nn.matmul %h, %W_h : tensor<8xf32>, tensor<8x8xf32>
  %y = arith.addf %0, %1 : tensor<8xf32>
  vertex.scatter %y : tensor<8xf32>
}
