// RUN: espalier-opt %s -split-input-file --lower-to-model | FileCheck %s

// In a loop, a gathered row is a view for a kernel (child slot 1), but is copied
// before a product, which wants rows one after another. What lives in one phase
// is scratch; the state is dynamic. Pulled rows are found through the caller's
// order, and pushed rows copied back to it; roots are found through theirs.
// CHECK-LABEL: model.entry @loop graphs ["g"] arities [2] {
// CHECK-NEXT: %[[X:.*]] = model.buffer input "x" rows caller of 0 : tensor<8xf32>
// CHECK-NEXT: %[[U:.*]] = model.buffer parameter "U" rows one of 0 : tensor<8x8xf32>
// CHECK-NEXT: %[[B:.*]] = model.buffer parameter "b" rows one of 0 : tensor<8xf32>
// CHECK-NEXT: %[[H:.*]] = model.buffer output "h" rows caller of 0 : tensor<8xf32>
// CHECK-NEXT: %[[ROOT:.*]] = model.buffer output "root" rows structures of 0 : tensor<8xf32>
// CHECK-NEXT: %[[STATE:.*]] = model.buffer dynamic "" rows vertices of 0 : tensor<8xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = model.buffer scratch "" rows vertices of 0 : tensor<8xf32>
// CHECK-NEXT: %[[LEFT:.*]] = model.buffer scratch "" rows vertices of 0 : tensor<8xf32>
// CHECK-NEXT: %[[W:.*]] = model.weight %[[U]] row 0 for 8 columns [0] for [8]
// CHECK-NEXT: model.phase "path" rows tasks of 0 {
// CHECK-NEXT: model.copy %[[STATE]] <child 0, 0 for 8> to %[[LEFT]] <row 0, 0 for 8>
// CHECK-NEXT: model.matmul %[[LEFT]] <row 0, 0 for 8> by %[[W]] to %[[PRODUCT]] <row 0, 0 for 8>
// CHECK-NEXT: model.launch @loop.kernel0(%[[PRODUCT]], %[[STATE]], %[[X]], %[[B]], %[[STATE]])
// CHECK-SAME: [#model.at<row 0, 0 for 8>, #model.at<child 1, 0 for 8>, #model.at<caller 0, 0 for 8>, #model.at<shared 0, 0 for 8>, #model.at<row 0, 0 for 8>]
// Three additions of 8 floats; four rows of 32 bytes, the bias is shared.
// CHECK-SAME: results 1 flops 24 bytes 128
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "lazy" rows vertices of 0 {
// CHECK-NEXT: model.copy %[[STATE]] <row 0, 0 for 8> to %[[H]] <caller 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "structures" rows structures of 0 {
// CHECK-NEXT: model.copy %[[STATE]] <root 0, 0 for 8> to %[[ROOT]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK: func.func private @loop.kernel0(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) attributes {model.kernel}
func.func @loop(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"},
                %U: tensor<8x8xf32> {nn.param = "U"}, %b: tensor<8xf32> {nn.param = "b"})
    -> (tensor<?x8xf32> {nn.output = "h"}, tensor<?x8xf32> {nn.output = "root"}) {
  %e = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %s = vertex.tasks %g arity 2 eager(%e : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %t: tensor<?x8xf32>):
    %l = vertex.gather_rows %done[0] : tensor<?x8xf32>
    %r = vertex.gather_rows %done[1] : tensor<?x8xf32>
    %p = nn.matmul %l, %U : tensor<?x8xf32>, tensor<8x8xf32>
    %n = nn.elementwise(%p, %r, %t, %b) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
    ^bb0(%p1: tensor<8xf32>, %r1: tensor<8xf32>, %t1: tensor<8xf32>, %b1: tensor<8xf32>):
      %0 = arith.addf %p1, %r1 : tensor<8xf32>
      %1 = arith.addf %0, %t1 : tensor<8xf32>
      %2 = arith.addf %1, %b1 : tensor<8xf32>
      nn.yield %2 : tensor<8xf32>
    }
    vertex.yield(%n) : tensor<?x8xf32>
  }
  %h = vertex.push_rows %g, %s : tensor<?x8xf32>
  %root = vertex.root_rows %g, %s : tensor<?x8xf32>
  return %h, %root : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Leaves first, straight into the state; then an eager product over all inner
