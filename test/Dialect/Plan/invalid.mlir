// RUN: espalier-opt %s -split-input-file -verify-diagnostics

func.func @prefetch_c1(%h: !plan.host<tensor<4xf32>>) -> tensor<8xf32> {
  // expected-error @+1 {{'plan.prefetch' op [C1] copies 'tensor<8xf32>' from a source of 'tensor<4xf32>'}}
  %y = plan.prefetch %h : !plan.host<tensor<4xf32>> -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @elements(%x: tensor<4xf16>) {
  // expected-error @+1 {{'tensor' must be ranked tensor of 32-bit float or 64-bit float or 32-bit signless integer values}}
  %h = plan.offload %x : tensor<4xf16>
  return
}
