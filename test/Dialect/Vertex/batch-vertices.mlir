// RUN: espalier-opt %s -split-input-file --fuse-elementwise --classify-operators --batch-vertices | FileCheck %s

// Without a leaf variant the loop runs over all vertices. The pulled rows, which
// are eager, enter it; the states of all rows done so far are its first argument.
// CHECK-NOT: vertex.func
// CHECK-LABEL: func.func @no_leaf_variant
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[E:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[X:.*]] = vertex.pull_rows %[[G]], %[[E]] : tensor<?x8xf32>
// CHECK-NEXT: %[[LOOP:.*]] = vertex.tasks %[[G]] arity 1 eager(%[[X]] : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x8xf32>, %[[TASK:.*]]: tensor<?x8xf32>):
// CHECK-NEXT: %[[CHILD:.*]] = vertex.gather_rows %[[DONE]][0]
// CHECK-NEXT: %[[SUM:.*]] = nn.elementwise(%[[CHILD]], %[[TASK]]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK: vertex.yield(%[[SUM]])
// CHECK-NEXT: }
// CHECK-NEXT: %[[H:.*]] = vertex.push_rows %[[G]], %[[LOOP]]
// CHECK-NEXT: return %[[H]]
vertex.func @sum() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
func.func @no_leaf_variant(%g: !vertex.graph, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %h = vertex.apply @sum() over %g pull("x" = %e) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// With one, the leaves' states come first and enter the loop as its initial
// rows; it then runs over the other vertices. What is pushed is the state in
// both variants, so its rows are those of the loop.
// CHECK-LABEL: func.func @leaf_variant
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[E:.*]]: tensor<?x8xf32>, %[[U:.*]]: tensor<8x8xf32>
// CHECK-NEXT: %[[X:.*]] = vertex.pull_rows %[[G]], %[[E]] at leaves : tensor<?x8xf32>
// CHECK-NEXT: %[[LOOP:.*]] = vertex.tasks %[[G]] arity 2 init(%[[X]] : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x8xf32>):
// CHECK-NEXT: %[[CHILD:.*]] = vertex.gather_rows %[[DONE]][1]
// CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[CHILD]], %[[U]] : tensor<?x8xf32>, tensor<8x8xf32>
// CHECK-NEXT: vertex.yield(%[[PRODUCT]])
// CHECK: %[[H:.*]] = vertex.push_rows %[[G]], %[[LOOP]]
// CHECK-NEXT: return %[[H]]
vertex.func @f(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(2) leaf(@f.leaf) {
  %h = vertex.gather 1 : tensor<8xf32>
  %0 = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
vertex.func @f.leaf(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" at leaves : tensor<8xf32>
  vertex.scatter %x : tensor<8xf32>
  vertex.push "h" %x : tensor<8xf32>
}
func.func @leaf_variant(%g: !vertex.graph, %e: tensor<?x8xf32>, %U: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %h = vertex.apply @f(%U) over %g pull("x" = %e) -> "h" : (tensor<8x8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// A pushed value that is no state is lazy: computed after the loop, from the
// states of the inner rows, and joined with what the leaves push.
// CHECK-LABEL: func.func @push_of_lazy_value
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[V:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
// CHECK-DAG: %[[INIT:.*]] = vertex.spread_rows %[[G]], %[[B]] at leaves : tensor<8xf32> -> tensor<?x8xf32>
// CHECK: %[[LOOP:.*]] = vertex.tasks %[[G]] arity 1 init(%[[INIT]] : tensor<?x8xf32>) states 1
// CHECK: %[[INNER:.*]] = vertex.select_rows %[[LOOP]] at inner : tensor<?x8xf32>
// CHECK: %[[Y:.*]] = nn.matmul %[[INNER]], %[[V]]
// CHECK: %[[LEAVES:.*]] = vertex.spread_rows %[[G]], %[[ZEROS]] at leaves : tensor<4xf32> -> tensor<?x4xf32>
// CHECK: %[[JOINED:.*]] = vertex.join_rows %[[LEAVES]], %[[Y]] : tensor<?x4xf32>
// CHECK: vertex.push_rows %[[G]], %[[JOINED]]
vertex.func @f(%V: tensor<8x4xf32>, %b: tensor<8xf32>) state(tensor<8xf32>) arity(1) leaf(@f.leaf) {
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = math.tanh %h : tensor<8xf32>
  %y = nn.matmul %0, %V : tensor<8xf32>, tensor<8x4xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "y" %y : tensor<4xf32>
}
vertex.func @f.leaf(%V: tensor<8x4xf32>, %b: tensor<8xf32>) state(tensor<8xf32>) arity(0) {
  %ones = arith.constant dense<1.0> : tensor<4xf32>
  vertex.scatter %b : tensor<8xf32>
  vertex.push "y" %ones : tensor<4xf32>
}
func.func @push_of_lazy_value(%g: !vertex.graph, %V: tensor<8x4xf32>, %b: tensor<8xf32>) -> tensor<?x4xf32> {
  %y = vertex.apply @f(%V, %b) over %g -> "y" : (tensor<8x4xf32>, tensor<8xf32>), () -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// A gathered value that is read after the loop leaves it as one more result.
// CHECK-LABEL: func.func @push_of_gathered_value
// CHECK: %[[LOOP:.*]]:2 = vertex.tasks %[[G:.*]] arity 1 states 1 -> (tensor<?x8xf32>, tensor<?x8xf32>) {
// CHECK: %[[CHILD:.*]] = vertex.gather_rows
// CHECK: %[[NEXT:.*]] = nn.elementwise(%[[CHILD]])
// CHECK: vertex.yield(%[[NEXT]], %[[CHILD]])
// CHECK: vertex.push_rows %{{.*}}, %[[LOOP]]#1
vertex.func @f() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = math.exp %h : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "before" %h : tensor<8xf32>
}
func.func @push_of_gathered_value(%g: !vertex.graph) -> tensor<?x8xf32> {
  %y = vertex.apply @f() over %g -> "before" : (), () -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// A pull at leaves, in a function without variants: zeros at the other vertices.
// CHECK-LABEL: func.func @pull_at_leaves
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[E:.*]]: tensor<?x8xf32>
// CHECK-DAG: %[[LEAVES:.*]] = vertex.pull_rows %[[G]], %[[E]] at leaves
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-DAG: %[[INNER:.*]] = vertex.spread_rows %[[G]], %[[ZEROS]] at inner : tensor<8xf32> -> tensor<?x8xf32>
// CHECK: %[[X:.*]] = vertex.join_rows %[[LEAVES]], %[[INNER]]
// CHECK: vertex.push_rows %[[G]], %[[X]]
vertex.func @f() arity(1) {
  %x = vertex.pull "x" at leaves : tensor<8xf32>
  vertex.push "x" %x : tensor<8xf32>
}
func.func @pull_at_leaves(%g: !vertex.graph, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %x = vertex.apply @f() over %g pull("x" = %e) -> "x" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}

// -----

// And one at inner vertices the other way round.
// CHECK-LABEL: func.func @pull_at_inner
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[E:.*]]: tensor<?x8xf32>
// CHECK-DAG: %[[INNER:.*]] = vertex.pull_rows %[[G]], %[[E]] at inner
// CHECK-DAG: %[[LEAVES:.*]] = vertex.spread_rows %[[G]], %{{.*}} at leaves
// CHECK: vertex.join_rows %[[LEAVES]], %[[INNER]]
vertex.func @f() arity(1) {
  %x = vertex.pull "x" at inner : tensor<8xf32>
  vertex.push "x" %x : tensor<8xf32>
}
func.func @pull_at_inner(%g: !vertex.graph, %e: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %x = vertex.apply @f() over %g pull("x" = %e) -> "x" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}

// -----

// What depends on parameters only is the same for every vertex: computed once,
// in front of everything, on one row.
// CHECK-LABEL: func.func @shared_operators
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[W:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[B]], %[[W]] : tensor<8xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[TANH:.*]] = nn.elementwise(%[[PRODUCT]]) : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: vertex.tasks %[[G]]
// CHECK: %[[CHILD:.*]] = vertex.gather_rows
// CHECK: nn.elementwise(%[[CHILD]], %[[TANH]]) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
vertex.func @f(%W: tensor<8x8xf32>, %b: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = nn.matmul %b, %W : tensor<8xf32>, tensor<8x8xf32>
  %1 = nn.elementwise(%0) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<8xf32>):
    %3 = math.tanh %row : tensor<8xf32>
    nn.yield %3 : tensor<8xf32>
  }
  %2 = arith.addf %h, %1 : tensor<8xf32>
  vertex.scatter %2 : tensor<8xf32>
  vertex.push "h" %2 : tensor<8xf32>
}
func.func @shared_operators(%g: !vertex.graph, %W: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %h = vertex.apply @f(%W, %b) over %g -> "h" : (tensor<8x8xf32>, tensor<8xf32>), () -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// A state that is a parameter is spread over the rows of the task, and pushed
// over the rows of all.
// CHECK-LABEL: func.func @parameter_as_state
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[B:.*]]: tensor<8xf32>
// CHECK: vertex.tasks %[[G]] arity 1 states 1
// CHECK: %[[ROWS:.*]] = vertex.spread_rows %[[G]], %[[B]] : tensor<8xf32> -> tensor<?x8xf32>
// CHECK: vertex.yield(%[[ROWS]])
// CHECK: %[[ALL:.*]] = vertex.spread_rows %[[G]], %[[B]] : tensor<8xf32> -> tensor<?x8xf32>
// CHECK: vertex.push_rows %[[G]], %[[ALL]]
vertex.func @f(%b: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
  vertex.scatter %b : tensor<8xf32>
  vertex.push "h" %b : tensor<8xf32>
}
func.func @parameter_as_state(%g: !vertex.graph, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %h = vertex.apply @f(%b) over %g -> "h" : (tensor<8xf32>), () -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// One value as two states: two results of the loop, one value in it.
// CHECK-LABEL: func.func @value_scattered_twice
// CHECK: %[[LOOP:.*]]:2 = vertex.tasks %{{.*}} arity 1 states 2
// CHECK: ^bb0(%[[FIRST:.*]]: tensor<?x8xf32>, %[[SECOND:.*]]: tensor<?x8xf32>):
// CHECK: vertex.gather_rows %[[FIRST]][0]
// CHECK: vertex.gather_rows %[[SECOND]][0]
// CHECK: %[[SUM:.*]] = nn.elementwise
// CHECK: vertex.yield(%[[SUM]], %[[SUM]])
vertex.func @f() state(tensor<8xf32>, tensor<8xf32>) arity(1) {
  %a, %b = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
  %0 = arith.addf %a, %b : tensor<8xf32>
  vertex.scatter %0, %0 : tensor<8xf32>, tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
func.func @value_scattered_twice(%g: !vertex.graph) -> tensor<?x8xf32> {
  %h = vertex.apply @f() over %g -> "h" : (), () -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// Without state there is no loop: everything runs over all rows at once.
// CHECK-LABEL: func.func @no_state
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[E:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8x4xf32>
// CHECK-NEXT: %[[X:.*]] = vertex.pull_rows %[[G]], %[[E]]
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK-NEXT: %[[PUSHED:.*]] = vertex.push_rows %[[G]], %[[Y]]
// CHECK-NEXT: return %[[PUSHED]]
vertex.func @f(%W: tensor<8x4xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %y = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf32>
  vertex.push "y" %y : tensor<4xf32>
}
func.func @no_state(%g: !vertex.graph, %e: tensor<?x8xf32>, %W: tensor<8x4xf32>) -> tensor<?x4xf32> {
  %y = vertex.apply @f(%W) over %g pull("x" = %e) -> "y" : (tensor<8x4xf32>), (tensor<?x8xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// One function over two graphs, the second apply on top of the first, and one
// whose results nobody reads: each becomes operators of its own.
// CHECK-LABEL: func.func @several_applies
// CHECK-SAME: %[[A:.*]]: !vertex.graph{{.*}}, %[[B:.*]]: !vertex.graph{{.*}}, %[[E:.*]]: tensor<?x8xf32>
// CHECK: vertex.tasks %[[A]]
// CHECK: %[[FIRST:.*]] = vertex.push_rows %[[A]]
// CHECK: vertex.pull_rows %[[A]], %[[FIRST]]
// CHECK: vertex.tasks %[[A]]
// CHECK: vertex.tasks %[[B]]
// CHECK-NOT: vertex.apply
vertex.func @f() state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.addf %h, %x : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
func.func @several_applies(%a: !vertex.graph, %b: !vertex.graph, %e: tensor<?x8xf32>, %d: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = vertex.apply @f() over %a pull("x" = %e) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = vertex.apply @f() over %a pull("x" = %0) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = vertex.apply @f() over %b pull("x" = %d) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// Slices and concatenations move by the new leading dimension.
// CHECK-LABEL: func.func @slice_and_concat
// CHECK: %[[X:.*]] = vertex.pull_rows
// CHECK: %[[ROWS:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<?x8xf32>
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[X]][0, 2] [%[[ROWS]], 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
// CHECK: tensor.concat dim(1) %[[X]], %[[SLICE]] : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x12xf32>
vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = tensor.extract_slice %x[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %1 = tensor.concat dim(0) %x, %0 : (tensor<8xf32>, tensor<4xf32>) -> tensor<12xf32>
  vertex.push "y" %1 : tensor<12xf32>
}
func.func @slice_and_concat(%g: !vertex.graph, %e: tensor<?x8xf32>) -> tensor<?x12xf32> {
  %y = vertex.apply @f() over %g pull("x" = %e) -> "y" : (), (tensor<?x8xf32>) -> tensor<?x12xf32>
  return %y : tensor<?x12xf32>
}

// -----

// A shared operand of a concatenation is spread: here zeros that a leaf gathers,
// beside what it pulls.
// CHECK-LABEL: func.func @concat_of_shared
// CHECK-SAME: %[[G:.*]]: !vertex.graph
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK: %[[X:.*]] = vertex.pull_rows %[[G]], %{{.*}} at leaves
// CHECK: %[[ROWS:.*]] = vertex.spread_rows %[[G]], %[[ZEROS]] at leaves : tensor<8xf32> -> tensor<?x8xf32>
// CHECK: tensor.concat dim(1) %[[X]], %[[ROWS]] : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
vertex.func @f() state(tensor<8xf32>) arity(1) leaf(@f.leaf) {
  %h = vertex.gather 0 : tensor<8xf32>
  vertex.scatter %h : tensor<8xf32>
}
vertex.func @f.leaf() state(tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.constant dense<0.0> : tensor<8xf32>
  %1 = tensor.concat dim(0) %x, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %2 = tensor.extract_slice %1[4] [8] [1] : tensor<16xf32> to tensor<8xf32>
  vertex.scatter %2 : tensor<8xf32>
}
func.func @concat_of_shared(%g: !vertex.graph, %e: tensor<?x8xf32>) {
  vertex.apply @f() over %g pull("x" = %e) : (), (tensor<?x8xf32>) -> ()
  return
}

// -----

// States of any shape and type, children in any slot, in a function that does
// nothing but pass them on.
// CHECK-LABEL: func.func @odd_states
// CHECK: vertex.tasks %{{.*}} arity 17 states 4 -> (tensor<?x2x3xf32>, tensor<?x4xi32>, tensor<?x0xf32>, tensor<?xf64>) {
// CHECK-COUNT-4: vertex.gather_rows %{{.*}}[16]
vertex.func @f() state(tensor<2x3xf32>, tensor<4xi32>, tensor<0xf32>, tensor<f64>) arity(17) {
  %0:4 = vertex.gather 16 : tensor<2x3xf32>, tensor<4xi32>, tensor<0xf32>, tensor<f64>
  vertex.scatter %0#0, %0#1, %0#2, %0#3 : tensor<2x3xf32>, tensor<4xi32>, tensor<0xf32>, tensor<f64>
  vertex.push "i" %0#1 : tensor<4xi32>
}
func.func @odd_states(%g: !vertex.graph) -> tensor<?x4xi32> {
  %0 = vertex.apply @f() over %g -> "i" : (), () -> tensor<?x4xi32>
  return %0 : tensor<?x4xi32>
}

// -----

// A module inside has vertex functions of its own, and is left alone.
// CHECK-NOT: vertex.func @outer
// CHECK: module @nested {
// CHECK: vertex.func @inner
// CHECK: vertex.apply @inner
vertex.func @outer() arity(0) {
}
module @nested {
  vertex.func @inner() arity(0) {
  }
  func.func @apply(%g: !vertex.graph) {
    vertex.apply @inner() over %g : (), () -> ()
    return
  }
}

// -----

// A reversed function: the loop comes first, over inner vertices, and yields the
// product that has both slots' columns side by side as it is. Sums of outer
// products come after it, the leaves last: they add up what their parents have.
// A leaf's zeros are no part of a sum.
// CHECK-LABEL: func.func @reversed
// CHECK-SAME: %[[G:.*]]: !vertex.graph {vertex.arity = 2 : i64}, %[[Y:.*]]: tensor<?x8xf32>, %[[U:.*]]: tensor<8x16xf32>
// CHECK-DAG: %[[INNER:.*]] = vertex.pull_rows %[[G]], %[[Y]] at inner
// CHECK-DAG: %[[ALL:.*]] = vertex.pull_rows %[[G]], %[[Y]] : tensor<?x8xf32>
// CHECK-DAG: %[[CHILD:.*]] = vertex.child_rows %[[G]], %[[ALL]][1] at inner
// CHECK: %[[LOOP:.*]]:2 = vertex.reversed_tasks %[[G]] at inner arity 2 eager(%[[INNER]] : tensor<?x8xf32>) states 1 -> (tensor<?x16xf32>, tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x16xf32>, %[[TASK:.*]]: tensor<?x8xf32>):
// CHECK-NEXT: %[[P:.*]] = vertex.gather_parent_rows %[[G]], %[[DONE]] at inner : tensor<?x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[D:.*]] = nn.elementwise(%[[P]], %[[TASK]])
// CHECK: %[[BOTH:.*]] = nn.matmul %[[D]], %[[U]] : tensor<?x8xf32>, tensor<8x16xf32>
// CHECK: vertex.yield(%[[BOTH]], %[[D]])
// CHECK: %[[OUTER:.*]] = nn.outer %[[CHILD]], %[[LOOP]]#1
// CHECK: %[[LEAVES:.*]] = vertex.gather_parent_rows %[[G]], %[[LOOP]]#0 at leaves : tensor<?x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[JOINED:.*]] = vertex.join_rows %[[LEAVES]], %[[LOOP]]#1
// CHECK-NEXT: %[[DX:.*]] = vertex.push_rows %[[G]], %[[JOINED]]
// CHECK-NEXT: %[[DW:.*]] = nn.sum_rows %[[OUTER]]
// CHECK-NEXT: %[[OF_INNER:.*]] = nn.sum_rows %[[LOOP]]#1
// CHECK-NEXT: %[[OF_LEAVES:.*]] = nn.sum_rows %[[LEAVES]]
// CHECK-NEXT: %[[DB:.*]] = arith.addf %[[OF_INNER]], %[[OF_LEAVES]]
// CHECK-NEXT: return %[[DX]], %[[DW]], %[[DB]]
vertex.func @f(%U: tensor<8x16xf32>) state(tensor<8xf32>) arity(2) leaf(@f.leaf) reversed {
  %y = vertex.pull "y" : tensor<8xf32>
  %c = vertex.pull_child "y" 1 : tensor<8xf32>
  %p = vertex.gather_parents : tensor<8xf32>
  %0 = arith.mulf %p, %y : tensor<8xf32>
  %1 = nn.matmul %0, %U : tensor<8xf32>, tensor<8x16xf32>
  %l = tensor.extract_slice %1[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
  %r = tensor.extract_slice %1[8] [8] [1] : tensor<16xf32> to tensor<8xf32>
  vertex.scatter_child 0 %l : tensor<8xf32>
  vertex.scatter_child 1 %r : tensor<8xf32>
  vertex.push "dx" %0 : tensor<8xf32>
  %o = nn.outer %c, %0 : tensor<8xf32>, tensor<8xf32>
  vertex.reduce "dW" %o : tensor<8x8xf32>
  vertex.reduce "db" %0 : tensor<8xf32>
}
vertex.func @f.leaf(%U: tensor<8x16xf32>) state(tensor<8xf32>) arity(0) reversed {
  %zeros = arith.constant dense<0.0> : tensor<8x8xf32>
  %p = vertex.gather_parents : tensor<8xf32>
  vertex.push "dx" %p : tensor<8xf32>
  vertex.reduce "dW" %zeros : tensor<8x8xf32>
  vertex.reduce "db" %p : tensor<8xf32>
}
func.func @reversed(%g: !vertex.graph, %y: tensor<?x8xf32>, %U: tensor<8x16xf32>) -> (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %0:3 = vertex.apply @f(%U) over %g pull("y" = %y) -> "dx", "dW", "db"
      : (tensor<8x16xf32>), (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2 : tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}

// -----

// Without a leaf variant the loop runs over all vertices. A slot that nothing is
// scattered to has zeros; slots of matrices lie one after another. What is
// pushed at leaves is zeros elsewhere.
// CHECK-LABEL: func.func @reversed_everywhere
// CHECK-SAME: %[[G:.*]]: !vertex.graph
// CHECK: %[[LOOP:.*]]:3 = vertex.reversed_tasks %[[G]] arity 2 states 2 -> (tensor<?x16xf32>, tensor<?x4x3xf32>, tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x16xf32>, %[[MATRICES:.*]]: tensor<?x4x3xf32>):
// CHECK-NEXT: %[[P:.*]] = vertex.gather_parent_rows %[[G]], %[[DONE]] : tensor<?x16xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[Q:.*]] = vertex.gather_parent_rows %[[G]], %[[MATRICES]] : tensor<?x4x3xf32> -> tensor<?x2x3xf32>
// CHECK: %[[NONE:.*]] = vertex.spread_rows %[[G]], %{{.*}} : tensor<8xf32> -> tensor<?x8xf32>
// CHECK-NEXT: %[[FIRST:.*]] = tensor.concat dim(1) %[[NONE]], %[[P]]
// CHECK: %[[NO_MATRIX:.*]] = vertex.spread_rows %[[G]], %{{.*}} : tensor<2x3xf32> -> tensor<?x2x3xf32>
// CHECK-NEXT: %[[SECOND:.*]] = tensor.concat dim(1) %[[NO_MATRIX]], %[[Q]]
// CHECK-NEXT: vertex.yield(%[[FIRST]], %[[SECOND]], %[[P]])
// CHECK: %[[LEAVES:.*]] = vertex.select_rows %[[LOOP]]#2 at leaves
// CHECK: %[[INNER:.*]] = vertex.spread_rows %[[G]], %{{.*}} at inner
// CHECK-NEXT: %[[JOINED:.*]] = vertex.join_rows %[[LEAVES]], %[[INNER]]
// CHECK-NEXT: vertex.push_rows %[[G]], %[[JOINED]]
vertex.func @f(%b: tensor<8xf32>) state(tensor<8xf32>, tensor<2x3xf32>) arity(2) reversed {
  %p, %q = vertex.gather_parents : tensor<8xf32>, tensor<2x3xf32>
  vertex.scatter_child 1 %p, %q : tensor<8xf32>, tensor<2x3xf32>
  vertex.push "dx" %p at leaves : tensor<8xf32>
}
func.func @reversed_everywhere(%g: !vertex.graph, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = vertex.apply @f(%b) over %g -> "dx" : (tensor<8xf32>), () -> (tensor<?x8xf32>)
  return %0 : tensor<?x8xf32>
}

// -----

// Where nothing is scattered nothing comes from parents, and there is no loop.
// What all vertices share is summed as often as there are vertices.
// CHECK-LABEL: func.func @scatters_nothing
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[B:.*]]: tensor<8xf32>
// CHECK-NOT: vertex.reversed_tasks
// CHECK: %[[ZEROS:.*]] = vertex.spread_rows %[[G]], %{{.*}} : tensor<8xf32> -> tensor<?x8xf32>
// CHECK-NEXT: nn.elementwise(%[[ZEROS]], %[[B]])
// CHECK: %[[SAME:.*]] = vertex.spread_rows %[[G]], %[[B]] : tensor<8xf32> -> tensor<?x8xf32>
// CHECK-NEXT: nn.sum_rows %[[SAME]]
vertex.func @f(%b: tensor<8xf32>) state(tensor<8xf32>) arity(2) reversed {
  %p = vertex.gather_parents : tensor<8xf32>
  %0 = arith.addf %p, %b : tensor<8xf32>
  vertex.push "dx" %0 : tensor<8xf32>
  vertex.reduce "db" %b : tensor<8xf32>
}
func.func @scatters_nothing(%g: !vertex.graph, %b: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>) {
  %0:2 = vertex.apply @f(%b) over %g -> "dx", "db" : (tensor<8xf32>), () -> (tensor<?x8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<?x8xf32>, tensor<8xf32>
}

// -----

// Operators whose batched form takes rows only have shared operands spread.
// CHECK-LABEL: func.func @rows_only
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[IDS:.*]]: tensor<?xi32>, %[[X:.*]]: tensor<?x8xf32>
// CHECK-DAG: %[[ROW:.*]] = vertex.pull_rows %[[G]], %[[IDS]]
// CHECK-DAG: %[[XS:.*]] = vertex.pull_rows %[[G]], %[[X]]
// CHECK-DAG: nn.layer_norm %[[XS]], %{{.*}}, %{{.*}} {epsilon = 1.000000e-01 : f64} : tensor<?x8xf32>, tensor<?x8xf32>
// CHECK-DAG: nn.dropout %{{.*}}, %{{.*}}, %[[ROW]] {probability = 5.000000e-01 : f64, site = 2 : i32} : tensor<?x8xf32>, tensor<?xi32>, tensor<?xi32>
// CHECK-DAG: %[[M:.*]] = nn.outer %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>
// CHECK-DAG: nn.row_matmul %{{.*}}, %[[M]] transposed : tensor<?x8xf32>, tensor<?x8x8xf32>
// CHECK-DAG: nn.binary_cross_entropy %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xi32>
// CHECK-DAG: nn.softmax_cross_entropy %{{.*}}, %[[ROW]] : tensor<?x8xf32>, tensor<?xi32>
// CHECK-DAG: nn.correct %{{.*}}, %[[ROW]] : tensor<?x8xf32>, tensor<?xi32>
vertex.func @f(%b: tensor<8xf32>, %seed: tensor<i32>, %labels: tensor<8xi32>) arity(0) {
  %row = vertex.pull "row" : tensor<i32>
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = nn.layer_norm %x, %b, %b {epsilon = 0.1} : tensor<8xf32>, tensor<8xf32>
  %1 = nn.dropout %b, %seed, %row {probability = 0.5, site = 2 : i32} : tensor<8xf32>, tensor<i32>, tensor<i32>
  %2 = nn.outer %0, %b : tensor<8xf32>, tensor<8xf32>
  %3 = nn.row_matmul %1, %2 transposed : tensor<8xf32>, tensor<8x8xf32>
  %4 = nn.binary_cross_entropy %3, %labels : tensor<8xf32>, tensor<8xi32>
  %5 = nn.softmax_cross_entropy %b, %row : tensor<8xf32>, tensor<i32>
  %6 = nn.correct %b, %row : tensor<8xf32>, tensor<i32>
  vertex.push "y" %4 : tensor<f32>
  vertex.push "z" %5 : tensor<f32>
  vertex.push "c" %6 : tensor<i32>
}
func.func @rows_only(%g: !vertex.graph, %ids: tensor<?xi32>, %x: tensor<?x8xf32>, %b: tensor<8xf32>,
                     %seed: tensor<i32>, %labels: tensor<8xi32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xi32>) {
  %0:3 = vertex.apply @f(%b, %seed, %labels) over %g pull("row" = %ids, "x" = %x) -> "y", "z", "c"
      : (tensor<8xf32>, tensor<i32>, tensor<8xi32>), (tensor<?xi32>, tensor<?x8xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xi32>)
  return %0#0, %0#1, %0#2 : tensor<?xf32>, tensor<?xf32>, tensor<?xi32>
}

// -----

// Structures may have as many children as what is applied over them has slots,
// in either direction.
// CHECK-LABEL: func.func @two_directions
// CHECK-SAME: %[[G:.*]]: !vertex.graph {vertex.arity = 2 : i64}, %[[E:.*]]: tensor<?x8xf32>
// CHECK: %[[R:.*]] = vertex.reverse %[[G]] {vertex.arity = 4 : i64} : !vertex.graph
// CHECK: vertex.pull_rows %[[G]], %[[E]]
// CHECK: %[[H:.*]] = vertex.push_rows %[[G]]
// CHECK: vertex.pull_rows %[[R]], %[[H]]
// CHECK: vertex.push_rows %[[R]]
// CHECK: vertex.pull_rows %[[R]], %[[E]]
vertex.func @f() arity(2) {
  %x = vertex.pull "x" {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
  vertex.push "h" %x {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
}
vertex.func @wider() arity(4) {
  %x = vertex.pull "x" {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
  vertex.push "h" %x {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
}
func.func @two_directions(%g: !vertex.graph, %e: tensor<?x8xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %r = vertex.reverse %g : !vertex.graph
  %h = vertex.apply @f() over %g pull("x" = %e) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = vertex.apply @wider() over %r pull("x" = %h) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %c = vertex.apply @f() over %r pull("x" = %e) -> "h" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %b, %c : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Of functions chosen by type, each has rows of its own and a body in the loop.
// One that reads no children is its own leaf variant: it runs at the leaves of
// its type, and, eagerly, at the others. The graph notes what types there are.
// What only some push is zeros at the other vertices.
// CHECK-LABEL: func.func @types
// CHECK-SAME: %[[G:.*]]: !vertex.graph {vertex.arity = 2 : i64, vertex.type_field = "type", vertex.types = 2 : i64}, %[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x8xf32>, %[[U:.*]]: tensor<8x8xf32>)
// CHECK-NEXT: %[[L0:.*]] = vertex.pull_rows %[[G]], %[[X]] at leaves of 0
// CHECK-NEXT: %[[L1:.*]] = vertex.pull_rows %[[G]], %[[Y]] at leaves of 1
// CHECK-NEXT: %[[ZL:.*]] = nn.matmul %[[L1]], %[[U]]
// CHECK-NEXT: %[[I1:.*]] = vertex.pull_rows %[[G]], %[[Y]] at inner of 1
// CHECK-NEXT: %[[LOOP:.*]] = vertex.tasks %[[G]] arity 2 init(%[[L0]], %[[L1]] : {{.*}}) eager(%[[I1]] : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x8xf32>):
// CHECK-NEXT: %[[CHILD:.*]] = vertex.gather_rows %[[DONE]][1]
// CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[CHILD]], %[[U]]
// CHECK-NEXT: vertex.yield(%[[PRODUCT]])
// CHECK-NEXT: }, {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x8xf32>, %[[TASK:.*]]: tensor<?x8xf32>):
// CHECK-NEXT: vertex.yield(%[[TASK]])
// CHECK-NEXT: }
// CHECK-NEXT: %[[I0:.*]] = vertex.select_rows %[[LOOP]] at inner of 0
// CHECK-NEXT: %[[ZI:.*]] = nn.matmul %[[I1]], %[[U]]
// CHECK: %[[NO_L1:.*]] = vertex.spread_rows %[[G]], %{{.*}} at leaves of 1
// CHECK: %[[NO_I1:.*]] = vertex.spread_rows %[[G]], %{{.*}} at inner of 1
// CHECK: vertex.join_rows %[[L0]], %[[NO_L1]], %[[I0]], %[[NO_I1]] : tensor<?x8xf32>
// CHECK: %[[NO_L0:.*]] = vertex.spread_rows %[[G]], %{{.*}} at leaves of 0
// CHECK: %[[NO_I0:.*]] = vertex.spread_rows %[[G]], %{{.*}} at inner of 0
// CHECK: vertex.join_rows %[[NO_L0]], %[[ZL]], %[[NO_I0]], %[[ZI]] : tensor<?x8xf32>
vertex.func @first(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(2) leaf(@first.leaf) {
  %h = vertex.gather 1 : tensor<8xf32>
  %0 = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
vertex.func @first.leaf(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  vertex.scatter %x : tensor<8xf32>
  vertex.push "h" %x : tensor<8xf32>
}
vertex.func @second(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %y = vertex.pull "y" : tensor<8xf32>
  vertex.scatter %y : tensor<8xf32>
  %0 = nn.matmul %y, %U : tensor<8xf32>, tensor<8x8xf32>
  vertex.push "z" %0 : tensor<8xf32>
}
func.func @types(%g: !vertex.graph, %x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %U: tensor<8x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %h, %z = vertex.apply [@first, @second] by "type" (%U) over %g pull("x" = %x, "y" = %y)
      -> "h", "z" : (tensor<8x8xf32>), (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  return %h, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Of reversed functions, too. Slots are those of the function that has most, and
// what one does not scatter is zeros.
// CHECK-LABEL: func.func @reversed_types
// CHECK-SAME: %[[G:.*]]: !vertex.graph{{.*}}, %[[D:.*]]: tensor<?x8xf32>, %[[U:.*]]: tensor<8x8xf32>)
// CHECK: %[[I1:.*]] = vertex.pull_rows %[[G]], %[[D]] at inner of 1
// CHECK-NEXT: %[[LOOP:.*]]:2 = vertex.reversed_tasks %[[G]] at inner arity 2 eager(%[[I1]] : tensor<?x8xf32>) states 1 -> (tensor<?x16xf32>, tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x16xf32>):
// CHECK-NEXT: %[[SUM:.*]] = vertex.gather_parent_rows %[[G]], %[[DONE]] at inner of 0
// CHECK-NEXT: %[[DOWN:.*]] = nn.matmul %[[SUM]], %[[U]]
// CHECK: %[[NONE:.*]] = vertex.spread_rows %[[G]], %{{.*}} at inner of 0
// CHECK-NEXT: %[[SLOTS:.*]] = tensor.concat dim(1) %[[NONE]], %[[DOWN]]
// CHECK-NEXT: vertex.yield(%[[SLOTS]], %[[SUM]])
// CHECK-NEXT: }, {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x16xf32>, %[[TASK:.*]]: tensor<?x8xf32>):
// CHECK: %[[NONE:.*]] = vertex.spread_rows %[[G]], %{{.*}} at inner of 1
// CHECK-NEXT: %[[SLOTS:.*]] = tensor.concat dim(1) %[[TASK]], %[[NONE]]
// CHECK-NEXT: vertex.yield(%[[SLOTS]])
// CHECK-NEXT: }
// A leaf gathers from parents of any type, and scatters to nobody.
// CHECK: %[[LEAF:.*]] = vertex.gather_parent_rows %[[G]], %[[LOOP]]#0 at leaves of 0
// CHECK: vertex.join_rows %[[LEAF]], %{{.*}}, %[[LOOP]]#1, %{{.*}} : tensor<?x8xf32>
vertex.func @down(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(2) reversed {
  %s = vertex.gather_parents : tensor<8xf32>
  %0 = nn.matmul %s, %U : tensor<8xf32>, tensor<8x8xf32>
  vertex.scatter_child 1 %0 : tensor<8xf32>
  vertex.push "d" %s : tensor<8xf32>
}
vertex.func @over(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) reversed {
  %d = vertex.pull "d" : tensor<8xf32>
  vertex.scatter_child 0 %d : tensor<8xf32>
}
func.func @reversed_types(%g: !vertex.graph, %d: tensor<?x8xf32>, %U: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = vertex.apply [@down, @over] by "type" (%U) over %g pull("d" = %d) -> "d"
      : (tensor<8x8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
