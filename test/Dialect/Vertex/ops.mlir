// Every operator parses, prints and parses again, in its own syntax and in the
// generic one.
// RUN: espalier-opt %s | espalier-opt | FileCheck %s
// RUN: espalier-opt %s --mlir-print-op-generic | espalier-opt | FileCheck %s

//===----------------------------------------------------------------------===//
// What users write
//===----------------------------------------------------------------------===//

// A vertex function with parameters, two states and two child slots.
// CHECK-LABEL: vertex.func @lstm(
// CHECK-SAME: %[[W:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(2) leaf(@lstm.leaf) {
vertex.func @lstm(%W: tensor<4x8xf32>, %b: tensor<8xf32>)
    state(tensor<8xf32>, tensor<8xf32>) arity(2) leaf(@lstm.leaf) {
  // CHECK: %[[X:.*]] = vertex.pull "word" : tensor<4xf32>
  %x = vertex.pull "word" : tensor<4xf32>
  // CHECK: %[[TAG:.*]] = vertex.pull "tag" at inner : tensor<8xf32>
  %tag = vertex.pull "tag" at inner : tensor<8xf32>
  // CHECK: %[[LEFT:.*]]:2 = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
  %hl, %cl = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
  // CHECK: %[[RIGHT:.*]]:2 = vertex.gather 1 : tensor<8xf32>, tensor<8xf32>
  %hr, %cr = vertex.gather 1 : tensor<8xf32>, tensor<8xf32>
  // CHECK: nn.matmul %[[X]], %[[W]]
  %0 = nn.matmul %x, %W : tensor<4xf32>, tensor<4x8xf32>
  %1 = arith.addf %0, %tag : tensor<8xf32>
  // CHECK: %[[H:.*]] = arith.addf %{{.*}}, %[[LEFT]]#0
  %h = arith.addf %1, %hl : tensor<8xf32>
  // CHECK: %[[C:.*]] = arith.addf %[[LEFT]]#1, %[[RIGHT]]#1
  %c = arith.addf %cl, %cr : tensor<8xf32>
  // CHECK: vertex.scatter %[[H]], %[[C]] : tensor<8xf32>, tensor<8xf32>
  vertex.scatter %h, %c : tensor<8xf32>, tensor<8xf32>
  // CHECK: vertex.push "hidden" %[[H]] : tensor<8xf32>
  vertex.push "hidden" %h : tensor<8xf32>
}

// A leaf variant: arity 0, a pull at leaves only.
// CHECK-LABEL: vertex.func @lstm.leaf
vertex.func @lstm.leaf(%W: tensor<4x8xf32>, %b: tensor<8xf32>)
    state(tensor<8xf32>, tensor<8xf32>) arity(0) {
  // CHECK: vertex.pull "word" at leaves : tensor<4xf32>
  %x = vertex.pull "word" at leaves : tensor<4xf32>
  %0 = nn.matmul %x, %W : tensor<4xf32>, tensor<4x8xf32>
  vertex.scatter %0, %b : tensor<8xf32>, tensor<8xf32>
  vertex.push "hidden" %0 : tensor<8xf32>
}

// A function without parameters, state, children or body.
// CHECK-LABEL: vertex.func @nothing() arity(0) {
vertex.func @nothing() arity(0) {
}

// An empty body with parameters still has them.
// CHECK-LABEL: vertex.func @only_parameters(%{{.*}}: tensor<2xf32>) arity(3) {
vertex.func @only_parameters(%b: tensor<2xf32>) arity(3) {
}

// Attributes of the function and of its parameters.
// CHECK-LABEL: vertex.func @attributes
// CHECK-SAME: (%{{.*}}: tensor<2xf32> {test.note = "b"}) arity(0) attributes {test.flag}
vertex.func @attributes(%b: tensor<2xf32> {test.note = "b"}) arity(0) attributes {test.flag} {
  // CHECK: vertex.push "b" %{{.*}} {test.flag} : tensor<2xf32>
  vertex.push "b" %b {test.flag} : tensor<2xf32>
}

