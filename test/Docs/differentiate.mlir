// The example in the description of differentiate is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Vertex/Transforms/Passes.td differentiate %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --differentiate -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
vertex.func @f() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  vertex.scatter %1 : tensor<8xf32>
  vertex.push "h" %1 : tensor<8xf32>
}
func.func @loss(%g: !vertex.graph, %b: tensor<?x8xf32>, %W: tensor<8x8xf32> {nn.param = "W"}) -> (tensor<?xf32> {nn.output = "loss"}) {
  %x = nn.matmul %b, %W : tensor<?x8xf32>, tensor<8x8xf32>
  %h = vertex.apply @f() over %g pull("x" = %x) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = nn.sum %h : tensor<?x8xf32>
  return %s : tensor<?xf32>
}

//--- after.mlir
vertex.func @f() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  vertex.scatter %1 : tensor<8xf32>
  vertex.push "h" %1 : tensor<8xf32>
}
vertex.func @f.primal() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  vertex.scatter %1 : tensor<8xf32>
  vertex.push "h" %1 : tensor<8xf32>
  vertex.push "state.0" %1 : tensor<8xf32>
}
vertex.func @f.adjoint() state(tensor<8xf32>) arity(1) reversed {
  %y = vertex.pull "state.0" : tensor<8xf32>
  %p = vertex.gather_parents : tensor<8xf32>
  %q = vertex.pull "adjoint.h" : tensor<8xf32>
  %d = arith.addf %p, %q : tensor<8xf32>
  %0 = arith.mulf %y, %y : tensor<8xf32>
  %1 = nn.fill %y with 1.0 : tensor<8xf32>
  %2 = arith.subf %1, %0 : tensor<8xf32>
  %3 = arith.mulf %d, %2 : tensor<8xf32>
  vertex.push "adjoint.x" %3 : tensor<8xf32>
  vertex.scatter_child 0 %3 : tensor<8xf32>
}
func.func @loss(%g: !vertex.graph, %b: tensor<?x8xf32>, %W: tensor<8x8xf32> {nn.param = "W"}) -> (tensor<?xf32> {nn.output = "loss"}) {
  %x = nn.matmul %b, %W : tensor<?x8xf32>, tensor<8x8xf32>
  %h = vertex.apply @f() over %g pull("x" = %x) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = nn.sum %h : tensor<?x8xf32>
  return %s : tensor<?xf32>
}
func.func @loss.gradient(%g: !vertex.graph, %b: tensor<?x8xf32>, %W: tensor<8x8xf32> {nn.param = "W"})
    -> (tensor<f32> {nn.output = "loss"}, tensor<8x8xf32> {nn.gradient = "W", nn.output = "gradient.W"}) {
  %x = nn.matmul %b, %W : tensor<?x8xf32>, tensor<8x8xf32>
  %h, %y = vertex.apply @f.primal() over %g pull("x" = %x) -> "h", "state.0"
      : (), (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %s = nn.sum %h : tensor<?x8xf32>
  %loss = nn.sum_rows %s : tensor<?xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %ds = nn.elementwise(%s, %one) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32> {
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    nn.yield %c : tensor<f32>
  }
  %dh = nn.broadcast %ds : tensor<?xf32> -> tensor<?x8xf32>
  %dx = vertex.apply @f.adjoint() over %g pull("x" = %x, "state.0" = %y, "adjoint.h" = %dh) -> "adjoint.x"
      : (), (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %dW = nn.outer_sum %b, %dx : tensor<?x8xf32>, tensor<?x8xf32>
  return %loss, %dW : tensor<f32>, tensor<8x8xf32>
}
