// The example in the description of batch-vertices is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td batch-vertices %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --batch-vertices -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @sum() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
  %x = vertex.pull "x" {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
  %n = nn.elementwise(%h, %x) {vertex.phase = #vertex.phase<path>} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %0 = arith.addf %a, %b : tensor<8xf32>
    nn.yield %0 : tensor<8xf32>
  }
  vertex.scatter %n {vertex.phase = #vertex.phase<path>} : tensor<8xf32>
  vertex.push "h" %n {vertex.phase = #vertex.phase<lazy>} : tensor<8xf32>
}
func.func @example(%g: !vertex.graph, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %h = vertex.apply @sum() over %g pull("x" = %e) -> "h"
      : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

//--- after.mlir
func.func @example(%g: !vertex.graph {vertex.arity = 1 : i64}, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %x = vertex.pull_rows %g, %e : tensor<?x8xf32>
  %s = vertex.tasks %g arity 1 eager(%x : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %x_task: tensor<?x8xf32>):
    %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
    %n = nn.elementwise(%c, %x_task) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %0 = arith.addf %a, %b : tensor<8xf32>
      nn.yield %0 : tensor<8xf32>
    }
    vertex.yield(%n) : tensor<?x8xf32>
  }
  %h = vertex.push_rows %g, %s : tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}