// rows, which is kept until the loop reads it.
// CHECK-LABEL: model.entry @leaves_then_loop graphs ["g"] arities [1]
// CHECK-DAG: %[[IDS:.*]] = model.buffer input "ids" rows caller of 0 : tensor<i32>
// CHECK-DAG: %[[TABLE:.*]] = model.buffer parameter "table" rows one of 0 : tensor<100x8xf32>
// CHECK-DAG: %[[X:.*]] = model.buffer input "x" rows caller of 0 : tensor<8xf32>
// CHECK-DAG: %[[STATE:.*]] = model.buffer dynamic "" rows vertices of 0 : tensor<8xf32>
// CHECK-DAG: %[[COPY:.*]] = model.buffer scratch "" rows inner of 0 : tensor<8xf32>
// CHECK-DAG: %[[EAGER:.*]] = model.buffer dynamic "" rows inner of 0 : tensor<8xf32>
// CHECK: model.phase "leaves" rows leaves of 0 {
// CHECK-NEXT: model.embed %[[TABLE]] <shared 0, 0 for 800> by %[[IDS]] <caller 0, 0 for 1> to %[[STATE]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "eager" rows inner of 0 {
// CHECK-NEXT: model.copy %[[X]] <caller 0, 0 for 8> to %[[COPY]] <row 0, 0 for 8>
// CHECK-NEXT: model.matmul %[[COPY]] <row 0, 0 for 8> by %{{.*}} to %[[EAGER]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "path" rows inner_tasks of 0 {
// CHECK-NEXT: model.launch @leaves_then_loop.kernel0(%[[STATE]], %[[EAGER]], %[[STATE]]) at [#model.at<child 0, 0 for 8>, #model.at<row 0, 0 for 8>, #model.at<row 0, 0 for 8>]
func.func @leaves_then_loop(%g: !vertex.graph {nn.input = "g"}, %ids: tensor<?xi32> {nn.input = "ids"},
                            %table: tensor<100x8xf32> {nn.param = "table"},
                            %x: tensor<?x8xf32> {nn.input = "x"}, %W: tensor<8x8xf32> {nn.param = "W"})
    -> (tensor<?x8xf32> {nn.output = "h"}) {
  %i = vertex.pull_rows %g, %ids at leaves : tensor<?xi32>
  %l = nn.embedding %table[%i] : tensor<100x8xf32>, tensor<?xi32>
  %p = vertex.pull_rows %g, %x at inner : tensor<?x8xf32>
  %wx = nn.matmul %p, %W : tensor<?x8xf32>, tensor<8x8xf32>
  %s = vertex.tasks %g arity 1 init(%l : tensor<?x8xf32>) eager(%wx : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %t: tensor<?x8xf32>):
    %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
    %n = nn.elementwise(%c, %t) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %0 = arith.addf %a, %b : tensor<8xf32>
      nn.yield %0 : tensor<8xf32>
    }
    vertex.yield(%n) : tensor<?x8xf32>
  }
  %h = vertex.push_rows %g, %s : tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// A concatenation's operands are made where it lies: the group into columns 0 to
// 8, the pulled rows copied to columns 8 to 12.
// CHECK-LABEL: model.entry @concat
// CHECK-DAG: %[[X:.*]] = model.buffer input "x" rows caller of 0 : tensor<8xf32>
// CHECK-DAG: %[[Y:.*]] = model.buffer input "y" rows caller of 0 : tensor<4xf32>
// CHECK-DAG: %[[BOTH:.*]] = model.buffer scratch "" rows vertices of 0 : tensor<12xf32>
// CHECK: model.phase "eager" rows vertices of 0 {
// CHECK-NEXT: model.launch @concat.kernel0(%[[X]], %[[BOTH]]) at [#model.at<caller 0, 0 for 8>, #model.at<row 0, 0 for 8>]
// CHECK-NEXT: model.copy %[[Y]] <caller 0, 0 for 4> to %[[BOTH]] <row 0, 8 for 4>
// CHECK-NEXT: model.matmul %[[BOTH]] <row 0, 0 for 12>
func.func @concat(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"},
                  %y: tensor<?x4xf32> {nn.input = "y"}, %W: tensor<12x2xf32> {nn.param = "W"})
    -> (tensor<?x2xf32> {nn.output = "z"}) {
  %xs = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %ys = vertex.pull_rows %g, %y : tensor<?x4xf32>
  %t = nn.elementwise(%xs) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %0 = math.absf %a : tensor<8xf32>
    nn.yield %0 : tensor<8xf32>
  }
  %c = tensor.concat dim(1) %t, %ys : (tensor<?x8xf32>, tensor<?x4xf32>) -> tensor<?x12xf32>
  %p = nn.matmul %c, %W : tensor<?x12xf32>, tensor<12x2xf32>
  %z = vertex.push_rows %g, %p : tensor<?x2xf32>
  return %z : tensor<?x2xf32>
}

// -----

// Of a concatenation with itself, one half is made in place, the other copied.
// CHECK-LABEL: model.entry @concat_with_itself
// CHECK: model.launch @concat_with_itself.kernel0(%{{.*}}, %[[BOTH:.*]]) at [#model.at<caller 0, 0 for 4>, #model.at<row 0, 0 for 4>]
// CHECK-NEXT: model.copy %[[BOTH]] <row 0, 0 for 4> to %[[BOTH]] <row 0, 4 for 4>
func.func @concat_with_itself(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x4xf32> {nn.input = "x"})
    -> (tensor<?x8xf32> {nn.output = "z"}) {
  %xs = vertex.pull_rows %g, %x : tensor<?x4xf32>
  %t = nn.elementwise(%xs) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = math.absf %a : tensor<4xf32>
    nn.yield %0 : tensor<4xf32>
  }
  %c = tensor.concat dim(1) %t, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  %z = vertex.push_rows %g, %c : tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

