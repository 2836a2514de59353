// What the canonicaliser knows of the vertex dialect.
// RUN: espalier-opt %s --canonicalize | FileCheck %s

// Ids are pulled instead of the rows they look up, at the same vertices: leaves'
// rows only are then looked up, and nothing is permuted but ids.
// CHECK-LABEL: @pull_before_embedding
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[TABLE:.*]]: tensor<100x8xf32>, %[[IDS:.*]]: tensor<?xi32>
// CHECK-NEXT: %[[PULLED:.*]] = vertex.pull_rows %[[G]], %[[IDS]] at leaves : tensor<?xi32>
// CHECK-NEXT: %[[ROWS:.*]] = nn.embedding %[[TABLE]][%[[PULLED]]]
// CHECK-NEXT: return %[[ROWS]]
func.func @pull_before_embedding(%g: !vertex.graph, %table: tensor<100x8xf32>, %ids: tensor<?xi32>) -> tensor<?x8xf32> {
  %0 = nn.embedding %table[%ids] : tensor<100x8xf32>, tensor<?xi32>
  %1 = vertex.pull_rows %g, %0 at leaves : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// What is no embedding is pulled as it is.
// CHECK-LABEL: @pull_of_sum
// CHECK: nn.elementwise
// CHECK: vertex.pull_rows
func.func @pull_of_sum(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = nn.elementwise(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%row: tensor<8xf32>):
    %1 = arith.addf %row, %row : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  %2 = vertex.pull_rows %g, %0 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// Roots are read in schedule order, so that not all rows need to be brought
// into the caller's order first.
// CHECK-LABEL: @roots_of_pushed_rows
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[H:.*]] = vertex.pull_rows %[[G]], %[[X]]
// CHECK-NEXT: %[[ROOTS:.*]] = vertex.root_rows %[[G]], %[[H]]
// CHECK-NEXT: return %[[ROOTS]]
func.func @roots_of_pushed_rows(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %1 = vertex.push_rows %g, %0 : tensor<?x8xf32>
  %2 = vertex.roots %g, %1 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// Rows pushed over one graph are not those of another's schedule.
// CHECK-LABEL: @roots_of_another_graph
// CHECK: vertex.push_rows
// CHECK: vertex.roots
func.func @roots_of_another_graph(%g: !vertex.graph, %other: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %1 = vertex.push_rows %g, %0 : tensor<?x8xf32>
  %2 = vertex.roots %other, %1 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// What was pushed over the same graph is in schedule order already: pulling it
// back is nothing, or some of its rows.
// CHECK-LABEL: @pull_of_pushed_rows
// CHECK-SAME: !vertex.graph, %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[LEAVES:.*]] = vertex.select_rows %[[X]] at leaves
// CHECK-NEXT: return %[[X]], %[[LEAVES]]
func.func @pull_of_pushed_rows(%g: !vertex.graph, %x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = vertex.push_rows %g, %x : tensor<?x8xf32>
  %1 = vertex.pull_rows %g, %0 : tensor<?x8xf32>
  %2 = vertex.pull_rows %g, %0 at leaves : tensor<?x8xf32>
  return %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: @pull_over_another_graph
// CHECK: vertex.push_rows
// CHECK: vertex.pull_rows
func.func @pull_over_another_graph(%g: !vertex.graph, %other: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = vertex.push_rows %g, %x : tensor<?x8xf32>
  %1 = vertex.pull_rows %other, %0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// Rows selected from a join are one of the two.
// CHECK-LABEL: @select_of_join
// CHECK-SAME: %[[L:.*]]: tensor<?x8xf32>, %[[I:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[ALL:.*]] = vertex.join_rows
// CHECK-NEXT: return %[[L]], %[[I]], %[[ALL]]
func.func @select_of_join(%l: tensor<?x8xf32>, %i: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = vertex.join_rows %l, %i : tensor<?x8xf32>
  %1 = vertex.select_rows %0 at leaves : tensor<?x8xf32>
  %2 = vertex.select_rows %0 at inner : tensor<?x8xf32>
  %3 = vertex.select_rows %0 at all : tensor<?x8xf32>
  return %1, %2, %3 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// Rows are added to a table where they were made: ids are pulled instead.
// CHECK-LABEL: @scatter_of_pushed_rows
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[X:.*]]: tensor<?x8xf32>, %[[IDS:.*]]: tensor<?xi32>
// CHECK-NEXT: %[[PULLED:.*]] = vertex.pull_rows %[[G]], %[[IDS]] : tensor<?xi32>
// CHECK-NEXT: %[[TABLE:.*]] = nn.scatter_rows %[[X]] by %[[PULLED]]
// CHECK-NEXT: return %[[TABLE]]
func.func @scatter_of_pushed_rows(%g: !vertex.graph, %x: tensor<?x8xf32>, %ids: tensor<?xi32>) -> tensor<100x8xf32> {
  %0 = vertex.push_rows %g, %x : tensor<?x8xf32>
  %1 = nn.scatter_rows %0 by %ids : tensor<?x8xf32>, tensor<?xi32> -> tensor<100x8xf32>
  return %1 : tensor<100x8xf32>
}

// Rows of zeros are not added at all, wherever they are.
// CHECK-LABEL: @combine_of_leaves
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[X:.*]]: tensor<?x8xf32>, %[[IDS:.*]]: tensor<?xi32>
// CHECK: %[[AT_LEAVES:.*]] = vertex.pull_rows %[[G]], %[[IDS]] at leaves : tensor<?xi32>
// CHECK-NEXT: nn.combine_rows %[[X]] by %[[AT_LEAVES]]
// CHECK: %[[AT_INNER:.*]] = vertex.pull_rows %[[G]], %[[IDS]] at inner : tensor<?xi32>
// CHECK-NEXT: nn.combine_rows %[[X]] by %[[AT_INNER]]
func.func @combine_of_leaves(%g: !vertex.graph, %x: tensor<?x8xf32>, %ids: tensor<?xi32>)
    -> (tensor<?x8xf32>, tensor<?xi32>, tensor<?x8xf32>, tensor<?xi32>) {
  %zeros = arith.constant dense<0.0> : tensor<8xf32>
  %inner = vertex.spread_rows %g, %zeros at inner : tensor<8xf32> -> tensor<?x8xf32>
  %0 = vertex.join_rows %x, %inner : tensor<?x8xf32>
  %1 = vertex.push_rows %g, %0 : tensor<?x8xf32>
  %2, %3 = nn.combine_rows %1 by %ids : tensor<?x8xf32>, tensor<?xi32>
  %leaves = vertex.spread_rows %g, %zeros at leaves : tensor<8xf32> -> tensor<?x8xf32>
  %4 = vertex.join_rows %leaves, %x : tensor<?x8xf32>
  %5 = vertex.push_rows %g, %4 : tensor<?x8xf32>
  %6, %7 = nn.combine_rows %5 by %ids : tensor<?x8xf32>, tensor<?xi32>
  return %2, %3, %6, %7 : tensor<?x8xf32>, tensor<?xi32>, tensor<?x8xf32>, tensor<?xi32>
}

// A pull that nobody reads goes; the apply may bind its name all the same.
// CHECK-LABEL: vertex.func @unread_pull
// CHECK-SAME: %[[B:.*]]: tensor<8xf32>) arity(0) {
// CHECK-NEXT: vertex.push "y" %[[B]]
vertex.func @unread_pull(%b: tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  vertex.push "y" %b : tensor<8xf32>
}
// CHECK-LABEL: @binds_unread_pull
// CHECK: vertex.apply @unread_pull(%{{.*}}) over %{{.*}} pull("x" = %{{.*}}) -> "y"
func.func @binds_unread_pull(%g: !vertex.graph, %x: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %y = vertex.apply @unread_pull(%b) over %g pull("x" = %x) -> "y"
      : (tensor<8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// A graph and its reverse have schedules of their own: what was pushed over one
// is not in the order of the other. A reverse that nobody applies over goes.
// CHECK-LABEL: @pull_over_the_reverse
// CHECK-SAME: %[[G:.*]]: !vertex.graph, %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[R:.*]] = vertex.reverse %[[G]]
// CHECK-NEXT: %[[H:.*]] = vertex.pull_rows %[[G]], %[[X]]
// CHECK-NEXT: %[[PUSHED:.*]] = vertex.push_rows %[[G]], %[[H]]
// CHECK-NEXT: %[[PULLED:.*]] = vertex.pull_rows %[[R]], %[[PUSHED]]
// CHECK-NEXT: return %[[PULLED]]
func.func @pull_over_the_reverse(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = vertex.reverse %g : !vertex.graph
  %unused = vertex.reverse %g : !vertex.graph
  %0 = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %1 = vertex.push_rows %g, %0 : tensor<?x8xf32>
  %2 = vertex.pull_rows %r, %1 : tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}