// A reversed function with everything that only adjoints have, and pushes at some
// vertices.
// CHECK-LABEL: vertex.func @adjoint
// CHECK-SAME: (%[[W:.*]]: tensor<4xf32>) state(tensor<4xf32>, tensor<2xf64>) arity(2) leaf(@adjoint.leaf) reversed {
vertex.func @adjoint(%W: tensor<4xf32>) state(tensor<4xf32>, tensor<2xf64>) arity(2) leaf(@adjoint.leaf) reversed {
  // CHECK: %[[D:.*]]:2 = vertex.gather_parents : tensor<4xf32>, tensor<2xf64>
  %dh, %dc = vertex.gather_parents : tensor<4xf32>, tensor<2xf64>
  // CHECK: vertex.pull_child "h" 1 : tensor<4xf32>
  %h = vertex.pull_child "h" 1 : tensor<4xf32>
  %0 = arith.mulf %dh, %h : tensor<4xf32>
  // CHECK: vertex.scatter_child 1 %{{.*}}, %[[D]]#1 : tensor<4xf32>, tensor<2xf64>
  vertex.scatter_child 1 %0, %dc : tensor<4xf32>, tensor<2xf64>
  // CHECK: vertex.push "dx" %{{.*}} at inner : tensor<4xf32>
  vertex.push "dx" %0 at inner : tensor<4xf32>
  // CHECK: vertex.reduce "dW" %{{.*}} : tensor<4xf32>
  vertex.reduce "dW" %0 : tensor<4xf32>
}
// CHECK-LABEL: vertex.func @adjoint.leaf
// CHECK-SAME: state(tensor<4xf32>, tensor<2xf64>) arity(0) reversed {
vertex.func @adjoint.leaf(%W: tensor<4xf32>) state(tensor<4xf32>, tensor<2xf64>) arity(0) reversed {
  %dh, %dc = vertex.gather_parents : tensor<4xf32>, tensor<2xf64>
  // CHECK: vertex.push "dx" %{{.*}} at leaves : tensor<4xf32>
  vertex.push "dx" %dh at leaves : tensor<4xf32>
  vertex.reduce "dW" %dh : tensor<4xf32>
}
// Of reduced values the apply returns one, not one a vertex.
// CHECK-LABEL: func.func @apply_adjoint
func.func @apply_adjoint(%g: !vertex.graph, %W: tensor<4xf32>, %h: tensor<?x4xf32>) -> tensor<4xf32> {
  // CHECK: vertex.apply @adjoint(%{{.*}}) over %{{.*}} pull("h" = %{{.*}}) -> "dW", "dx"
  // CHECK-SAME: : (tensor<4xf32>), (tensor<?x4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
  %dW, %dx = vertex.apply @adjoint(%W) over %g pull("h" = %h) -> "dW", "dx"
      : (tensor<4xf32>), (tensor<?x4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>)
  return %dW : tensor<4xf32>
}

// CHECK-LABEL: func.func @multiplicity
func.func @multiplicity(%x: tensor<?x4xf32>) -> tensor<?xf64> {
  // CHECK: vertex.multiplicity %{{.*}} : tensor<?x4xf32> -> tensor<?xf64>
  %m = vertex.multiplicity %x : tensor<?x4xf32> -> tensor<?xf64>
  return %m : tensor<?xf64>
}

