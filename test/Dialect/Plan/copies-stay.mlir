// Equal copies are neither merged nor dropped: when they run is the plan.
// RUN: espalier-opt %s --cse --canonicalize | FileCheck %s

// CHECK-LABEL: @f
// CHECK: plan.offload
// CHECK: plan.offload
// CHECK: plan.prefetch
// CHECK: plan.prefetch
// CHECK: plan.release
func.func @f(%x: tensor<4xf32>) {
  %a = plan.offload %x : tensor<4xf32>
  %b = plan.offload %x : tensor<4xf32>
  %c = plan.prefetch %a : !plan.host<tensor<4xf32>> -> tensor<4xf32>
  %d = plan.prefetch %a : !plan.host<tensor<4xf32>> -> tensor<4xf32>
  plan.release %x : tensor<4xf32>
  return
}
