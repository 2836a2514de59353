// RUN: espalier-opt %s --specialize-leaves | FileCheck %s
// RUN: espalier-opt %s --specialize-leaves --remarks-filter=specialize-leaves 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// At a leaf the gather is zeros, and so is its product; at an inner vertex the
// pull is. Each variant keeps one term of the sum.
// CHECK-LABEL: vertex.func @rnn(
// CHECK-SAME: %[[U:.*]]: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) leaf(@rnn.leaf) {
// CHECK-NEXT: %[[H:.*]] = vertex.gather 0
// CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[H]], %[[U]]
// CHECK-NEXT: vertex.scatter %[[PRODUCT]]
// CHECK-NEXT: }
// CHECK-NEXT: vertex.func @rnn.leaf(%{{.*}}: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
// CHECK-NEXT: %[[X:.*]] = vertex.pull "x" at leaves
// CHECK-NEXT: vertex.scatter %[[X]]
// CHECK-NEXT: }
// REMARK: specialize-leaves.mlir:[[@LINE+1]]:{{.*}} specialized {{.*}} inner=3, leaf=2
vertex.func @rnn(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" at leaves : tensor<8xf32>
  %0 = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
  %1 = arith.addf %0, %x : tensor<8xf32>
  vertex.scatter %1 : tensor<8xf32>
}

// What both variants read stays in both, with every push.
// CHECK-LABEL: vertex.func @pull_everywhere(
// CHECK: vertex.pull "x" : tensor<8xf32>
// CHECK: vertex.push "h"
// CHECK-LABEL: vertex.func @pull_everywhere.leaf(
// CHECK-NEXT: %[[X:.*]] = vertex.pull "x" : tensor<8xf32>
// CHECK-NEXT: vertex.scatter %[[X]]
// CHECK-NEXT: vertex.push "h" %[[X]]
vertex.func @pull_everywhere() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}

// A pull at inner vertices is zeros at leaves, where nothing is left to compute.
// CHECK-LABEL: vertex.func @pull_at_inner(
// CHECK: vertex.pull "x" at inner
// CHECK-LABEL: vertex.func @pull_at_inner.leaf(
// CHECK-NEXT: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: vertex.scatter %[[ZEROS]]
vertex.func @pull_at_inner() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" at inner : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
}

// Zeros through the algebra: a factor takes the product along, a dividend the
// quotient, a subtrahend leaves the difference, a concatenation and a slice of
// zeros are zeros. What is left is x + b - 0.
// CHECK-LABEL: vertex.func @algebra(
// CHECK-LABEL: vertex.func @algebra.leaf(
// CHECK-SAME: %{{.*}}: tensor<16x8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[X:.*]] = vertex.pull "x"
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[X]], %[[B]]
// CHECK-NEXT: vertex.scatter %[[SUM]]
// CHECK-NEXT: }
vertex.func @algebra(%U: tensor<16x8xf32>, %b: tensor<8xf32>) state(tensor<8xf32>) arity(2) {
  %l = vertex.gather 0 : tensor<8xf32>
  %r = vertex.gather 1 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = tensor.concat dim(0) %l, %r : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %1 = nn.matmul %0, %U : tensor<16xf32>, tensor<16x8xf32>
  %2 = tensor.extract_slice %0[4] [8] [1] : tensor<16xf32> to tensor<8xf32>
  %3 = arith.mulf %x, %2 : tensor<8xf32>
  %4 = arith.divf %l, %x : tensor<8xf32>
  %5 = arith.addf %x, %b : tensor<8xf32>
  %6 = arith.addf %1, %5 : tensor<8xf32>
  %7 = arith.addf %6, %3 : tensor<8xf32>
  %8 = arith.subf %7, %4 : tensor<8xf32>
  vertex.scatter %8 : tensor<8xf32>
}

// What zeros do not absorb is computed: 0 - x, x / 0 and tanh of 0 keep their
// meaning (tanh of a constant is one).
// CHECK-LABEL: vertex.func @not_absorbed.leaf(
// CHECK-NEXT: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00>
// CHECK-NEXT: %[[X:.*]] = vertex.pull "x"
// CHECK-NEXT: %[[NEGATED:.*]] = arith.subf %[[ZEROS]], %[[X]]
// CHECK-NEXT: %[[INFINITE:.*]] = arith.divf %[[X]], %[[ZEROS]]
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[NEGATED]], %[[INFINITE]]
// CHECK-NEXT: vertex.scatter %[[PRODUCT]]
vertex.func @not_absorbed() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.subf %h, %x : tensor<8xf32>
  %1 = arith.divf %x, %h : tensor<8xf32>
  %2 = arith.mulf %0, %1 : tensor<8xf32>
  %3 = math.tanh %h : tensor<8xf32>
  %4 = arith.addf %2, %3 : tensor<8xf32>
  vertex.scatter %4 : tensor<8xf32>
}

