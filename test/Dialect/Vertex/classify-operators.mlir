// RUN: espalier-opt %s --classify-operators | FileCheck %s
// RUN: espalier-opt %s --classify-operators --remarks-filter=classify-operators 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A product of a pulled value is eager, one of a gathered value is on the path,
// and one that only a push needs is lazy.
// CHECK-LABEL: vertex.func @rnn
vertex.func @rnn(%W: tensor<8x8xf32>, %U: tensor<8x8xf32>, %V: tensor<8x4xf32>) state(tensor<8xf32>) arity(1) {
  // CHECK-NEXT: vertex.pull "x" {vertex.phase = #vertex.phase<eager>}
  // REMARK: classify-operators.mlir:[[@LINE+1]]:{{.*}} operator=vertex.pull, phase=eager, reason="pulled rows are there from the start"
  %x = vertex.pull "x" : tensor<8xf32>
  // CHECK-NEXT: nn.matmul {{.*}} {vertex.phase = #vertex.phase<eager>}
  // REMARK: classify-operators.mlir:[[@LINE+1]]:{{.*}} operator=nn.matmul, phase=eager, reason="depends on no gather"
  %wx = nn.matmul %x, %W : tensor<8xf32>, tensor<8x8xf32>
  // CHECK-NEXT: vertex.gather 0 {vertex.phase = #vertex.phase<path>}
  // REMARK: classify-operators.mlir:[[@LINE+1]]:{{.*}} operator=vertex.gather, phase=path, reason="reads a neighbour's state"
  %h = vertex.gather 0 : tensor<8xf32>
  // CHECK-NEXT: nn.matmul {{.*}} {vertex.phase = #vertex.phase<path>}
  // REMARK: classify-operators.mlir:[[@LINE+1]]:{{.*}} operator=nn.matmul, phase=path, reason="lies on a path from a gather to the scatter"
  %uh = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
  // CHECK-NEXT: arith.addf {{.*}} {vertex.phase = #vertex.phase<path>}
  %0 = arith.addf %wx, %uh : tensor<8xf32>
  // CHECK-NEXT: vertex.scatter {{.*}} {vertex.phase = #vertex.phase<path>}
  // REMARK: classify-operators.mlir:[[@LINE+1]]:{{.*}} operator=vertex.scatter, phase=path, reason="sets the vertex's state"
  vertex.scatter %0 : tensor<8xf32>
  // CHECK-NEXT: nn.matmul {{.*}} {vertex.phase = #vertex.phase<lazy>}
  // REMARK: classify-operators.mlir:[[@LINE+1]]:{{.*}} operator=nn.matmul, phase=lazy, reason="no scatter depends on it"
  %y = nn.matmul %0, %V : tensor<8xf32>, tensor<8x4xf32>
  // CHECK-NEXT: vertex.push "y" {{.*}} {vertex.phase = #vertex.phase<lazy>}
  vertex.push "y" %y : tensor<4xf32>
}

// Neither after a gather nor before the scatter, so at either end. Widening 8
// pulled floats, which are there anyway, to 64 waits until after the loop.
// CHECK-LABEL: vertex.func @either_end
vertex.func @either_end(%wide: tensor<8x64xf32>, %narrow: tensor<64x4xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} {vertex.phase = #vertex.phase<lazy>} : tensor<8xf32>, tensor<8x64xf32>
  // REMARK: classify-operators.mlir:[[@LINE+1]]:{{.*}} operator=nn.matmul, phase=lazy, reason="could run at either end; keeps fewer bytes here"
  %0 = nn.matmul %x, %wide : tensor<8xf32>, tensor<8x64xf32>
  // What depends on a lazy operator is lazy, whatever it would save.
  // CHECK: nn.matmul %{{.*}}, %{{.*}} {vertex.phase = #vertex.phase<lazy>} : tensor<64xf32>, tensor<64x4xf32>
  %1 = nn.matmul %0, %narrow : tensor<64xf32>, tensor<64x4xf32>
  vertex.push "y" %1 : tensor<4xf32>
}

