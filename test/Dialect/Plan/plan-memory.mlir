// What does not fit is offloaded or computed again, and nothing is if all fits.
// RUN: espalier-opt %s --plan-memory="machine=%source_dir/docs/machines/k40c.json budget=1MiB" | FileCheck %s --check-prefix=FITS
// RUN: espalier-opt %s --plan-recompute="machine=%source_dir/docs/machines/k40c.json budget=14000" | FileCheck %s --check-prefix=AGAIN
// RUN: espalier-opt %s --plan-offload="machine=%source_dir/docs/machines/k40c.json budget=9000" | FileCheck %s --check-prefix=COPIES
// RUN: not espalier-opt %s --plan-memory="machine=%source_dir/docs/machines/k40c.json budget=4000" 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not espalier-opt %s --plan-memory="machine=%source_dir/docs/machines/k40c.json budget=lots" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not espalier-opt %s --plan-memory="machine=%t.nowhere budget=1MiB" 2>&1 | FileCheck %s --check-prefix=MACHINE

// FITS-LABEL: @f
// FITS-SAME: plan.memory = #plan.memory<device {{[0-9]+}}, host 0, budget 1048576, machine "{{.+}}">
// FITS-NOT: plan.again
// FITS-NOT: plan.offload
// FITS: return

// AGAIN-LABEL: @f
// AGAIN-NOT: plan.offload
// AGAIN: plan.again
// AGAIN: return

// COPIES-LABEL: @f
// COPIES-NOT: plan.again
// COPIES: %[[HOST:.*]] = plan.offload
// COPIES: plan.prefetch %[[HOST]]
// COPIES: return

// SMALL: error: @f has no plan within 3.91 KiB (4000 bytes)
// SMALL: note: the smallest budget with a plan is
// SMALL: note: the most is needed at operator
// SMALL: note: there is then

// WORD: cannot be planned: 'lots' is no number of bytes
// MACHINE: cannot be planned: {{.*}}nowhere

// %a is read first and last, with two tensors of its size between.
func.func @f(%x: tensor<1x1x32x32xf32> {nn.input = "x"},
             %w: tensor<1x1x1x1xf32> {nn.param = "w"})
    -> (tensor<1x1x1x1xf32> {nn.output = "y"}) {
  %a = nn.lrn %x {size = 1} : tensor<1x1x32x32xf32>
  %b = nn.conv2d %a, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %c = nn.conv2d %b, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %d = nn.conv2d %c, %w : tensor<1x1x32x32xf32>, tensor<1x1x1x1xf32>
  %e = nn.max_pool2d %d {window = [32, 32]} : tensor<1x1x32x32xf32>
  %f = nn.max_pool2d %a {window = [32, 32]} : tensor<1x1x32x32xf32>
  %y = nn.elementwise(%e, %f) : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32> {
  ^bb0(%p: tensor<1x1x1x1xf32>, %q: tensor<1x1x1x1xf32>):
    %s = arith.addf %p, %q : tensor<1x1x1x1xf32>
    nn.yield %s : tensor<1x1x1x1xf32>
  }
  return %y : tensor<1x1x1x1xf32>
}