// A product reads another buffer than it writes: of a concatenation of t and its
// product, which both lie in one, t is copied out first.
// CHECK-LABEL: model.entry @concat_with_product
// CHECK: model.launch @concat_with_product.kernel0(%{{.*}}, %[[BOTH:.*]]) at [#model.at<caller 0, 0 for 4>, #model.at<row 0, 0 for 4>]
// CHECK-NEXT: model.copy %[[BOTH]] <row 0, 0 for 4> to %[[T:.*]] <row 0, 0 for 4>
// CHECK-NEXT: model.matmul %[[T]] <row 0, 0 for 4> by %{{.*}} to %[[BOTH]] <row 0, 4 for 2>
func.func @concat_with_product(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x4xf32> {nn.input = "x"}, %W: tensor<4x2xf32> {nn.param = "W"})
    -> (tensor<?x6xf32> {nn.output = "z"}) {
  %xs = vertex.pull_rows %g, %x : tensor<?x4xf32>
  %t = nn.elementwise(%xs) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = math.absf %a : tensor<4xf32>
    nn.yield %0 : tensor<4xf32>
  }
  %p = nn.matmul %t, %W : tensor<?x4xf32>, tensor<4x2xf32>
  %c = tensor.concat dim(1) %t, %p : (tensor<?x4xf32>, tensor<?x2xf32>) -> tensor<?x6xf32>
  %z = vertex.push_rows %g, %c : tensor<?x6xf32>
  return %z : tensor<?x6xf32>
}

// -----

// Leaves' and inner rows are joined without a copy where both are made, and a
// row that is the same for all is copied where it has to lie.
// CHECK-LABEL: model.entry @join
// CHECK-DAG: %[[X:.*]] = model.buffer input "x" rows caller of 0 : tensor<8xf32>
// CHECK-DAG: %[[B:.*]] = model.buffer parameter "b" rows one of 0 : tensor<8xf32>
// CHECK-DAG: %[[ALL:.*]] = model.buffer dynamic "" rows vertices of 0 : tensor<8xf32>
// CHECK: model.phase "leaves" rows leaves of 0 {
// CHECK-NEXT: model.copy %[[B]] <shared 0, 0 for 8> to %[[ALL]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "eager" rows inner of 0 {
// CHECK-NEXT: model.launch @join.kernel0(%[[X]], %[[ALL]]) at [#model.at<caller 0, 0 for 8>, #model.at<row 0, 0 for 8>]
// CHECK-NEXT: }
func.func @join(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %b: tensor<8xf32> {nn.param = "b"})
    -> (tensor<?x8xf32> {nn.output = "y"}) {
  %l = vertex.spread_rows %g, %b at leaves : tensor<8xf32> -> tensor<?x8xf32>
  %p = vertex.pull_rows %g, %x at inner : tensor<?x8xf32>
  %i = nn.elementwise(%p) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %0 = math.absf %a : tensor<8xf32>
    nn.yield %0 : tensor<8xf32>
  }
  %j = vertex.join_rows %l, %i : tensor<?x8xf32>
  %y = vertex.push_rows %g, %j : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// A spread row whose reader is a kernel is shared, and a constant gets a buffer
// when it is read.
// CHECK-LABEL: model.entry @spread_constant
// CHECK: %[[ONES:.*]] = model.buffer constant "constant" rows one of 0 = dense<1.000000e+00> : tensor<8xf32> : tensor<8xf32>
// CHECK: model.launch @spread_constant.kernel0(%[[ONES]], %{{.*}}) at [#model.at<shared 0, 0 for 8>, #model.at<row 0, 0 for 8>]
func.func @spread_constant(%g: !vertex.graph {nn.input = "g"}) -> (tensor<?x8xf32> {nn.output = "y"}) {
  %ones = arith.constant dense<1.0> : tensor<8xf32>
  %rows = vertex.spread_rows %g, %ones : tensor<8xf32> -> tensor<?x8xf32>
  %t = nn.elementwise(%rows) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %0 = math.absf %a : tensor<8xf32>
    nn.yield %0 : tensor<8xf32>
  }
  %y = vertex.push_rows %g, %t : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// The root of a structure without vertices is zeros, so a row that is the same
