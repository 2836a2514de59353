// The example in the description of add-train-step is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/NN/Transforms/Passes.td add-train-step %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --add-train-step="clip=0 decay=0" -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @loss.gradient(%W: tensor<8xf32> {nn.param = "W"})
    -> (tensor<8xf32> {nn.output = "gradient.W", nn.gradient = "W"})
{
  %0 = math.exp %W : tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- after.mlir
func.func @train_step(%W: tensor<8xf32> {nn.param = "W"},
                      %rate: tensor<f32> {nn.input = "learning_rate"},
                      %scale: tensor<f32> {nn.input = "gradient_scale"})
    -> (tensor<8xf32> {nn.update = "W"})
{
  %0 = math.exp %W : tensor<8xf32>
  %1 = nn.broadcast %scale : tensor<f32> -> tensor<8xf32>
  %2 = arith.mulf %0, %1 : tensor<8xf32>
  %3 = nn.broadcast %rate : tensor<f32> -> tensor<8xf32>
  %4 = arith.mulf %3, %2 : tensor<8xf32>
  %5 = arith.subf %W, %4 : tensor<8xf32>
  return %5 : tensor<8xf32>
}
