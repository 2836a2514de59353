// What differentiate rejects.
// RUN: split-file %s %t
// RUN: espalier-opt %t/no-loss.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/no-loss.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/several.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/no-entry.mlir -verify-diagnostics --differentiate="entry=other"
// RUN: espalier-opt %t/other-result.mlir -verify-diagnostics --differentiate="entry=e"
// RUN: espalier-opt %t/wide-loss.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/integer-loss.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/group.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/no-derivative.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/scalar-state.mlir -verify-diagnostics --differentiate
// RUN: espalier-opt %t/reversed.mlir -verify-diagnostics --differentiate
// One of several is chosen by name.
// RUN: sed 's/expected-error//' %t/several.mlir | espalier-opt --differentiate="entry=b" | FileCheck %s
// CHECK-NOT: @a.gradient
// CHECK: func.func @b.gradient

//--- no-loss.mlir
// expected-error @+1 {{has no function with a result named 'loss' (nn.output = "loss") to differentiate}}
module {
  func.func @e(%x: tensor<f32> {nn.param = "x"}) -> (tensor<f32> {nn.output = "y"}) {
    return %x : tensor<f32>
  }
}

//--- several.mlir
// expected-error @+1 {{has several functions with a result named 'loss', @a and @b; name one with the option `entry`}}
module {
  func.func @a(%x: tensor<f32> {nn.param = "x"}) -> (tensor<f32> {nn.output = "loss"}) {
    return %x : tensor<f32>
  }
  func.func @b(%x: tensor<f32> {nn.param = "x"}) -> (tensor<f32> {nn.output = "loss"}) {
    return %x : tensor<f32>
  }
}

//--- no-entry.mlir
// expected-error @+1 {{has no function @other to differentiate}}
module {
  func.func @e(%x: tensor<f32> {nn.param = "x"}) -> (tensor<f32> {nn.output = "loss"}) {
    return %x : tensor<f32>
  }
}

//--- other-result.mlir
// expected-error @+1 {{has no result named 'loss' to differentiate}}
func.func @e(%x: tensor<f32> {nn.param = "x"}) -> (tensor<f32> {nn.output = "y"}) {
  return %x : tensor<f32>
}

//--- wide-loss.mlir
// expected-error @+1 {{has the result 'loss' of type 'tensor<?x8xf32>'; expects a float, or a batch of them}}
func.func @e(%x: tensor<?x8xf32>) -> (tensor<?x8xf32> {nn.output = "loss"}) {
  return %x : tensor<?x8xf32>
}

//--- integer-loss.mlir
// expected-error @+1 {{has the result 'loss' of type 'tensor<i32>'; expects a float, or a batch of them}}
func.func @e(%x: tensor<i32>) -> (tensor<i32> {nn.output = "loss"}) {
  return %x : tensor<i32>
}

//--- group.mlir
func.func @e(%x: tensor<f32> {nn.param = "x"}) -> (tensor<f32> {nn.output = "loss"}) {
  // expected-error @+2 {{has no derivative}}
  // expected-note @+1 {{differentiate before fuse-elementwise makes groups}}
  %0 = nn.elementwise(%x) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%row: tensor<f32>):
    %1 = math.exp %row : tensor<f32>
    nn.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

//--- no-derivative.mlir
vertex.func @f(%b: tensor<8xf32>) arity(0) {
  // expected-error @+1 {{has no derivative}}
  %0 = arith.remf %b, %b : tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}
func.func @e(%g: !vertex.graph, %b: tensor<8xf32> {nn.param = "b"}) -> (tensor<?xf32> {nn.output = "loss"}) {
  %y = vertex.apply @f(%b) over %g -> "y" : (tensor<8xf32>), () -> tensor<?x8xf32>
  %0 = nn.sum %y : tensor<?x8xf32>
  return %0 : tensor<?xf32>
}

//--- scalar-state.mlir
// expected-error @+1 {{has a state of rank 0, 'tensor<f32>'; make it tensor<1x'f32'> to differentiate it}}
vertex.func @f(%b: tensor<f32>) state(tensor<f32>) arity(1) {
  %h = vertex.gather 0 : tensor<f32>
  %0 = arith.addf %h, %b : tensor<f32>
  vertex.scatter %0 : tensor<f32>
  vertex.push "y" %0 : tensor<f32>
}
func.func @e(%g: !vertex.graph, %b: tensor<f32> {nn.param = "b"}) -> (tensor<?xf32> {nn.output = "loss"}) {
  %y = vertex.apply @f(%b) over %g -> "y" : (tensor<f32>), () -> tensor<?xf32>
  return %y : tensor<?xf32>
}

//--- reversed.mlir
// expected-error @+1 {{is reversed; it cannot be differentiated}}
vertex.func @f(%b: tensor<8xf32>) state(tensor<8xf32>) arity(1) reversed {
  %d = vertex.gather_parents : tensor<8xf32>
  %0 = arith.addf %d, %b : tensor<8xf32>
  vertex.scatter_child 0 %0 : tensor<8xf32>
  vertex.push "y" %0 : tensor<8xf32>
}
func.func @e(%g: !vertex.graph, %b: tensor<8xf32> {nn.param = "b"}) -> (tensor<?xf32> {nn.output = "loss"}) {
  %y = vertex.apply @f(%b) over %g -> "y" : (tensor<8xf32>), () -> tensor<?x8xf32>
  %0 = nn.sum %y : tensor<?x8xf32>
  return %0 : tensor<?xf32>
}
