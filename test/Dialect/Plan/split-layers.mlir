// What is split, what is read side by side again, and what batch norm becomes.
// RUN: espalier-opt %s -split-input-file --split-layers=parts=2 --canonicalize | FileCheck %s
// RUN: espalier-opt %s -split-input-file --split-layers="parts=2 limit=1000000" | FileCheck %s --check-prefix=LARGE
// RUN: espalier-opt %s -split-input-file --split-layers="parts=2" --remarks-filter="split-layers" 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not espalier-opt %s -split-input-file --split-layers="parts=0" 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: espalier-opt %s -split-input-file --assign-buffers | not espalier-opt -split-input-file --split-layers 2>&1 | FileCheck %s --check-prefix=PLANNED

// PARTS: error: 'func.func' op cannot be split into 0 parts
// PLANNED: error: 'func.func' op is planned already, and cannot be split

// Nothing needs so much.
// LARGE-NOT: tensor.extract_slice

// REMARK: Category:split-layers
// REMARK-SAME: operators=2
// REMARK-SAME: parts=2

// Gradients of weights are added up; the images are read by each part as they
// are needed.
// CHECK-LABEL: func.func @gradient(
// CHECK-SAME: %[[X:[^:]*]]: tensor<3x2x4x4xf32>
// CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [1, 2, 4, 4]
// CHECK: %[[R0:.*]] = nn.relu %[[X0]] : tensor<1x2x4x4xf32>
// CHECK: %[[W0:.*]] = nn.conv2d_weight_adjoint %[[X0]], %[[R0]] : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<2x2x1x1xf32>
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][1, 0, 0, 0] [2, 2, 4, 4]
// CHECK: %[[R1:.*]] = nn.relu %[[X1]] : tensor<2x2x4x4xf32>
// CHECK: %[[W1:.*]] = nn.conv2d_weight_adjoint %[[X1]], %[[R1]] : tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32> -> tensor<2x2x1x1xf32>
// CHECK: %[[W:.*]] = nn.elementwise(%[[W0]], %[[W1]])
// CHECK: arith.addf
// CHECK: nn.sum %[[W]]
func.func @gradient(%x: tensor<3x2x4x4xf32> {nn.input = "x"})
    -> (tensor<f32> {nn.output = "y"}) {
  %0 = nn.relu %x : tensor<3x2x4x4xf32>
  %1 = nn.conv2d_weight_adjoint %x, %0 : tensor<3x2x4x4xf32>, tensor<3x2x4x4xf32> -> tensor<2x2x1x1xf32>
  %2 = nn.sum %1 : tensor<2x2x1x1xf32>
  return %2 : tensor<f32>
}

// -----

// A sum over samples in one dimension with others cannot be split.
// CHECK-LABEL: func.func @mixes(
// CHECK: nn.relu {{.*}} : tensor<1x2x4x4xf32>
// CHECK: nn.relu {{.*}} : tensor<1x2x4x4xf32>
// CHECK: %[[WHOLE:.*]] = tensor.concat dim(0)
// CHECK: tensor.collapse_shape %[[WHOLE]] {{.*}} : tensor<2x2x4x4xf32> into tensor<4x16xf32>
// CHECK: nn.softmax {{.*}} : tensor<4x16xf32>
func.func @mixes(%x: tensor<2x2x4x4xf32> {nn.input = "x"})
    -> (tensor<4x16xf32> {nn.output = "y"}) {
  %0 = nn.relu %x : tensor<2x2x4x4xf32>
  %2 = tensor.collapse_shape %0 [[0, 1], [2, 3]] : tensor<2x2x4x4xf32> into tensor<4x16xf32>
  %3 = nn.softmax %2 : tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// The mean and the variance are those of all samples.
// CHECK-LABEL: func.func @norm(
// CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<3xf32>
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK: nn.sum_channels {{.*}} : tensor<1x3x4x4xf32>
// CHECK: nn.sum_channels {{.*}} : tensor<1x3x4x4xf32>
// CHECK: arith.addf
// CHECK: %[[MEAN:.*]] = nn.elementwise
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.constant dense<3.200000e+01>
// CHECK-NEXT: arith.divf
// CHECK-COUNT-2: nn.batch_norm_inference {{.*}}, %[[ONES]], %[[ZEROS]], %[[MEAN]], %[[ZEROS]] {epsilon = 1.000000e+00 : f64} : tensor<1x3x4x4xf32>, tensor<3xf32>
// CHECK-COUNT-2: nn.batch_norm_inference {{.*}}, %{{.*}}, %{{.*}}, %[[MEAN]], %{{[^ ]*}} : tensor<1x3x4x4xf32>, tensor<3xf32>
// CHECK-NOT: nn.batch_norm %
func.func @norm(%x: tensor<2x3x4x4xf32> {nn.input = "x"},
                %scale: tensor<3xf32> {nn.param = "scale"},
                %shift: tensor<3xf32> {nn.param = "shift"})
    -> (tensor<3xf32> {nn.output = "y"}) {
  %0 = nn.relu %x : tensor<2x3x4x4xf32>
  %y, %mean, %variance = nn.batch_norm %0, %scale, %shift : tensor<2x3x4x4xf32>, tensor<3xf32>
  %1 = nn.relu %y : tensor<2x3x4x4xf32>
  %2 = nn.sum_channels %1 : tensor<2x3x4x4xf32>
  return %2 : tensor<3xf32>
}

// -----

// Other functions are left alone.
// CHECK-LABEL: func.func @rows(
// CHECK: nn.relu {{.*}} : tensor<?x4xf32>
func.func @rows(%x: tensor<?x4xf32> {nn.input = "x"})
    -> (tensor<?x4xf32> {nn.output = "y"}) {
  %0 = nn.relu %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
