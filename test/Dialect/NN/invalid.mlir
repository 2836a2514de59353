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
// layer_norm, dropout
//===----------------------------------------------------------------------===//

func.func @layer_norm_c1_rank(%x: tensor<2x3x4xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{[C1] expects rank 1 or 2, but got 'tensor<2x3x4xf32>'}}
  %0 = nn.layer_norm %x, %g, %g : tensor<2x3x4xf32>, tensor<4xf32>
  return
}

// -----

// No elements have no mean.
func.func @layer_norm_c1_empty(%x: tensor<?x0xf32>, %g: tensor<0xf32>) {
  // expected-error @+1 {{[C1] expects a static, non-empty last dimension, but got 'tensor<?x0xf32>'}}
  %0 = nn.layer_norm %x, %g, %g : tensor<?x0xf32>, tensor<0xf32>
  return
}

// -----

func.func @layer_norm_c2_size(%x: tensor<?x8xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{[C2] expects a scale of type 'tensor<8xf32>', or a row of it for each row, but got 'tensor<4xf32>'}}
  %0 = nn.layer_norm %x, %g, %g : tensor<?x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @layer_norm_c2_element(%x: tensor<8xf32>, %g: tensor<8xf64>) {
  // expected-error @+1 {{[C2] expects a scale of type 'tensor<8xf32>', but got 'tensor<8xf64>'}}
  %0 = nn.layer_norm %x, %g, %g : tensor<8xf32>, tensor<8xf64>
  return
}

// -----

func.func @layer_norm_adjoint_c1(%x: tensor<f32>, %g: tensor<f32>) {
  // expected-error @+1 {{[C1] expects rank 1 or 2, but got 'tensor<f32>'}}
  %0, %1 = nn.layer_norm_adjoint %x, %g, %x : tensor<f32>, tensor<f32>
  return
}

// -----

func.func @layer_norm_adjoint_c2(%x: tensor<8xf32>, %g: tensor<4xf32>) {
  // expected-error @+1 {{[C2] expects a scale of type 'tensor<8xf32>', but got 'tensor<4xf32>'}}
  %0, %1 = nn.layer_norm_adjoint %x, %g, %x : tensor<8xf32>, tensor<4xf32>
  return
}

// -----

// What is kept could not make up for all that is dropped.
func.func @dropout_c1(%x: tensor<8xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C1] expects a probability of at least 0 and below 1, but got 1.000000e+00}}
  %0 = nn.dropout %x, %i, %i {probability = 1.0} : tensor<8xf32>, tensor<i32>, tensor<i32>
  return
}

// -----

func.func @dropout_c1_nan(%x: tensor<8xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C1] expects a probability of at least 0 and below 1, but got}}
  %0 = nn.dropout %x, %i, %i {probability = 0x7FF8000000000000 : f64} : tensor<8xf32>, tensor<i32>, tensor<i32>
  return
}

// -----

func.func @dropout_c2_rows(%x: tensor<?x8xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C2] expects a number for each row of 'tensor<?x8xf32>', 'tensor<?xi32>', but got 'tensor<i32>'}}
  %0 = nn.dropout %x, %i, %i {probability = 0.5} : tensor<?x8xf32>, tensor<i32>, tensor<i32>
  return
}

// -----

// A batch of static size has a number for each row, or one for all.
func.func @dropout_c2_static(%x: tensor<4x8xf32>, %i: tensor<3xi32>, %s: tensor<i32>) {
  // expected-error @+1 {{[C2] expects a number for each row of 'tensor<4x8xf32>', 'tensor<4xi32>', but got 'tensor<3xi32>'}}
  %0 = nn.dropout %x, %s, %i {probability = 0.5} : tensor<4x8xf32>, tensor<i32>, tensor<3xi32>
  return
}

// -----

