// The example in the description of assign-buffers is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Plan/Transforms/Passes.td assign-buffers %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --assign-buffers -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @f(%x: tensor<2x3x8x8xf32> {nn.input = "x"})
    -> (tensor<2x3x4x4xf32> {nn.output = "y"}) {
  %0 = nn.relu %x : tensor<2x3x8x8xf32>
  %1 = nn.max_pool2d %0 {window = [2, 2], strides = [2, 2]} : tensor<2x3x8x8xf32>
  return %1 : tensor<2x3x4x4xf32>
}

//--- after.mlir
func.func @f(%arg0: tensor<2x3x8x8xf32> {nn.input = "x", plan.offset = 0 : i64}) -> (tensor<2x3x4x4xf32> {nn.output = "y"}) attributes {plan.memory = #plan.memory<device 3456, host 0, budget 0, machine "">} {
  %0 = nn.relu %arg0 {plan.offsets = array<i64: 1536>} : tensor<2x3x8x8xf32>
  %1 = nn.max_pool2d %0 {plan.offsets = array<i64: 3072>, strides = [2, 2], window = [2, 2]} : tensor<2x3x8x8xf32>
  return %1 : tensor<2x3x4x4xf32>
}
