// The example in the description of hoist-child-operators is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td hoist-child-operators %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --hoist-child-operators -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<8xf32>):
    %u = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
    %t = math.tanh %u : tensor<8xf32>
    vertex.yield(%t) : tensor<8xf32>
  } : tensor<8xf32>
  vertex.scatter %s : tensor<8xf32>
}

//--- after.mlir
vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(0) {
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<8xf32>, %u: tensor<8xf32>):
    %t = math.tanh %u : tensor<8xf32>
    vertex.yield(%t) : tensor<8xf32>
  } : tensor<8xf32>
  %0 = nn.matmul %s, %U : tensor<8xf32>, tensor<8x8xf32>
  vertex.scatter %s, %0 : tensor<8xf32>, tensor<8xf32>
}
