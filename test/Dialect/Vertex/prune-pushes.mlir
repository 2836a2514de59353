// RUN: espalier-opt %s -split-input-file --prune-pushes | FileCheck %s
// RUN: espalier-opt %s -split-input-file --prune-pushes --remarks-filter=prune-pushes 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The reader's leaf variant pulls none of it, so leaves push zeros, and what only
// made it goes. What leaves and inner vertices both read stays.
// CHECK-LABEL: vertex.func @writer(
// CHECK: vertex.push "gate" %{{.*}} : tensor<8xf32>
// CHECK-LABEL: vertex.func @writer.leaf(
// CHECK-NOT: nn.sigmoid
// CHECK: %[[Y:.*]] = math.tanh
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00>
// CHECK: vertex.push "gate" %[[ZEROS]]
// CHECK: vertex.push "y" %[[Y]]
// REMARK: prune-pushes.mlir:[[@LINE+1]]:{{.*}} pruned {{.*}} function=writer, pushes=1
vertex.func @writer(%b: tensor<8xf32>) arity(1) leaf(@writer.leaf) {
  %0 = nn.sigmoid %b : tensor<8xf32>
  vertex.push "gate" %0 : tensor<8xf32>
  vertex.push "y" %b : tensor<8xf32>
}
vertex.func @writer.leaf(%b: tensor<8xf32>) arity(0) {
  %0 = nn.sigmoid %b : tensor<8xf32>
  %1 = math.tanh %b : tensor<8xf32>
  vertex.push "gate" %0 : tensor<8xf32>
  vertex.push "y" %1 : tensor<8xf32>
}
vertex.func @reader() arity(1) leaf(@reader.leaf) {
  %g = vertex.pull "gate" : tensor<8xf32>
  %y = vertex.pull "y" : tensor<8xf32>
  %0 = arith.addf %g, %y : tensor<8xf32>
  vertex.push "z" %0 : tensor<8xf32>
}
vertex.func @reader.leaf() arity(0) {
  %y = vertex.pull "y" : tensor<8xf32>
  vertex.push "z" %y : tensor<8xf32>
}
func.func @entry(%g: !vertex.graph, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %gate, %y = vertex.apply @writer(%b) over %g -> "gate", "y" : (tensor<8xf32>), () -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %z = vertex.apply @reader() over %g pull("gate" = %gate, "y" = %y) -> "z"
      : (), (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

// Inner vertices push zeros of what only leaves pull. A child may be of either
// kind, so what is pulled of a child stays in both.
// CHECK-LABEL: vertex.func @writer(
// CHECK-SAME: %[[B:.*]]: tensor<8xf32>
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00>
// CHECK: vertex.push "at_leaves" %[[ZEROS]]
// CHECK: vertex.push "of_child" %[[B]]
// CHECK-LABEL: vertex.func @writer.leaf(
// CHECK-SAME: %[[B:.*]]: tensor<8xf32>
// CHECK: vertex.push "at_leaves" %[[B]]
// CHECK: vertex.push "of_child" %[[B]]
vertex.func @writer(%b: tensor<8xf32>) arity(1) leaf(@writer.leaf) {
  vertex.push "at_leaves" %b : tensor<8xf32>
  vertex.push "of_child" %b : tensor<8xf32>
}
vertex.func @writer.leaf(%b: tensor<8xf32>) arity(0) {
  vertex.push "at_leaves" %b : tensor<8xf32>
  vertex.push "of_child" %b : tensor<8xf32>
}
vertex.func @reader() arity(1) leaf(@reader.leaf) {
  %c = vertex.pull_child "of_child" 0 : tensor<8xf32>
  vertex.push "z" %c : tensor<8xf32>
}
vertex.func @reader.leaf() arity(0) {
  %l = vertex.pull "at_leaves" at leaves : tensor<8xf32>
  vertex.push "z" %l : tensor<8xf32>
}
func.func @entry(%g: !vertex.graph, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %l, %c = vertex.apply @writer(%b) over %g -> "at_leaves", "of_child" : (tensor<8xf32>), () -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %z = vertex.apply @reader() over %g pull("at_leaves" = %l, "of_child" = %c) -> "z"
      : (), (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

// All rows are read by whoever is no apply, over another graph, or without
// variants: nothing is pruned. What nobody reads at all is.
// CHECK-LABEL: vertex.func @writer.leaf(
// CHECK-SAME: %[[B:.*]]: tensor<8xf32>
// CHECK-DAG: vertex.push "returned" %[[B]]
// CHECK-DAG: vertex.push "elsewhere" %[[B]]
// CHECK-DAG: vertex.push "whole" %[[B]]
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00>
// CHECK-DAG: vertex.push "unread" %[[ZEROS]]
vertex.func @writer(%b: tensor<8xf32>) arity(1) leaf(@writer.leaf) {
  vertex.push "returned" %b : tensor<8xf32>
  vertex.push "elsewhere" %b : tensor<8xf32>
  vertex.push "whole" %b : tensor<8xf32>
  vertex.push "unread" %b : tensor<8xf32>
}
vertex.func @writer.leaf(%b: tensor<8xf32>) arity(0) {
  vertex.push "returned" %b : tensor<8xf32>
  vertex.push "elsewhere" %b : tensor<8xf32>
  vertex.push "whole" %b : tensor<8xf32>
  vertex.push "unread" %b : tensor<8xf32>
}
vertex.func @reader() arity(1) leaf(@reader.leaf) {
  %x = vertex.pull "x" : tensor<8xf32>
  vertex.push "z" %x : tensor<8xf32>
}
vertex.func @reader.leaf() arity(0) {
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  vertex.push "z" %zeros : tensor<8xf32>
}
vertex.func @whole() arity(1) {
  %x = vertex.pull "x" at inner : tensor<8xf32>
  vertex.push "z" %x : tensor<8xf32>
}
func.func @entry(%g: !vertex.graph, %other: !vertex.graph, %b: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %0:4 = vertex.apply @writer(%b) over %g -> "returned", "elsewhere", "whole", "unread"
      : (tensor<8xf32>), () -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
  %1 = vertex.apply @reader() over %other pull("x" = %0#1) -> "z" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = vertex.apply @whole() over %g pull("x" = %0#2) -> "z" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0#0, %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