func.func @dropout_c2_seed(%x: tensor<8xf32>, %i: tensor<i32>, %s: tensor<2xi32>) {
  // expected-error @+1 {{[C2] expects a seed, or one for each row, but got 'tensor<2xi32>'}}
  %0 = nn.dropout %x, %s, %i {probability = 0.5} : tensor<8xf32>, tensor<2xi32>, tensor<i32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// losses
//===----------------------------------------------------------------------===//

func.func @softmax_cross_entropy_c1(%x: tensor<?x0xf32>, %l: tensor<?xi32>) {
  // expected-error @+1 {{[C1] expects logits of rank 1 or 2 with a static, non-empty last dimension, but got 'tensor<?x0xf32>'}}
  %0 = nn.softmax_cross_entropy %x, %l : tensor<?x0xf32>, tensor<?xi32>
  return
}

// -----

func.func @softmax_cross_entropy_c2(%x: tensor<?x5xf32>, %l: tensor<i32>) {
  // expected-error @+1 {{[C2] expects one label a row of 'tensor<?x5xf32>', but got 'tensor<i32>'}}
  %0 = nn.softmax_cross_entropy %x, %l : tensor<?x5xf32>, tensor<i32>
  return
}

// -----

func.func @correct_c1(%x: tensor<?x0xf32>, %l: tensor<?xi32>) {
  // expected-error @+1 {{[C1] expects logits of rank 1 or 2 with a static, non-empty last dimension, but got 'tensor<?x0xf32>'}}
  %0 = nn.correct %x, %l : tensor<?x0xf32>, tensor<?xi32>
  return
}

// -----

func.func @correct_c2(%x: tensor<?x5xf32>, %l: tensor<i32>) {
  // expected-error @+1 {{[C2] expects one label a row of 'tensor<?x5xf32>', but got 'tensor<i32>'}}
  %0 = nn.correct %x, %l : tensor<?x5xf32>, tensor<i32>
  return
}

// -----

func.func @softmax_cross_entropy_adjoint_c1(%x: tensor<f32>, %l: tensor<i32>, %d: tensor<f32>) {
  // expected-error @+1 {{[C1] expects logits of rank 1 or 2 with a static, non-empty last dimension, but got 'tensor<f32>'}}
  %0 = nn.softmax_cross_entropy_adjoint %x, %l, %d : tensor<f32>, tensor<i32>, tensor<f32>
  return
}

// -----

func.func @softmax_cross_entropy_adjoint_c2(%x: tensor<5xf32>, %l: tensor<5xi32>, %d: tensor<f32>) {
  // expected-error @+1 {{[C2] expects one label a row of 'tensor<5xf32>', but got 'tensor<5xi32>'}}
  %0 = nn.softmax_cross_entropy_adjoint %x, %l, %d : tensor<5xf32>, tensor<5xi32>, tensor<f32>
  return
}

// -----

func.func @softmax_cross_entropy_adjoint_c3(%x: tensor<?x5xf32>, %l: tensor<?xi32>, %d: tensor<f32>) {
  // expected-error @+1 {{[C3] expects one adjoint a row, 'tensor<?xf32>', but got 'tensor<f32>'}}
  %0 = nn.softmax_cross_entropy_adjoint %x, %l, %d : tensor<?x5xf32>, tensor<?xi32>, tensor<f32>
  return
}

// -----

func.func @binary_cross_entropy_c1(%x: tensor<2x3x4xf32>, %l: tensor<2x3x4xi32>) {
  // expected-error @+1 {{[C1] expects logits of rank 1 or 2 with a static, non-empty last dimension, but got 'tensor<2x3x4xf32>'}}
  %0 = nn.binary_cross_entropy %x, %l : tensor<2x3x4xf32>, tensor<2x3x4xi32>
  return
}

// -----

func.func @binary_cross_entropy_c1_scalar(%x: tensor<f32>, %l: tensor<i32>) {
  // expected-error @+1 {{[C1] expects logits of rank 1 or 2 with a static, non-empty last dimension, but got 'tensor<f32>'}}
  %0 = nn.binary_cross_entropy %x, %l : tensor<f32>, tensor<i32>
  return
}

// -----

// One label a row is for one column.
func.func @binary_cross_entropy_c2(%x: tensor<?x3xf32>, %l: tensor<?xi32>) {
  // expected-error @+1 {{[C2] expects a label for each element of 'tensor<?x3xf32>', but got 'tensor<?xi32>'}}
  %0 = nn.binary_cross_entropy %x, %l : tensor<?x3xf32>, tensor<?xi32>
  return
}

// -----

func.func @binary_cross_entropy_adjoint_c1(%x: tensor<?x0xf32>, %l: tensor<?x0xi32>, %d: tensor<?xf32>) {
  // expected-error @+1 {{[C1] expects logits of rank 1 or 2 with a static, non-empty last dimension, but got 'tensor<?x0xf32>'}}
  %0 = nn.binary_cross_entropy_adjoint %x, %l, %d : tensor<?x0xf32>, tensor<?x0xi32>, tensor<?xf32>
  return
}

// -----

func.func @binary_cross_entropy_adjoint_c2(%x: tensor<3xf32>, %l: tensor<i32>, %d: tensor<f32>) {
  // expected-error @+1 {{[C2] expects a label for each element of 'tensor<3xf32>', but got 'tensor<i32>'}}
  %0 = nn.binary_cross_entropy_adjoint %x, %l, %d : tensor<3xf32>, tensor<i32>, tensor<f32>
  return
}

// -----

func.func @binary_cross_entropy_adjoint_c3(%x: tensor<?x1xf32>, %l: tensor<?xi32>, %d: tensor<?x1xf32>) {
  // expected-error @+1 {{[C3] expects one adjoint a row, 'tensor<?xf32>', but got 'tensor<?x1xf32>'}}
  %0 = nn.binary_cross_entropy_adjoint %x, %l, %d : tensor<?x1xf32>, tensor<?xi32>, tensor<?x1xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// sums and products
//===----------------------------------------------------------------------===//

func.func @broadcast_c1_rows(%x: tensor<?xf32>) {
  // expected-error @+1 {{[C1] expects a scalar and a static shape of its type, or a batch of both, but got 'tensor<?xf32>' and 'tensor<8xf32>'}}
  %0 = nn.broadcast %x : tensor<?xf32> -> tensor<8xf32>
  return
}

// -----

func.func @broadcast_c1_vector(%x: tensor<4xf32>) {
  // expected-error @+1 {{[C1] expects a scalar and a static shape of its type, or a batch of both, but got 'tensor<4xf32>' and 'tensor<8xf32>'}}
  %0 = nn.broadcast %x : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @broadcast_c1_element(%x: tensor<f32>) {
  // expected-error @+1 {{[C1] expects a scalar and a static shape of its type, or a batch of both, but got 'tensor<f32>' and 'tensor<8xf64>'}}
  %0 = nn.broadcast %x : tensor<f32> -> tensor<8xf64>
  return
}

// -----

func.func @sum_rows_c1(%x: tensor<f32>) {
  // expected-error @+1 {{[C1] expects rows (a leading dimension, the others static), but got 'tensor<f32>'}}
  %0 = nn.sum_rows %x : tensor<f32>
  return
}

// -----

func.func @sum_rows_c1_columns(%x: tensor<8x?xf32>) {
  // expected-error @+1 {{[C1] expects rows (a leading dimension, the others static), but got 'tensor<8x?xf32>'}}
  %0 = nn.sum_rows %x : tensor<8x?xf32>
  return
}

// -----

// A matrix that all rows share is for nn.matmul.
func.func @row_matmul_c1_shared(%x: tensor<?x8xf32>, %M: tensor<8x4xf32>) {
  // expected-error @+1 {{[C1] expects a row and a matrix, or a batch of both, of one element type, but got 'tensor<?x8xf32>' and 'tensor<8x4xf32>'}}
  %0 = nn.row_matmul %x, %M : tensor<?x8xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @row_matmul_c1_element(%x: tensor<8xf32>, %M: tensor<8x4xf64>) {
  // expected-error @+1 {{[C1] expects a row and a matrix, or a batch of both, of one element type, but got 'tensor<8xf32>' and 'tensor<8x4xf64>'}}
  %0 = nn.row_matmul %x, %M : tensor<8xf32>, tensor<8x4xf64>
  return
}

// -----

func.func @row_matmul_c2(%x: tensor<4xf32>, %M: tensor<8x4xf32>) {
  // expected-error @+1 {{[C2] expects a row of 8 elements, but got 'tensor<4xf32>'}}
  %0 = nn.row_matmul %x, %M : tensor<4xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @row_matmul_c2_transposed(%x: tensor<?x8xf32>, %M: tensor<?x8x4xf32>) {
  // expected-error @+1 {{[C2] expects a row of 4 elements, but got 'tensor<?x8xf32>'}}
  %0 = nn.row_matmul %x, %M transposed : tensor<?x8xf32>, tensor<?x8x4xf32>
  return
}

// -----

func.func @outer_c1(%x: tensor<?x8xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{[C1] expects two rows or two batches of rows of one element type, but got 'tensor<?x8xf32>' and 'tensor<4xf32>'}}
  %0 = nn.outer %x, %y : tensor<?x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @outer_c1_rank(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{[C1] expects two rows or two batches of rows of one element type, but got 'tensor<2x8xf32>' and 'tensor<2x8xf32>'}}
  %0 = nn.outer %x, %x : tensor<2x8xf32>, tensor<2x8xf32>
  return
}

// -----

// One row has an outer product, and no sum of them.
func.func @outer_sum_c1(%x: tensor<8xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{[C1] expects two batches of as many rows of one element type, but got 'tensor<8xf32>' and 'tensor<4xf32>'}}
  %0 = nn.outer_sum %x, %y : tensor<8xf32>, tensor<4xf32>
  return
}

// -----

func.func @outer_sum_c1_batches(%x: tensor<3x8xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{[C1] expects two batches of as many rows of one element type, but got 'tensor<3x8xf32>' and 'tensor<2x4xf32>'}}
  %0 = nn.outer_sum %x, %y : tensor<3x8xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @outer_sum_c1_mixed(%x: tensor<?x8xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{[C1] expects two batches of as many rows of one element type, but got 'tensor<?x8xf32>' and 'tensor<2x4xf32>'}}
  %0 = nn.outer_sum %x, %y : tensor<?x8xf32>, tensor<2x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// rows of tables
//===----------------------------------------------------------------------===//

func.func @scatter_rows_c1_ids(%x: tensor<?x8xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C1] expects one id a row, and rows of 'tensor<100x8xf32>', but got 'tensor<?x8xf32>' and 'tensor<i32>'}}
  %0 = nn.scatter_rows %x by %i : tensor<?x8xf32>, tensor<i32> -> tensor<100x8xf32>
  return
}

