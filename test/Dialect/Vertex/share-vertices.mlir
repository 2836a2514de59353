// RUN: espalier-opt %s -split-input-file --share-vertices | FileCheck %s
// RUN: espalier-opt %s -split-input-file --share-vertices --remarks-filter=share-vertices 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A sum over vertices is weighted, one over structures is not.
vertex.func @f() state(tensor<8xf32>) arity(2) {
  %x = vertex.pull "x" : tensor<8xf32>
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = arith.addf %x, %h : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @sums(
// CHECK-SAME: %[[G:.*]]: !vertex.graph {vertex.shared}
// CHECK: %[[H:.*]] = vertex.apply
// CHECK: %[[R:.*]] = vertex.roots %[[G]], %[[H]]
// CHECK: %[[M:.*]] = vertex.multiplicity %[[H]] : tensor<?x8xf32> -> tensor<?xf32>
// CHECK: %[[B:.*]] = nn.broadcast %[[M]] : tensor<?xf32> -> tensor<?x8xf32>
// CHECK: %[[W:.*]] = arith.mulf %[[H]], %[[B]]
// CHECK: %[[S:.*]] = nn.sum_rows %[[W]]
// CHECK: %[[T:.*]] = nn.sum_rows %[[R]]
// CHECK: return %[[S]], %[[T]]
// REMARK: share-vertices.mlir:[[@LINE+1]]:{{.*}} shared {{.*}} entry=sums, sums=1
func.func @sums(%g: !vertex.graph, %x: tensor<?x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %h = vertex.apply @f() over %g pull("x" = %x) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = vertex.roots %g, %h : tensor<?x8xf32>
  %s = nn.sum_rows %h : tensor<?x8xf32>
  %t = nn.sum_rows %r : tensor<?x8xf32>
  return %s, %t : tensor<8xf32>, tensor<8xf32>
}

// Scalars need no broadcast; nothing is known of an argument, which may have the
// rows of structures.
// CHECK-LABEL: func.func @scalars(
// CHECK-SAME: !vertex.graph {vertex.shared}
// CHECK: %[[N:.*]] = nn.sum %{{.*}} : tensor<?x8xf32>
// CHECK: %[[M:.*]] = vertex.multiplicity %[[N]] : tensor<?xf32> -> tensor<?xf32>
// CHECK: %[[W:.*]] = arith.mulf %[[N]], %[[M]] : tensor<?xf32>
// CHECK: nn.sum_rows %[[W]]
// CHECK: vertex.multiplicity %{{.*}} : tensor<?xf64> -> tensor<?xf64>
func.func @scalars(%g: !vertex.graph, %x: tensor<?x8xf32>, %y: tensor<?xf64>) -> (tensor<f32>, tensor<f64>) {
  %h = vertex.apply @f() over %g pull("x" = %x) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %n = nn.sum %h : tensor<?x8xf32>
  %s = nn.sum_rows %n : tensor<?xf32>
  %t = nn.sum_rows %y : tensor<?xf64>
  return %s, %t : tensor<f32>, tensor<f64>
}

// Segments are sums over the vertices of the caller, whoever shares rows.
// CHECK-LABEL: func.func @segments(
// CHECK-SAME: !vertex.graph {vertex.shared}
// CHECK-NOT: vertex.multiplicity
// CHECK: return
func.func @segments(%g: !vertex.graph, %x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>) {
  %h = vertex.apply @f() over %g pull("x" = %x) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = vertex.segment_sum %g, %h : tensor<?x8xf32>
  %m = vertex.segment_max %g, %h : tensor<?x8xf32>
  %0 = arith.addf %s, %m : tensor<?x8xf32>
  %t = nn.sum_rows %0 : tensor<?x8xf32>
  return %s, %t : tensor<?x8xf32>, tensor<8xf32>
}

// Of two graphs, the one over whose vertices structures are spread is not
// shared; sums over the other's are weighted.
// CHECK-LABEL: func.func @spread(
// CHECK-SAME: %[[A:[^ ]*]]: !vertex.graph {vertex.shared}, %[[B:[^ ]*]]: !vertex.graph,
// REMARK-DAG: share-vertices.mlir:[[@LINE+2]]:{{.*}}[Passed] shared {{.*}} entry=spread
// REMARK-DAG: share-vertices.mlir:[[@LINE+1]]:{{.*}}[Missed] shared {{.*}} reason="rows of structures are spread over its vertices"
func.func @spread(%a: !vertex.graph, %b: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %h = vertex.apply @f() over %a pull("x" = %x) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = vertex.roots %a, %h : tensor<?x8xf32>
  %s = vertex.spread_structures %b, %r : tensor<?x8xf32>
  %i = vertex.apply @f() over %b pull("x" = %s) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %i : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @two_directions(
// CHECK-NOT: vertex.shared
// CHECK: return
// REMARK: share-vertices.mlir:[[@LINE+1]]:{{.*}}[Missed] shared {{.*}} reason="it is turned round, too"
func.func @two_directions(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %b = vertex.reverse %g : !vertex.graph
  %h = vertex.apply @f() over %b pull("x" = %x) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// Dropout tells vertices apart, whether in the function or around it; over
// structures it does not.
vertex.func @drops(%seed: tensor<i32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %n = vertex.pull "n" : tensor<i32>
  %y = nn.dropout %x, %seed, %n {probability = 0.5} : tensor<8xf32>, tensor<i32>, tensor<i32>
  vertex.push "y" %y : tensor<8xf32>
}
vertex.func @passes() arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  vertex.push "y" %x : tensor<8xf32>
}
// CHECK-LABEL: func.func @inside(
// CHECK-NOT: vertex.shared
// CHECK: return
// REMARK: share-vertices.mlir:[[@LINE+1]]:{{.*}}[Missed] shared {{.*}} entry=inside, reason="dropout is of a row's number, which no two vertices share"
func.func @inside(%g: !vertex.graph, %x: tensor<?x8xf32>, %n: tensor<?xi32>, %seed: tensor<i32>) -> tensor<?x8xf32> {
  %y = vertex.apply @drops(%seed) over %g pull("x" = %x, "n" = %n) -> "y"
      : (tensor<i32>), (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
// CHECK-LABEL: func.func @around(
// CHECK-NOT: vertex.shared
// CHECK: return
func.func @around(%g: !vertex.graph, %x: tensor<?x8xf32>, %n: tensor<?xi32>, %seed: tensor<i32>) -> tensor<8xf32> {
  %d = nn.dropout %x, %seed, %n {probability = 0.5} : tensor<?x8xf32>, tensor<i32>, tensor<?xi32>
  %y = vertex.apply @passes() over %g pull("x" = %d) -> "y" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %s = nn.sum_rows %y : tensor<?x8xf32>
  return %s : tensor<8xf32>
}
// CHECK-LABEL: func.func @of_structures(
// CHECK-SAME: !vertex.graph {vertex.shared}
func.func @of_structures(%g: !vertex.graph, %x: tensor<?x8xf32>, %n: tensor<?xi32>, %seed: tensor<i32>) -> tensor<?x8xf32> {
  %y = vertex.apply @passes() over %g pull("x" = %x) -> "y" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = vertex.roots %g, %y : tensor<?x8xf32>
  %d = nn.dropout %r, %seed, %n {probability = 0.5} : tensor<?x8xf32>, tensor<i32>, tensor<?xi32>
  return %d : tensor<?x8xf32>
}

// -----

vertex.func @f(%b: tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  vertex.push "y" %x : tensor<8xf32>
  vertex.reduce "s" %x : tensor<8xf32>
}
// CHECK-LABEL: func.func @reduces(
// CHECK-NOT: vertex.shared
// CHECK: return
// REMARK: share-vertices.mlir:[[@LINE+1]]:{{.*}} reason="a vertex function reduces over vertices"
func.func @reduces(%g: !vertex.graph, %x: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %y, %s = vertex.apply @f(%b) over %g pull("x" = %x) -> "y", "s"
      : (tensor<8xf32>), (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>)
  return %s : tensor<8xf32>
}

// -----

vertex.func @up() state(tensor<8xf32>) arity(1) reversed {
  %p = vertex.gather_parents : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.addf %p, %x : tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
  vertex.scatter_child 0 %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @from_parents(
// CHECK-NOT: vertex.shared
// CHECK: return
// REMARK: share-vertices.mlir:[[@LINE+1]]:{{.*}} reason="a vertex function gathers from parents"
func.func @from_parents(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = vertex.apply @up() over %g pull("x" = %x) -> "y" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
// CHECK-LABEL: func.func @other_sums(
// CHECK-NOT: vertex.shared
// CHECK: return
// REMARK: share-vertices.mlir:[[@LINE+1]]:{{.*}} reason="it sums over vertices by another operator than nn.sum_rows"
func.func @other_sums(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.outer_sum %x, %x : tensor<?x8xf32>, tensor<?x8xf32>
  return %0 : tensor<8x8xf32>
}
// CHECK-LABEL: func.func @batched(
// CHECK-NOT: vertex.shared
// CHECK: return
// REMARK: share-vertices.mlir:[[@LINE+1]]:{{.*}} reason="the entry is batched already"
func.func @batched(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %1 = vertex.push_rows %g, %0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
