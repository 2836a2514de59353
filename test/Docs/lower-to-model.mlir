// The example in the description of lower-to-model is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Conversion/Passes.td lower-to-model %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --lower-to-model -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @example(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %W: tensor<8x4xf32> {nn.param = "W"}) -> (tensor<?x4xf32> {nn.output = "y"}) {
  %p = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %0 = nn.matmul %p, %W : tensor<?x8xf32>, tensor<8x4xf32>
  %y = vertex.push_rows %g, %0 : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

//--- after.mlir
model.entry @example graphs ["g"] arities [0] {
  %x = model.buffer input "x" rows caller of 0 : tensor<8xf32>
  %W = model.buffer parameter "W" rows one of 0 : tensor<8x4xf32>
  %y = model.buffer output "y" rows caller of 0 : tensor<4xf32>
  %0 = model.buffer dynamic "" rows vertices of 0 : tensor<4xf32>
  %p = model.buffer scratch "" rows vertices of 0 : tensor<8xf32>
  %w = model.weight %W row 0 for 8 columns [0] for [4]
  model.phase "eager" rows vertices of 0 {
    model.copy %x <caller 0, 0 for 8> to %p <row 0, 0 for 8>
    model.matmul %p <row 0, 0 for 8> by %w to %0 <row 0, 0 for 4>
  }
  model.phase "eager" rows vertices of 0 {
    model.copy %0 <row 0, 0 for 4> to %y <caller 0, 0 for 4>
  }
}
