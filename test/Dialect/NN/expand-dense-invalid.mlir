// RUN: espalier-opt %s --expand-dense -verify-diagnostics

// A bias cannot be added to a batch of static size.
func.func @static_batch(%x: tensor<3x8xf32>, %W: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  // expected-error @+1 {{expects an input of one row or of rows of dynamic number, but got 'tensor<3x8xf32>'}}
  %y = nn.dense %x, %W, %b : tensor<3x8xf32>, tensor<8x4xf32>, tensor<4xf32>
  return %y : tensor<3x4xf32>
}