// A function without children has no variants, and one that has them keeps them.
// CHECK-LABEL: vertex.func @no_children() arity(0) {
// CHECK-NOT: @no_children.leaf
// CHECK-LABEL: vertex.func @has_leaf() arity(1) leaf(@own) {
// CHECK-LABEL: vertex.func @own() arity(0)
// CHECK-NOT: @has_leaf.leaf
vertex.func @no_children() arity(0) {
}
vertex.func @has_leaf() arity(1) leaf(@own) {
}
vertex.func @own() arity(0) {
}

// A name that is taken gets a number.
// CHECK-LABEL: vertex.func @taken() arity(1) leaf(@taken.leaf_0)
// CHECK: vertex.func @taken.leaf_0() arity(0)
// CHECK-LABEL: vertex.func @taken.leaf() arity(0) {
vertex.func @taken() arity(1) {
}
vertex.func @taken.leaf() arity(0) {
}

// States of integers and of f64 have zeros too.
// CHECK-LABEL: vertex.func @other_types.leaf()
// CHECK-DAG: %[[INTEGERS:.*]] = arith.constant dense<0> : tensor<4xi32>
// CHECK-DAG: %[[DOUBLES:.*]] = arith.constant dense<0.000000e+00> : tensor<2x3xf64>
// CHECK: vertex.scatter %[[INTEGERS]], %[[DOUBLES]]
vertex.func @other_types() state(tensor<4xi32>, tensor<2x3xf64>) arity(1) {
  %i, %d = vertex.gather 0 : tensor<4xi32>, tensor<2x3xf64>
  vertex.scatter %i, %d : tensor<4xi32>, tensor<2x3xf64>
}

// An apply may bind what only one of the variants still pulls.
// CHECK-LABEL: func.func @apply
// CHECK: vertex.apply @rnn
func.func @apply(%g: !vertex.graph, %x: tensor<?x8xf32>, %U: tensor<8x8xf32>) {
  vertex.apply @rnn(%U) over %g pull("x" = %x) : (tensor<8x8xf32>), (tensor<?x8xf32>) -> ()
  return
}

// A leaf has no children to scatter to, and none whose rows to pull. What is
// pushed at leaves is zeros at inner vertices, and what parameters' gradients
// owe to children is zeros at leaves.
// CHECK-LABEL: vertex.func @adjoint(
// CHECK-SAME: arity(2) leaf(@adjoint.leaf) reversed {
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK: vertex.pull_child "h" 1
// CHECK: vertex.scatter_child 1
// CHECK: vertex.push "dx" %[[ZEROS]] : tensor<8xf32>
// CHECK: vertex.push "dy" %{{[^ ]*}} : tensor<8xf32>
// CHECK-LABEL: vertex.func @adjoint.leaf(
// CHECK-SAME: %{{.*}}: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) reversed {
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : tensor<8x8xf32>
// CHECK-NOT: vertex.pull_child
// CHECK: %[[D:.*]] = vertex.gather_parents : tensor<8xf32>
// CHECK-NOT: vertex.scatter_child
// CHECK: vertex.push "dx" %[[D]] : tensor<8xf32>
// CHECK: vertex.push "dy" %[[ZEROS]] : tensor<8xf32>
// CHECK: vertex.reduce "dW" %[[NONE]]
vertex.func @adjoint(%W: tensor<8x8xf32>) state(tensor<8xf32>) arity(2) reversed {
  %h = vertex.pull_child "h" 1 : tensor<8xf32>
  %d = vertex.gather_parents : tensor<8xf32>
  %0 = nn.transpose %W : tensor<8x8xf32>
  %1 = nn.matmul %d, %0 : tensor<8xf32>, tensor<8x8xf32>
  %2 = nn.outer %h, %d : tensor<8xf32>, tensor<8xf32>
  vertex.scatter_child 1 %1 : tensor<8xf32>
  vertex.push "dx" %d at leaves : tensor<8xf32>
  vertex.push "dy" %d at inner : tensor<8xf32>
  vertex.reduce "dW" %2 : tensor<8x8xf32>
}

// Zeros through what adjoints are made of: outer products of either factor,
// products with a row's own matrix, dropout, sums and what is broadcast.
// CHECK-LABEL: vertex.func @adjoint_algebra.leaf(
// CHECK-NEXT: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: vertex.scatter %[[ZEROS]]
// CHECK-NEXT: }
vertex.func @adjoint_algebra(%M: tensor<8x8xf32>, %i: tensor<i32>, %x: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = nn.outer %x, %h : tensor<8xf32>, tensor<8xf32>
  %1 = nn.row_matmul %x, %0 : tensor<8xf32>, tensor<8x8xf32>
  %2 = nn.row_matmul %h, %M transposed : tensor<8xf32>, tensor<8x8xf32>
  %3 = nn.dropout %h, %i, %i {probability = 0.5} : tensor<8xf32>, tensor<i32>, tensor<i32>
  %4 = arith.negf %h : tensor<8xf32>
  %5 = nn.sum %4 : tensor<8xf32>
  %6 = nn.broadcast %5 : tensor<f32> -> tensor<8xf32>
  %7 = arith.addf %1, %2 : tensor<8xf32>
  %8 = arith.addf %7, %3 : tensor<8xf32>
  %9 = arith.addf %8, %6 : tensor<8xf32>
  vertex.scatter %9 : tensor<8xf32>
}
