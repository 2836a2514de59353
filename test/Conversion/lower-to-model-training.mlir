// What training adds: loops in the other direction, reductions, new values of
// parameters.
// RUN: espalier-opt %s -split-input-file --lower-to-model | FileCheck %s

// In a reversed loop a step adds up what parents have for each row; the product
// with the transpose of a weight writes both slots' columns, where they are read
// by it in later tasks. Leaves come after the loop. Sums have phases of their
// own; a child's rows are read where they are.
// CHECK-LABEL: model.entry @reversed graphs ["g"] arities [2]
// CHECK-DAG: %[[Y:.*]] = model.buffer input "y" rows caller of 0 : tensor<8xf32>
// CHECK-DAG: %[[U:.*]] = model.buffer parameter "U" rows one of 0 : tensor<16x8xf32>
// CHECK-DAG: %[[JOINED:.*]] = model.buffer dynamic "" rows vertices of 0 : tensor<8xf32>
// CHECK-DAG: %[[DONE:.*]] = model.buffer dynamic "" rows inner of 0 : tensor<16xf32>
// CHECK-DAG: %[[D:.*]] = model.buffer dynamic "" rows inner of 0 : tensor<8xf32>
// CHECK-DAG: %[[W:.*]] = model.weight %[[U]] row 0 for 16 columns [0] for [8] transposed
// CHECK: model.phase "eager" rows vertices of 0 {
// CHECK-NEXT: model.copy %[[Y]] <caller 0, 0 for 8> to %[[ALL:.*]] <row 0, 0 for 8>
// CHECK: model.phase "reversed path" rows inner_tasks_reversed of 0 {
// CHECK-NEXT: model.sum_parents %[[DONE]] <row 0, 0 for 16> to %[[P:.*]] <row 0, 0 for 8>
// CHECK-NEXT: model.launch @reversed.kernel0(%[[P]], %[[Y]], %[[D]])
// CHECK-NEXT: model.matmul %[[D]] <row 0, 0 for 8> by %[[W]] to %[[DONE]] <row 0, 0 for 16>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "lazy leaves" rows leaves of 0 {
// CHECK-NEXT: model.sum_parents %[[DONE]] <row 0, 0 for 16> to %[[JOINED]] <row 0, 0 for 8>
// CHECK: model.phase "lazy" rows inner of 0 {
// CHECK-NEXT: model.copy %[[D]] <row 0, 0 for 8> to %[[JOINED]] <row 0, 0 for 8>
// CHECK: model.phase "sums" rows inner of 0 {
// CHECK-NEXT: model.outer_sum %[[ALL]] <child 1, 0 for 8>, %[[D]] <row 0, 0 for 8> to %{{.*}} <shared 0, 0 for 64 stride 8>
// CHECK: model.phase "sums" rows vertices of 0 {
// CHECK-NEXT: model.sum_rows %[[JOINED]] <row 0, 0 for 8> to %{{.*}} <shared 0, 0 for 8>
func.func @reversed(%g: !vertex.graph {nn.input = "g"}, %y: tensor<?x8xf32> {nn.input = "y"},
                    %U: tensor<16x8xf32> {nn.param = "U"})
    -> (tensor<?x8xf32> {nn.output = "dx"}, tensor<8x8xf32> {nn.output = "dW"}, tensor<8xf32> {nn.output = "db"}) {
  %inner = vertex.pull_rows %g, %y at inner : tensor<?x8xf32>
  %all = vertex.pull_rows %g, %y : tensor<?x8xf32>
  %child = vertex.child_rows %g, %all[1] at inner : tensor<?x8xf32>
  %t = nn.transpose %U : tensor<16x8xf32>
  %loop:2 = vertex.reversed_tasks %g at inner arity 2 eager(%inner : tensor<?x8xf32>) states 1 -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x16xf32>, %own: tensor<?x8xf32>):
    %p = vertex.gather_parent_rows %g, %done at inner : tensor<?x16xf32> -> tensor<?x8xf32>
    %d = nn.elementwise(%p, %own) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %0 = arith.mulf %a, %b : tensor<8xf32>
      nn.yield %0 : tensor<8xf32>
    }
    %both = nn.matmul %d, %t : tensor<?x8xf32>, tensor<8x16xf32>
    vertex.yield(%both, %d) : tensor<?x16xf32>, tensor<?x8xf32>
  }
  %leaves = vertex.gather_parent_rows %g, %loop#0 at leaves : tensor<?x16xf32> -> tensor<?x8xf32>
  %joined = vertex.join_rows %leaves, %loop#1 : tensor<?x8xf32>
  %dx = vertex.push_rows %g, %joined : tensor<?x8xf32>
  %dW = nn.outer_sum %child, %loop#1 : tensor<?x8xf32>, tensor<?x8xf32>
  %db = nn.sum_rows %joined : tensor<?x8xf32>
  return %dx, %dW, %db : tensor<?x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}

