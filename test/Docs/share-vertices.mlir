// The example in the description of share-vertices is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td share-vertices %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --share-vertices -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<f32>
  vertex.push "h" %x : tensor<f32>
}
func.func @total(%g: !vertex.graph, %e: tensor<?xf32>) -> tensor<f32> {
  %h = vertex.apply @f() over %g pull("x" = %e) -> "h"
      : (), (tensor<?xf32>) -> tensor<?xf32>
  %s = nn.sum_rows %h : tensor<?xf32>
  return %s : tensor<f32>
}

//--- after.mlir
vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<f32>
  vertex.push "h" %x : tensor<f32>
}
func.func @total(%g: !vertex.graph {vertex.shared}, %e: tensor<?xf32>) -> tensor<f32> {
  %h = vertex.apply @f() over %g pull("x" = %e) -> "h"
      : (), (tensor<?xf32>) -> tensor<?xf32>
  %m = vertex.multiplicity %h : tensor<?xf32> -> tensor<?xf32>
  %0 = arith.mulf %h, %m : tensor<?xf32>
  %s = nn.sum_rows %0 : tensor<?xf32>
  return %s : tensor<f32>
}