// CHECK-LABEL: func.func @at_roots
func.func @at_roots(%g: !vertex.graph, %d: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: vertex.at_roots %{{.*}}, %{{.*}} : tensor<?x4xf32>
  %0 = vertex.at_roots %g, %d : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// Phases, as classify-operators leaves them.
// CHECK-LABEL: vertex.func @phases
vertex.func @phases() state(tensor<2xf32>) arity(1) {
  // CHECK: vertex.pull "x" {vertex.phase = #vertex.phase<eager>} : tensor<2xf32>
  %x = vertex.pull "x" {vertex.phase = #vertex.phase<eager>} : tensor<2xf32>
  // CHECK: vertex.gather 0 {vertex.phase = #vertex.phase<path>} : tensor<2xf32>
  %h = vertex.gather 0 {vertex.phase = #vertex.phase<path>} : tensor<2xf32>
  %0 = arith.addf %x, %h {vertex.phase = #vertex.phase<path>} : tensor<2xf32>
  vertex.scatter %0 {vertex.phase = #vertex.phase<path>} : tensor<2xf32>
  // CHECK: vertex.push "h" %{{.*}} {vertex.phase = #vertex.phase<lazy>} : tensor<2xf32>
  vertex.push "h" %0 {vertex.phase = #vertex.phase<lazy>} : tensor<2xf32>
}

// A vertex function is visible in its module only, and may say so.
// CHECK-LABEL: vertex.func @private_function
vertex.func private @private_function() arity(0) {
}

// CHECK-LABEL: func.func @apply
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[E:.*]]: tensor<?x4xf32>, %[[T:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>
func.func @apply(%g: !vertex.graph, %e: tensor<?x4xf32>, %t: tensor<?x8xf32>,
                 %W: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[H:.*]] = vertex.apply @lstm(%[[W]], %[[B]]) over %[[G]]
  // CHECK-SAME: pull("word" = %[[E]], "tag" = %[[T]]) -> "hidden"
  // CHECK-SAME: : (tensor<4x8xf32>, tensor<8xf32>), (tensor<?x4xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %h = vertex.apply @lstm(%W, %b) over %g pull("word" = %e, "tag" = %t) -> "hidden"
      : (tensor<4x8xf32>, tensor<8xf32>), (tensor<?x4xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: vertex.apply @nothing() over %[[G]] : (), () -> ()
  vertex.apply @nothing() over %g : (), () -> ()
  // CHECK: vertex.roots %[[G]], %[[H]] : tensor<?x8xf32>
  %r = vertex.roots %g, %h : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @structures
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[X:.*]]: tensor<?x8xf32>
func.func @structures(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[BACK:.*]] = vertex.reverse %[[G]] : !vertex.graph
  %r = vertex.reverse %g : !vertex.graph
  // CHECK: vertex.apply @nothing() over %[[BACK]]
  vertex.apply @nothing() over %r : (), () -> ()
  // CHECK: %[[SUM:.*]] = vertex.segment_sum %[[G]], %[[X]] : tensor<?x8xf32>
  %s = vertex.segment_sum %g, %x : tensor<?x8xf32>
  // CHECK: vertex.segment_max %[[BACK]], %[[X]] : tensor<?x8xf32>
  %m = vertex.segment_max %r, %x : tensor<?x8xf32>
  // CHECK: vertex.spread_structures %[[G]], %[[SUM]] : tensor<?x8xf32>
  %0 = vertex.spread_structures %g, %s : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

//===----------------------------------------------------------------------===//
// What batching makes of it
//===----------------------------------------------------------------------===//

// CHECK-LABEL: @rows
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[X:.*]]: tensor<?x8xf32>, %[[ROW:.*]]: tensor<8xf32>
func.func @rows(%g: !vertex.graph, %x: tensor<?x8xf32>, %row: tensor<8xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[ALL:.*]] = vertex.pull_rows %[[G]], %[[X]] : tensor<?x8xf32>
  %all = vertex.pull_rows %g, %x : tensor<?x8xf32>
  // CHECK: %[[LEAVES:.*]] = vertex.pull_rows %[[G]], %[[X]] at leaves : tensor<?x8xf32>
  %leaves = vertex.pull_rows %g, %x at leaves : tensor<?x8xf32>
  // CHECK: %[[SAME:.*]] = vertex.spread_rows %[[G]], %[[ROW]] at inner : tensor<8xf32> -> tensor<?x8xf32>
  %same = vertex.spread_rows %g, %row at inner : tensor<8xf32> -> tensor<?x8xf32>
  // CHECK: %[[EVERYWHERE:.*]] = vertex.spread_rows %[[G]], %[[ROW]] : tensor<8xf32> -> tensor<?x8xf32>
  %everywhere = vertex.spread_rows %g, %row : tensor<8xf32> -> tensor<?x8xf32>
  // CHECK: %[[JOINED:.*]] = vertex.join_rows %[[LEAVES]], %[[SAME]] : tensor<?x8xf32>
  %joined = vertex.join_rows %leaves, %same : tensor<?x8xf32>
  // CHECK: %[[INNER:.*]] = vertex.select_rows %[[JOINED]] at inner : tensor<?x8xf32>
  %inner = vertex.select_rows %joined at inner : tensor<?x8xf32>
  // CHECK: %[[ROOTS:.*]] = vertex.root_rows %[[G]], %[[ALL]] : tensor<?x8xf32>
  %roots = vertex.root_rows %g, %all : tensor<?x8xf32>
  // CHECK: %[[PUSHED:.*]] = vertex.push_rows %[[G]], %[[EVERYWHERE]] : tensor<?x8xf32>
  %pushed = vertex.push_rows %g, %everywhere : tensor<?x8xf32>
  // CHECK: return %[[INNER]], %[[ROOTS]], %[[PUSHED]]
  return %inner, %roots, %pushed : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// A loop over all vertices: nothing comes in, a value besides the state goes out.
// CHECK-LABEL: @tasks
// CHECK-SAME: %[[G:.*]]: !vertex.graph
func.func @tasks(%g: !vertex.graph) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[LOOP:.*]]:2 = vertex.tasks %[[G]] arity 2 states 1 -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x8xf32>):
  %0:2 = vertex.tasks %g arity 2 states 1 -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    // CHECK: %[[LEFT:.*]] = vertex.gather_rows %[[DONE]][0] : tensor<?x8xf32>
    %l = vertex.gather_rows %done[0] : tensor<?x8xf32>
    // CHECK: %[[RIGHT:.*]] = vertex.gather_rows %[[DONE]][1] : tensor<?x8xf32>
    %r = vertex.gather_rows %done[1] : tensor<?x8xf32>
    // CHECK: vertex.yield(%[[LEFT]], %[[RIGHT]]) : tensor<?x8xf32>, tensor<?x8xf32>
    vertex.yield(%l, %r) : tensor<?x8xf32>, tensor<?x8xf32>
  }
  return %0#0, %0#1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// A loop over inner vertices, with the leaves' states and an eager tensor.
// CHECK-LABEL: @tasks_after_leaves
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[L:.*]]: tensor<?x8xf32>, %[[X:.*]]: tensor<?x4xf32>
func.func @tasks_after_leaves(%g: !vertex.graph, %l: tensor<?x8xf32>, %x: tensor<?x4xf32>) -> tensor<?x8xf32> {
  // CHECK: vertex.tasks %[[G]] arity 1 init(%[[L]] : tensor<?x8xf32>) eager(%[[X]] : tensor<?x4xf32>) states 1 -> (tensor<?x8xf32>) {
  // CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?x4xf32>):
  %0 = vertex.tasks %g arity 1 init(%l : tensor<?x8xf32>) eager(%x : tensor<?x4xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %e: tensor<?x4xf32>):
    %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
    vertex.yield(%c) : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// A loop that computes nothing.
// CHECK-LABEL: @empty_tasks
func.func @empty_tasks(%g: !vertex.graph) {
  // CHECK: vertex.tasks %{{.*}} arity 0 states 0 {
  vertex.tasks %g arity 0 states 0 {
  }
  return
}

// A loop in the other direction, over inner vertices; of two slots' columns each
// vertex's parents have its own.
// CHECK-LABEL: @reversed_tasks
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[D:.*]]: tensor<?x8xf32>, %[[H:.*]]: tensor<?x8xf32>
func.func @reversed_tasks(%g: !vertex.graph, %d: tensor<?x8xf32>, %h: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[CHILD:.*]] = vertex.child_rows %[[G]], %[[H]][1] at inner : tensor<?x8xf32>
  %c = vertex.child_rows %g, %h[1] at inner : tensor<?x8xf32>
  // CHECK: %[[LOOP:.*]]:2 = vertex.reversed_tasks %[[G]] at inner arity 2 eager(%[[D]], %[[CHILD]] : tensor<?x8xf32>, tensor<?x8xf32>) states 1 -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  // CHECK-NEXT: ^bb0(%[[DONE:.*]]: tensor<?x16xf32>, %[[OWN:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>):
  %0:2 = vertex.reversed_tasks %g at inner arity 2 eager(%d, %c : tensor<?x8xf32>, tensor<?x8xf32>) states 1 -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x16xf32>, %own: tensor<?x8xf32>, %child: tensor<?x8xf32>):
    // CHECK: %[[P:.*]] = vertex.gather_parent_rows %[[G]], %[[DONE]] at inner : tensor<?x16xf32> -> tensor<?x8xf32>
    %p = vertex.gather_parent_rows %g, %done at inner : tensor<?x16xf32> -> tensor<?x8xf32>
    %both = tensor.concat dim(1) %p, %child : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
    // CHECK: vertex.yield(%{{.*}}, %[[P]]) : tensor<?x16xf32>, tensor<?x8xf32>
    vertex.yield(%both, %p) : tensor<?x16xf32>, tensor<?x8xf32>
  }
  // CHECK: vertex.gather_parent_rows %[[G]], %[[LOOP]]#0 at leaves : tensor<?x16xf32> -> tensor<?x8xf32>
  %leaves = vertex.gather_parent_rows %g, %0#0 at leaves : tensor<?x16xf32> -> tensor<?x8xf32>
  return %leaves, %0#1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// Over all vertices nothing is said of the place.