// -----

func.func @scatter_rows_c1_columns(%x: tensor<?x4xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{[C1] expects one id a row, and rows of 'tensor<100x8xf32>', but got 'tensor<?x4xf32>' and 'tensor<?xi32>'}}
  %0 = nn.scatter_rows %x by %i : tensor<?x4xf32>, tensor<?xi32> -> tensor<100x8xf32>
  return
}

// -----

func.func @combine_rows_c1(%x: tensor<8xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{[C1] expects a batch of rows of rank 2, with one id a row, but got 'tensor<8xf32>' and 'tensor<i32>'}}
  %0, %1 = nn.combine_rows %x by %i : tensor<8xf32>, tensor<i32>
  return
}

// -----

func.func @update_rows_c1(%E: tensor<100x8xf32>, %x: tensor<?x4xf32>, %i: tensor<?xi32>) {
  // expected-error @+1 {{[C1] expects one id a row, and rows of 'tensor<100x8xf32>', but got 'tensor<?x4xf32>' and 'tensor<?xi32>'}}
  %0 = nn.update_rows %E by %i with %x : tensor<100x8xf32>, tensor<?xi32>, tensor<?x4xf32>
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

// A scalar that is not broadcast has another shape.
func.func @elementwise_c3_scalar(%x: tensor<8xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{[C3] expects one shape, but got 'tensor<f32>' beside 'tensor<8xf32>'}}
  %0 = nn.elementwise(%x, %s) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<8xf32>, %scalar: tensor<f32>):
    nn.yield %row : tensor<8xf32>
  }
  return
}

