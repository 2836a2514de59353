// Every operator of layered networks parses, prints and parses again, in its own
// syntax and in the generic one. Attributes that have their default are not
// printed.
// RUN: espalier-opt %s | espalier-opt | FileCheck %s
// RUN: espalier-opt %s --mlir-print-op-generic | espalier-opt | FileCheck %s

// Rows of the result: (224 + 3 + 3 - 7) / 2 + 1 = 112.
// CHECK-LABEL: @convolutions
func.func @convolutions(%x: tensor<8x3x224x224xf32>, %W: tensor<64x3x7x7xf32>, %V: tensor<32x32x1x1xf32>,
                        %b: tensor<32xf32>) -> tensor<8x32x112x112xf32> {
  // CHECK: %[[Y:.*]] = nn.conv2d %{{.*}}, %{{.*}} {padding = [3, 3, 3, 3], strides = [2, 2]} : tensor<8x3x224x224xf32>, tensor<64x3x7x7xf32>
  %y = nn.conv2d %x, %W {strides = [2, 2], padding = [3, 3, 3, 3], dilations = [1, 1], groups = 1 : i64}
      : tensor<8x3x224x224xf32>, tensor<64x3x7x7xf32>
  // CHECK: nn.conv2d %[[Y]], %{{.*}} bias %{{.*}} {groups = 2 : i64} : tensor<8x64x112x112xf32>, tensor<32x32x1x1xf32>, tensor<32xf32>
  %z = nn.conv2d %y, %V bias %b {groups = 2} : tensor<8x64x112x112xf32>, tensor<32x32x1x1xf32>, tensor<32xf32>
  return %z : tensor<8x32x112x112xf32>
}

// Columns: (9 + 1 + 0 - (2 (3 - 1) + 1)) / 3 + 1 = 2; rows: (8 + 0 + 2 - 2) / 4 + 1 = 3.
// CHECK-LABEL: @asymmetric
func.func @asymmetric(%x: tensor<1x2x8x9xf64>, %W: tensor<4x2x2x3xf64>) -> tensor<1x4x3x2xf64> {
  // CHECK: nn.conv2d %{{.*}}, %{{.*}} {dilations = [1, 2], padding = [0, 1, 2, 0], strides = [4, 3]}
  %y = nn.conv2d %x, %W {strides = [4, 3], padding = [0, 1, 2, 0], dilations = [1, 2]}
      : tensor<1x2x8x9xf64>, tensor<4x2x2x3xf64>
  return %y : tensor<1x4x3x2xf64>
}

// CHECK-LABEL: @adjoints_of_convolutions
func.func @adjoints_of_convolutions(%x: tensor<8x3x9x9xf32>, %d: tensor<8x6x4x4xf32>, %W: tensor<6x3x3x3xf32>)
    -> (tensor<8x3x9x9xf32>, tensor<8x3x10x9xf32>, tensor<6x3x3x3xf32>) {
  // CHECK: nn.conv2d_transpose %{{.*}}, %{{.*}} {strides = [2, 2]} : tensor<8x6x4x4xf32>, tensor<6x3x3x3xf32> -> tensor<8x3x9x9xf32>
  %0 = nn.conv2d_transpose %d, %W {strides = [2, 2]} : tensor<8x6x4x4xf32>, tensor<6x3x3x3xf32> -> tensor<8x3x9x9xf32>
  // Another image that has the same convolution.
  // CHECK: nn.conv2d_transpose %{{.*}}, %{{.*}} {strides = [2, 2]} : tensor<8x6x4x4xf32>, tensor<6x3x3x3xf32> -> tensor<8x3x10x9xf32>
  %1 = nn.conv2d_transpose %d, %W {strides = [2, 2]} : tensor<8x6x4x4xf32>, tensor<6x3x3x3xf32> -> tensor<8x3x10x9xf32>
  // CHECK: nn.conv2d_weight_adjoint %{{.*}}, %{{.*}} {strides = [2, 2]} : tensor<8x3x9x9xf32>, tensor<8x6x4x4xf32> -> tensor<6x3x3x3xf32>
  %2 = nn.conv2d_weight_adjoint %x, %d {strides = [2, 2]} : tensor<8x3x9x9xf32>, tensor<8x6x4x4xf32> -> tensor<6x3x3x3xf32>
  return %0, %1, %2 : tensor<8x3x9x9xf32>, tensor<8x3x10x9xf32>, tensor<6x3x3x3xf32>
}