// CHECK-LABEL: @reversed_tasks_everywhere
func.func @reversed_tasks_everywhere(%g: !vertex.graph) -> tensor<?x4xf64> {
  // CHECK: vertex.reversed_tasks %{{.*}} arity 1 states 1 -> (tensor<?x4xf64>) {
  %0 = vertex.reversed_tasks %g arity 1 states 1 -> (tensor<?x4xf64>) {
  ^bb0(%done: tensor<?x4xf64>):
    // CHECK: vertex.gather_parent_rows %{{.*}}, %{{.*}} : tensor<?x4xf64> -> tensor<?x4xf64>
    %p = vertex.gather_parent_rows %g, %done : tensor<?x4xf64> -> tensor<?x4xf64>
    vertex.yield(%p) : tensor<?x4xf64>
  }
  return %0 : tensor<?x4xf64>
}

// Regions over children, and what their adjoints are made of.
// CHECK-LABEL: vertex.func @children
vertex.func @children(%w: tensor<8xf32>) state(tensor<8xf32>) arity(0) {
  // CHECK: vertex.map_children mean {
  // CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<8xf32>):
  // CHECK-NEXT: arith.mulf %[[H]], %{{.*}} : tensor<8xf32>
  // CHECK-NEXT: vertex.yield(%{{.*}}, %[[H]]) : tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: } : tensor<8xf32>, tensor<8xf32>
  %s, %t = vertex.map_children mean {
  ^bb0(%h: tensor<8xf32>):
    %0 = arith.mulf %h, %w : tensor<8xf32>
    vertex.yield(%0, %h) : tensor<8xf32>, tensor<8xf32>
  } : tensor<8xf32>, tensor<8xf32>
  vertex.scatter %s : tensor<8xf32>
}