// Here the 64 floats are eager because the scatter needs them; the narrow
// product of them keeps 4 floats instead.
// CHECK-LABEL: vertex.func @eager_because_narrow
vertex.func @eager_because_narrow(%wide: tensor<8x64xf32>, %narrow: tensor<64x4xf32>) state(tensor<64xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<8xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>, tensor<8x64xf32>
  %0 = nn.matmul %x, %wide : tensor<8xf32>, tensor<8x64xf32>
  %h = vertex.gather 0 : tensor<64xf32>
  %1 = arith.addf %0, %h : tensor<64xf32>
  vertex.scatter %1 : tensor<64xf32>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} {vertex.phase = #vertex.phase<eager>} : tensor<64xf32>, tensor<64x4xf32>
  %2 = nn.matmul %0, %narrow : tensor<64xf32>, tensor<64x4xf32>
  vertex.push "y" %2 : tensor<4xf32>
}

// A gathered value that is not scattered is read in the loop, and used after it.
// CHECK-LABEL: vertex.func @gathered_only_for_push
vertex.func @gathered_only_for_push(%b: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
  // CHECK: vertex.gather 0 {vertex.phase = #vertex.phase<path>}
  %h = vertex.gather 0 : tensor<8xf32>
  // CHECK: math.tanh {{.*}} {vertex.phase = #vertex.phase<lazy>}
  %0 = math.tanh %h : tensor<8xf32>
  vertex.scatter %b : tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}

// A second run changes nothing, and what a user wrote is overwritten.
// CHECK-LABEL: vertex.func @wrong_phase
vertex.func @wrong_phase(%b: tensor<8xf32>) arity(0) {
  // CHECK: vertex.push "y" %{{.*}} {vertex.phase = #vertex.phase<lazy>}
  vertex.push "y" %b {vertex.phase = #vertex.phase<eager>} : tensor<8xf32>
}

// An empty function has nothing to classify.
// CHECK-LABEL: vertex.func @empty() arity(2) {
// CHECK-NEXT: }
vertex.func @empty() arity(2) {
}

// In a reversed function parents are gathered from, and children scattered to.
// What children pushed is there from the start, and sums over vertices can wait.
// CHECK-LABEL: vertex.func @adjoint
vertex.func @adjoint(%W: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) reversed {
  // CHECK: vertex.pull_child "h" 0 {vertex.phase = #vertex.phase<eager>}
  %c = vertex.pull_child "h" 0 : tensor<8xf32>
  // CHECK: math.exp %{{.*}} {vertex.phase = #vertex.phase<eager>}
  %0 = math.exp %c : tensor<8xf32>
  // CHECK: vertex.gather_parents {vertex.phase = #vertex.phase<path>}
  %d = vertex.gather_parents : tensor<8xf32>
  // CHECK: arith.mulf %{{.*}}, %{{.*}} {vertex.phase = #vertex.phase<path>}
  %1 = arith.mulf %d, %0 : tensor<8xf32>
  // CHECK: nn.outer %{{.*}}, %{{.*}} {vertex.phase = #vertex.phase<lazy>}
  %2 = nn.outer %c, %1 : tensor<8xf32>, tensor<8xf32>
  // CHECK: vertex.scatter_child 0 %{{.*}} {vertex.phase = #vertex.phase<path>}
  vertex.scatter_child 0 %1 : tensor<8xf32>
  // CHECK: vertex.reduce "dW" %{{.*}} {vertex.phase = #vertex.phase<lazy>}
  vertex.reduce "dW" %2 : tensor<8x8xf32>
}

// What parents have for a vertex is added up even if nothing is scattered on.
// CHECK-LABEL: vertex.func @adjoint_of_leaves
vertex.func @adjoint_of_leaves() state(tensor<8xf32>) arity(0) reversed {
  // CHECK: vertex.gather_parents {vertex.phase = #vertex.phase<path>}
  %d = vertex.gather_parents : tensor<8xf32>
  // CHECK: vertex.push "dx" %{{.*}} {vertex.phase = #vertex.phase<lazy>}
  vertex.push "dx" %d : tensor<8xf32>
}