// for all vertices is not the root of all structures.
// CHECK-LABEL: model.entry @roots_of_spread
// CHECK: %[[B:.*]] = model.buffer parameter "b"
// CHECK: %[[Y:.*]] = model.buffer output "y" rows structures
// CHECK: model.copy %[[B]] <shared 0, 0 for 8> to %[[ROWS:.*]] <row 0, 0 for 8>
// CHECK: model.phase "structures" rows structures of 0 {
// CHECK-NEXT: model.copy %[[ROWS]] <root 0, 0 for 8> to %[[Y]] <row 0, 0 for 8>
func.func @roots_of_spread(%g: !vertex.graph {nn.input = "g"}, %b: tensor<8xf32> {nn.param = "b"}) -> (tensor<?x8xf32> {nn.output = "y"}) {
  %rows = vertex.spread_rows %g, %b : tensor<8xf32> -> tensor<?x8xf32>
  %y = vertex.root_rows %g, %rows : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// A slice of rows is a view: columns 4 to 8.
// CHECK-LABEL: model.entry @slice
// CHECK: model.launch @slice.kernel0(%{{.*}}, %{{.*}}) at [#model.at<caller 0, 4 for 4>, #model.at<row 0, 0 for 4>]
func.func @slice(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) -> (tensor<?x4xf32> {nn.output = "y"}) {
  %c0 = arith.constant 0 : index
  %xs = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %n = tensor.dim %xs, %c0 : tensor<?x8xf32>
  %s = tensor.extract_slice %xs[0, 4] [%n, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
  %t = nn.elementwise(%s) : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = math.absf %a : tensor<4xf32>
    nn.yield %0 : tensor<4xf32>
  }
  %y = vertex.push_rows %g, %t : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// Weights are rows and columns of parameters. Columns 0 to 4 and 8 to 12 of W,
// side by side; of these, columns 2 to 6, which are 2 to 4 and 8 to 10 of W; and
// rows 2 to 6 of it. Equal weights are one.
// CHECK-LABEL: model.entry @weights
// CHECK: %[[W:.*]] = model.buffer parameter "W"
// CHECK: model.weight %[[W]] row 0 for 8 columns [0, 8] for [4, 4]
// CHECK: model.weight %[[W]] row 0 for 8 columns [2, 8] for [2, 2]
// CHECK: model.weight %[[W]] row 2 for 4 columns [0] for [12]
// CHECK-NOT: model.weight
// CHECK: model.phase
func.func @weights(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %z: tensor<?x4xf32> {nn.input = "z"}, %W: tensor<8x12xf32> {nn.param = "W"})
    -> (tensor<?x8xf32> {nn.output = "a"}, tensor<?x4xf32> {nn.output = "b"}, tensor<?x12xf32> {nn.output = "c"}, tensor<?x8xf32> {nn.output = "d"}) {
  %first = tensor.extract_slice %W[0, 0] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %last = tensor.extract_slice %W[0, 8] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %both = tensor.concat dim(1) %first, %last : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %middle = tensor.extract_slice %both[0, 2] [8, 4] [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
  %rows = tensor.extract_slice %W[2, 0] [4, 12] [1, 1] : tensor<8x12xf32> to tensor<4x12xf32>
  %a = nn.matmul %x, %both : tensor<?x8xf32>, tensor<8x8xf32>
  %b = nn.matmul %x, %middle : tensor<?x8xf32>, tensor<8x4xf32>
  %c = nn.matmul %z, %rows : tensor<?x4xf32>, tensor<4x12xf32>
  %d = nn.matmul %x, %both : tensor<?x8xf32>, tensor<8x8xf32>
  return %a, %b, %c, %d : tensor<?x8xf32>, tensor<?x4xf32>, tensor<?x12xf32>, tensor<?x8xf32>
}

// -----

// A product with one constant matrix.
// CHECK-LABEL: model.entry @constant_weight
// CHECK: %[[C:.*]] = model.buffer constant
// CHECK: model.weight %[[C]] row 0 for 2 columns [0] for [2]
func.func @constant_weight(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x2xf32> {nn.input = "x"}) -> (tensor<?x2xf32> {nn.output = "y"}) {
  %W = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = nn.matmul %x, %W : tensor<?x2xf32>, tensor<2x2xf32>
  return %y : tensor<?x2xf32>
}

// -----

// Without rows, without graphs: one row, computed once.
// CHECK-LABEL: model.entry @one_row graphs [] arities [] {
// CHECK: %[[Y:.*]] = model.buffer output "y" rows one of 0 : tensor<4xf32>
// CHECK: model.phase "shared" rows one of 0 {
// CHECK: model.matmul
// CHECK: model.copy %{{.*}} to %[[Y]] <row 0, 0 for 4>
func.func @one_row(%x: tensor<8xf32> {nn.input = "x"}, %W: tensor<8x4xf32> {nn.param = "W"}) -> (tensor<4xf32> {nn.output = "y"}) {
  %y = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf32>
  return %y : tensor<4xf32>
}

// -----

// Arguments may be returned, and one value under two names.
// CHECK-LABEL: model.entry @return_arguments
// CHECK-DAG: %[[X:.*]] = model.buffer input "x" rows caller of 0
// CHECK-DAG: %[[B:.*]] = model.buffer parameter "b" rows one of 0
// CHECK-DAG: %[[X1:.*]] = model.buffer output "x1" rows caller of 0
// CHECK-DAG: %[[X2:.*]] = model.buffer output "x2" rows caller of 0
// CHECK-DAG: %[[B1:.*]] = model.buffer output "b1" rows one of 0
// CHECK: model.phase "eager" rows vertices of 0 {
// CHECK-NEXT: model.copy %[[X]] <caller 0, 0 for 8> to %[[X1]] <caller 0, 0 for 8>
// CHECK-NEXT: model.copy %[[X]] <caller 0, 0 for 8> to %[[X2]] <caller 0, 0 for 8>
// CHECK: model.phase "shared" rows one of 0 {
// CHECK-NEXT: model.copy %[[B]] <shared 0, 0 for 8> to %[[B1]] <row 0, 0 for 8>
func.func @return_arguments(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %b: tensor<8xf32> {nn.param = "b"})
    -> (tensor<?x8xf32> {nn.output = "x1"}, tensor<?x8xf32> {nn.output = "x2"}, tensor<8xf32> {nn.output = "b1"}) {
  return %x, %x, %b : tensor<?x8xf32>, tensor<?x8xf32>, tensor<8xf32>
}

// -----

// What is computed per structure and returned is made in the caller's buffer.
// CHECK-LABEL: model.entry @per_structure
// CHECK: %[[Y:.*]] = model.buffer output "y" rows structures of 0 : tensor<4xf32>
// CHECK: model.phase "structures" rows structures of 0 {
// CHECK-NEXT: model.copy %{{.*}} <caller_root 0, 0 for 8> to %[[ROOT:.*]] <row 0, 0 for 8>
// CHECK-NEXT: model.matmul %[[ROOT]] <row 0, 0 for 8> by %{{.*}} to %[[LOGITS:.*]] <row 0, 0 for 4>
// CHECK-NEXT: model.launch @per_structure.kernel0(%[[LOGITS]], %[[Y]])
// CHECK-NEXT: }
// CHECK-NEXT: }
func.func @per_structure(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %W: tensor<8x4xf32> {nn.param = "W"})
    -> (tensor<?x4xf32> {nn.output = "y"}) {
  %r = vertex.roots %g, %x : tensor<?x8xf32>
  %l = nn.matmul %r, %W : tensor<?x8xf32>, tensor<8x4xf32>
  %y = nn.softmax %l : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// Rows of two graphs, each in phases of its own.
// CHECK-LABEL: model.entry @two_graphs graphs ["a", "b"] arities [1, 3] {
// CHECK: model.buffer input "x" rows caller of 0
// CHECK: model.buffer input "y" rows caller of 1
// CHECK: model.phase "path" rows tasks of 0 {
// CHECK: model.phase "path" rows tasks of 1 {
func.func @two_graphs(%a: !vertex.graph {nn.input = "a"}, %b: !vertex.graph {nn.input = "b"},
                      %x: tensor<?x8xf32> {nn.input = "x"}, %y: tensor<?x8xf32> {nn.input = "y"})
    -> (tensor<?x8xf32> {nn.output = "h"}, tensor<?x8xf32> {nn.output = "i"}) {
  %xs = vertex.pull_rows %a, %x : tensor<?x8xf32>
  %0 = vertex.tasks %a arity 1 eager(%xs : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %t: tensor<?x8xf32>):
    vertex.yield(%t) : tensor<?x8xf32>
  }
  %ys = vertex.pull_rows %b, %y : tensor<?x8xf32>
  %1 = vertex.tasks %b arity 3 eager(%ys : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %t: tensor<?x8xf32>):
    vertex.yield(%t) : tensor<?x8xf32>
  }
  %h = vertex.push_rows %a, %0 : tensor<?x8xf32>
  %i = vertex.push_rows %b, %1 : tensor<?x8xf32>
  return %h, %i : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Rows of no columns, and of one: a kernel of nothing, and one element.
// CHECK-LABEL: model.entry @narrow_rows
// CHECK: func.func private @narrow_rows.kernel0
// CHECK-NOT: llvm.store
// CHECK: func.func private @narrow_rows.kernel1
// CHECK: llvm.store %{{.*}} : vector<1xf64>
func.func @narrow_rows(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x0xf32> {nn.input = "x"}, %y: tensor<?xf64> {nn.input = "y"})
    -> (tensor<?x0xf32> {nn.output = "h"}, tensor<?xf64> {nn.output = "i"}) {
  %0 = nn.elementwise(%x) : (tensor<?x0xf32>) -> tensor<?x0xf32> {
  ^bb0(%a: tensor<0xf32>):
    %2 = math.absf %a : tensor<0xf32>
    nn.yield %2 : tensor<0xf32>
  }
  %1 = nn.elementwise(%y) : (tensor<?xf64>) -> tensor<?xf64> {
  ^bb0(%a: tensor<f64>):
    %2 = math.absf %a : tensor<f64>
    nn.yield %2 : tensor<f64>
  }
  return %0, %1 : tensor<?x0xf32>, tensor<?xf64>
}

// -----

// Multiplicities of vertices are the runtime's, one buffer for each graph and
// element type; rows of structures stand for one each.
// CHECK-LABEL: model.entry @multiplicities graphs ["g"] arities [0] shared [true] {
// CHECK: %[[M:.*]] = model.buffer multiplicity "multiplicity" rows vertices of 0 : tensor<f32>
// CHECK: %[[ONE:.*]] = model.buffer constant "constant" rows one of 0 = dense<1.000000e+00> : tensor<f32> : tensor<f32>
// CHECK-NOT: multiplicity
// CHECK: model.phase "sums" rows vertices of 0 {
// CHECK-NEXT: model.sum_rows %[[M]] <row 0, 0 for 1> to %{{.*}} <shared 0, 0 for 1>
// CHECK: model.phase "sums" rows structures of 0 {
// CHECK-NEXT: model.sum_rows %[[ONE]] <shared 0, 0 for 1> to
func.func @multiplicities(%g: !vertex.graph {nn.input = "g", vertex.shared},
                          %x: tensor<?x8xf32> {nn.input = "x"})
    -> (tensor<f32> {nn.output = "vertices"}, tensor<f32> {nn.output = "structures"},
        tensor<?xf32> {nn.output = "again"}) {
  %m = vertex.multiplicity %x : tensor<?x8xf32> -> tensor<?xf32>
  %s = nn.sum_rows %m : tensor<?xf32>
  %r = vertex.roots %g, %x : tensor<?x8xf32>
  %n = vertex.multiplicity %r : tensor<?x8xf32> -> tensor<?xf32>
  %t = nn.sum_rows %n : tensor<?xf32>
  %again = vertex.multiplicity %m : tensor<?xf32> -> tensor<?xf32>
  return %s, %t, %again : tensor<f32>, tensor<f32>, tensor<?xf32>
}

// -----

// The reverse has a schedule of its own. What is pulled over it and an argument
// is read where the caller has it; what is computed in the schedule of the one,
// and read in that of the other, is brought into the caller's order, once.
// CHECK-LABEL: model.entry @two_directions graphs ["g", "g reversed"] arities [0, 3] reverse_of [0, 1] {
// CHECK-DAG: %[[X:.*]] = model.buffer input "x" rows caller of 0
// CHECK-DAG: %[[H:.*]] = model.buffer output "h" rows caller of 0
// CHECK: %[[ALL:.*]] = model.buffer dynamic "" rows vertices of 1
// CHECK: %[[STATE:.*]] = model.buffer dynamic "" rows vertices of 1
// CHECK: %[[PUSHED:.*]] = model.buffer dynamic "" rows caller of 0
// CHECK: %[[BOTH:.*]] = model.buffer scratch "" rows vertices of 0
// CHECK: %[[AGAIN:.*]] = model.buffer dynamic "" rows caller of 0
// CHECK: %[[LAST:.*]] = model.buffer dynamic "" rows caller of 0
// CHECK: model.phase "path" rows tasks of 1 {
// CHECK-NEXT: model.launch @two_directions.kernel0(%[[STATE]], %[[X]], %[[STATE]]) at [#model.at<child 0, 0 for 8>, #model.at<caller 0, 0 for 8>, #model.at<row 0, 0 for 8>]
// CHECK: model.phase "lazy" rows vertices of 1 {
// CHECK-NEXT: model.copy %[[STATE]] <row 0, 0 for 8> to %[[PUSHED]] <caller 0, 0 for 8>
// CHECK-NEXT: }
// CHECK: model.phase "lazy" rows vertices of 0 {
// CHECK-NEXT: model.launch @two_directions.kernel1(%[[PUSHED]], %[[X]], %[[BOTH]]) at [#model.at<caller 0, 0 for 8>, #model.at<caller 0, 0 for 8>, #model.at<row 0, 0 for 8>]
// CHECK-NEXT: model.copy %[[BOTH]] <row 0, 0 for 8> to %[[AGAIN]] <caller 0, 0 for 8>
// CHECK-NEXT: }
// CHECK: model.phase "lazy leaves" rows leaves of 1 {
// CHECK-NEXT: model.copy %[[AGAIN]] <caller 0, 0 for 8> to %[[ALL]] <row 0, 0 for 8>
// CHECK: model.phase "lazy" rows inner of 1 {
// CHECK-NEXT: model.copy %[[AGAIN]] <caller 0, 0 for 8> to %[[ALL]] <row 0, 0 for 8>
// CHECK: model.phase "lazy" rows vertices of 1 {
// CHECK-NEXT: model.copy %[[ALL]] <row 0, 0 for 8> to %[[LAST]] <caller 0, 0 for 8>
// CHECK: model.phase "lazy" rows vertices of 0 {
// CHECK-NEXT: model.copy %[[LAST]] <caller 0, 0 for 8> to %[[H]] <caller 0, 0 for 8>
func.func @two_directions(%g: !vertex.graph {nn.input = "g"},
                          %x: tensor<?x8xf32> {nn.input = "x"})
    -> (tensor<?x8xf32> {nn.output = "h"}) {
  %r = vertex.reverse %g {vertex.arity = 3 : i64} : !vertex.graph
  %e = vertex.pull_rows %r, %x : tensor<?x8xf32>
  %s = vertex.tasks %r arity 1 eager(%e : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %t: tensor<?x8xf32>):
    %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
    %n = nn.elementwise(%c, %t) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %0 = arith.addf %a, %b : tensor<8xf32>
      nn.yield %0 : tensor<8xf32>
    }
    vertex.yield(%n) : tensor<?x8xf32>
  }
  %b = vertex.push_rows %r, %s : tensor<?x8xf32>
  %both = nn.elementwise(%b, %x) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%p: tensor<8xf32>, %q: tensor<8xf32>):
    %0 = arith.mulf %p, %q : tensor<8xf32>
    nn.yield %0 : tensor<8xf32>
  }
  %back = vertex.pull_rows %r, %both at inner : tensor<?x8xf32>
  %leaf = vertex.pull_rows %r, %both at leaves : tensor<?x8xf32>
  %all = vertex.join_rows %leaf, %back : tensor<?x8xf32>
  %h = vertex.push_rows %r, %all : tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// From the structures of one graph to the vertices of another, and back. A
