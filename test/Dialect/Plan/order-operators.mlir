// RUN: espalier-opt %s --order-operators | FileCheck %s
// RUN: espalier-opt %s --order-operators=order=route | FileCheck %s --check-prefix=ROUTE
// RUN: espalier-opt %s --order-operators --remarks-filter=order-operators 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not espalier-opt %s --order-operators=order=alphabetic 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Both pools shrink what they read, so each comes right behind its convolution:
// two large tensors are never there together.
// CHECK-LABEL: @f
// CHECK:      nn.conv2d
// CHECK-NEXT: nn.max_pool2d
// CHECK-NEXT: nn.conv2d
// CHECK-NEXT: nn.max_pool2d
// ROUTE-LABEL: @f
// ROUTE: nn.conv2d
// ROUTE: return
// REMARK: order-operators
// REMARK-SAME: ordered
// UNKNOWN: cannot be ordered: there is no order 'alphabetic'; there are best, route, updates-first, freeing-first
func.func @f(%x: tensor<1x1x8x8xf32> {nn.input = "x"},
             %v: tensor<4x1x1x1xf32> {nn.param = "v"},
             %w: tensor<4x1x1x1xf32> {nn.param = "w"})
    -> (tensor<1x4x1x1xf32> {nn.output = "y"}) {
  %a = nn.conv2d %x, %v : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
  %b = nn.conv2d %x, %w : tensor<1x1x8x8xf32>, tensor<4x1x1x1xf32>
  %c = nn.max_pool2d %a {window = [8, 8]} : tensor<1x4x8x8xf32>
  %d = nn.max_pool2d %b {window = [8, 8]} : tensor<1x4x8x8xf32>
  %y = nn.elementwise(%c, %d) : (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32> {
  ^bb0(%p: tensor<1x4x1x1xf32>, %q: tensor<1x4x1x1xf32>):
    %s = arith.addf %p, %q : tensor<1x4x1x1xf32>
    nn.yield %s : tensor<1x4x1x1xf32>
  }
  return %y : tensor<1x4x1x1xf32>
}

// Rows of dynamic number are no layered network, which has a static batch.
// CHECK-LABEL: @rows
// CHECK-NOT: plan.
func.func @rows(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = nn.relu %x : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
