// What the verifiers of the nn dialect reject, rule by rule.
// RUN: espalier-opt %s -split-input-file -verify-diagnostics

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

func.func @matmul_c1(%x: tensor<2x3x8xf32>, %W: tensor<8x4xf32>) {
  // expected-error @+1 {{[C1] expects an input of rank 1 or 2, but got 'tensor<2x3x8xf32>'}}
  %0 = nn.matmul %x, %W : tensor<2x3x8xf32>, tensor<8x4xf32>
  return
}

// -----

// A scalar has no last dimension to multiply.
func.func @matmul_c1_scalar(%x: tensor<f32>, %W: tensor<8x4xf32>) {
  // expected-error @+1 {{[C1] expects an input of rank 1 or 2, but got 'tensor<f32>'}}
  %0 = nn.matmul %x, %W : tensor<f32>, tensor<8x4xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<7xf32>, %W: tensor<8x4xf32>) {
  // expected-error @+1 {{[C2] expects the input's last dimension to be the weight's first, 8, but got 'tensor<7xf32>'}}
  %0 = nn.matmul %x, %W : tensor<7xf32>, tensor<8x4xf32>
  return
}

// -----

// Dynamic rows are a batch; dynamic columns are nothing.
func.func @matmul_c2_dynamic(%x: tensor<?x?xf32>, %W: tensor<8x4xf32>) {
  // expected-error @+1 {{[C2] expects the input's last dimension to be the weight's first, 8, but got 'tensor<?x?xf32>'}}
  %0 = nn.matmul %x, %W : tensor<?x?xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @matmul_c3(%x: tensor<8xf32>, %W: tensor<8x4xf64>) {
  // expected-error @+1 {{[C3] expects equal element types, but got 'tensor<8xf32>' and 'tensor<8x4xf64>'}}
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf64>
  return
}

// -----

func.func @matmul_c4(%x: tensor<8xf32>, %W: tensor<8x?xf32>) {
  // expected-error @+1 {{[C4] expects a weight of static shape, but got 'tensor<8x?xf32>'}}
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x?xf32>
  return
}

// -----

func.func @matmul_of_integers(%x: tensor<8xi32>, %W: tensor<8x4xi32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 32-bit float or 64-bit float values, but got 'tensor<8xi32>'}}
  %0 = nn.matmul %x, %W : tensor<8xi32>, tensor<8x4xi32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// dense
//===----------------------------------------------------------------------===//

func.func @dense_c1(%x: tensor<f32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C1] expects an input of rank 1 or 2, but got 'tensor<f32>'}}
  %0 = nn.dense %x, %W, %b : tensor<f32>, tensor<8x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @dense_c2(%x: tensor<?x4xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C2] expects the input's last dimension to be the weight's first, 8, but got 'tensor<?x4xf32>'}}
  %0 = nn.dense %x, %W, %b : tensor<?x4xf32>, tensor<8x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @dense_c3(%x: tensor<8xf64>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C3] expects equal element types, but got 'tensor<8xf64>' and 'tensor<8x4xf32>'}}
  %0 = nn.dense %x, %W, %b : tensor<8xf64>, tensor<8x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @dense_c4(%x: tensor<8xf32>, %W: tensor<?x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[C4] expects a weight of static shape, but got 'tensor<?x4xf32>'}}
  %0 = nn.dense %x, %W, %b : tensor<8xf32>, tensor<?x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @dense_c5_size(%x: tensor<8xf32>, %W: tensor<8x4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{[C5] expects a bias of type 'tensor<4xf32>', but got 'tensor<8xf32>'}}
  %0 = nn.dense %x, %W, %b : tensor<8xf32>, tensor<8x4xf32>, tensor<8xf32>
  return
}

// -----

func.func @dense_c5_element(%x: tensor<?x8xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf64>) {
  // expected-error @+1 {{[C5] expects a bias of type 'tensor<4xf32>', but got 'tensor<4xf64>'}}
  %0 = nn.dense %x, %W, %b : tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf64>
  return
}