// readout finds vertices in the caller's order as well as in schedule order.
// CHECK-LABEL: model.entry @decoder graphs ["enc", "dec"] arities [0, 0] {
// CHECK-DAG: %[[X:.*]] = model.buffer input "x" rows caller of 0
// CHECK-DAG: %[[Y:.*]] = model.buffer input "y" rows caller of 1
// CHECK-DAG: %[[SUM:.*]] = model.buffer output "sum" rows structures of 0
// CHECK-DAG: %[[MAX:.*]] = model.buffer output "max" rows structures of 0
// CHECK: %[[ROOTS:.*]] = model.buffer dynamic "" rows structures of 0
// CHECK: %[[PRODUCT:.*]] = model.buffer dynamic "" rows vertices of 1
// CHECK: model.phase "structures" rows structures of 0 {
// CHECK-NEXT: model.copy %[[X]] <caller_root 0, 0 for 8> to %[[ROOTS]] <row 0, 0 for 8>
// CHECK: model.phase "eager" rows vertices of 1 {
// CHECK-NEXT: model.launch @decoder.kernel0(%[[Y]], %[[ROOTS]], %[[PRODUCT]]) at [#model.at<caller 0, 0 for 8>, #model.at<structure 0, 0 for 8>, #model.at<row 0, 0 for 8>]
// CHECK: model.phase "structures" rows structures of 0 {
// CHECK-NEXT: model.sum_vertices %[[PRODUCT]] <row 0, 0 for 8> to %[[SUM]] <row 0, 0 for 8>
// CHECK-NEXT: model.max_vertices %[[X]] <row 0, 0 for 8> to %[[MAX]] <row 0, 0 for 8>
func.func @decoder(%enc: !vertex.graph {nn.input = "enc"}, %dec: !vertex.graph {nn.input = "dec"},
                   %x: tensor<?x8xf32> {nn.input = "x"}, %y: tensor<?x8xf32> {nn.input = "y"})
    -> (tensor<?x8xf32> {nn.output = "z"}, tensor<?x8xf32> {nn.output = "sum"}, tensor<?x8xf32> {nn.output = "max"}) {
  %r = vertex.roots %enc, %x : tensor<?x8xf32>
  %c = vertex.spread_structures %dec, %r : tensor<?x8xf32>
  %z = nn.elementwise(%y, %c) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%p: tensor<8xf32>, %q: tensor<8xf32>):
    %0 = arith.mulf %p, %q : tensor<8xf32>
    nn.yield %0 : tensor<8xf32>
  }
  %sum = vertex.segment_sum %dec, %z : tensor<?x8xf32>
  %max = vertex.segment_max %enc, %x : tensor<?x8xf32>
  return %z, %sum, %max : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Ids are read by row or through the caller's order; those of roots are copied.