// -----

// Slots of matrices are joined as they lie. A slot that nothing is scattered to
// has zeros copied to it; the loop runs over all vertices. A sum over parents'
// rows is made elsewhere, and copied.
// CHECK-LABEL: model.entry @matrices graphs ["g"] arities [2]
// CHECK-DAG: %[[DONE:.*]] = model.buffer dynamic "" rows vertices of 0 : tensor<4x3xf32>
// CHECK-DAG: %[[ZEROS:.*]] = model.buffer constant "constant" rows one of 0 = dense<0.000000e+00> : tensor<2x3xf32> : tensor<2x3xf32>
// CHECK: model.phase "reversed path" rows tasks_reversed of 0 {
// CHECK-NEXT: model.copy %[[ZEROS]] <shared 0, 0 for 6> to %[[DONE]] <row 0, 0 for 6>
// CHECK-NEXT: model.sum_parents %[[DONE]] <row 0, 0 for 12> to %[[P:.*]] <row 0, 0 for 6>
// CHECK-NEXT: model.copy %[[P]] <row 0, 0 for 6> to %[[DONE]] <row 0, 6 for 6>
func.func @matrices(%g: !vertex.graph {nn.input = "g"}) -> (tensor<2x3xf32> {nn.output = "y"}) {
  %zeros = arith.constant dense<0.0> : tensor<2x3xf32>
  %loop = vertex.reversed_tasks %g arity 2 states 1 -> (tensor<?x4x3xf32>) {
  ^bb0(%done: tensor<?x4x3xf32>):
    %none = vertex.spread_rows %g, %zeros : tensor<2x3xf32> -> tensor<?x2x3xf32>
    %p = vertex.gather_parent_rows %g, %done : tensor<?x4x3xf32> -> tensor<?x2x3xf32>
    %both = tensor.concat dim(1) %none, %p : (tensor<?x2x3xf32>, tensor<?x2x3xf32>) -> tensor<?x4x3xf32>
    vertex.yield(%both) : tensor<?x4x3xf32>
  }
  %own = vertex.gather_parent_rows %g, %loop : tensor<?x4x3xf32> -> tensor<?x2x3xf32>
  %sum = nn.sum_rows %own : tensor<?x2x3xf32>
  return %sum : tensor<2x3xf32>
}

// -----

// New values are made where the old ones are, in the kernel that reads these
// last.
// CHECK-LABEL: model.entry @update graphs [] arities []
// CHECK-DAG: %[[B:.*]] = model.buffer parameter "b"
// CHECK-DAG: %[[M:.*]] = model.buffer state "b.momentum"
// CHECK-DAG: %[[D:.*]] = model.buffer input "d"
// CHECK: model.phase "shared" rows one of 0 {
// CHECK-NEXT: model.launch @update.kernel0(%[[B]], %[[M]], %[[D]], %[[B]], %[[M]])
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @update(%b: tensor<8xf32> {nn.param = "b"}, %m: tensor<8xf32> {nn.state = "b.momentum"}, %d: tensor<8xf32> {nn.input = "d"})
    -> (tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.update = "b.momentum"}) {
  %0:2 = nn.elementwise(%b, %m, %d) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%p: tensor<8xf32>, %s: tensor<8xf32>, %g: tensor<8xf32>):
    %1 = arith.addf %s, %g : tensor<8xf32>
    %2 = arith.subf %p, %1 : tensor<8xf32>
    nn.yield %2, %1 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Somebody reads the old value later: the new one is made elsewhere, and copied.