// -----

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

func.func @embedding_c1(%table: tensor<100x8xf32>, %ids: tensor<2x2xi32>) {
  // expected-error @+1 {{[C1] expects ids of rank 0 or 1, but got 'tensor<2x2xi32>'}}
  %0 = nn.embedding %table[%ids] : tensor<100x8xf32>, tensor<2x2xi32>
  return
}

// -----

func.func @embedding_of_wide_ids(%table: tensor<100x8xf32>, %ids: tensor<?xi64>) {
  // expected-error @+1 {{operand #1 must be ranked tensor of 32-bit signless integer values, but got 'tensor<?xi64>'}}
  %0 = nn.embedding %table[%ids] : tensor<100x8xf32>, tensor<?xi64>
  return
}

// -----

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

func.func @softmax_c1_rank(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{[C1] expects rank 1 or 2, but got 'tensor<2x3x4xf32>'}}
  %0 = nn.softmax %x : tensor<2x3x4xf32>
  return
}

// -----

func.func @softmax_c1_dynamic(%x: tensor<2x?xf32>) {
  // expected-error @+1 {{[C1] expects a static, non-empty last dimension, but got 'tensor<2x?xf32>'}}
  %0 = nn.softmax %x : tensor<2x?xf32>
  return
}

// -----

// The maximum of no elements is nothing.
func.func @softmax_c1_empty(%x: tensor<0xf32>) {
  // expected-error @+1 {{[C1] expects a static, non-empty last dimension, but got 'tensor<0xf32>'}}
  %0 = nn.softmax %x : tensor<0xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// activations
//===----------------------------------------------------------------------===//

func.func @sigmoid_of_integers(%x: tensor<8xi32>) {
  // expected-error @+1 {{operand #0 must be}}
  %0 = nn.sigmoid %x : tensor<8xi32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// elementwise
//===----------------------------------------------------------------------===//

func.func @elementwise_c1_count(%x: tensor<8xf32>) {
  // expected-error @+1 {{[C1] expects a block argument for each of 1 inputs, but got 0}}
  nn.elementwise(%x) : (tensor<8xf32>) -> () {
  }
  return
}

// -----

func.func @elementwise_c1_type(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{[C1] expects input #0 to be 'tensor<4xf32>' or rows of it, but got 'tensor<?x8xf32>'}}
  %0 = nn.elementwise(%x) : (tensor<?x8xf32>) -> tensor<?x4xf32> {
  ^bb0(%row: tensor<4xf32>):
    nn.yield %row : tensor<4xf32>
  }
  return
}

// -----

// One leading dynamic dimension, not a static one.
func.func @elementwise_c1_static_batch(%x: tensor<3x8xf32>) {
  // expected-error @+1 {{[C1] expects input #0 to be 'tensor<8xf32>' or rows of it, but got 'tensor<3x8xf32>'}}
  %0 = nn.elementwise(%x) : (tensor<3x8xf32>) -> tensor<3x8xf32> {
  ^bb0(%row: tensor<8xf32>):
    nn.yield %row : tensor<8xf32>
  }
  return
}

// -----

func.func @elementwise_c2_count(%x: tensor<8xf32>) {
  // expected-error @+1 {{[C2] expects 2 yielded values, but got 1}}
  %0:2 = nn.elementwise(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%row: tensor<8xf32>):
    nn.yield %row : tensor<8xf32>
  }
  return
}

// -----

func.func @elementwise_c2_rows(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{[C2] expects result #0 to be 'tensor<?x8xf32>', but got 'tensor<8xf32>'}}
  %0 = nn.elementwise(%x) : (tensor<?x8xf32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<8xf32>):
    nn.yield %row : tensor<8xf32>
  }
  return
}

// -----

// No input is a batch, so no result can be.
func.func @elementwise_c2_no_rows(%x: tensor<8xf32>) {
  // expected-error @+1 {{[C2] expects result #0 to be 'tensor<8xf32>', but got 'tensor<?x8xf32>'}}
  %0 = nn.elementwise(%x) : (tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%row: tensor<8xf32>):
    nn.yield %row : tensor<8xf32>
  }
  return
}

// -----

func.func @elementwise_c2_scalar(%x: tensor<8xf32>) {
  // expected-error @+1 {{[C2] expects tensors to be yielded, but got 'f32'}}
  %0 = nn.elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<8xf32>):
    %1 = arith.constant 1.0 : f32
    nn.yield %1 : f32
  }
  return
}

