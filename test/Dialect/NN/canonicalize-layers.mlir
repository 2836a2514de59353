// What the canonicaliser knows of layered networks' operators.
// RUN: espalier-opt %s --canonicalize | FileCheck %s

// Zeros around the input are padding: 0 + 1, 1 + 2, ...
// CHECK-LABEL: @pad_of_convolution
// CHECK-SAME: %[[X:.*]]: tensor<1x2x8x8xf32>, %[[W:.*]]: tensor<4x2x3x3xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.conv2d %[[X]], %[[W]] {padding = [1, 3, 3, 4], strides = [2, 1]}
// CHECK-NEXT: return %[[Y]]
func.func @pad_of_convolution(%x: tensor<1x2x8x8xf32>, %W: tensor<4x2x3x3xf32>) -> tensor<1x4x5x13xf32> {
  %0 = nn.pad %x {padding = [1, 2, 3, 4]} : tensor<1x2x8x8xf32>
  %1 = nn.conv2d %0, %W {strides = [2, 1], padding = [0, 1, 0, 0]} : tensor<1x2x12x14xf32>, tensor<4x2x3x3xf32>
  return %1 : tensor<1x4x5x13xf32>
}

// Others than zeros are not.
// CHECK-LABEL: @other_pad_of_convolution
// CHECK-NEXT: nn.pad
// CHECK-NEXT: nn.conv2d
func.func @other_pad_of_convolution(%x: tensor<1x2x8x8xf32>, %W: tensor<4x2x3x3xf32>) -> tensor<1x4x8x8xf32> {
  %0 = nn.pad %x {padding = [1, 1, 1, 1], value = 1.0} : tensor<1x2x8x8xf32>
  %1 = nn.conv2d %0, %W : tensor<1x2x10x10xf32>, tensor<4x2x3x3xf32>
  return %1 : tensor<1x4x8x8xf32>
}

// CHECK-LABEL: @pad_of_nothing
// CHECK-SAME: %[[X:.*]]: tensor<1x2x8x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @pad_of_nothing(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %0 = nn.pad %x {padding = [0, 0, 0, 0], value = 1.0} : tensor<1x2x8x8xf32>
  return %0 : tensor<1x2x8x8xf32>
}

// Pools of windows of one element, and their adjoint.
// CHECK-LABEL: @pools_of_elements
// CHECK-SAME: %[[X:.*]]: tensor<1x2x8x8xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]]
func.func @pools_of_elements(%x: tensor<1x2x8x8xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) {
  %0 = nn.max_pool2d %x {window = [1, 1]} : tensor<1x2x8x8xf32>
  %1 = nn.avg_pool2d %x {window = [1, 1], count_padding} : tensor<1x2x8x8xf32>
  %2 = nn.avg_pool2d_adjoint %x {window = [1, 1]} : tensor<1x2x8x8xf32> -> tensor<1x2x8x8xf32>
  return %0, %1, %2 : tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>
}

// A stride leaves elements out.
// CHECK-LABEL: @pools_of_some_elements
// CHECK-NEXT: nn.max_pool2d
// CHECK-NEXT: nn.avg_pool2d
func.func @pools_of_some_elements(%x: tensor<1x2x8x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x8x4xf32>) {
  %0 = nn.max_pool2d %x {window = [1, 1], strides = [2, 1]} : tensor<1x2x8x8xf32>
  %1 = nn.avg_pool2d %x {window = [1, 1], strides = [1, 2]} : tensor<1x2x8x8xf32>
  return %0, %1 : tensor<1x2x4x8xf32>, tensor<1x2x8x4xf32>
}

// There is one element to sum, and there are 8.
// CHECK-LABEL: @sum_of_spread
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-NEXT: nn.spread_channels
// CHECK-NEXT: %[[SUM:.*]] = nn.sum_channels
// CHECK-NEXT: return %[[X]], %[[SUM]]
func.func @sum_of_spread(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.spread_channels %x : tensor<4xf32> -> tensor<1x4x1x1xf32>
  %1 = nn.sum_channels %0 : tensor<1x4x1x1xf32>
  %2 = nn.spread_channels %x : tensor<4xf32> -> tensor<2x4x2x2xf32>
  %3 = nn.sum_channels %2 : tensor<2x4x2x2xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// Static rows: of one row's outer product the rows are no batch, and pieces of a
// batch that lie below one another stay together.
// CHECK-LABEL: @static_rows
// CHECK: nn.outer
// CHECK: nn.sum_rows
// CHECK: tensor.concat dim(0)
// CHECK: nn.outer_sum
func.func @static_rows(%x: tensor<8xf32>, %y: tensor<4xf32>, %a: tensor<2x3xf32>, %b: tensor<5x3xf32>,
                       %c: tensor<7x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %0 = nn.outer %x, %y : tensor<8xf32>, tensor<4xf32>
  %1 = nn.sum_rows %0 : tensor<8x4xf32>
  %2 = tensor.concat dim(0) %a, %b : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %3 = nn.outer_sum %2, %c : tensor<7x3xf32>, tensor<7x4xf32>
  return %1, %3 : tensor<4xf32>, tensor<3x4xf32>
}
