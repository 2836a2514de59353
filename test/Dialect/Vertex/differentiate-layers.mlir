// Layered networks: what adjoints read, and what is not trained.
// RUN: espalier-opt %s -split-input-file --differentiate --canonicalize | FileCheck %s
// RUN: espalier-opt %s -split-input-file --differentiate --add-train-step="clip=0 decay=0" --canonicalize | FileCheck %s --check-prefix=STEP

// A convolution's adjoints read its operands, that of batch norm its input and
// never its result, that of relu its result; a mean, and what only moves
// elements, read nothing. The images, which are no parameter, have no adjoint.
// Running statistics have no gradient: the entry itself says their new values.
// CHECK-LABEL: func.func @network.gradient(
// CHECK-SAME: %[[IMAGES:[^ ]*]]: tensor<4x3x8x8xf32> {nn.input = "images"}, %[[LABELS:[^ ]*]]: tensor<4xi32> {nn.input = "labels"},
// CHECK-SAME: %[[W:[^ ]*]]: tensor<6x3x3x3xf32> {nn.param = "W"}, %{{[^ ]*}}: tensor<6xf32> {nn.param = "b"}, %[[SCALE:[^ ]*]]: tensor<6xf32> {nn.param = "scale"},
// CHECK-SAME: -> (tensor<f32> {nn.output = "loss"}, tensor<6xf32> {nn.update = "mean"},
// CHECK-SAME: tensor<6x3x3x3xf32> {nn.gradient = "W", nn.output = "gradient.W"}, tensor<6xf32> {nn.gradient = "b", nn.output = "gradient.b"}, tensor<6xf32> {nn.gradient = "scale", nn.output = "gradient.scale"}, tensor<6xf32> {nn.gradient = "shift", nn.output = "gradient.shift"}, tensor<6x6x3x3xf32> {nn.gradient = "V", nn.output = "gradient.V"}, tensor<24x10xf32> {nn.gradient = "D", nn.output = "gradient.D"}) {
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4x6x8x8xf32>
// CHECK: %[[CONV:.*]] = nn.conv2d %[[IMAGES]], %[[W]] bias
// CHECK: %[[NORM:.*]], %[[MEAN:.*]], %[[VARIANCE:.*]] = nn.batch_norm %[[CONV]]
// CHECK: %[[RELU:.*]] = nn.relu %[[NORM]]
// CHECK: %[[POOL:.*]] = nn.max_pool2d %[[RELU]]
// CHECK: %[[RESPONSE:.*]] = nn.lrn %[[POOL]]
// CHECK: %[[MEANS:.*]] = nn.avg_pool2d %[[RESPONSE]]
// CHECK: %[[PADDED:.*]] = nn.pad %[[MEANS]]
// CHECK: %[[SECOND:.*]] = nn.conv2d %[[PADDED]], %[[V:.*]] {strides = [2, 2]}
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[SECOND]]
// CHECK: %[[LOGITS:.*]] = nn.matmul %[[FLAT]], %[[D:.*]] :
// CHECK: nn.softmax_cross_entropy %[[LOGITS]], %[[LABELS]]
// CHECK: %[[ONES:.*]] = nn.broadcast
// CHECK: %[[DL:.*]] = nn.softmax_cross_entropy_adjoint %[[LOGITS]], %[[LABELS]], %[[ONES]] : tensor<4x10xf32>, tensor<4xi32>, tensor<4xf32>
// CHECK: %[[T:.*]] = nn.transpose %[[D]]
// CHECK: %[[DFLAT:.*]] = nn.matmul %[[DL]], %[[T]]
// CHECK: %[[DD:.*]] = nn.outer_sum %[[FLAT]], %[[DL]] : tensor<4x24xf32>, tensor<4x10xf32>
// CHECK: %[[D7:.*]] = tensor.expand_shape %[[DFLAT]] {{\[}}[0], [1, 2, 3]] output_shape [4, 6, 2, 2]
// CHECK: %[[D6:.*]] = nn.conv2d_transpose %[[D7]], %[[V]] {strides = [2, 2]} : tensor<4x6x2x2xf32>, tensor<6x6x3x3xf32> -> tensor<4x6x6x6xf32>
// CHECK: %[[DV:.*]] = nn.conv2d_weight_adjoint %[[PADDED]], %[[D7]] {strides = [2, 2]} : tensor<4x6x6x6xf32>, tensor<4x6x2x2xf32> -> tensor<6x6x3x3xf32>
// CHECK: %[[D5:.*]] = tensor.extract_slice %[[D6]][0, 0, 1, 1] [4, 6, 4, 4] [1, 1, 1, 1]
// CHECK: %[[D4:.*]] = nn.avg_pool2d_adjoint %[[D5]] {padding = [0, 0, 1, 1], window = [2, 2]} : tensor<4x6x4x4xf32> -> tensor<4x6x4x4xf32>
// CHECK: %[[D3:.*]] = nn.lrn_adjoint %[[POOL]], %[[D4]] {size = 3 : i64}
// CHECK: %[[D2:.*]] = nn.max_pool2d_adjoint %[[RELU]], %[[D3]] {strides = [2, 2], window = [2, 2]}
// CHECK: %[[POSITIVE:.*]] = arith.cmpf ugt, %[[RELU]], %[[ZERO]]
// CHECK: %[[D1:.*]] = arith.select %[[POSITIVE]], %[[D2]], %[[ZERO]]
// CHECK: %[[D0:.*]], %[[DSCALE:.*]], %[[DSHIFT:.*]] = nn.batch_norm_adjoint %[[CONV]], %[[SCALE]], %[[MEAN]], %[[VARIANCE]], %[[D1]] {epsilon = 1.000000e-03 : f64}
// CHECK-NOT: nn.conv2d_transpose
// CHECK: %[[DW:.*]] = nn.conv2d_weight_adjoint %[[IMAGES]], %[[D0]] {padding = [1, 1, 1, 1]}
// CHECK: %[[DB:.*]] = nn.sum_channels %[[D0]]
// CHECK: return %{{.*}}, %{{.*}}, %[[DW]], %[[DB]], %[[DSCALE]], %[[DSHIFT]], %[[DV]], %[[DD]]

