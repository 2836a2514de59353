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

// -----

func.func @no_choice(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op has no algorithm "patches": there is only one way to compute it}}
  %y = nn.relu %x {plan.algorithm = "patches"} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<1x1x8x8xf32>, %w: tensor<97x1x1x1xf32>) -> tensor<1x97x8x8xf32> {
  // expected-error @+1 {{'nn.conv2d' op has no algorithm "winograd"; there are patches, direct}}
  %y = nn.conv2d %x, %w {plan.algorithm = "winograd"} : tensor<1x1x8x8xf32>, tensor<97x1x1x1xf32>
  return %y : tensor<1x97x8x8xf32>
}

// -----

func.func @number(%x: tensor<1x1x8x8xf32>, %w: tensor<97x1x1x1xf32>) -> tensor<1x97x8x8xf32> {
  // expected-error @+1 {{'nn.conv2d' op expects 'plan.algorithm' to be the name of an algorithm}}
  %y = nn.conv2d %x, %w {plan.algorithm = 1 : i64} : tensor<1x1x8x8xf32>, tensor<97x1x1x1xf32>
  return %y : tensor<1x97x8x8xf32>
}

// -----

func.func @none(%x: tensor<1x1x20x20xf32>, %w: tensor<97x1x1x1xf32>) -> tensor<1x97x20x20xf32> {
  // expected-error @+1 {{'nn.conv2d' op has a workspace of 0 bytes, and 'patches' needs 36864 or 12288}}
  %y = nn.conv2d %x, %w {plan.algorithm = "patches"} : tensor<1x1x20x20xf32>, tensor<97x1x1x1xf32>
  return %y : tensor<1x97x20x20xf32>
}

// -----

func.func @unused(%x: tensor<1x1x8x8xf32>, %w: tensor<97x1x1x1xf32>) -> tensor<1x97x8x8xf32> {
  // expected-error @+1 {{'nn.conv2d' op has a workspace of 12288 bytes, and 'direct' needs 0}}
  %y = nn.conv2d %x, %w {plan.algorithm = "direct", plan.workspace = array<i64: 12288, 0>} : tensor<1x1x8x8xf32>, tensor<97x1x1x1xf32>
  return %y : tensor<1x97x8x8xf32>
}

// -----

func.func @place(%x: tensor<1x1x8x8xf32>, %w: tensor<97x1x1x1xf32>) -> tensor<1x97x8x8xf32> {
  // expected-error @+1 {{'nn.conv2d' op has a workspace of 12288 bytes at 32, expects some bytes at a multiple of 64}}
  %y = nn.conv2d %x, %w {plan.algorithm = "patches", plan.workspace = array<i64: 12288, 32>} : tensor<1x1x8x8xf32>, tensor<97x1x1x1xf32>
  return %y : tensor<1x97x8x8xf32>
}

// -----

func.func @offset(%x: tensor<1x1x8x8xf32>, %w: tensor<97x1x1x1xf32>) -> tensor<1x97x8x8xf32> {
  // expected-error @+1 {{'nn.conv2d' op expects 'plan.workspace' to be bytes and an offset, array<i64: BYTES, OFFSET>}}
  %y = nn.conv2d %x, %w {plan.algorithm = "patches", plan.workspace = array<i64: 12288>} : tensor<1x1x8x8xf32>, tensor<97x1x1x1xf32>
  return %y : tensor<1x97x8x8xf32>
}

// -----

func.func @nobodys(%x: tensor<1x1x8x8xf32>, %w: tensor<97x1x1x1xf32>) -> tensor<1x97x8x8xf32> {
  // expected-error @+1 {{'nn.conv2d' op has a 'plan.workspace', but no 'plan.algorithm' that uses it}}
  %y = nn.conv2d %x, %w {plan.workspace = array<i64: 12288, 0>} : tensor<1x1x8x8xf32>, tensor<97x1x1x1xf32>
  return %y : tensor<1x97x8x8xf32>
}
