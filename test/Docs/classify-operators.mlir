// The example in the description of classify-operators is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td classify-operators %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --classify-operators -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @f() state(tensor<8xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<8xf32>
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}

//--- after.mlir
vertex.func @f() state(tensor<8xf32>) arity(1) {
  %x = vertex.pull "x" {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
  %h = vertex.gather 0 {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
  %0 = arith.addf %h, %x {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
  vertex.scatter %0 {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
  vertex.push "h" %0 {vertex.phase = #vertex.phase<lazy>} : tensor<8xf32>
}
