// What the canonicaliser knows of the nn dialect.
// RUN: espalier-opt %s --canonicalize | FileCheck %s

// Activations of constants are constants: 1 / (1 + exp 0) = 0.5.
// CHECK-LABEL: @sigmoid_of_constant
// CHECK-NEXT: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<8xf32>
// CHECK-NEXT: return %[[HALF]]
func.func @sigmoid_of_constant() -> tensor<8xf32> {
  %0 = arith.constant dense<0.0> : tensor<8xf32>
  %1 = nn.sigmoid %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Saturated on both sides, without overflow; elements one by one.
// CHECK-LABEL: @sigmoid_saturates
// CHECK-NEXT: %[[ENDS:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: return %[[ENDS]]
func.func @sigmoid_saturates() -> tensor<2xf32> {
  %0 = arith.constant dense<[-10000.0, 10000.0]> : tensor<2xf32>
  %1 = nn.sigmoid %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// A scalar folds too.
// CHECK-LABEL: @sigmoid_of_scalar
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 5.000000e-01 : f64
// CHECK-NEXT: return %[[HALF]]
func.func @sigmoid_of_scalar() -> f64 {
  %0 = arith.constant 0.0 : f64
  %1 = nn.sigmoid %0 : f64
  return %1 : f64
}

// 0x7FC00000 is the quiet NaN of f32: relu keeps it.
// CHECK-LABEL: @relu_of_constant
// CHECK-NEXT: %[[CLAMPED:.*]] = arith.constant dense<[0.000000e+00, 3.000000e+00, 0x7FC00000]> : tensor<3xf32>
// CHECK-NEXT: return %[[CLAMPED]]
func.func @relu_of_constant() -> tensor<3xf32> {
  %0 = arith.constant dense<[-2.0, 3.0, 0x7FC00000]> : tensor<3xf32>
  %1 = nn.relu %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}

// relu is idempotent.
// CHECK-LABEL: @relu_of_relu
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[ONCE:.*]] = nn.relu %[[X]]
// CHECK-NEXT: return %[[ONCE]]
func.func @relu_of_relu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.relu %x : tensor<8xf32>
  %1 = nn.relu %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// gelu(0) = 0, gelu(10000) = 10000.
// CHECK-LABEL: @gelu_of_constant
// CHECK-NEXT: %[[ENDS:.*]] = arith.constant dense<[0.000000e+00, 1.000000e+04]> : tensor<2xf32>
// CHECK-NEXT: return %[[ENDS]]
func.func @gelu_of_constant() -> tensor<2xf32> {
  %0 = arith.constant dense<[0.0, 10000.0]> : tensor<2xf32>
  %1 = nn.gelu %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// As many as the operand has, if that is known; rounded to its type.
// CHECK-LABEL: @fill_of_static_shape
// CHECK-NEXT: %[[TENTHS:.*]] = arith.constant dense<1.000000e-01> : tensor<8xf32>
// CHECK-NEXT: return %[[TENTHS]]
func.func @fill_of_static_shape(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.fill %x with 0.1 : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @fill_of_rows
// CHECK-NEXT: nn.fill
func.func @fill_of_rows(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = nn.fill %x with 0.1 : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// Nothing is dropped with probability 0.
// CHECK-LABEL: @dropout_of_nothing
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: return %[[X]]
func.func @dropout_of_nothing(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %0 = nn.dropout %x, %i, %i {probability = 0.0} : tensor<8xf32>, tensor<i32>, tensor<i32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @dropout_of_something
// CHECK-NEXT: nn.dropout
func.func @dropout_of_something(%x: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %0 = nn.dropout %x, %i, %i {probability = 1.0e-9} : tensor<8xf32>, tensor<i32>, tensor<i32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @transpose_of_transpose
// CHECK-SAME: %[[W:.*]]: tensor<8x4xf32>
// CHECK-NEXT: return %[[W]]
func.func @transpose_of_transpose(%W: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = nn.transpose %W : tensor<8x4xf32>
  %1 = nn.transpose %0 : tensor<4x8xf32>
  return %1 : tensor<8x4xf32>
}

// A sum of outer products is one product.
// CHECK-LABEL: @sum_of_outer
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = nn.outer_sum %[[X]], %[[Y]] : tensor<?x8xf32>, tensor<?x4xf32>
// CHECK-NEXT: return %[[SUM]]
func.func @sum_of_outer(%x: tensor<?x8xf32>, %y: tensor<?x4xf32>) -> tensor<8x4xf32> {
  %0 = nn.outer %x, %y : tensor<?x8xf32>, tensor<?x4xf32>
  %1 = nn.sum_rows %0 : tensor<?x8x4xf32>
  return %1 : tensor<8x4xf32>
}

// CHECK-LABEL: @sum_of_others
// CHECK-NEXT: nn.sum_rows
func.func @sum_of_others(%x: tensor<?x8xf32>) -> tensor<8xf32> {
  %0 = nn.sum_rows %x : tensor<?x8xf32>
  return %0 : tensor<8xf32>
}

// Pieces of x make rows of the result, and need not be put together.
// CHECK-LABEL: @outer_sum_of_pieces
// CHECK-SAME: %[[A:.*]]: tensor<?x8xf32>, %[[B:.*]]: tensor<?x2xf32>, %[[Y:.*]]: tensor<?x4xf32>
// CHECK-NEXT: %[[TOP:.*]] = nn.outer_sum %[[A]], %[[Y]]
// CHECK-NEXT: %[[BOTTOM:.*]] = nn.outer_sum %[[B]], %[[Y]]
// CHECK-NEXT: %[[BOTH:.*]] = tensor.concat dim(0) %[[TOP]], %[[BOTTOM]] : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<10x4xf32>
// CHECK-NEXT: return %[[BOTH]]
func.func @outer_sum_of_pieces(%a: tensor<?x8xf32>, %b: tensor<?x2xf32>, %y: tensor<?x4xf32>) -> tensor<10x4xf32> {
  %0 = tensor.concat dim(1) %a, %b : (tensor<?x8xf32>, tensor<?x2xf32>) -> tensor<?x10xf32>
  %1 = nn.outer_sum %0, %y : tensor<?x10xf32>, tensor<?x4xf32>
  return %1 : tensor<10x4xf32>
}

// What is not constant stays.
// CHECK-LABEL: @activation_of_argument
// CHECK: nn.sigmoid
// CHECK: nn.gelu
func.func @activation_of_argument(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.sigmoid %x : tensor<8xf32>
  %1 = nn.gelu %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// An input that the body does not read goes, and so does a result that nobody
// reads, with what only it needed.
// CHECK-LABEL: @unread_inputs_and_results
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>
// CHECK-NEXT: %[[Y:.*]] = nn.elementwise(%[[X]]) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[TANH:.*]] = math.tanh %[[ROW]]
// CHECK-NEXT: nn.yield %[[TANH]] : tensor<8xf32>
// CHECK: return %[[Y]]
func.func @unread_inputs_and_results(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0:2 = nn.elementwise(%x, %y) : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %1 = math.exp %b : tensor<8xf32>
    %2 = math.tanh %a : tensor<8xf32>
    nn.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#1 : tensor<?x8xf32>
}

// An input that is passed in twice is passed in once.
// CHECK-LABEL: @duplicate_input
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x8xf32>
// CHECK-NEXT: nn.elementwise(%[[X]], %[[Y]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[A]]
// CHECK-NEXT: nn.yield %[[PRODUCT]]
func.func @duplicate_input(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = nn.elementwise(%x, %y, %x) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>):
    %1 = arith.addf %a, %b : tensor<8xf32>
    %2 = arith.mulf %1, %c : tensor<8xf32>
    nn.yield %2 : tensor<8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// Of two equal inputs, the first is not read: the second stands for both.
// CHECK-LABEL: @duplicate_of_unread_input
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: nn.elementwise(%[[X]]) : (tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[TANH:.*]] = math.tanh %[[A]]
// CHECK-NEXT: nn.yield %[[TANH]]
func.func @duplicate_of_unread_input(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = nn.elementwise(%x, %x, %x) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>):
    %1 = math.tanh %c : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// The only batched input stays although nobody reads it: it says how many rows
// there are.
// CHECK-LABEL: @last_batched_input
// CHECK-SAME: %[[XS:.*]]: tensor<?x8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT: nn.elementwise(%[[XS]], %[[B]])
func.func @last_batched_input(%xs: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = nn.elementwise(%xs, %b) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32> {
  ^bb0(%row: tensor<8xf32>, %bias: tensor<8xf32>):
    %1 = math.tanh %bias : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// Attributes of a group survive.
// CHECK-LABEL: @attributes
// CHECK: nn.elementwise(%{{.*}}) {note = 1 : i64}
func.func @attributes(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.elementwise(%x, %y) {note = 1} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %1 = math.tanh %a : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
