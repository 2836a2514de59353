// RUN: espalier-opt %s -split-input-file --lower-to-model -verify-diagnostics

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

// expected-error @+1 {{argument #0 of entry @unnamed_argument has no name; give it nn.input or nn.param}}
func.func @unnamed_argument(%x: tensor<8xf32>) {
  return
}

// -----

// expected-error @+1 {{result #0 of entry @unnamed_result has no name; give it nn.output}}
func.func @unnamed_result(%x: tensor<8xf32> {nn.input = "x"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{has two arguments named 'x'}}
func.func @two_arguments(%x: tensor<8xf32> {nn.input = "x"}, %y: tensor<8xf32> {nn.param = "x"}) {
  return
}

// -----

// expected-error @+1 {{has two results named 'x'}}
func.func @two_results(%x: tensor<8xf32> {nn.input = "x"}) -> (tensor<8xf32> {nn.output = "x"}, tensor<8xf32> {nn.output = "x"}) {
  return %x, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// expected-error @+1 {{argument 'x' is 'f32'; expects a graph, a tensor of static shape, or one whose leading dimension only is dynamic}}
func.func @scalar_argument(%x: f32 {nn.input = "x"}) {
  return
}

// -----

// expected-error @+1 {{cannot keep 'tensor<?x?xf32>' in memory; expects a static shape, or one whose leading dimension only is dynamic}}
func.func @two_dynamic_dimensions(%x: tensor<?x?xf32> {nn.input = "x"}) {
  return
}

// -----

// expected-error @+2 {{cannot keep 'tensor<8xi1>' in memory; expects elements of f32, f64 or i32}}
// expected-note @+1 {{select on conditions in the elementwise group that makes them}}
func.func @i1_argument(%x: tensor<8xi1> {nn.input = "x"}) {
  return
}

// -----

// expected-error @+1 {{cannot keep 'tensor<8xf16>' in memory; expects elements of f32, f64 or i32}}
func.func @f16_argument(%x: tensor<8xf16> {nn.input = "x"}) {
  return
}

// -----

// A condition may not leave its group.
func.func @i1_between_groups(%x: tensor<8xf32> {nn.input = "x"}) {
  // expected-error @+2 {{cannot keep 'tensor<8xi1>' in memory; expects elements of f32, f64 or i32}}
  // expected-note @+1 {{select on conditions in the elementwise group that makes them}}
  %0 = nn.elementwise(%x) : (tensor<8xf32>) -> tensor<8xi1> {
  ^bb0(%a: tensor<8xf32>):
    %1 = arith.cmpf olt, %a, %a : tensor<8xf32>
    nn.yield %1 : tensor<8xi1>
  }
  return
}

// -----

// A batch of static size is no row.
func.func @static_batch(%x: tensor<3x8xf32> {nn.input = "x"}, %W: tensor<8x4xf32> {nn.param = "W"}) {
  // expected-error @+1 {{expects one row, or rows of dynamic number, but got 'tensor<3x8xf32>'}}
  %0 = nn.matmul %x, %W : tensor<3x8xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @static_softmax(%x: tensor<3x8xf32> {nn.input = "x"}) {
  // expected-error @+1 {{expects one row, or rows of dynamic number, but got 'tensor<3x8xf32>'}}
  %0 = nn.softmax %x : tensor<3x8xf32>
  return
}

// -----

func.func @static_sum(%x: tensor<3x8xf32> {nn.input = "x"}) {
  // expected-error @+1 {{expects one row, or rows of dynamic number, but got 'tensor<3x8xf32>'}}
  %0 = nn.sum_rows %x : tensor<3x8xf32>
  return
}

// -----

func.func @static_product(%x: tensor<3x8xf32> {nn.input = "x"}) {
  // expected-error @+1 {{expects one row, or rows of dynamic number, but got 'tensor<3x8xf32>'}}
  %0 = nn.outer_sum %x, %x : tensor<3x8xf32>, tensor<3x8xf32>
  return
}

// -----

func.func @static_softmax_adjoint(%x: tensor<3x8xf32> {nn.input = "x"}) {
  // expected-error @+1 {{expects one row, or rows of dynamic number, but got 'tensor<3x8xf32>'}}
  %0 = nn.softmax_adjoint %x, %x : tensor<3x8xf32>
  return
}

// -----

func.func @static_dropout(%x: tensor<3x8xf32> {nn.input = "x"}, %seed: tensor<i32> {nn.input = "seed"},
                          %rows: tensor<3xi32> {nn.input = "rows"}) {
  // expected-error @+1 {{expects one row, or rows of dynamic number, but got 'tensor<3xi32>'}}
  %0 = nn.dropout %x, %seed, %rows {probability = 0.5} : tensor<3x8xf32>, tensor<i32>, tensor<3xi32>
  return
}

// -----

func.func @static_ids(%ids: tensor<3xi32> {nn.input = "ids"}, %table: tensor<8x4xf32> {nn.param = "table"}) {
  // expected-error @+1 {{expects one row, or rows of dynamic number, but got 'tensor<3xi32>'}}
  %0 = nn.embedding %table[%ids] : tensor<8x4xf32>, tensor<3xi32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

// A weight is packed once, at load: it cannot be given at each call.
func.func @weight_is_input(%x: tensor<8xf32> {nn.input = "x"}, %W: tensor<8x4xf32> {nn.input = "W"}) {
  // expected-error @+1 {{expects its weight to be a parameter, a constant, or columns of one; weights are packed once, at load}}
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @weight_of_two_matrices(%x: tensor<8xf32> {nn.input = "x"}, %V: tensor<8x4xf32> {nn.param = "V"}, %W: tensor<8x4xf32> {nn.param = "W"}) {
  %0 = tensor.concat dim(1) %V, %W : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  // expected-error @+1 {{expects the columns of its weight to be of the same rows of one matrix}}
  %1 = nn.matmul %x, %0 : tensor<8xf32>, tensor<8x8xf32>
  return
}

// -----

func.func @weight_of_rank_3(%x: tensor<8xf32> {nn.input = "x"}, %W: tensor<2x8x4xf32> {nn.param = "W"}) {
  // expected-error @+1 {{cannot be lowered: a slice of 'tensor<2x8x4xf32>' cannot be 'tensor<8x4xf32>'}}
  %0 = tensor.extract_slice %W[1, 0, 0] [1, 8, 4] [1, 1, 1] : tensor<2x8x4xf32> to tensor<8x4xf32>
  %1 = nn.matmul %x, %0 : tensor<8xf32>, tensor<8x4xf32>
  return
}

// -----

func.func @table_is_input(%ids: tensor<i32> {nn.input = "ids"}, %table: tensor<8x4xf32> {nn.input = "table"}) {
  // expected-error @+1 {{expects its table to be a parameter or constant}}
  %0 = nn.embedding %table[%ids] : tensor<8x4xf32>, tensor<i32>
  return
}

// -----

// A slice of a matrix is a weight, and has no place of its own.
func.func @slice_of_matrix(%W: tensor<8x4xf32> {nn.param = "W"}) -> (tensor<2x4xf32> {nn.output = "y"}) {
  %0 = tensor.extract_slice %W[0, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  // expected-error @+1 {{reads a value that has no place in memory; slices of weights are read by nn.matmul only}}
  return %0 : tensor<2x4xf32>
}

// -----

func.func @strided_slice(%b: tensor<8xf32> {nn.param = "b"}) {
  // expected-error @+1 {{cannot be lowered: expects static offsets and strides of 1}}
  %0 = tensor.extract_slice %b[0] [4] [2] : tensor<8xf32> to tensor<4xf32>
  return
}

// -----

// Row 0 of a batch is no row of a buffer.
func.func @slice_of_one_row(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  // expected-error @+1 {{cannot be lowered: a slice of 'tensor<?x8xf32>' cannot be 'tensor<8xf32>'}}
  %0 = tensor.extract_slice %x[0, 0] [1, 8] [1, 1] : tensor<?x8xf32> to tensor<8xf32>
  return
}

// -----

func.func @slice_of_later_rows(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  // expected-error @+1 {{cannot be lowered: expects all rows, from the first to the tensor.dim of rows}}
  %0 = tensor.extract_slice %x[1, 0] [%n, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
  return
}

// -----

// As many rows as something else has are not all rows.
func.func @slice_by_other_rows(%a: !vertex.graph {nn.input = "a"}, %b: !vertex.graph {nn.input = "b"}, %x: tensor<?x8xf32> {nn.input = "x"}, %y: tensor<?x8xf32> {nn.input = "y"}) {
  %c0 = arith.constant 0 : index
  %xs = vertex.pull_rows %a, %x : tensor<?x8xf32>
  %ys = vertex.pull_rows %b, %y : tensor<?x8xf32>
  %n = tensor.dim %ys, %c0 : tensor<?x8xf32>
  // expected-error @+1 {{mixes rows of all vertices of graph #0 with rows of all vertices of graph #1}}
  %0 = tensor.extract_slice %xs[0, 0] [%n, 4] [1, 1] : tensor<?x8xf32> to tensor<?x4xf32>
  return
}

// -----

func.func @concat_of_rows(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  // expected-error @+1 {{cannot be lowered: rows of a batch are joined in another dimension than that of the rows}}
  %0 = tensor.concat dim(0) %x, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @unfused(%x: tensor<8xf32> {nn.input = "x"}) {
  // expected-error @+2 {{cannot be lowered to steps of the runtime}}
  // expected-note @+1 {{run fuse-elementwise first: kernels are made from its groups}}
  %0 = math.tanh %x : tensor<8xf32>
  return
}

// -----

func.func @unknown(%x: tensor<8xf32> {nn.input = "x"}) {
  // expected-error @+1 {{cannot be lowered to steps of the runtime}}
  %0 = tensor.expand_shape %x [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Modules and functions
//===----------------------------------------------------------------------===//

// expected-error @+1 {{cannot be lowered; run batch-vertices first}}
vertex.func @f() arity(0) {
}

// -----

module {
  // expected-error @+1 {{cannot be lowered: a model is one module}}
  module @nested {
  }
}

// -----

// expected-error @+1 {{has no body, and nothing to link it with}}
func.func private @external()

// -----

// expected-error @+1 {{has control flow, which an entry cannot have}}
func.func @control_flow() {
  cf.br ^next
^next:
  return
}

// -----

func.func @calls_itself() {
  // expected-error @+1 {{cannot be lowered to steps of the runtime}}
  call @calls_itself() : () -> ()
  return
}

// -----

// expected-error @+1 {{result 'x' has the rows of some vertices only, in schedule order; join them and push them first}}
func.func @result_of_leaves(
    %trees: !vertex.graph {nn.input = "trees"},
    %rows: tensor<?x4xf32> {nn.input = "rows"})
    -> (tensor<?x4xf32> {nn.output = "x"}) {
  %x = vertex.pull_rows %trees, %rows at leaves : tensor<?x4xf32>
  return %x : tensor<?x4xf32>
}

// -----

func.func @combines_integers(%trees: !vertex.graph {nn.input = "trees"}, %x: tensor<?x4xi32> {nn.input = "x"})
    -> (tensor<?x4xi32> {nn.output = "y"}) {
  %all = vertex.pull_rows %trees, %x : tensor<?x4xi32>
  %edges = vertex.edge_child_rows %trees, %all : tensor<?x4xi32>
  // expected-error @+1 {{cannot be lowered: children's values of 'i32' cannot be combined; expects f32 or f64}}
  %sums = vertex.reduce_edge_rows %trees, sum %edges : tensor<?x4xi32>
  %y = vertex.push_rows %trees, %sums : tensor<?x4xi32>
  return %y : tensor<?x4xi32>
}
