// RUN: espalier-opt %s -split-input-file --assign-buffers | FileCheck %s
// RUN: espalier-opt %s -split-input-file --assign-buffers=in-place=false | FileCheck %s --check-prefix=APART

// Of the chain every second tensor lies where the one before the last did; the
// input and the weight are there throughout.
// CHECK-LABEL: @chain
// CHECK-SAME: %[[X:.*]]: tensor<1x4x16x16xf32> {nn.input = "x", plan.offset = [[XAT:[0-9]+]] : i64}
// CHECK-SAME: plan.memory = #plan.memory<device 12352, host 0, budget 0, machine "">
// CHECK: nn.conv2d {{.*}}plan.offsets = array<i64: [[A:[0-9]+]]>
// CHECK: nn.conv2d {{.*}}plan.offsets = array<i64: [[B:[0-9]+]]>
// CHECK: nn.conv2d {{.*}}plan.offsets = array<i64: [[A]]>
// CHECK: nn.conv2d {{.*}}plan.offsets = array<i64: [[B]]>
func.func @chain(%x: tensor<1x4x16x16xf32> {nn.input = "x"},
                 %w: tensor<4x4x1x1xf32> {nn.param = "w"})
    -> (tensor<1x4x16x16xf32> {nn.output = "y"}) {
  %a = nn.conv2d %x, %w : tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>
  %b = nn.conv2d %a, %w : tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>
  %c = nn.conv2d %b, %w : tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>
  %d = nn.conv2d %c, %w : tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>
  return %d : tensor<1x4x16x16xf32>
}

// -----

// A relu lies where its operand did, unless that is read later.
// CHECK-LABEL: @in_place
// CHECK: nn.conv2d {{.*}}plan.offsets = array<i64: [[A:[0-9]+]]>
// CHECK: nn.relu {{.*}}plan.offsets = array<i64: [[A]]>
// APART-LABEL: @in_place
// APART: nn.conv2d {{.*}}plan.offsets = array<i64: [[A:[0-9]+]]>
// APART-NOT: nn.relu {{.*}}plan.offsets = array<i64: [[A]]>
// APART: return
func.func @in_place(%x: tensor<1x4x16x16xf32> {nn.input = "x"},
                    %w: tensor<4x4x1x1xf32> {nn.param = "w"})
    -> (tensor<1x4x16x16xf32> {nn.output = "y"}) {
  %a = nn.conv2d %x, %w : tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>
  %b = nn.relu %a : tensor<1x4x16x16xf32>
  return %b : tensor<1x4x16x16xf32>
}

// -----

// CHECK-LABEL: @read_later
// CHECK: nn.conv2d {{.*}}plan.offsets = array<i64: [[A:[0-9]+]]>
// CHECK-NOT: nn.relu {{.*}}plan.offsets = array<i64: [[A]]>
// CHECK: return
func.func @read_later(%x: tensor<1x4x16x16xf32> {nn.input = "x"},
                      %w: tensor<4x4x1x1xf32> {nn.param = "w"})
    -> (tensor<1x4x16x16xf32> {nn.output = "y"}, tensor<1x4x16x16xf32> {nn.output = "z"}) {
  %a = nn.conv2d %x, %w : tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>
  %b = nn.relu %a : tensor<1x4x16x16xf32>
  %c = nn.conv2d %a, %w : tensor<1x4x16x16xf32>, tensor<4x4x1x1xf32>
  return %b, %c : tensor<1x4x16x16xf32>, tensor<1x4x16x16xf32>
}

// -----

// A reshape has no place of its own, and a new value has the old one's, behind
// all that reads it.
// CHECK-LABEL: @update
// CHECK-SAME: nn.param = "w", plan.offset = [[W:[0-9]+]] : i64
// CHECK: tensor.collapse_shape
// CHECK-NOT: plan.offsets
// CHECK: nn.matmul
// CHECK: nn.elementwise{{.*}}plan.offsets = array<i64: [[W]]>
func.func @update(%x: tensor<2x1x2x2xf32> {nn.input = "x"},
                  %w: tensor<4x4xf32> {nn.param = "w"})
    -> (tensor<2x4xf32> {nn.output = "y"}, tensor<4x4xf32> {nn.update = "w"}) {
  %new = nn.elementwise(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %q = arith.addf %p, %p : tensor<4x4xf32>
    nn.yield %q : tensor<4x4xf32>
  }
  %flat = tensor.collapse_shape %x [[0], [1, 2, 3]] : tensor<2x1x2x2xf32> into tensor<2x4xf32>
  %y = nn.matmul %flat, %w : tensor<2x4xf32>, tensor<4x4xf32>
  return %y, %new : tensor<2x4xf32>, tensor<4x4xf32>
}