// (8 - 3) / 2 + 1 is 3 rounded down and 4 rounded up; (5 + 1 + 1 - 2) / 3 + 1
// would be 3 rounded up, but the third window would begin at 6 - 1, behind the
// image, and is none.
// CHECK-LABEL: @pools
func.func @pools(%x: tensor<2x4x8x8xf32>, %y: tensor<2x4x5x5xf32>)
    -> (tensor<2x4x3x3xf32>, tensor<2x4x4x4xf32>, tensor<2x4x2x2xf32>, tensor<2x4x1x1xf32>, tensor<2x4x7x8xf32>) {
  // CHECK: nn.max_pool2d %{{.*}} {strides = [2, 2], window = [3, 3]} : tensor<2x4x8x8xf32>
  %0 = nn.max_pool2d %x {window = [3, 3], strides = [2, 2]} : tensor<2x4x8x8xf32>
  // CHECK: nn.max_pool2d %{{.*}} {ceil_mode, strides = [2, 2], window = [3, 3]} : tensor<2x4x8x8xf32>
  %1 = nn.max_pool2d %x {window = [3, 3], strides = [2, 2], ceil_mode} : tensor<2x4x8x8xf32>
  // CHECK: nn.max_pool2d %{{.*}} {ceil_mode, padding = [1, 1, 1, 1], strides = [3, 3], window = [2, 2]} : tensor<2x4x5x5xf32>
  %2 = nn.max_pool2d %y {window = [2, 2], strides = [3, 3], padding = [1, 1, 1, 1], ceil_mode} : tensor<2x4x5x5xf32>
  // CHECK: nn.avg_pool2d %{{.*}} {window = [8, 8]} : tensor<2x4x8x8xf32>
  %3 = nn.avg_pool2d %x {window = [8, 8]} : tensor<2x4x8x8xf32>
  // CHECK: nn.avg_pool2d %{{.*}} {count_padding, padding = [0, 1, 0, 1], window = [2, 3]} : tensor<2x4x8x8xf32>
  %4 = nn.avg_pool2d %x {window = [2, 3], padding = [0, 1, 0, 1], count_padding} : tensor<2x4x8x8xf32>
  return %0, %1, %2, %3, %4
      : tensor<2x4x3x3xf32>, tensor<2x4x4x4xf32>, tensor<2x4x2x2xf32>, tensor<2x4x1x1xf32>, tensor<2x4x7x8xf32>
}

