// The example in the description of select-conv-algorithms is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Plan/Transforms/Passes.td select-conv-algorithms %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --select-conv-algorithms=machine=%source_dir/docs/machines/local-cpu-builtin.json -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @f(%x: tensor<1x8x16x16xf32> {nn.input = "x", plan.offset = 0 : i64},
             %w: tensor<100x8x3x3xf32> {nn.param = "w", plan.offset = 8192 : i64})
    -> (tensor<1x100x14x14xf32> {nn.output = "y"})
    attributes {plan.memory = #plan.memory<device 115392, host 0, budget 200000, machine "local-cpu-builtin">} {
  %0 = nn.conv2d %x, %w {plan.offsets = array<i64: 36992>} : tensor<1x8x16x16xf32>, tensor<100x8x3x3xf32>
  return %0 : tensor<1x100x14x14xf32>
}

//--- after.mlir
func.func @f(%arg0: tensor<1x8x16x16xf32> {nn.input = "x", plan.offset = 0 : i64}, %arg1: tensor<100x8x3x3xf32> {nn.param = "w", plan.offset = 8192 : i64}) -> (tensor<1x100x14x14xf32> {nn.output = "y"}) attributes {plan.memory = #plan.memory<device 176832, host 0, budget 200000, machine "local-cpu-builtin">, plan.notes = ["step 0, conv2d: patches, 60.00 KiB; runner-up: direct, 0 B; too large: patches, 120.00 KiB of 82.62 KiB"]} {
  %0 = nn.conv2d %arg0, %arg1 {plan.algorithm = "patches", plan.offsets = array<i64: 36992>, plan.workspace = array<i64: 61440, 115392>} : tensor<1x8x16x16xf32>, tensor<100x8x3x3xf32>
  return %0 : tensor<1x100x14x14xf32>
}