// CHECK-LABEL: model.entry @ids_of_roots
// CHECK: %[[IDS:.*]] = model.buffer input "ids"
// CHECK: %[[COPY:.*]] = model.buffer scratch "" rows structures of 0 : tensor<i32>
// CHECK: model.copy %[[IDS]] <caller_root 0, 0 for 1> to %[[COPY]] <row 0, 0 for 1>
// CHECK-NEXT: model.embed %{{.*}} <shared 0, 0 for 800> by %[[COPY]] <row 0, 0 for 1>
func.func @ids_of_roots(%g: !vertex.graph {nn.input = "g"}, %ids: tensor<?xi32> {nn.input = "ids"},
                        %table: tensor<100x8xf32> {nn.param = "table"}) -> (tensor<?x8xf32> {nn.output = "y"}) {
  %r = vertex.roots %g, %ids : tensor<?xi32>
  %y = nn.embedding %table[%r] : tensor<100x8xf32>, tensor<?xi32>
  return %y : tensor<?x8xf32>
}

// -----

// Two updates that start from the same zeros get a table each, made before rows
// are written into it.
// CHECK-LABEL: model.entry @two_updates
// CHECK: model.launch @two_updates.kernel0(%[[FIRST:.*]]) at
// CHECK-NEXT: model.launch @two_updates.kernel1(%[[SECOND:.*]]) at
// CHECK: model.launch @two_updates.kernel2(%{{.*}}, %[[FIRST]]) ids
// CHECK: model.launch @two_updates.kernel3(%{{.*}}, %[[SECOND]]) ids
func.func @two_updates(%g: !vertex.graph {nn.input = "g"}, %a: tensor<?xi32> {nn.input = "a"},
                       %b: tensor<?xi32> {nn.input = "b"}, %x: tensor<?x2xf32> {nn.input = "x"})
    -> (tensor<4x2xf32> {nn.output = "first"}, tensor<4x2xf32> {nn.output = "second"}) {
  %zeros = nn.elementwise() : () -> tensor<4x2xf32> {
    %0 = arith.constant dense<0.0> : tensor<4x2xf32>
    nn.yield %0 : tensor<4x2xf32>
  }
  %s, %o = nn.combine_rows %x by %a : tensor<?x2xf32>, tensor<?xi32>
  %t, %p = nn.combine_rows %x by %b : tensor<?x2xf32>, tensor<?xi32>
  %r = nn.elementwise(%s) : (tensor<?x2xf32>) -> tensor<?x2xf32> {
  ^bb0(%y: tensor<2xf32>):
    nn.yield %y : tensor<2xf32>
  }
  %first = nn.update_rows %zeros by %o with %r : tensor<4x2xf32>, tensor<?xi32>, tensor<?x2xf32>
  %q = nn.elementwise(%t) : (tensor<?x2xf32>) -> tensor<?x2xf32> {
  ^bb0(%y: tensor<2xf32>):
    nn.yield %y : tensor<2xf32>
  }
  %second = nn.update_rows %zeros by %p with %q : tensor<4x2xf32>, tensor<?xi32>, tensor<?x2xf32>
  return %first, %second : tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Rows of one type are a phase of that type; the loop has one for each, also for
// a type that has nothing to do in it. A state has the rows of all types: each
// writes its own, and reads children's of any.
// CHECK-LABEL: model.entry @types graphs ["g"] arities [2] types [3] by ["kind"] {
// CHECK: %[[X:.*]] = model.buffer input "x" rows caller of 0 : tensor<8xf32>
// CHECK: %[[U:.*]] = model.buffer parameter "U" rows one of 0 : tensor<8x8xf32>
// CHECK: %[[STATE:.*]] = model.buffer dynamic "" rows vertices of 0 : tensor<8xf32>
// CHECK: model.phase "leaves" rows leaves of 0 type 0 {
// CHECK-NEXT: model.copy %[[X]] <caller 0, 0 for 8> to %[[STATE]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "leaves" rows leaves of 0 type 1 {
// CHECK-NEXT: model.copy %[[X]] <caller 0, 0 for 8> to %[[STATE]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "leaves" rows leaves of 0 type 2 {
// CHECK: model.phase "path" rows inner_tasks of 0 type 0 {
// CHECK-NEXT: model.copy %[[STATE]] <child 1, 0 for 8> to %[[CHILD:.*]] <row 0, 0 for 8>
// CHECK-NEXT: model.matmul %[[CHILD]] <row 0, 0 for 8> by %{{.*}} to %[[STATE]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "path" rows inner_tasks of 0 type 1 {
// CHECK-NEXT: model.copy %[[STATE]] <child 0, 0 for 8> to %[[STATE]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "path" rows inner_tasks of 0 type 2 {
// CHECK-NEXT: model.copy %[[X]] <caller 0, 0 for 8> to %[[STATE]] <row 0, 0 for 8>
// CHECK-NEXT: }
// CHECK: model.phase "sums" rows inner of 0 type 1 {
// CHECK-NEXT: model.sum_rows %[[STATE]] <row 0, 0 for 8>
func.func @types(
    %g: !vertex.graph {nn.input = "g", vertex.types = 3 : i64, vertex.type_field = "kind"},
    %x: tensor<?x8xf32> {nn.input = "x"}, %U: tensor<8x8xf32> {nn.param = "U"})
    -> (tensor<?x8xf32> {nn.output = "h"}, tensor<8xf32> {nn.output = "sum"}) {
  %l0 = vertex.pull_rows %g, %x at leaves of 0 : tensor<?x8xf32>
  %l1 = vertex.pull_rows %g, %x at leaves of 1 : tensor<?x8xf32>
  %l2 = vertex.pull_rows %g, %x at leaves of 2 : tensor<?x8xf32>
  %i2 = vertex.pull_rows %g, %x at inner of 2 : tensor<?x8xf32>
  %h = vertex.tasks %g arity 2
      init(%l0, %l1, %l2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
      eager(%i2 : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    %c = vertex.gather_rows %done[1] : tensor<?x8xf32>
    %n = nn.matmul %c, %U : tensor<?x8xf32>, tensor<8x8xf32>
    vertex.yield(%n) : tensor<?x8xf32>
  }, {
  ^bb0(%done: tensor<?x8xf32>):
    %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
    vertex.yield(%c) : tensor<?x8xf32>
  }, {
  ^bb0(%done: tensor<?x8xf32>, %e: tensor<?x8xf32>):
    vertex.yield(%e) : tensor<?x8xf32>
  }
  %i1 = vertex.select_rows %h at inner of 1 : tensor<?x8xf32>
  %s = nn.sum_rows %i1 : tensor<?x8xf32>
  %y = vertex.push_rows %g, %h : tensor<?x8xf32>
  return %y, %s : tensor<?x8xf32>, tensor<8xf32>
}

// -----

// Nothing is done with vertices of type 1.
// CHECK-LABEL: model.entry @nothing_to_do
// CHECK: model.phase "path" rows tasks of 0 type 0 {
// CHECK-NEXT: model.copy
// CHECK-NEXT: }
// CHECK-NEXT: model.phase "path" rows tasks of 0 type 1 {
// CHECK-NEXT: }
func.func @nothing_to_do(
    %g: !vertex.graph {nn.input = "g", vertex.types = 2 : i64, vertex.type_field = "kind"},
    %x: tensor<?x8xf32> {nn.input = "x"}) -> (tensor<?x8xf32> {nn.output = "x"}) {
  %e = vertex.pull_rows %g, %x of 0 : tensor<?x8xf32>
  %y = vertex.tasks %g arity 0 eager(%e : tensor<?x8xf32>) states 0 -> (tensor<?x8xf32>) {
  ^bb0(%x_task: tensor<?x8xf32>):
    vertex.yield(%x_task) : tensor<?x8xf32>
  }, {
    vertex.yield
  }
  return %x : tensor<?x8xf32>
}
