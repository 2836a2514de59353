// RUN: espalier-opt %s --hoist-child-operators --split-input-file | FileCheck %s

// The product of a child's state is done by the child, and joins its state.
// CHECK-LABEL: vertex.func @child
// CHECK-SAME: %[[U:.*]]: tensor<8x8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(1)
// CHECK: %[[G:.*]]:2 = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
// CHECK: %[[S:.*]] = vertex.map_children sum {
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<8xf32>, %[[UH:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[UH]]
// CHECK-NEXT: vertex.yield(%[[T]])
// CHECK: %[[N:.*]] = arith.addf %[[S]], %[[G]]#0
// CHECK: %[[UN:.*]] = nn.matmul %[[N]], %[[U]]
// CHECK: vertex.scatter %[[N]], %[[UN]]
vertex.func @child(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) {
  %g = vertex.gather 0 : tensor<8xf32>
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<8xf32>):
    %u = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
    %t = math.tanh %u : tensor<8xf32>
    vertex.yield(%t) : tensor<8xf32>
  } : tensor<8xf32>
  %n = arith.addf %s, %g : tensor<8xf32>
  vertex.scatter %n : tensor<8xf32>
}

// -----

// What depends on the vertex alone is done once, in front of the region. What
// reads both stays, and so does what is cheap.
// CHECK-LABEL: vertex.func @vertex
// CHECK-SAME: state(tensor<8xf32>) arity(0)
// CHECK: %[[X:.*]] = vertex.pull "x"
// CHECK-NEXT: %[[W:.*]] = nn.matmul %[[X]]
// CHECK-NEXT: vertex.map_children sum {
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[H]]
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[T]], %[[W]]
// CHECK-NEXT: nn.matmul %[[A]]
vertex.func @vertex(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<8xf32>):
    %t = math.tanh %h : tensor<8xf32>
    %w = nn.matmul %x, %U : tensor<8xf32>, tensor<8x8xf32>
    %a = arith.addf %t, %w : tensor<8xf32>
    %u = nn.matmul %a, %U : tensor<8xf32>, tensor<8x8xf32>
    vertex.yield(%u) : tensor<8xf32>
  } : tensor<8xf32>
  vertex.scatter %s : tensor<8xf32>
}

// -----

// A child may be of any of the types that functions are chosen by: all of them
// do what one wants of its children.
// CHECK-LABEL: vertex.func @reader
// CHECK-SAME: %[[U:.*]]: tensor<8x8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(0)
// CHECK: vertex.map_children sum {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<8xf32>, %[[UH:.*]]: tensor<8xf32>):
// CHECK-NEXT: math.tanh %[[UH]]
// CHECK: %[[UN:.*]] = nn.matmul %[[N:.*]], %[[U]]
// CHECK: vertex.scatter %[[N]], %[[UN]]
vertex.func @reader(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(0) {
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<8xf32>):
    %u = nn.matmul %h, %U : tensor<8xf32>, tensor<8x8xf32>
    %t = math.tanh %u : tensor<8xf32>
    vertex.yield(%t) : tensor<8xf32>
  } : tensor<8xf32>
  vertex.scatter %s : tensor<8xf32>
}
// CHECK-LABEL: vertex.func @other
// CHECK-SAME: %[[U:.*]]: tensor<8x8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(1)
// CHECK: %[[H:.*]]:2 = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[UH:.*]] = nn.matmul %[[H]]#0, %[[U]]
// CHECK-NEXT: vertex.scatter %[[H]]#0, %[[UH]]
vertex.func @other(%U: tensor<8x8xf32>) state(tensor<8xf32>) arity(1) {
  %h = vertex.gather 0 : tensor<8xf32>
  vertex.scatter %h : tensor<8xf32>
}
func.func @types(%g: !vertex.graph, %U: tensor<8x8xf32>) {
  vertex.apply [@reader, @other] by "type" (%U) over %g : (tensor<8x8xf32>), () -> ()
  return
}