// -----

func.func @elementwise_c4_broadcast(%s: tensor<f32>) {
  // expected-error @+1 {{[C4] expects broadcasts of arguments only}}
  %0 = nn.elementwise(%s) : (tensor<f32>) -> tensor<f32> {
  ^bb0(%scalar: tensor<f32>):
    %1 = arith.negf %scalar : tensor<f32>
    %2 = nn.broadcast %1 : tensor<f32> -> tensor<f32>
    nn.yield %2 : tensor<f32>
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

// expected-error @+1 {{has an argument with the unknown attribute 'nn.weight'; expects nn.param, nn.input or nn.state}}
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
// expected-error @+1 {{expects a parameter or state to be a tensor of static shape, but argument #0 is 'tensor<?x8xf32>'}}
func.func @dynamic_parameter(%x: tensor<?x8xf32> {nn.param = "x"}) {
  return
}

// -----

// expected-error @+1 {{has a result with the unknown attribute 'nn.input'; expects nn.output, nn.update or nn.gradient}}
func.func @unknown_result_attribute(%x: tensor<8xf32>) -> (tensor<8xf32> {nn.input = "x"}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expects 'nn.output' to be a non-empty string}}
func.func @empty_result_name(%x: tensor<8xf32>) -> (tensor<8xf32> {nn.output = ""}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expects 'nn.state' to be a non-empty string}}
func.func @state_without_name(%x: tensor<8xf32> {nn.state = ""}) {
  return
}

// -----

// expected-error @+1 {{expects a parameter or state to be a tensor of static shape, but argument #0 is 'tensor<?x8xf32>'}}
func.func @dynamic_state(%x: tensor<?x8xf32> {nn.state = "x"}) {
  return
}

// -----

// expected-error @+1 {{argument #0 has both nn.state and nn.param}}
func.func @parameter_and_state(%x: tensor<8xf32> {nn.param = "x", nn.state = "x"}) {
  return
}

// -----

// expected-error @+1 {{expects 'nn.update' to be a non-empty string}}
func.func @update_without_name(%x: tensor<8xf32>) -> (tensor<8xf32> {nn.update = ""}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expects 'nn.gradient' to be a non-empty string}}
func.func @gradient_without_name(%x: tensor<8xf32>) -> (tensor<8xf32> {nn.gradient = 1}) {
  return %x : tensor<8xf32>
}