// CHECK-LABEL: vertex.func @to_children
vertex.func @to_children() state(tensor<8xf32>) arity(0) reversed {
  // CHECK: vertex.scatter_children ["h"] {
  // CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<8xf32>):
  // CHECK-NEXT: vertex.yield(%[[H]], %[[H]]) : tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: } : tensor<8xf32>
  %s = vertex.scatter_children ["h"] {
  ^bb0(%h: tensor<8xf32>):
    vertex.yield(%h, %h) : tensor<8xf32>, tensor<8xf32>
  } : tensor<8xf32>
  vertex.push "s" %s : tensor<8xf32>
}

// CHECK-LABEL: func.func @edges
func.func @edges(%g: !vertex.graph, %h: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: vertex.edge_child_rows %{{.*}}, %{{.*}} : tensor<?x8xf32>
  %c = vertex.edge_child_rows %g, %h : tensor<?x8xf32>
  // CHECK: vertex.edge_parent_rows %{{.*}}, %{{.*}} : tensor<?x8xf32>
  %p = vertex.edge_parent_rows %g, %h : tensor<?x8xf32>
  // CHECK: vertex.reduce_edge_rows %{{.*}}, max %{{.*}} at inner : tensor<?x8xf32>
  %m = vertex.reduce_edge_rows %g, max %c at inner : tensor<?x8xf32>
  // CHECK: vertex.gather_parent_edge_rows %{{.*}}, %{{.*}} at leaves : tensor<?x8xf32>
  %s = vertex.gather_parent_edge_rows %g, %p at leaves : tensor<?x8xf32>
  return %m : tensor<?x8xf32>
}

