// The example in the description of plan-recompute is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Plan/Transforms/Passes.td plan-recompute %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir "--plan-recompute=machine=%source_dir/docs/machines/k40c.json budget=12600" -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func @f(%x: tensor<1x1x32x32xf32> {nn.input = "x"},
             %w: tensor<1x1x1x1xf32> {nn.param = "w"})
    -> (tensor<1x1x1x1xf32> {nn.output = "y"}, tensor<1x1x1x1xf32> {nn.output = "z"}) {
  %a = nn.lrn %x {size = 1} : tensor<1x1x32x32xf32>
  %b = nn.conv2d %a, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %c = nn.conv2d %b, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %d = nn.max_pool2d %c {window = [32, 32]} : tensor<1x1x32x32xf32>
  %e = nn.max_pool2d %a {window = [32, 32]} : tensor<1x1x32x32xf32>
  return %d, %e : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}

//--- after.mlir
func.func @f(%arg0: tensor<1x1x32x32xf32> {nn.input = "x", plan.offset = 0 : i64}, %arg1: tensor<1x1x1x1xf32> {nn.param = "w", plan.offset = 4096 : i64}) -> (tensor<1x1x1x1xf32> {nn.output = "y"}, tensor<1x1x1x1xf32> {nn.output = "z"}) attributes {plan.memory = #plan.memory<device 12352, host 0, budget 12600, machine "k40c">} {
  %0 = nn.lrn %arg0 {plan.offsets = array<i64: 8256>, plan.operator = 0 : i64, size = 1 : i64} : tensor<1x1x32x32xf32>
  %1 = nn.conv2d %0, %arg1 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %2 = nn.conv2d %1, %arg1 {plan.offsets = array<i64: 8256>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %3 = nn.max_pool2d %2 {plan.offsets = array<i64: 4160>, window = [32, 32]} : tensor<1x1x32x32xf32>
  %4 = nn.lrn %arg0 {plan.again = 1 : i64, plan.offsets = array<i64: 4224>, plan.operator = 0 : i64, size = 1 : i64} : tensor<1x1x32x32xf32>
  %5 = nn.max_pool2d %4 {plan.offsets = array<i64: 8320>, window = [32, 32]} : tensor<1x1x32x32xf32>
  return %3, %5 : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}
