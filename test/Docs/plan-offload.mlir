// The example in the description of plan-offload is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Dialect/Plan/Transforms/Passes.td plan-offload %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir "--plan-offload=machine=%source_dir/docs/machines/k40c.json budget=9000" -o %t/found.mlir
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
func.func @f(%arg0: tensor<1x1x32x32xf32> {nn.input = "x"}, %arg1: tensor<1x1x1x1xf32> {nn.param = "w", plan.offset = 0 : i64}) -> (tensor<1x1x1x1xf32> {nn.output = "y"}, tensor<1x1x1x1xf32> {nn.output = "z"}) attributes {plan.memory = #plan.memory<device 8260, host 8192, budget 9000, machine "k40c">} {
  %0 = plan.prefetch %arg0 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32> -> tensor<1x1x32x32xf32>
  %1 = nn.lrn %0 {plan.offsets = array<i64: 64>, size = 1 : i64} : tensor<1x1x32x32xf32>
  %2 = plan.offload %1 : tensor<1x1x32x32xf32>
  %3 = nn.conv2d %1, %arg1 {plan.offsets = array<i64: 4160>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %4 = nn.conv2d %3, %arg1 {plan.offsets = array<i64: 64>} : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %5 = plan.prefetch %2 {plan.offsets = array<i64: 4160>} : !plan.host<tensor<1x1x32x32xf32>> -> tensor<1x1x32x32xf32>
  %6 = nn.max_pool2d %4 {plan.offsets = array<i64: 8256>, window = [32, 32]} : tensor<1x1x32x32xf32>
  %7 = nn.max_pool2d %5 {plan.offsets = array<i64: 64>, window = [32, 32]} : tensor<1x1x32x32xf32>
  return %6, %7 : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>
}
