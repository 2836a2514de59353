// RUN: espalier-opt %s -split-input-file --differentiate | FileCheck %s
// RUN: espalier-opt %s -split-input-file --differentiate="recompute=false" | FileCheck %s --check-prefix=KEPT
// RUN: espalier-opt %s -split-input-file --differentiate --remarks-filter=differentiate 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// The function and its entry stay. The primal also pushes its state, which tanh
// needs, and costs nothing; the adjoint pulls it, and its child's for the
// weight. What F pulled at leaves, its adjoint pushes at leaves.
// CHECK-LABEL: vertex.func @f(
// CHECK-LABEL: vertex.func @f.primal(
// CHECK: vertex.scatter %[[Y:.*]] : tensor<8xf32>
// CHECK-NEXT: vertex.push "h" %[[Y]] : tensor<8xf32>
// CHECK-NEXT: vertex.push "state.0" %[[Y]] : tensor<8xf32>
// CHECK-NEXT: }
// CHECK-NEXT: vertex.func @f.adjoint(%[[W:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<8xf32>) state(tensor<8xf32>) arity(1) reversed {
// CHECK-NEXT: %[[CHILD:.*]] = vertex.pull_child "state.0" 0
// CHECK-NEXT: %[[H:.*]] = vertex.pull "state.0"
// CHECK-NEXT: %[[PARENTS:.*]] = vertex.gather_parents : tensor<8xf32>
// CHECK-NEXT: %[[PUSHED:.*]] = vertex.pull "adjoint.h"
// CHECK-NEXT: %[[DH:.*]] = arith.addf %[[PARENTS]], %[[PUSHED]]
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[H]], %[[H]]
// CHECK-NEXT: %[[ONE:.*]] = nn.fill %[[H]] with 1.0
// CHECK-NEXT: %[[SLOPE:.*]] = arith.subf %[[ONE]], %[[SQUARE]]
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[DH]], %[[SLOPE]]
// CHECK-NEXT: %[[TRANSPOSE:.*]] = nn.transpose %[[W]]
// CHECK-NEXT: %[[DOWN:.*]] = nn.matmul %[[D]], %[[TRANSPOSE]]
// CHECK-NEXT: %[[DW:.*]] = nn.outer %[[CHILD]], %[[D]]
// CHECK-NEXT: vertex.push "adjoint.x" %[[D]] at leaves
// CHECK-NEXT: vertex.reduce "adjoint.parameter.0" %[[DW]]
// CHECK-NEXT: vertex.reduce "adjoint.parameter.1" %[[D]]
// CHECK-NEXT: vertex.scatter_child 0 %[[DOWN]]
// CHECK-NEXT: }
// REMARK: differentiate.mlir:[[@LINE+1]]:{{.*}} saved {{.*}} bytes=0, function=f, values=1
vertex.func @f(%W: tensor<8x8xf32>, %b: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  %x = vertex.pull "x" at leaves : tensor<8xf32>
  %0 = nn.dense %h, %W, %b : tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>
  %1 = arith.addf %0, %x : tensor<8xf32>
  %2 = math.tanh %1 : tensor<8xf32>
  vertex.scatter %2 : tensor<8xf32>
  vertex.push "h" %2 : tensor<8xf32>
}
// The loss of a batch is its sum. Roots become at_roots, an embedding rows added
// to a table, and a product a sum of outer products.
// CHECK-LABEL: func.func @loss(
// CHECK-LABEL: func.func @loss.gradient(
// CHECK-SAME: %[[G:[^ ]*]]: !vertex.graph, %[[IDS:[^ ]*]]: tensor<?xi32>, %[[LABEL:[^ ]*]]: tensor<?xi32>,
// CHECK-SAME: %[[E:[^ ]*]]: tensor<100x8xf32> {nn.param = "E"}, %[[W:[^ ]*]]: tensor<8x8xf32> {nn.param = "W"}, %[[B:[^ ]*]]: tensor<8xf32> {nn.param = "b"}, %[[V:[^ ]*]]: tensor<8x5xf32> {nn.param = "V"})
// CHECK-SAME: -> (tensor<f32> {nn.output = "loss"}, tensor<100x8xf32> {nn.gradient = "E", nn.output = "gradient.E"}, tensor<8x8xf32> {nn.gradient = "W", nn.output = "gradient.W"}, tensor<8xf32> {nn.gradient = "b", nn.output = "gradient.b"}, tensor<8x5xf32> {nn.gradient = "V", nn.output = "gradient.V"}) {
// CHECK-NEXT: %[[X:.*]] = nn.embedding %[[E]][%[[IDS]]]
// CHECK-NEXT: %[[H:.*]]:2 = vertex.apply @f.primal(%[[W]], %[[B]]) over %[[G]] pull("x" = %[[X]]) -> "h", "state.0"
// CHECK-NEXT: %[[ROOTS:.*]] = vertex.roots %[[G]], %[[H]]#0
// CHECK-NEXT: %[[LOGITS:.*]] = nn.matmul %[[ROOTS]], %[[V]]
// CHECK-NEXT: %[[LOSSES:.*]] = nn.softmax_cross_entropy %[[LOGITS]], %[[LABEL]]
// CHECK-NEXT: %[[LOSS:.*]] = nn.sum_rows %[[LOSSES]]
// CHECK: %[[ONES:.*]] = nn.elementwise(%[[LOSSES]], %{{.*}}) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32> {
// CHECK: %[[D:.*]] = nn.softmax_cross_entropy_adjoint %[[LOGITS]], %[[LABEL]], %[[ONES]]
// CHECK-NEXT: %[[TRANSPOSE:.*]] = nn.transpose %[[V]]
// CHECK-NEXT: %[[DROOTS:.*]] = nn.matmul %[[D]], %[[TRANSPOSE]]
// CHECK-NEXT: %[[DV:.*]] = nn.outer_sum %[[ROOTS]], %[[D]]
// CHECK-NEXT: %[[DH:.*]] = vertex.at_roots %[[G]], %[[DROOTS]]
// CHECK-NEXT: %[[BACK:.*]]:3 = vertex.apply @f.adjoint(%[[W]], %[[B]]) over %[[G]] pull("x" = %[[X]], "state.0" = %[[H]]#1, "adjoint.h" = %[[DH]]) -> "adjoint.x", "adjoint.parameter.0", "adjoint.parameter.1"
// CHECK-NEXT: %[[DE:.*]] = nn.scatter_rows %[[BACK]]#0 by %[[IDS]]
// CHECK-NEXT: return %[[LOSS]], %[[DE]], %[[BACK]]#1, %[[BACK]]#2, %[[DV]]
func.func @loss(%g: !vertex.graph, %ids: tensor<?xi32>, %label: tensor<?xi32>, %E: tensor<100x8xf32> {nn.param = "E"},
                %W: tensor<8x8xf32> {nn.param = "W"}, %b: tensor<8xf32> {nn.param = "b"}, %V: tensor<8x5xf32> {nn.param = "V"})
    -> (tensor<?xf32> {nn.output = "loss"}) {
  %x = nn.embedding %E[%ids] : tensor<100x8xf32>, tensor<?xi32>
  %h = vertex.apply @f(%W, %b) over %g pull("x" = %x) -> "h"
      : (tensor<8x8xf32>, tensor<8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = vertex.roots %g, %h : tensor<?x8xf32>
  %y = nn.matmul %r, %V : tensor<?x8xf32>, tensor<8x5xf32>
  %loss = nn.softmax_cross_entropy %y, %label : tensor<?x5xf32>, tensor<?xi32>
  return %loss : tensor<?xf32>
}

// -----

// The product is too dear to run again. It is kept rather than both gates, which
// are computed from it again; without that both are kept. Columns that nobody
// reads have an adjoint of zeros.
// CHECK-LABEL: vertex.func @gates.primal
// CHECK: %[[A:.*]] = tensor.extract_slice %{{.*}}[32] [32] [1]
// CHECK: vertex.push "saved.0" %[[A]]
// CHECK-NOT: vertex.push "saved
// CHECK-LABEL: vertex.func @gates.adjoint
// CHECK: %[[A:.*]] = vertex.pull "saved.0"
// CHECK-NOT: nn.matmul
// CHECK-DAG: nn.sigmoid %[[A]]
// CHECK-DAG: math.tanh %[[A]]
// CHECK: vertex.gather_parents
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<32xf32>
// CHECK: %[[D:.*]] = tensor.concat dim(0) %[[ZEROS]], %{{.*}}, %{{.*}} : (tensor<32xf32>, tensor<32xf32>, tensor<64xf32>) -> tensor<128xf32>
// CHECK: nn.matmul %[[D]]
// KEPT-LABEL: vertex.func @gates.primal
// KEPT-DAG: %[[F:.*]] = nn.sigmoid
// KEPT-DAG: %[[U:.*]] = math.tanh %extracted
// KEPT-DAG: vertex.push "saved.0" %[[F]]
// KEPT-DAG: vertex.push "saved.1" %[[U]]
// KEPT-LABEL: vertex.func @gates.adjoint
// KEPT-NOT: nn.sigmoid
// KEPT-NOT: math.tanh
// KEPT: vertex.gather_parents
// REMARK: differentiate.mlir:[[@LINE+1]]:{{.*}} saved {{.*}} bytes=128, function=gates, values=2
vertex.func @gates(%W: tensor<32x128xf32>) state(tensor<32xf32>, tensor<32xf32>) arity(1) {
  %h, %c = vertex.gather 0 : tensor<32xf32>, tensor<32xf32>
  %p = nn.matmul %h, %W : tensor<32xf32>, tensor<32x128xf32>
  %a = tensor.extract_slice %p[32] [32] [1] : tensor<128xf32> to tensor<32xf32>
  %f = nn.sigmoid %a : tensor<32xf32>
  %u = math.tanh %a : tensor<32xf32>
  %fc = arith.mulf %f, %c : tensor<32xf32>
  %n = arith.addf %fc, %u : tensor<32xf32>
  %t = math.tanh %n : tensor<32xf32>
  vertex.scatter %t, %n : tensor<32xf32>, tensor<32xf32>
  vertex.push "h" %t : tensor<32xf32>
}
func.func @loss(%g: !vertex.graph, %W: tensor<32x128xf32> {nn.param = "W"}) -> (tensor<?xf32> {nn.output = "loss"}) {
  %h = vertex.apply @gates(%W) over %g -> "h" : (tensor<32x128xf32>), () -> tensor<?x32xf32>
  %loss = nn.sum %h : tensor<?x32xf32>
  return %loss : tensor<?xf32>
}

// -----

// What is not asked for is not made: the rows pulled are no parameter's, and one
// of the pushes has no part in the loss. Several pulls of a name have an adjoint
// each, and slots that are gathered twice one scatter.
// CHECK-LABEL: vertex.func @wanted.adjoint
// CHECK-NOT: "adjoint.other"
// CHECK-DAG: vertex.push "adjoint.x" %{{.*}}
// CHECK-DAG: vertex.push "adjoint.x.1" %{{.*}}
// CHECK: vertex.scatter_child 1
// CHECK-NOT: vertex.scatter_child
// CHECK-NOT: "adjoint.constant"
// CHECK-LABEL: func.func @loss.gradient
// CHECK: vertex.apply @wanted.adjoint
// CHECK-SAME: -> "adjoint.x", "adjoint.x.1"
// CHECK: arith.addf
// CHECK: nn.scatter_rows
vertex.func @wanted() state(tensor<8xf32>) arity(2) {
  %a = vertex.gather 1 : tensor<8xf32>
  %b = vertex.gather 1 : tensor<8xf32>
  %x = vertex.pull "x" : tensor<8xf32>
  %y = vertex.pull "x" : tensor<8xf32>
  %k = vertex.pull "constant" : tensor<8xf32>
  %0 = arith.mulf %a, %b : tensor<8xf32>
  %1 = arith.mulf %x, %y : tensor<8xf32>
  %2 = arith.mulf %1, %k : tensor<8xf32>
  %3 = arith.addf %0, %2 : tensor<8xf32>
  vertex.scatter %3 : tensor<8xf32>
  vertex.push "h" %3 : tensor<8xf32>
  vertex.push "other" %2 : tensor<8xf32>
}
func.func @loss(%g: !vertex.graph, %ids: tensor<?xi32>, %k: tensor<?x8xf32>, %E: tensor<100x8xf32> {nn.param = "E"})
    -> (tensor<?xf32> {nn.output = "loss"}, tensor<?x8xf32> {nn.output = "other"}) {
  %x = nn.embedding %E[%ids] : tensor<100x8xf32>, tensor<?xi32>
  %h, %o = vertex.apply @wanted() over %g pull("x" = %x, "constant" = %k) -> "h", "other"
      : (), (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %loss = nn.sum %h : tensor<?x8xf32>
  return %loss, %o : tensor<?xf32>, tensor<?x8xf32>
}

// -----

// A function without state has an adjoint that is not reversed. Names that are
// taken are made longer.
// CHECK-LABEL: vertex.func @stateless.primal
// CHECK: vertex.push "saved.0_"
// CHECK-LABEL: vertex.func @stateless.adjoint
// CHECK-SAME: arity(0) {
// CHECK-DAG: vertex.pull "saved.0_"
// CHECK-DAG: vertex.pull "adjoint.y"
vertex.func @stateless(%W: tensor<32x32xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<32xf32>
  %s = vertex.pull "saved.0" : tensor<32xf32>
  %0 = nn.matmul %x, %W : tensor<32xf32>, tensor<32x32xf32>
  %1 = math.tanh %0 : tensor<32xf32>
  %2 = arith.mulf %1, %s : tensor<32xf32>
  vertex.push "y" %2 : tensor<32xf32>
}
// Parameters that the loss does not depend on have a gradient of zeros.
// CHECK-LABEL: func.func @loss.gradient
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK: return %{{.*}}, %{{.*}}, %[[ZEROS]]
func.func @loss(%g: !vertex.graph, %x: tensor<?x32xf32>, %W: tensor<32x32xf32> {nn.param = "W"},
                %unread: tensor<3xf32> {nn.param = "unread"}) -> (tensor<?xf32> {nn.output = "loss"}) {
  %y = vertex.apply @stateless(%W) over %g pull("x" = %x, "saved.0" = %x) -> "y"
      : (tensor<32x32xf32>), (tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>
  %loss = nn.sum %y : tensor<?x32xf32>
  return %loss : tensor<?xf32>
}

// -----

// Functions that are chosen by type have their adjoints chosen by it. Only @read
// wants its children's states, but those may be of either type: both keep them,
// under one name. What else is kept has a name of each function's own. Both add
// to one adjoint of the rows they pull, and to one sum for W.
// CHECK-LABEL: vertex.func @read.primal(
// CHECK: vertex.push "h" %[[H:.*]] :
// CHECK-NEXT: vertex.push "saved.0"
// CHECK-NEXT: vertex.push "state.0" %[[H]]
// CHECK-LABEL: vertex.func @read.adjoint(
// CHECK-NEXT: vertex.pull_child "state.0" 0
// CHECK: vertex.push "adjoint.x"
// CHECK: vertex.reduce "adjoint.parameter.0"
// CHECK-LABEL: vertex.func @seed.primal(
// CHECK: vertex.scatter %[[H:.*]] :
// CHECK-NEXT: vertex.push "saved.0_"
// CHECK-NEXT: vertex.push "state.0" %[[H]]
// CHECK-LABEL: vertex.func @seed.adjoint(
// CHECK-NEXT: vertex.pull "saved.0_"
// CHECK: vertex.push "adjoint.x"
// CHECK: vertex.reduce "adjoint.parameter.0"
// CHECK-LABEL: func.func @typed.gradient(
// CHECK: %[[P:.*]]:4 = vertex.apply [@read.primal, @seed.primal] by "type" {{.*}} -> "h", "saved.0", "state.0", "saved.0_"
// CHECK: %[[D:.*]]:2 = vertex.apply [@read.adjoint, @seed.adjoint] by "type"
// CHECK-SAME: pull("x" = %{{.*}}, "saved.0" = %[[P]]#1, "state.0" = %[[P]]#2, "saved.0_" = %[[P]]#3, "adjoint.h" = %{{.*}}) -> "adjoint.x", "adjoint.parameter.0"
// CHECK: return %{{.*}}, %{{.*}}, %[[D]]#1
vertex.func @read(%W: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<8xf32>
  %h = vertex.gather 0 : tensor<8xf32>
  %0 = nn.matmul %h, %W : tensor<8xf32>, tensor<8x8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  %2 = arith.mulf %1, %x : tensor<8xf32>
  vertex.scatter %2 : tensor<8xf32>
  vertex.push "h" %2 : tensor<8xf32>
}
vertex.func @seed(%W: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  %2 = arith.mulf %1, %x : tensor<8xf32>
  vertex.scatter %2 : tensor<8xf32>
}
func.func @typed(%g: !vertex.graph, %ids: tensor<?xi32>,
    %E: tensor<9x8xf32> {nn.param = "E"}, %W: tensor<8x8xf32> {nn.param = "W"})
    -> (tensor<?xf32> {nn.output = "loss"}) {
  %x = nn.embedding %E[%ids] : tensor<9x8xf32>, tensor<?xi32>
  %h = vertex.apply [@read, @seed] by "type" (%W) over %g pull("x" = %x) -> "h"
      : (tensor<8x8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %l = nn.sum %h : tensor<?x8xf32>
  return %l : tensor<?xf32>
}

// -----

// A loss of vertices that may share rows counts each row as often as there are
// vertices; one of structures does not.
vertex.func @f(%b: tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.mulf %x, %b : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @shared.gradient(
// CHECK: %[[LOSSES:.*]] = nn.sum %{{.*}} : tensor<?x8xf32>
// CHECK: %[[M:.*]] = vertex.multiplicity %[[LOSSES]] : tensor<?xf32> -> tensor<?xf32>
// CHECK: %[[WEIGHTED:.*]] = arith.mulf %[[LOSSES]], %[[M]]
// CHECK: %[[LOSS:.*]] = nn.sum_rows %[[WEIGHTED]]
// CHECK: %[[ONES:.*]] = nn.elementwise(%[[WEIGHTED]], %{{.*}})
// CHECK: arith.mulf %[[ONES]], %[[M]]
// CHECK: return %[[LOSS]]
func.func @shared(%g: !vertex.graph {vertex.shared}, %x: tensor<?x8xf32>, %b: tensor<8xf32> {nn.param = "b"})
    -> (tensor<?xf32> {nn.output = "loss"}) {
  %h = vertex.apply @f(%b) over %g pull("x" = %x) -> "h"
      : (tensor<8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %l = nn.sum %h : tensor<?x8xf32>
  return %l : tensor<?xf32>
}

// -----

vertex.func @f(%b: tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.mulf %x, %b : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @structures.gradient(
// CHECK-NOT: vertex.multiplicity
// CHECK: return
func.func @structures(%g: !vertex.graph {vertex.shared}, %x: tensor<?x8xf32>, %b: tensor<8xf32> {nn.param = "b"})
    -> (tensor<?xf32> {nn.output = "loss"}) {
  %h = vertex.apply @f(%b) over %g pull("x" = %x) -> "h"
      : (tensor<8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = vertex.roots %g, %h : tensor<?x8xf32>
  %l = nn.sum %r : tensor<?x8xf32>
  return %l : tensor<?xf32>
}

// -----

// A sum that is weighted already; the weights are no function of what is summed.
vertex.func @f(%b: tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %0 = arith.mulf %x, %b : tensor<8xf32>
  vertex.push "h" %0 : tensor<8xf32>
}
// CHECK-LABEL: func.func @weighted.gradient(
// CHECK: vertex.multiplicity
// CHECK-NOT: vertex.multiplicity
// CHECK: vertex.apply @f.adjoint
func.func @weighted(%g: !vertex.graph {vertex.shared}, %x: tensor<?x8xf32>, %b: tensor<8xf32> {nn.param = "b"})
    -> (tensor<f32> {nn.output = "loss"}) {
  %h = vertex.apply @f(%b) over %g pull("x" = %x) -> "h"
      : (tensor<8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  %l = nn.sum %h : tensor<?x8xf32>
  %m = vertex.multiplicity %l : tensor<?xf32> -> tensor<?xf32>
  %w = arith.mulf %l, %m : tensor<?xf32>
  %s = nn.sum_rows %w : tensor<?xf32>
  return %s : tensor<f32>
}