// -----

func.func @elementwise_c3(%x: tensor<8xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{[C3] expects one shape, but got 'tensor<4xf32>' beside 'tensor<8xf32>'}}
  %0 = nn.elementwise(%x, %y) : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<8xf32>, %other: tensor<4xf32>):
    nn.yield %row : tensor<8xf32>
  }
  return
}

// -----

func.func @elementwise_c3_dynamic(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{[C3] expects tensors of static shape, but got 'tensor<?x8xf32>'}}
  %0 = nn.elementwise(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%row: tensor<?x8xf32>):
    nn.yield %row : tensor<?x8xf32>
  }
  return
}

// -----

func.func @elementwise_c4(%x: tensor<8xf32>) {
  // expected-error @+1 {{[C4] expects elementwise operators, but got 'nn.softmax'}}
  %0 = nn.elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<8xf32>):
    %1 = nn.softmax %row : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  return
}

// -----

func.func @elementwise_c4_constant(%x: tensor<2xf32>) {
  // expected-error @+1 {{[C4] expects constants of one value, but got dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}}
  %0 = nn.elementwise(%x) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%row: tensor<2xf32>):
    %1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    nn.yield %1 : tensor<2xf32>
  }
  return
}

// -----

// A group reads through its inputs only.
func.func @elementwise_isolated(%x: tensor<8xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = nn.elementwise() : () -> tensor<8xf32> {
    // expected-error @+1 {{using value defined outside the region}}
    %1 = math.tanh %x : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  return
}

// -----

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

// expected-error @+1 {{has an argument with the unknown attribute 'nn.weight'; expects nn.param or nn.input}}
func.func @unknown_argument_attribute(%x: tensor<8xf32> {nn.weight = "x"}) {
  return
}

// -----

// expected-error @+1 {{has the attribute 'nn.param', which belongs on an argument or a result of a function}}
func.func @attribute_of_function() attributes {nn.param = "x"} {
  return
}

// -----

// expected-error @+1 {{argument #0 has both nn.param and nn.input}}
func.func @two_names(%x: tensor<8xf32> {nn.param = "x", nn.input = "x"}) {
  return
}

// -----

// expected-error @+1 {{expects 'nn.input' to be a non-empty string}}
func.func @empty_name(%x: tensor<8xf32> {nn.input = ""}) {
  return
}

// -----

// expected-error @+1 {{expects 'nn.param' to be a non-empty string}}
func.func @no_string(%x: tensor<8xf32> {nn.param = 1}) {
  return
}

// -----

// A weight is bound once, at load, when the number of rows is not known.
// expected-error @+1 {{expects a parameter to be a tensor of static shape, but argument #0 is 'tensor<?x8xf32>'}}
func.func @dynamic_parameter(%x: tensor<?x8xf32> {nn.param = "x"}) {
  return
}

// -----

// expected-error @+1 {{has a result with the unknown attribute 'nn.input'; expects nn.output}}
func.func @unknown_result_attribute(%x: tensor<8xf32>) -> (tensor<8xf32> {nn.input = "x"}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expects 'nn.output' to be a non-empty string}}
func.func @empty_result_name(%x: tensor<8xf32>) -> (tensor<8xf32> {nn.output = ""}) {
  return %x : tensor<8xf32>
}
