// RUN: espalier-opt %s -split-input-file --classify-operators --batch-vertices -verify-diagnostics

// A weight that differs from vertex to vertex is no weight.
vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  %W = vertex.pull "W" : tensor<8x8xf32>
  // expected-error @+1 {{has no batched form with a weight that differs from vertex to vertex}}
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}
func.func @apply(%g: !vertex.graph, %x: tensor<?x8xf32>, %W: tensor<?x8x8xf32>) -> tensor<?x8xf32> {
  %y = vertex.apply @f() over %g pull("x" = %x, "W" = %W) -> "y" : (), (tensor<?x8xf32>, tensor<?x8x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

vertex.func @f(%W: tensor<8x8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  // expected-error @+1 {{has no batched form with a weight or bias that differs from vertex to vertex}}
  %0 = nn.dense %x, %W, %x : tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}
func.func @apply(%g: !vertex.graph, %x: tensor<?x8xf32>, %W: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %y = vertex.apply @f(%W) over %g pull("x" = %x) -> "y" : (tensor<8x8xf32>), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

vertex.func @f() arity(0) {
  %id = vertex.pull "id" : tensor<i32>
  %table = vertex.pull "table" : tensor<4x8xf32>
  // expected-error @+1 {{has no batched form with a table that differs from vertex to vertex}}
  %0 = nn.embedding %table[%id] : tensor<4x8xf32>, tensor<i32>
  vertex.push "y" %0 : tensor<8xf32>
}
func.func @apply(%g: !vertex.graph, %id: tensor<?xi32>, %table: tensor<?x4x8xf32>) -> tensor<?x8xf32> {
  %y = vertex.apply @f() over %g pull("id" = %id, "table" = %table) -> "y" : (), (tensor<?xi32>, tensor<?x4x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Layers work on rows of rank 1.
vertex.func @f(%W: tensor<8x8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<2x8xf32>
  // expected-error @+1 {{has no batched form over values of rank 2; expects rank 1 in a vertex function, but got 'tensor<2x8xf32>'}}
  %0 = nn.matmul %x, %W : tensor<2x8xf32>, tensor<8x8xf32>
  vertex.push "y" %0 : tensor<2x8xf32>
}
func.func @apply(%g: !vertex.graph, %x: tensor<?x2x8xf32>, %W: tensor<8x8xf32>) -> tensor<?x2x8xf32> {
  %y = vertex.apply @f(%W) over %g pull("x" = %x) -> "y" : (tensor<8x8xf32>), (tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
  return %y : tensor<?x2x8xf32>
}

// -----

vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<2x8xf32>
  // expected-error @+1 {{has no batched form over values of rank 2; expects rank 1 in a vertex function, but got 'tensor<2x8xf32>'}}
  %0 = nn.softmax %x : tensor<2x8xf32>
  vertex.push "y" %0 : tensor<2x8xf32>
}
func.func @apply(%g: !vertex.graph, %x: tensor<?x2x8xf32>) -> tensor<?x2x8xf32> {
  %y = vertex.apply @f() over %g pull("x" = %x) -> "y" : (), (tensor<?x2x8xf32>) -> tensor<?x2x8xf32>
  return %y : tensor<?x2x8xf32>
}

// -----

vertex.func @f(%table: tensor<4x8xf32>) arity(0) {
  %ids = vertex.pull "ids" : tensor<3xi32>
  // expected-error @+1 {{has no batched form over values of rank 1; expects rank 0 in a vertex function, but got 'tensor<3xi32>'}}
  %0 = nn.embedding %table[%ids] : tensor<4x8xf32>, tensor<3xi32>
  vertex.push "y" %0 : tensor<3x8xf32>
}
func.func @apply(%g: !vertex.graph, %ids: tensor<?x3xi32>, %table: tensor<4x8xf32>) -> tensor<?x3x8xf32> {
  %y = vertex.apply @f(%table) over %g pull("ids" = %ids) -> "y" : (tensor<4x8xf32>), (tensor<?x3xi32>) -> tensor<?x3x8xf32>
  return %y : tensor<?x3x8xf32>
}

// -----

vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<1x8xf32>
  // expected-error @+1 {{has no batched form unless its offsets and sizes are static and its rank is its source's}}
  %0 = tensor.extract_slice %x[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}
func.func @apply(%g: !vertex.graph, %x: tensor<?x1x8xf32>) -> tensor<?x8xf32> {
  %y = vertex.apply @f() over %g pull("x" = %x) -> "y" : (), (tensor<?x1x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// An operator without BatchableOpInterface.
vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  // expected-error @+1 {{has no form over a batch of vertices}}
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  vertex.push "y" %0 : tensor<2x4xf32>
}
func.func @apply(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x2x4xf32> {
  %y = vertex.apply @f() over %g pull("x" = %x) -> "y" : (), (tensor<?x8xf32>) -> tensor<?x2x4xf32>
  return %y : tensor<?x2x4xf32>
}

// -----

// An elementwise operator has one in a group.
vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  // expected-error @+2 {{has no form over a batch of vertices}}
  // expected-note @+1 {{run fuse-elementwise first: it puts elementwise operators into groups, which have one}}
  %0 = math.tanh %x : tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}
func.func @apply(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = vertex.apply @f() over %g pull("x" = %x) -> "y" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

vertex.func @f() arity(0) {
}
vertex.func @h() arity(0) {
}
func.func @two_fields(%g: !vertex.graph) {
  vertex.apply [@f, @h] by "type" () over %g : (), () -> ()
  // expected-error @+1 {{chooses one of 2 functions by "kind", but another apply over this graph chooses one of 2 by "type"; a vertex has one type}}
  vertex.apply [@f, @h] by "kind" () over %g : (), () -> ()
  return
}

// -----

vertex.func @f() arity(0) {
}
vertex.func @h() arity(0) {
}
func.func @two_counts(%g: !vertex.graph) {
  %r = vertex.reverse %g : !vertex.graph
  vertex.apply [@f, @h] by "type" () over %g : (), () -> ()
  // A reverse has types of its own.
  vertex.apply [@f, @h, @f] by "type" () over %r : (), () -> ()
  // expected-error @+1 {{chooses one of 3 functions by "type", but another apply over this graph chooses one of 2 by "type"; a vertex has one type}}
  vertex.apply [@f, @h, @f] by "type" () over %g : (), () -> ()
  return
}
