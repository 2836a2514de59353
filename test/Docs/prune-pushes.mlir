// The example in the description of prune-pushes is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td prune-pushes %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --prune-pushes -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @f() arity(1) leaf(@f.leaf) {
  %b = vertex.pull "b" : tensor<256xf32>
  vertex.push "saved.1" %b : tensor<256xf32>
}
vertex.func @f.leaf() arity(0) {
  %b = vertex.pull "b" : tensor<256xf32>
  %forget = nn.sigmoid %b : tensor<256xf32>
  vertex.push "saved.1" %forget : tensor<256xf32>
}
vertex.func @df() arity(1) leaf(@df.leaf) {
  %s = vertex.pull "saved.1" : tensor<256xf32>
  vertex.push "db" %s : tensor<256xf32>
}
vertex.func @df.leaf() arity(0) {
  %zeros = arith.constant dense<0.0> : tensor<256xf32>
  vertex.push "db" %zeros : tensor<256xf32>
}
func.func @example(%g: !vertex.graph, %b: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %s = vertex.apply @f() over %g pull("b" = %b) -> "saved.1" : (), (tensor<?x256xf32>) -> tensor<?x256xf32>
  %d = vertex.apply @df() over %g pull("saved.1" = %s) -> "db" : (), (tensor<?x256xf32>) -> tensor<?x256xf32>
  return %d : tensor<?x256xf32>
}

//--- after.mlir
vertex.func @f() arity(1) leaf(@f.leaf) {
  %b = vertex.pull "b" : tensor<256xf32>
  vertex.push "saved.1" %b : tensor<256xf32>
}
vertex.func @f.leaf() arity(0) {
  %zeros = arith.constant dense<0.0> : tensor<256xf32>
  vertex.push "saved.1" %zeros : tensor<256xf32>
}
vertex.func @df() arity(1) leaf(@df.leaf) {
  %s = vertex.pull "saved.1" : tensor<256xf32>
  vertex.push "db" %s : tensor<256xf32>
}
vertex.func @df.leaf() arity(0) {
  %zeros = arith.constant dense<0.0> : tensor<256xf32>
  vertex.push "db" %zeros : tensor<256xf32>
}
func.func @example(%g: !vertex.graph, %b: tensor<?x256xf32>) -> tensor<?x256xf32> {
  %s = vertex.apply @f() over %g pull("b" = %b) -> "saved.1" : (), (tensor<?x256xf32>) -> tensor<?x256xf32>
  %d = vertex.apply @df() over %g pull("saved.1" = %s) -> "db" : (), (tensor<?x256xf32>) -> tensor<?x256xf32>
  return %d : tensor<?x256xf32>
}