// The statistics' new value stays a result, and is the only one.
// STEP-LABEL: func.func @train_step(
// STEP-SAME: -> (tensor<f32> {nn.output = "loss"}, tensor<6xf32> {nn.update = "mean"}, tensor<6x3x3x3xf32> {nn.update = "W"}, tensor<6xf32> {nn.update = "b"}, tensor<6xf32> {nn.update = "scale"}, tensor<6xf32> {nn.update = "shift"}, tensor<6x6x3x3xf32> {nn.update = "V"}, tensor<24x10xf32> {nn.update = "D"}) {
func.func @network(%images: tensor<4x3x8x8xf32> {nn.input = "images"}, %labels: tensor<4xi32> {nn.input = "labels"},
    %W: tensor<6x3x3x3xf32> {nn.param = "W"}, %b: tensor<6xf32> {nn.param = "b"},
    %scale: tensor<6xf32> {nn.param = "scale"}, %shift: tensor<6xf32> {nn.param = "shift"},
    %mean: tensor<6xf32> {nn.param = "mean"}, %V: tensor<6x6x3x3xf32> {nn.param = "V"},
    %D: tensor<24x10xf32> {nn.param = "D"})
    -> (tensor<f32> {nn.output = "loss"}, tensor<6xf32> {nn.update = "mean"}) {
  %0 = nn.conv2d %images, %W bias %b {padding = [1, 1, 1, 1]} : tensor<4x3x8x8xf32>, tensor<6x3x3x3xf32>, tensor<6xf32>
  %1, %m, %v = nn.batch_norm %0, %scale, %shift {epsilon = 1.0e-3} : tensor<4x6x8x8xf32>, tensor<6xf32>
  %2 = nn.relu %1 : tensor<4x6x8x8xf32>
  %3 = nn.max_pool2d %2 {window = [2, 2], strides = [2, 2]} : tensor<4x6x8x8xf32>
  %4 = nn.lrn %3 {size = 3} : tensor<4x6x4x4xf32>
  %5 = nn.avg_pool2d %4 {window = [2, 2], padding = [0, 0, 1, 1]} : tensor<4x6x4x4xf32>
  %6 = nn.pad %5 {padding = [1, 1, 1, 1], value = 1.0} : tensor<4x6x4x4xf32>
  %7 = nn.conv2d %6, %V {strides = [2, 2]} : tensor<4x6x6x6xf32>, tensor<6x6x3x3xf32>
  %8 = tensor.collapse_shape %7 [[0], [1, 2, 3]] : tensor<4x6x2x2xf32> into tensor<4x24xf32>
  %9 = nn.matmul %8, %D : tensor<4x24xf32>, tensor<24x10xf32>
  %10 = nn.softmax_cross_entropy %9, %labels : tensor<4x10xf32>, tensor<4xi32>
  %11 = nn.sum %10 : tensor<4xf32>
  %quarter = arith.constant dense<0.25> : tensor<f32>
  %loss = arith.mulf %11, %quarter : tensor<f32>
  %tenth = arith.constant dense<0.1> : tensor<6xf32>
  %rest = arith.constant dense<0.9> : tensor<6xf32>
  %12 = arith.mulf %mean, %rest : tensor<6xf32>
  %13 = arith.mulf %m, %tenth : tensor<6xf32>
  %14 = arith.addf %12, %13 : tensor<6xf32>
  return %loss, %14 : tensor<f32>, tensor<6xf32>
}

// -----

// A softmax over a static batch has an operator of its own, which reads its
// result; of a concatenation along channels the pieces have slices.
// CHECK-LABEL: func.func @parts.gradient(
// CHECK: %[[P:.*]] = nn.softmax
// CHECK: %[[DX:.*]] = nn.softmax_adjoint %[[P]], %{{.*}} : tensor<4x6xf32>
// CHECK: %[[DY:.*]] = tensor.expand_shape %[[DX]]
// CHECK-DAG: %[[DA:.*]] = tensor.extract_slice %[[DY]][0, 0, 0, 0] [4, 1, 2, 1] [1, 1, 1, 1] : tensor<4x3x2x1xf32> to tensor<4x1x2x1xf32>
// CHECK-DAG: %[[DB:.*]] = tensor.extract_slice %[[DY]][0, 1, 0, 0] [4, 2, 2, 1] [1, 1, 1, 1] : tensor<4x3x2x1xf32> to tensor<4x2x2x1xf32>
// CHECK: return %{{.*}}, %[[DA]], %[[DB]]
func.func @parts(%a: tensor<4x1x2x1xf32> {nn.param = "a"}, %b: tensor<4x2x2x1xf32> {nn.param = "b"},
                 %w: tensor<4x6xf32> {nn.input = "w"}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = tensor.concat dim(1) %a, %b : (tensor<4x1x2x1xf32>, tensor<4x2x2x1xf32>) -> tensor<4x3x2x1xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2, 3]] : tensor<4x3x2x1xf32> into tensor<4x6xf32>
  %2 = nn.softmax %1 : tensor<4x6xf32>
  %3 = arith.mulf %2, %w : tensor<4x6xf32>
  %4 = nn.sum %3 : tensor<4x6xf32>
  return %4 : tensor<f32>
}