// CHECK-LABEL: model.entry @read_later
// CHECK-DAG: %[[B:.*]] = model.buffer parameter "b"
// CHECK: model.launch @read_later.kernel0(%[[B]], %{{.*}}, %[[NEW:.*]]) at
// CHECK: model.launch @read_later.kernel1(%[[B]], %{{.*}}) at
// CHECK: model.copy %[[NEW]] <shared 0, 0 for 8> to %[[B]] <row 0, 0 for 8>
func.func @read_later(%b: tensor<8xf32> {nn.param = "b"}, %d: tensor<8xf32> {nn.input = "d"})
    -> (tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.output = "y"}) {
  %0 = nn.elementwise(%b, %d) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%p: tensor<8xf32>, %g: tensor<8xf32>):
    %2 = arith.subf %p, %g : tensor<8xf32>
    nn.yield %2 : tensor<8xf32>
  }
  %1 = nn.softmax %b : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A product reads what was packed before, so it may come later.
// CHECK-LABEL: model.entry @multiplied_later
// CHECK-DAG: %[[W:.*]] = model.buffer parameter "W"
// CHECK: model.launch @multiplied_later.kernel0(%[[W]], %[[W]]) at
func.func @multiplied_later(%W: tensor<8x8xf32> {nn.param = "W"}, %x: tensor<8xf32> {nn.input = "x"})
    -> (tensor<8x8xf32> {nn.update = "W"}, tensor<8xf32> {nn.output = "y"}) {
  %0 = nn.elementwise(%W) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%p: tensor<8x8xf32>):
    %2 = arith.negf %p : tensor<8x8xf32>
    nn.yield %2 : tensor<8x8xf32>
  }
  %1 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8xf32>
}

// -----

// What is returned of a parameter is its old value, so it changes last.
// CHECK-LABEL: model.entry @returned
// CHECK-DAG: %[[B:.*]] = model.buffer parameter "b"
// CHECK-DAG: %[[OLD:.*]] = model.buffer output "old"
// CHECK: model.copy %[[B]] <shared 0, 0 for 8> to %[[OLD]] <row 0, 0 for 8>
// CHECK-NEXT: model.copy %{{.*}} <shared 0, 0 for 8> to %[[B]] <row 0, 0 for 8>
func.func @returned(%b: tensor<8xf32> {nn.param = "b"}, %d: tensor<8xf32> {nn.input = "d"})
    -> (tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.output = "old"}) {
  %0 = nn.elementwise(%b, %d) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%p: tensor<8xf32>, %g: tensor<8xf32>):
    %2 = arith.subf %p, %g : tensor<8xf32>
    nn.yield %2 : tensor<8xf32>
  }
  return %0, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// Two that change places are both put aside first; one that stays is not touched.