vertex.func @character(%b: tensor<8xf32>) state(tensor<8xf32>) arity(2) {
  %0 = vertex.gather 1 : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
  vertex.push "hidden" %0 : tensor<8xf32>
}
vertex.func @word(%b: tensor<8xf32>) state(tensor<8xf32>) arity(0) {
  vertex.scatter %b : tensor<8xf32>
}

// Functions are chosen by a field of the structures.
// CHECK-LABEL: func.func @typed_apply
func.func @typed_apply(%g: !vertex.graph, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK: vertex.apply [@character, @word] by "type" (%{{.*}}) over %{{.*}} -> "hidden" : (tensor<8xf32>), () -> tensor<?x8xf32>
  %h = vertex.apply [@character, @word] by "type" (%b) over %g -> "hidden"
      : (tensor<8xf32>), () -> tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// Rows of vertices of one type, and loops with a body for each.
// CHECK-LABEL: func.func @typed_rows
func.func @typed_rows(%g: !vertex.graph, %x: tensor<?x8xf32>, %b: tensor<8xf32>,
                      %W: tensor<8x4xf32>) -> tensor<?x8xf32> {
  // CHECK: vertex.pull_rows %{{.*}}, %{{.*}} at leaves of 1 : tensor<?x8xf32>
  %l0 = vertex.pull_rows %g, %x at leaves of 0 : tensor<?x8xf32>
  %l1 = vertex.pull_rows %g, %x at leaves of 1 : tensor<?x8xf32>
  // CHECK: vertex.spread_rows %{{.*}}, %{{.*}} at inner of 1 : tensor<8xf32> -> tensor<?x8xf32>
  %i1 = vertex.spread_rows %g, %b at inner of 1 : tensor<8xf32> -> tensor<?x8xf32>
  // CHECK: %[[LOOP:.*]]:2 = vertex.tasks %{{.*}} arity 1 init(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>)
  // CHECK-SAME: eager(%{{.*}} : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>, tensor<?x4xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x8xf32>):
  // CHECK: }, {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>):
  %h:2 = vertex.tasks %g arity 1 init(%l0, %l1 : tensor<?x8xf32>, tensor<?x8xf32>)
      eager(%i1 : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>, tensor<?x4xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
    vertex.yield(%c) : tensor<?x8xf32>
  }, {
  ^bb0(%done: tensor<?x8xf32>, %e: tensor<?x8xf32>):
    %y = nn.matmul %e, %W : tensor<?x8xf32>, tensor<8x4xf32>
    vertex.yield(%e, %y) : tensor<?x8xf32>, tensor<?x4xf32>
  }
  // CHECK: vertex.select_rows %[[LOOP]]#0 at inner of 0 : tensor<?x8xf32>
  %i0 = vertex.select_rows %h#0 at inner of 0 : tensor<?x8xf32>
  // CHECK: vertex.edge_child_rows %{{.*}}, %[[LOOP]]#0 of 1 : tensor<?x8xf32>
  %e = vertex.edge_child_rows %g, %h#0 of 1 : tensor<?x8xf32>
  // CHECK: vertex.reduce_edge_rows %{{.*}}, sum %{{.*}} at inner of 1 : tensor<?x8xf32>
  %s = vertex.reduce_edge_rows %g, sum %e at inner of 1 : tensor<?x8xf32>
  // CHECK: vertex.join_rows %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8xf32>
  %j = vertex.join_rows %l0, %l1, %i0, %s : tensor<?x8xf32>
  return %j : tensor<?x8xf32>
}
