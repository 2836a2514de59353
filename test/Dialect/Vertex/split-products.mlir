// RUN: espalier-opt %s --split-products | FileCheck %s
// RUN: espalier-opt %s --split-products --remarks-filter=split-products 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The pulled part of a product no longer waits for the gathered part.
// CHECK-LABEL: vertex.func @split
// CHECK-SAME: %[[W:.*]]: tensor<12x8xf32>
// CHECK: %[[X:.*]] = vertex.pull "x"
// CHECK: %[[H:.*]] = vertex.gather 0
// CHECK: %[[WX:.*]] = tensor.extract_slice %[[W]][0, 0] [4, 8] [1, 1]
// CHECK: %[[XW:.*]] = nn.matmul %[[X]], %[[WX]]
// CHECK: %[[WH:.*]] = tensor.extract_slice %[[W]][4, 0] [8, 8] [1, 1]
// CHECK: %[[HW:.*]] = nn.matmul %[[H]], %[[WH]]
// CHECK: arith.addf %[[XW]], %[[HW]]
// REMARK: [Passed] split | Category:split-products{{.*}}products=2
vertex.func @split(%W: tensor<12x8xf32>) state(tensor<8xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<4xf32>
  %h = vertex.gather 0 : tensor<8xf32>
  %xh = tensor.concat dim(0) %x, %h : (tensor<4xf32>, tensor<8xf32>) -> tensor<12xf32>
  %y = nn.matmul %xh, %W : tensor<12xf32>, tensor<12x8xf32>
  vertex.scatter %y : tensor<8xf32>
}

// Pieces that are gathered stay together; pulled ones on both sides are added up
// before the gathered one joins them.
// CHECK-LABEL: vertex.func @runs
// CHECK: %[[A:.*]] = nn.matmul
// CHECK: %[[BOTH:.*]] = tensor.concat dim(0) %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
// CHECK: %[[B:.*]] = nn.matmul %[[BOTH]]
// CHECK: %[[C:.*]] = nn.matmul
// CHECK: %[[EAGER:.*]] = arith.addf %[[A]], %[[C]]
// CHECK: arith.addf %[[EAGER]], %[[B]]
vertex.func @runs(%W: tensor<24x8xf32>) state(tensor<8xf32>) arity(2) {
  %x = vertex.pull "x" : tensor<4xf32>
  %l = vertex.gather 0 : tensor<8xf32>
  %r = vertex.gather 1 : tensor<8xf32>
  %xh = tensor.concat dim(0) %x, %l, %r, %x
      : (tensor<4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) -> tensor<24xf32>
  %y = nn.matmul %xh, %W : tensor<24xf32>, tensor<24x8xf32>
  vertex.scatter %y : tensor<8xf32>
}

// Nothing to gain where all is gathered.
// CHECK-LABEL: vertex.func @gathered
// CHECK: %[[HH:.*]] = tensor.concat
// CHECK-NEXT: nn.matmul %[[HH]]
vertex.func @gathered(%W: tensor<16x8xf32>) state(tensor<8xf32>) arity(2) {
  %l = vertex.gather 0 : tensor<8xf32>
  %r = vertex.gather 1 : tensor<8xf32>
  %hh = tensor.concat dim(0) %l, %r : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %y = nn.matmul %hh, %W : tensor<16xf32>, tensor<16x8xf32>
  vertex.scatter %y : tensor<8xf32>
}