// CHECK-LABEL: model.entry @swap
// CHECK-DAG: %[[A:.*]] = model.buffer parameter "a"
// CHECK-DAG: %[[B:.*]] = model.buffer parameter "b"
// CHECK: model.phase "shared" rows one of 0 {
// CHECK-NEXT: model.copy %[[B]] <shared 0, 0 for 8> to %[[OLD_B:.*]] <row 0, 0 for 8>
// CHECK-NEXT: model.copy %[[A]] <shared 0, 0 for 8> to %[[OLD_A:.*]] <row 0, 0 for 8>
// CHECK-NEXT: model.copy %[[OLD_B]] <shared 0, 0 for 8> to %[[A]] <row 0, 0 for 8>
// CHECK-NEXT: model.copy %[[OLD_A]] <shared 0, 0 for 8> to %[[B]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @swap(%a: tensor<8xf32> {nn.param = "a"}, %b: tensor<8xf32> {nn.param = "b"}, %c: tensor<8xf32> {nn.param = "c"})
    -> (tensor<8xf32> {nn.update = "a"}, tensor<8xf32> {nn.update = "b"}, tensor<8xf32> {nn.update = "c"}) {
  return %b, %a, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// The rows of a table that changed are written where they are, found by id, when
// all rows have been read; a row without an owner goes nowhere.
// CHECK-LABEL: model.entry @table
// CHECK-DAG: %[[E:.*]] = model.buffer parameter "E"
// CHECK-DAG: %[[X:.*]] = model.buffer input "x"
// CHECK-DAG: %[[IDS:.*]] = model.buffer input "ids"
// CHECK-DAG: %[[S:.*]] = model.buffer input "s"
// CHECK: model.phase "sums" rows leaves of 0 {
// CHECK-NEXT: model.combine_rows %[[X]] <caller 0, 0 for 8> by %[[IDS]] <caller 0, 0 for 1> to %[[SUMS:.*]] <row 0, 0 for 8> by %[[OWNERS:.*]] <row 0, 0 for 1>
// CHECK: model.embed %[[E]] <shared 0, 0 for 800> by %[[OWNERS]] <row 0, 0 for 1> to %[[OLD:.*]] <row 0, 0 for 8>
// CHECK: model.launch @table.kernel0(%[[SUMS]], %[[OLD]], %[[S]], %[[E]]) ids(%[[OWNERS]])
// CHECK-SAME: [#model.at<row 0, 0 for 8>, #model.at<row 0, 0 for 8>, #model.at<shared 0, 0 for 1>, #model.at<id 0, 0 for 8>]
func.func @table(%g: !vertex.graph {nn.input = "g"}, %E: tensor<100x8xf32> {nn.param = "E"}, %x: tensor<?x8xf32> {nn.input = "x"},
                 %ids: tensor<?xi32> {nn.input = "ids"}, %s: tensor<f32> {nn.input = "s"}) -> (tensor<100x8xf32> {nn.update = "E"}) {
  %r = vertex.pull_rows %g, %x at leaves : tensor<?x8xf32>
  %i = vertex.pull_rows %g, %ids at leaves : tensor<?xi32>
  %sums, %owners = nn.combine_rows %r by %i : tensor<?x8xf32>, tensor<?xi32>
  %old = nn.embedding %E[%owners] : tensor<100x8xf32>, tensor<?xi32>
  %new = nn.elementwise(%sums, %old, %s) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32> {
  ^bb0(%d: tensor<8xf32>, %p: tensor<8xf32>, %scalar: tensor<f32>):
    %0 = nn.broadcast %scalar : tensor<f32> -> tensor<8xf32>
    %1 = arith.mulf %d, %0 : tensor<8xf32>
    %2 = arith.subf %p, %1 : tensor<8xf32>
    nn.yield %2 : tensor<8xf32>
  }
  %1 = nn.update_rows %E by %owners with %new : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
  return %1 : tensor<100x8xf32>
}

// -----

// A table of a gradient is zeros, made first, in which rows are replaced.
// CHECK-LABEL: model.entry @gradient_of_table
// CHECK: model.phase "sums" rows vertices of 0 {
// CHECK-NEXT: model.combine_rows %{{.*}} by %{{.*}} to %[[SUMS:.*]] <row 0, 0 for 8> by %[[OWNERS:.*]] <row 0, 0 for 1>
// CHECK: model.phase "shared" rows one of 0 {
// CHECK-NEXT: model.launch @gradient_of_table.kernel0(%[[TABLE:.*]]) at [#model.at<row 0, 0 for 800>]
// CHECK: model.launch @gradient_of_table.kernel1(%[[SUMS]], %[[TABLE]]) ids(%[[OWNERS]]) at [#model.at<row 0, 0 for 8>, #model.at<id 0, 0 for 8>]
func.func @gradient_of_table(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %ids: tensor<?xi32> {nn.input = "ids"})
    -> (tensor<100x8xf32> {nn.output = "dE"}) {
  %r = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %i = vertex.pull_rows %g, %ids : tensor<?xi32>
  %sums, %owners = nn.combine_rows %r by %i : tensor<?x8xf32>, tensor<?xi32>
  %zeros = nn.elementwise() : () -> tensor<100x8xf32> {
    %0 = arith.constant dense<0.0> : tensor<100x8xf32>
    nn.yield %0 : tensor<100x8xf32>
  }
  %copy = nn.elementwise(%sums) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%row: tensor<8xf32>):
    nn.yield %row : tensor<8xf32>
  }
  %1 = nn.update_rows %zeros by %owners with %copy : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
  return %1 : tensor<100x8xf32>
}

