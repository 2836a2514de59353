// The example in the description of keep-results is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/NN/Transforms/Passes.td keep-results %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --keep-results=results=logits -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @classify(%x: tensor<?x8xf32> {nn.input = "x"}, %y: tensor<?x8xf32> {nn.input = "y"})
    -> (tensor<?x8xf32> {nn.output = "logits"}, tensor<?x8xf32> {nn.output = "hidden"}) {
  %h = math.tanh %x : tensor<?x8xf32>
  %i = math.tanh %y : tensor<?x8xf32>
  return %h, %i : tensor<?x8xf32>, tensor<?x8xf32>
}

//--- after.mlir
func.func @classify(%x: tensor<?x8xf32> {nn.input = "x"})
    -> (tensor<?x8xf32> {nn.output = "logits"}) {
  %h = math.tanh %x : tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}
