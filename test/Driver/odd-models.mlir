// Models that nobody would write: no crash, and IR that verifies and parses
// after every pass.
// RUN: espalier-opt %s --verify-roundtrip --espalier-batching-pipeline | FileCheck %s --check-prefix=ROWS
// RUN: espalier-opt %s --verify-roundtrip --espalier-pipeline | FileCheck %s
// RUN: espalier-opt %s --verify-roundtrip --espalier-pipeline="specialize=false" | FileCheck %s
// RUN: espalier-opt %s --verify-roundtrip --espalier-pipeline="fuse=false" | FileCheck %s
// RUN: espalier-opt %s --verify-roundtrip --espalier-pipeline="specialize=false fuse=false" | FileCheck %s
// RUN: espalier-opt %s --verify-roundtrip --espalier-pipeline="vector-bits=512" | FileCheck %s
// Without the canonicaliser in between.
// RUN: espalier-opt %s --fuse-elementwise --classify-operators --batch-vertices --lower-to-model --lower-kernels | FileCheck %s

// ROWS-NOT: vertex.apply
// ROWS: return
// CHECK: model.entry @entry graphs ["g"] arities [17]{{( shared \[true\])?}} {

// States of rank 2 and 0, of integers, f64 and of no elements; child slot 16;
// a matrix of no rows; pushes of a pulled and of a gathered value.
vertex.func @odd(%P: tensor<2x3xf32>, %Z: tensor<0x4xf32>) state(tensor<2x3xf32>, tensor<4xi32>, tensor<0xf32>, tensor<f64>) arity(17) {
  %a, %b, %c, %d = vertex.gather 16 : tensor<2x3xf32>, tensor<4xi32>, tensor<0xf32>, tensor<f64>
  %u, %v, %w, %x = vertex.gather 0 : tensor<2x3xf32>, tensor<4xi32>, tensor<0xf32>, tensor<f64>
  %x0 = vertex.pull "x" : tensor<4xi32>
  %p0 = arith.addf %a, %P : tensor<2x3xf32>
  %i0 = arith.addi %b, %x0 : tensor<4xi32>
  %z0 = arith.addf %c, %w : tensor<0xf32>
  %d0 = math.tanh %d : tensor<f64>
  %zz = nn.matmul %z0, %Z : tensor<0xf32>, tensor<0x4xf32>
  vertex.scatter %p0, %i0, %z0, %d0 : tensor<2x3xf32>, tensor<4xi32>, tensor<0xf32>, tensor<f64>
  vertex.push "p" %p0 : tensor<2x3xf32>
  vertex.push "i" %x0 : tensor<4xi32>
  vertex.push "z" %z0 : tensor<0xf32>
  vertex.push "d" %d : tensor<f64>
  vertex.push "zz" %zz : tensor<4xf32>
}

// Neither state nor scatter; a parameter and a pulled value pushed.
vertex.func @noscatter(%b: tensor<8xf32>) arity(3) {
  %x = vertex.pull "x" at inner : tensor<8xf32>
  %0 = arith.mulf %x, %b : tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
  vertex.push "b" %b : tensor<8xf32>
  vertex.push "x" %x : tensor<8xf32>
}

// A parameter as state, twice.
vertex.func @param_state(%b: tensor<8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(1) {
  %h:2 = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
  vertex.scatter %b, %b : tensor<8xf32>, tensor<8xf32>
  vertex.push "y" %h#1 : tensor<8xf32>
  vertex.push "b" %b : tensor<8xf32>
}

// One value scattered twice.
vertex.func @same_twice() state(tensor<8xf32>, tensor<8xf32>) arity(1) {
  %h:2 = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
  %0 = arith.addf %h#0, %h#1 : tensor<8xf32>
  vertex.scatter %0, %0 : tensor<8xf32>, tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}

// States that change places.
vertex.func @swap() state(tensor<8xf32>, tensor<8xf32>) arity(1) {
  %h:2 = vertex.gather 0 : tensor<8xf32>, tensor<8xf32>
  vertex.scatter %h#1, %h#0 : tensor<8xf32>, tensor<8xf32>
  vertex.push "y" %h#0 : tensor<8xf32>
}

// Nothing at all.
vertex.func @nothing() arity(0) {}

// Children, but no state of theirs.
vertex.func @nostate_arity() arity(2) {
  %x = vertex.pull "x" at leaves : tensor<8xf32>
  vertex.push "x" %x : tensor<8xf32>
}
func.func @entry(%g: !vertex.graph {nn.input="g"}, %xi: tensor<?x4xi32> {nn.input="xi"}, %xf: tensor<?x8xf32> {nn.input="xf"}, %P: tensor<2x3xf32> {nn.param="P"}, %Z: tensor<0x4xf32> {nn.param="Z"}, %b: tensor<8xf32> {nn.param="b"})
  -> (tensor<?x2x3xf32> {nn.output="0"}, tensor<?x4xi32> {nn.output="1"}, tensor<?x0xf32> {nn.output="2"}, tensor<?xf64> {nn.output="3"}, tensor<?x4xf32> {nn.output="4"},
   tensor<?x8xf32> {nn.output="5"}, tensor<?x8xf32> {nn.output="6"}, tensor<?x8xf32> {nn.output="7"}, tensor<?x8xf32> {nn.output="8"}, tensor<?x8xf32> {nn.output="9"}, tensor<?x8xf32> {nn.output="10"}, tensor<?x8xf32> {nn.output="11"}, tensor<?x8xf32> {nn.output="12"}) {
  %0:5 = vertex.apply @odd(%P, %Z) over %g pull("x" = %xi) -> "p", "i", "z", "d", "zz" : (tensor<2x3xf32>, tensor<0x4xf32>), (tensor<?x4xi32>) -> (tensor<?x2x3xf32>, tensor<?x4xi32>, tensor<?x0xf32>, tensor<?xf64>, tensor<?x4xf32>)
  %1:3 = vertex.apply @noscatter(%b) over %g pull("x" = %xf) -> "y", "b", "x" : (tensor<8xf32>), (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
  %2:2 = vertex.apply @param_state(%b) over %g -> "y", "b" : (tensor<8xf32>), () -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %3 = vertex.apply @same_twice() over %g -> "y" : (), () -> tensor<?x8xf32>
  %4 = vertex.apply @swap() over %g -> "y" : (), () -> tensor<?x8xf32>
  vertex.apply @nothing() over %g : (), () -> ()
  %5 = vertex.apply @nostate_arity() over %g pull("x" = %4) -> "x" : (), (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4, %1#0, %1#1, %1#2, %2#0, %2#1, %3, %4, %5 : tensor<?x2x3xf32>, tensor<?x4xi32>, tensor<?x0xf32>, tensor<?xf64>, tensor<?x4xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
