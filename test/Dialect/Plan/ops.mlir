// Operators, types and attributes of the plan dialect survive a round trip.
// RUN: espalier-opt %s | espalier-opt | FileCheck %s

// CHECK-LABEL: @copies
// CHECK-SAME: plan.offset = 64 : i64
// CHECK-SAME: plan.memory = #plan.memory<device 4096, host 128, budget 8192, machine "K40c">
func.func @copies(%x: tensor<4xf32> {nn.input = "x", plan.offset = 64 : i64})
    -> (tensor<4xf32> {nn.output = "y"})
    attributes {plan.memory = #plan.memory<device 4096, host 128, budget 8192, machine "K40c">} {
  // CHECK: %[[HOST:.*]] = plan.offload %{{.*}} {plan.offsets = array<i64: 0>} : tensor<4xf32>
  %h = plan.offload %x {plan.offsets = array<i64: 0>} : tensor<4xf32>
  // CHECK-NEXT: plan.release %{{.*}} : tensor<4xf32>
  plan.release %x : tensor<4xf32>
  // CHECK-NEXT: plan.prefetch %[[HOST]] : !plan.host<tensor<4xf32>> -> tensor<4xf32>
  %y = plan.prefetch %h : !plan.host<tensor<4xf32>> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// An argument at home on the host.
// CHECK-LABEL: @argument
func.func @argument(%x: tensor<2x3xf64>) -> !plan.host<tensor<2x3xf64>> {
  // CHECK-NEXT: plan.prefetch %{{.*}} : tensor<2x3xf64> -> tensor<2x3xf64>
  %y = plan.prefetch %x : tensor<2x3xf64> -> tensor<2x3xf64>
  %h = plan.offload %y : tensor<2x3xf64>
  return %h : !plan.host<tensor<2x3xf64>>
}

// Two copies of one tensor are two copies, and one that nobody reads stays.
// CHECK-LABEL: @not_merged
// CHECK-COUNT-2: plan.offload
func.func @not_merged(%x: tensor<4xi32>) {
  %a = plan.offload %x : tensor<4xi32>
  %b = plan.offload %x : tensor<4xi32>
  return
}
