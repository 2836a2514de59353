// RUN: espalier-opt %s --assign-buffers -verify-diagnostics

// The new value is needed while the old one still is.
func.func @both(%x: tensor<2x4xf32> {nn.input = "x"}, %w: tensor<4x4xf32> {nn.param = "w"})
    -> (tensor<2x4xf32> {nn.output = "y"}, tensor<4x4xf32> {nn.update = "w"}) {
  // expected-error @+1 {{cannot be planned: the new value of 'w' is read before the last operator that reads the old one}}
  %new = nn.elementwise(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %q = arith.addf %p, %p : tensor<4x4xf32>
    nn.yield %q : tensor<4x4xf32>
  }
  %a = nn.matmul %x, %new : tensor<2x4xf32>, tensor<4x4xf32>
  %y = nn.matmul %a, %w : tensor<2x4xf32>, tensor<4x4xf32>
  return %y, %new : tensor<2x4xf32>, tensor<4x4xf32>
}