// -----

// Sums of outer products are columns, or rows, of a matrix as they are made. One
// that is in two of them is gathered by a kernel; so is what is no such sum.
// CHECK-LABEL: model.entry @pieces
// CHECK-DAG: model.buffer dynamic "" rows one of 0 : tensor<8x12xf32>
// CHECK: model.phase "sums" rows vertices of 0 {
// CHECK-NEXT: model.outer_sum %{{.*}}, %{{.*}} to %[[COLUMNS:.*]] <shared 0, 0 for 88 stride 12>
// CHECK-NEXT: model.outer_sum %{{.*}}, %{{.*}} to %[[COLUMNS]] <shared 0, 4 for 92 stride 12>
// CHECK-NEXT: model.outer_sum %{{.*}}, %{{.*}} to %[[ROWS:.*]] <shared 0, 0 for 32 stride 4>
// CHECK-NEXT: model.outer_sum %{{.*}}, %{{.*}} to %[[ROWS]] <shared 0, 32 for 32 stride 4>
// CHECK: model.launch @pieces.kernel0(%[[ROWS]], %{{.*}}, %{{.*}}) at [#model.at<shared 0, 32 for 32>, #model.at<shared 0, 0 for 16>, #model.at<row 0, 0 for 48>]
func.func @pieces(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %r: tensor<?x4xf32> {nn.input = "r"})
    -> (tensor<8x12xf32> {nn.output = "columns"}, tensor<16x4xf32> {nn.output = "rows"}, tensor<8x6xf32> {nn.output = "gathered"}) {
  %y = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %d = vertex.pull_rows %g, %r : tensor<?x4xf32>
  %a = nn.outer_sum %y, %d : tensor<?x8xf32>, tensor<?x4xf32>
  %b = nn.outer_sum %y, %y : tensor<?x8xf32>, tensor<?x8xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<8x4xf32>, tensor<8x8xf32>) -> tensor<8x12xf32>
  %e = nn.outer_sum %y, %d : tensor<?x8xf32>, tensor<?x4xf32>
  %f = nn.outer_sum %y, %d : tensor<?x8xf32>, tensor<?x4xf32>
  %zeros = arith.constant dense<0.0> : tensor<8x2xf32>
  %i = tensor.concat dim(1) %f, %zeros : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
  %h = tensor.concat dim(0) %e, %f : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  return %c, %h, %i : tensor<8x12xf32>, tensor<16x4xf32>, tensor<8x6xf32>
}

// -----

// A row a vertex of rows of structures, zeros but at roots: a view.
// CHECK-LABEL: model.entry @at_roots
// CHECK: model.launch @at_roots.kernel0(%{{.*}}, %{{.*}}) at [#model.at<root_structure 0, 0 for 4>, #model.at<row 0, 0 for 4>]
func.func @at_roots(%g: !vertex.graph {nn.input = "g"}, %r: tensor<?x4xf32> {nn.input = "r"}) -> (tensor<?x4xf32> {nn.output = "y"}) {
  %0 = vertex.at_roots %g, %r : tensor<?x4xf32>
  %1 = nn.softmax %0 : tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}
