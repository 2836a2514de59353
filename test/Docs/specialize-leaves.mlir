// The example in the description of specialize-leaves is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td specialize-leaves %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --specialize-leaves -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" at leaves : tensor<8xf32>
  %0 = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
  %1 = arith.addf %0, %x : tensor<8xf32>
  vertex.scatter %1 : tensor<8xf32>
}

//--- after.mlir
vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) leaf(@f.leaf) {
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
  vertex.scatter %0 : tensor<8xf32>
}
vertex.func @f.leaf(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" at leaves : tensor<8xf32>
  vertex.scatter %x : tensor<8xf32>
}
