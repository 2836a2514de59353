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

// -----

func.func @prefetch_c2(%x: tensor<4xf32> {nn.input = "x"}) -> tensor<4xf32> {
  %a = nn.relu %x : tensor<4xf32>
  // expected-error @+1 {{'plan.prefetch' op [C2] copies what nn.relu makes on the device}}
  %y = plan.prefetch %a : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @two_offsets(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op expects 'plan.offsets' to have for each of 1 results a multiple of 64, or -1, array<i64: OFFSETS>}}
  %y = nn.relu %x {plan.offsets = array<i64: 0, 64>} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @unaligned(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op expects 'plan.offsets' to have}}
  %y = nn.relu %x {plan.offsets = array<i64: 32>} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @narrow(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op expects 'plan.offsets' to have}}
  %y = nn.relu %x {plan.offsets = array<i32: 64>} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op expects 'plan.offset' of argument #0 to be an i64, a multiple of 64}}
func.func @argument(%x: tensor<4xf32> {plan.offset = -64 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op expects 'plan.again' to be an i64 from 1 to 2147483647}}
  %y = nn.relu %x {plan.again = 0 : i64} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @operator(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.relu' op expects 'plan.operator' to be an i64 from 0 to 2147483647}}
  %y = nn.relu %x {plan.operator = "first"} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op expects 'plan.notes' to be strings}}
func.func @notes(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.notes = [5]} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op expects 'plan.memory' to be a #plan.memory}}
func.func @memory(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.memory = 5 : i64} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{has -1 bytes on the device, 0 on the host and a budget of 0, expects none to be negative}}
func.func @negative(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.memory = #plan.memory<device -1, host 0, budget 0, machine "">} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{needs 128 bytes of a budget of 64}}
func.func @beyond(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.memory = #plan.memory<device 128, host 0, budget 64, machine "">} {
  return %x : tensor<4xf32>
}