// CHECK-LABEL: @adjoints_of_pools
func.func @adjoints_of_pools(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32> {
  // CHECK: nn.max_pool2d_adjoint %{{.*}}, %{{.*}} {strides = [2, 2], window = [2, 2]} : tensor<2x4x8x8xf32>, tensor<2x4x4x4xf32>
  %0 = nn.max_pool2d_adjoint %x, %d {window = [2, 2], strides = [2, 2]} : tensor<2x4x8x8xf32>, tensor<2x4x4x4xf32>
  // CHECK: nn.avg_pool2d_adjoint %{{.*}} {strides = [2, 2], window = [2, 2]} : tensor<2x4x4x4xf32> -> tensor<2x4x8x8xf32>
  %1 = nn.avg_pool2d_adjoint %d {window = [2, 2], strides = [2, 2]} : tensor<2x4x4x4xf32> -> tensor<2x4x8x8xf32>
  return %1 : tensor<2x4x8x8xf32>
}

// CHECK-LABEL: @norms
func.func @norms(%x: tensor<8x64x7x7xf32>, %rows: tensor<8x64xf32>, %s: tensor<64xf32>) -> tensor<8x64x7x7xf32> {
  // CHECK: %[[Y:.*]], %[[MEAN:.*]], %[[VARIANCE:.*]] = nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-03 : f64} : tensor<8x64x7x7xf32>, tensor<64xf32>
  %y, %mean, %variance = nn.batch_norm %x, %s, %s {epsilon = 1.0e-3} : tensor<8x64x7x7xf32>, tensor<64xf32>
  // CHECK: nn.batch_norm %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x64xf32>, tensor<64xf32>
  %0:3 = nn.batch_norm %rows, %s, %s {epsilon = 1.0e-5} : tensor<8x64xf32>, tensor<64xf32>
  // CHECK: nn.batch_norm_inference %[[Y]], %{{.*}}, %{{.*}}, %[[MEAN]], %[[VARIANCE]] : tensor<8x64x7x7xf32>, tensor<64xf32>
  %1 = nn.batch_norm_inference %y, %s, %s, %mean, %variance : tensor<8x64x7x7xf32>, tensor<64xf32>
  // CHECK: nn.batch_norm_adjoint %{{.*}}, %{{.*}}, %[[MEAN]], %[[VARIANCE]], %{{.*}} : tensor<8x64x7x7xf32>, tensor<64xf32>
  %2:3 = nn.batch_norm_adjoint %x, %s, %mean, %variance, %1 : tensor<8x64x7x7xf32>, tensor<64xf32>
  // CHECK: nn.lrn %{{.*}} : tensor<8x64x7x7xf32>
  %3 = nn.lrn %2#0 {size = 5, alpha = 1.0e-4, beta = 0.75, bias = 1.0} : tensor<8x64x7x7xf32>
  // CHECK: nn.lrn_adjoint %{{.*}}, %{{.*}} {alpha = 2.000000e+00 : f64, size = 3 : i64} : tensor<8x64x7x7xf32>
  %4 = nn.lrn_adjoint %x, %3 {size = 3, alpha = 2.0} : tensor<8x64x7x7xf32>
  return %4 : tensor<8x64x7x7xf32>
}

// CHECK-LABEL: @channels
func.func @channels(%x: tensor<8x64x7x7xf32>, %rows: tensor<8x64xf64>) -> (tensor<8x64x7x7xf32>, tensor<8x64xf64>) {
  // CHECK: %[[S:.*]] = nn.sum_channels %{{.*}} : tensor<8x64x7x7xf32>
  %s = nn.sum_channels %x : tensor<8x64x7x7xf32>
  // CHECK: nn.spread_channels %[[S]] : tensor<64xf32> -> tensor<8x64x7x7xf32>
  %y = nn.spread_channels %s : tensor<64xf32> -> tensor<8x64x7x7xf32>
  // CHECK: %[[T:.*]] = nn.sum_channels %{{.*}} : tensor<8x64xf64>
  %t = nn.sum_channels %rows : tensor<8x64xf64>
  // CHECK: nn.spread_channels %[[T]] : tensor<64xf64> -> tensor<8x64xf64>
  %z = nn.spread_channels %t : tensor<64xf64> -> tensor<8x64xf64>
  return %y, %z : tensor<8x64x7x7xf32>, tensor<8x64xf64>
}

// CHECK-LABEL: @pad
func.func @pad(%x: tensor<1x1x2x3xf32>) -> (tensor<1x1x6x9xf32>, tensor<1x1x2x4xf32>) {
  // CHECK: nn.pad %{{.*}} {padding = [1, 2, 3, 4], value = -1.000000e+00 : f64} : tensor<1x1x2x3xf32>
  %0 = nn.pad %x {padding = [1, 2, 3, 4], value = -1.0} : tensor<1x1x2x3xf32>
  // CHECK: nn.pad %{{.*}} {padding = [0, 0, 0, 1]} : tensor<1x1x2x3xf32>
  %1 = nn.pad %x {padding = [0, 0, 0, 1], value = 0.0} : tensor<1x1x2x3xf32>
  return %0, %1 : tensor<1x1x6x9xf32>, tensor<1x1x2x4xf32>
}

// What works on rows of dynamic number works on a batch of static size.
// CHECK-LABEL: @static_batches
func.func @static_batches(%x: tensor<8x10xf32>, %images: tensor<8x3x4x4xf32>, %l: tensor<8xi32>, %seed: tensor<i32>)
    -> tensor<f32> {
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} {probability = 5.000000e-01 : f64} : tensor<8x3x4x4xf32>, tensor<i32>, tensor<8xi32>
  %0 = nn.dropout %images, %seed, %l {probability = 0.5} : tensor<8x3x4x4xf32>, tensor<i32>, tensor<8xi32>
  // CHECK: nn.dropout %{{.*}}, %{{.*}}, %{{.*}} {probability = 5.000000e-01 : f64} : tensor<8x3x4x4xf32>, tensor<i32>, tensor<i32>
  %1 = nn.dropout %images, %seed, %seed {probability = 0.5} : tensor<8x3x4x4xf32>, tensor<i32>, tensor<i32>
  // CHECK: %[[P:.*]] = nn.softmax %{{.*}} : tensor<8x10xf32>
  %2 = nn.softmax %x : tensor<8x10xf32>
  // CHECK: nn.softmax_adjoint %[[P]], %{{.*}} : tensor<8x10xf32>
  %3 = nn.softmax_adjoint %2, %x : tensor<8x10xf32>
  // CHECK: nn.outer_sum %{{.*}}, %{{.*}} : tensor<8x10xf32>, tensor<8x10xf32>
  %4 = nn.outer_sum %2, %3 : tensor<8x10xf32>, tensor<8x10xf32>
  // CHECK: %[[L:.*]] = nn.softmax_cross_entropy %{{.*}}, %{{.*}} : tensor<8x10xf32>, tensor<8xi32>
  %5 = nn.softmax_cross_entropy %x, %l : tensor<8x10xf32>, tensor<8xi32>
  // CHECK: nn.sum_rows %{{.*}} : tensor<8x3x4x4xf32>
  %6 = nn.sum_rows %images : tensor<8x3x4x4xf32>
  // CHECK: nn.sum_rows %[[L]] : tensor<8xf32>
  %7 = nn.sum_rows %5 : tensor<8xf32>
  return %7 : tensor<f32>
}
