// RUN: espalier-opt %s -split-input-file --assign-buffers \
// RUN:   --select-conv-algorithms=machine=%source_dir/docs/machines/local-cpu-builtin.json | FileCheck %s
// RUN: espalier-opt %s -split-input-file --assign-buffers \
// RUN:   --select-conv-algorithms=machine=%source_dir/docs/machines/k40c.json | FileCheck %s --check-prefix=UNKNOWN
// RUN: espalier-opt %s -split-input-file --assign-buffers --select-conv-algorithms=machine=%source_dir/docs/machines/local-cpu-builtin.json \
// RUN:   --remarks-filter=select-conv-algorithms 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// Nothing is known of the speeds of other machines.
// UNKNOWN-NOT: plan.algorithm

// A point has 8 x 3 x 3 elements of 4 bytes, 288, which are 320. Of 768 points
// 245760 bytes are there, behind all tensors.
// CHECK-LABEL: @room
// CHECK-SAME: plan.memory = #plan.memory<device [[#ARENA:]], host 0, budget 0, machine "">, plan.notes = ["step 0, conv2d: patches, 240.00 KiB; runner-up: patches, 60.00 KiB"]
// CHECK: nn.conv2d {{.*}}plan.algorithm = "patches"{{.*}}plan.workspace = array<i64: 245760, [[#ARENA - 245760]]>
// REMARK: remark: [Analysis] selected
// REMARK-SAME: Category:select-conv-algorithms
// REMARK-SAME: algorithm=patches, free=[[#]], operator=conv2d, runnerUp="patches, 60.00 KiB", step=0, tooLarge=none, workspace=245760
func.func @room(%x: tensor<4x8x18x18xf32> {nn.input = "x"},
                %w: tensor<97x8x3x3xf32> {nn.param = "w"})
    -> (tensor<4x97x16x16xf32> {nn.output = "y"}) {
  %a = nn.conv2d %x, %w : tensor<4x8x18x18xf32>, tensor<97x8x3x3xf32>
  return %a : tensor<4x97x16x16xf32>
}

// -----

// Of a transpose the points are those of the result, and a point has the
// elements of the other channels: 4 x 3 x 3 x 8 bytes, 288, which are 320; of
// the weight's adjoint 97 x 3 x 3 x 8 bytes, 6984, which are 7040. Less than 192
// points need as much as these.
// CHECK-LABEL: @adjoints
// CHECK: nn.conv2d_transpose {{.*}}plan.algorithm = "patches"{{.*}}plan.workspace = array<i64: 61440, {{[0-9]+}}>
// CHECK: nn.conv2d_weight_adjoint {{.*}}plan.algorithm = "patches"{{.*}}plan.workspace = array<i64: 1351680, {{[0-9]+}}>
func.func @adjoints(%d: tensor<1x4x8x8xf64> {nn.input = "d"},
                    %w: tensor<4x97x3x3xf64> {nn.param = "w"},
                    %y: tensor<1x97x10x10xf64> {nn.input = "y"},
                    %e: tensor<1x100x8x8xf64> {nn.input = "e"})
    -> (tensor<1x97x10x10xf64> {nn.output = "dx"}, tensor<100x97x3x3xf64> {nn.output = "dw"}) {
  %a = nn.conv2d_transpose %d, %w : tensor<1x4x8x8xf64>, tensor<4x97x3x3xf64> -> tensor<1x97x10x10xf64>
  %b = nn.conv2d_weight_adjoint %y, %e : tensor<1x97x10x10xf64>, tensor<1x100x8x8xf64> -> tensor<100x97x3x3xf64>
  return %a, %b : tensor<1x97x10x10xf64>, tensor<100x97x3x3xf64>
}

// -----

// Patches for 96 channels are gathered once, with a workspace or without; also
// those of groups.
// CHECK-LABEL: @few_channels
// CHECK-NOT: plan.algorithm
// CHECK: return
func.func @few_channels(%x: tensor<4x8x18x18xf32> {nn.input = "x"},
                        %w: tensor<96x8x3x3xf32> {nn.param = "w"},
                        %v: tensor<192x4x3x3xf32> {nn.param = "v"})
    -> (tensor<4x96x16x16xf32> {nn.output = "y"}, tensor<4x192x16x16xf32> {nn.output = "z"}) {
  %a = nn.conv2d %x, %w : tensor<4x8x18x18xf32>, tensor<96x8x3x3xf32>
  %b = nn.conv2d %x, %v {groups = 2} : tensor<4x8x18x18xf32>, tensor<192x4x3x3xf32>
  return %a, %b : tensor<4x96x16x16xf32>, tensor<4x192x16x16xf32>
}

// -----

// What a function without convolutions has stays as it is.
// CHECK-LABEL: @none
// CHECK: nn.relu
// CHECK-NOT: plan.algorithm
func.func @none(%x: tensor<2x4x8x8xf32> {nn.input = "x"})
    -> (tensor<2x4x4x4xf32> {nn.output = "y"}) {
  %a = nn.relu %x : tensor<2x4x8x8xf32>
  %b = nn.max_pool2d %a {window = [2, 2], strides = [2, 2]} : tensor<2x4x8x8xf32>
  return %b : tensor<2x4x4x4xf32>
}
