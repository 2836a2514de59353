// What the verifiers of layered networks' operators reject, rule by rule.
// RUN: espalier-opt %s -split-input-file -verify-diagnostics

func.func @conv2d_c1(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf64>) {
  // expected-error @+1 {{[C1] expects equal element types, but got 'tensor<2x4x8x8xf32>' and 'tensor<6x4x3x3xf64>'}}
  %0 = nn.conv2d %x, %W : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf64>
  return
}

// -----

func.func @conv2d_c1_bias(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>, %b: tensor<6xf64>) {
  // expected-error @+1 {{[C1] expects equal element types, but got 'tensor<6xf64>' and 'tensor<6x4x3x3xf32>'}}
  %0 = nn.conv2d %x, %W bias %b : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<6xf64>
  return
}

// -----

func.func @conv2d_c2_strides(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C2] expects two strides and two dilations of at least 1, but got [1, 0] and [1, 1]}}
  %0 = nn.conv2d %x, %W {strides = [1, 0]} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_c2_dilations(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C2] expects two strides and two dilations of at least 1, but got [1, 1] and [1, 2, 3]}}
  %0 = nn.conv2d %x, %W {dilations = [1, 2, 3]} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_c2_padding(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C2] expects four paddings of at least 0, but got [0, 0, -1, 0]}}
  %0 = nn.conv2d %x, %W {padding = [0, 0, -1, 0]} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

// Numbers that cannot be added up are no paddings.
func.func @conv2d_c2_large(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C2] expects four paddings of at least 0, but got [9223372036854775807, 0, 0, 0]}}
  %0 = nn.conv2d %x, %W {padding = [9223372036854775807, 0, 0, 0]} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_c3_channels(%x: tensor<2x4x8x8xf32>, %W: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{[C3] expects a weight of O x 4 / 1 x height x width, where the groups divide both numbers of channels, but got 'tensor<6x3x3x3xf32>'}}
  %0 = nn.conv2d %x, %W : tensor<2x4x8x8xf32>, tensor<6x3x3x3xf32>
  return
}

// -----

func.func @conv2d_c3_groups(%x: tensor<2x4x8x8xf32>, %W: tensor<5x2x3x3xf32>) {
  // expected-error @+1 {{[C3] expects a weight of O x 4 / 2 x height x width}}
  %0 = nn.conv2d %x, %W {groups = 2 : i64} : tensor<2x4x8x8xf32>, tensor<5x2x3x3xf32>
  return
}

// -----

func.func @conv2d_c3_no_groups(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C3] expects a weight of O x 4 / 0 x height x width}}
  %0 = nn.conv2d %x, %W {groups = 0 : i64} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_c4(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C4] expects a window that fits into the padded image, but got 11 elements wide of 'tensor<6x4x3x3xf32>' in 10 of 'tensor<2x4x8x8xf32>'}}
  %0 = nn.conv2d %x, %W {padding = [1, 1, 1, 1], dilations = [2, 5]} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_c4_no_window(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x0x3xf32>) {
  // expected-error @+1 {{[C4] expects a window that fits into the padded image, but got 0 elements high}}
  %0 = nn.conv2d %x, %W : tensor<2x4x8x8xf32>, tensor<6x4x0x3xf32>
  return
}

// -----

func.func @conv2d_c5(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{[C5] expects a bias of type 'tensor<6xf32>', but got 'tensor<5xf32>'}}
  %0 = nn.conv2d %x, %W bias %b : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<5xf32>
  return
}

// -----

// A network is planned for one size of a batch.
func.func @conv2d_dynamic(%x: tensor<?x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expects f32 or f64 tensors of rank 4 and static shape, but got 'tensor<?x4x8x8xf32>'}}
  %0 = nn.conv2d %x, %W : tensor<?x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_rank(%x: tensor<4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{expects f32 or f64 tensors of rank 4 and static shape, but got 'tensor<4x8x8xf32>'}}
  %0 = nn.conv2d %x, %W : tensor<4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_attribute(%x: tensor<2x4x8x8xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{attribute 'groups' failed to satisfy constraint: 64-bit signless integer attribute}}
  %0 = nn.conv2d %x, %W {groups = 2.0 : f64} : tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_transpose_c1(%x: tensor<2x6x4x4xf32>, %W: tensor<6x4x3x3xf64>) {
  // expected-error @+1 {{[C1] expects equal element types}}
  %0 = nn.conv2d_transpose %x, %W : tensor<2x6x4x4xf32>, tensor<6x4x3x3xf64> -> tensor<2x4x6x6xf32>
  return
}

// -----

func.func @conv2d_transpose_c2(%x: tensor<2x6x4x4xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C2] expects two strides and two dilations of at least 1, but got [0, 1] and [1, 1]}}
  %0 = nn.conv2d_transpose %x, %W {strides = [0, 1]} : tensor<2x6x4x4xf32>, tensor<6x4x3x3xf32> -> tensor<2x4x6x6xf32>
  return
}

// -----

func.func @conv2d_transpose_c3(%x: tensor<2x6x4x4xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C3] expects a weight of O x 5 / 1 x height x width}}
  %0 = nn.conv2d_transpose %x, %W : tensor<2x6x4x4xf32>, tensor<6x4x3x3xf32> -> tensor<2x5x6x6xf32>
  return
}

// -----

func.func @conv2d_transpose_c4(%x: tensor<2x6x4x4xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C4] expects an input of the type of the convolution of the result, 'tensor<2x6x5x4xf32>', but got 'tensor<2x6x4x4xf32>'}}
  %0 = nn.conv2d_transpose %x, %W {strides = [2, 2]} : tensor<2x6x4x4xf32>, tensor<6x4x3x3xf32> -> tensor<2x4x11x9xf32>
  return
}

// -----

func.func @conv2d_transpose_c4_window(%x: tensor<2x6x4x4xf32>, %W: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{[C4] expects a window that fits into the padded image}}
  %0 = nn.conv2d_transpose %x, %W : tensor<2x6x4x4xf32>, tensor<6x4x3x3xf32> -> tensor<2x4x2x6xf32>
  return
}

// -----

func.func @conv2d_weight_adjoint_c1(%x: tensor<2x4x8x8xf32>, %d: tensor<2x6x6x6xf32>) {
  // expected-error @+1 {{[C1] expects equal element types}}
  %0 = nn.conv2d_weight_adjoint %x, %d : tensor<2x4x8x8xf32>, tensor<2x6x6x6xf32> -> tensor<6x4x3x3xf64>
  return
}

// -----

func.func @conv2d_weight_adjoint_c2(%x: tensor<2x4x8x8xf32>, %d: tensor<2x6x6x6xf32>) {
  // expected-error @+1 {{[C2] expects four paddings of at least 0, but got [1]}}
  %0 = nn.conv2d_weight_adjoint %x, %d {padding = [1]} : tensor<2x4x8x8xf32>, tensor<2x6x6x6xf32> -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv2d_weight_adjoint_c3(%x: tensor<2x4x8x8xf32>, %d: tensor<2x6x6x6xf32>) {
  // expected-error @+1 {{[C3] expects a weight of O x 4 / 1 x height x width}}
  %0 = nn.conv2d_weight_adjoint %x, %d : tensor<2x4x8x8xf32>, tensor<2x6x6x6xf32> -> tensor<6x2x3x3xf32>
  return
}

// -----

func.func @conv2d_weight_adjoint_c4(%x: tensor<2x4x8x8xf32>, %d: tensor<2x6x6x6xf32>) {
  // expected-error @+1 {{[C4] expects an adjoint of the type of the convolution, 'tensor<2x6x6x7xf32>', but got 'tensor<2x6x6x6xf32>'}}
  %0 = nn.conv2d_weight_adjoint %x, %d : tensor<2x4x8x8xf32>, tensor<2x6x6x6xf32> -> tensor<6x4x3x2xf32>
  return
}

// -----

func.func @max_pool2d_c1(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a window of two sizes and two strides of at least 1, but got [2] and [1, 1]}}
  %0 = nn.max_pool2d %x {window = [2]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_c1_strides(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a window of two sizes and two strides of at least 1, but got [2, 2] and [2, -2]}}
  %0 = nn.max_pool2d %x {window = [2, 2], strides = [2, -2]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_c1_padding(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects four paddings of at least 0, but got [0, 0]}}
  %0 = nn.max_pool2d %x {window = [2, 2], padding = [0, 0]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_c2(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects paddings less than the window, but got [0, 0, 2, 0] and [2, 3]}}
  %0 = nn.max_pool2d %x {window = [2, 3], padding = [0, 0, 2, 0]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_c3(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C3] expects a window that fits into the padded image, but got 9 elements high in 8 of 'tensor<2x4x8x8xf32>'}}
  %0 = nn.max_pool2d %x {window = [9, 8], ceil_mode} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_c3_empty(%x: tensor<2x4x0x8xf32>) {
  // expected-error @+1 {{[C3] expects a window that fits into the padded image, but got 2 elements high in 2 of 'tensor<2x4x0x8xf32>'}}
  %0 = nn.max_pool2d %x {window = [2, 1], padding = [1, 0, 1, 0]} : tensor<2x4x0x8xf32>
  return
}

// -----

func.func @avg_pool2d_c1(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a window of two sizes and two strides of at least 1, but got [2] and [1, 1]}}
  %0 = nn.avg_pool2d %x {window = [2]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_c1_strides(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a window of two sizes and two strides of at least 1, but got [2, 2] and [2, -2]}}
  %0 = nn.avg_pool2d %x {window = [2, 2], strides = [2, -2]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_c1_padding(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects four paddings of at least 0, but got [0, 0]}}
  %0 = nn.avg_pool2d %x {window = [2, 2], padding = [0, 0]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_c2(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects paddings less than the window, but got [0, 0, 2, 0] and [2, 3]}}
  %0 = nn.avg_pool2d %x {window = [2, 3], padding = [0, 0, 2, 0]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_c3(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C3] expects a window that fits into the padded image, but got 9 elements high in 8 of 'tensor<2x4x8x8xf32>'}}
  %0 = nn.avg_pool2d %x {window = [9, 8], ceil_mode} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_c3_empty(%x: tensor<2x4x0x8xf32>) {
  // expected-error @+1 {{[C3] expects a window that fits into the padded image, but got 2 elements high in 2 of 'tensor<2x4x0x8xf32>'}}
  %0 = nn.avg_pool2d %x {window = [2, 1], padding = [1, 0, 1, 0]} : tensor<2x4x0x8xf32>
  return
}

// -----

func.func @max_pool2d_c1_without_window(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a window of two sizes and two strides of at least 1, but got nothing and [1, 1]}}
  %0 = nn.max_pool2d %x : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_adjoint_c1(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a window of two sizes and two strides of at least 1, but got [0, 1] and [1, 1]}}
  %0 = nn.max_pool2d_adjoint %x, %d {window = [0, 1]} : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_adjoint_c2(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects paddings less than the window, but got [1, 0, 0, 0] and [1, 1]}}
  %0 = nn.max_pool2d_adjoint %x, %d {window = [1, 1], padding = [1, 0, 0, 0]} : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
  return
}

// -----

func.func @max_pool2d_adjoint_c3(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x7x1xf32>) {
  // expected-error @+1 {{[C3] expects a window that fits into the padded image, but got 9 elements wide in 8 of 'tensor<2x4x8x8xf32>'}}
  %0 = nn.max_pool2d_adjoint %x, %d {window = [2, 9]} : tensor<2x4x8x8xf32>, tensor<2x4x7x1xf32>
  return
}

// -----

func.func @max_pool2d_adjoint_c4(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C4] expects an adjoint of the type of the pool, 'tensor<2x4x7x7xf32>', but got 'tensor<2x4x8x8xf32>'}}
  %0 = nn.max_pool2d_adjoint %x, %d {window = [2, 2]} : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_adjoint_c1(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a window of two sizes and two strides of at least 1, but got [0, 1] and [1, 1]}}
  %0 = nn.avg_pool2d_adjoint %d {window = [0, 1]} : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_adjoint_c2(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects paddings less than the window, but got [1, 0, 0, 0] and [1, 1]}}
  %0 = nn.avg_pool2d_adjoint %d {window = [1, 1], padding = [1, 0, 0, 0]} : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_adjoint_c3(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x7x1xf32>) {
  // expected-error @+1 {{[C3] expects a window that fits into the padded image, but got 9 elements wide in 8 of 'tensor<2x4x8x8xf32>'}}
  %0 = nn.avg_pool2d_adjoint %d {window = [2, 9]} : tensor<2x4x7x1xf32> -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @avg_pool2d_adjoint_c4(%x: tensor<2x4x8x8xf32>, %d: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C4] expects an adjoint of the type of the pool, 'tensor<2x4x7x7xf32>', but got 'tensor<2x4x8x8xf32>'}}
  %0 = nn.avg_pool2d_adjoint %d {window = [2, 2]} : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @batch_norm_c1(%x: tensor<2x4x8x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{[C1] expects one number for each channel of 'tensor<2x4x8x8xf32>', 'tensor<4xf32>', but got 'tensor<8xf32>'}}
  %0:3 = nn.batch_norm %x, %s, %s : tensor<2x4x8x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @batch_norm_c2(%x: tensor<0x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{[C2] expects channels with elements, but got 'tensor<0x4x8x8xf32>'}}
  %0:3 = nn.batch_norm %x, %s, %s : tensor<0x4x8x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @batch_norm_c3(%x: tensor<2x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{[C3] expects an epsilon that is not negative, but got -1.0}}
  %0:3 = nn.batch_norm %x, %s, %s {epsilon = -1.0} : tensor<2x4x8x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @batch_norm_rank(%x: tensor<2x4x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{expects f32 or f64 tensors of rank 2 or 4 and static shape, but got 'tensor<2x4x8xf32>'}}
  %0:3 = nn.batch_norm %x, %s, %s : tensor<2x4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @batch_norm_inference_c1(%x: tensor<2x4x8x8xf32>, %s: tensor<4xf64>) {
  // expected-error @+1 {{[C1] expects one number for each channel of 'tensor<2x4x8x8xf32>', 'tensor<4xf32>', but got 'tensor<4xf64>'}}
  %0 = nn.batch_norm_inference %x, %s, %s, %s, %s : tensor<2x4x8x8xf32>, tensor<4xf64>
  return
}

// -----

func.func @batch_norm_inference_c2(%x: tensor<2x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{[C2] expects an epsilon that is not negative, but got }}
  %0 = nn.batch_norm_inference %x, %s, %s, %s, %s {epsilon = 0x7FF8000000000000 : f64} : tensor<2x4x8x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @batch_norm_adjoint_c1(%x: tensor<2x4x8x8xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{[C1] expects one number for each channel of 'tensor<2x4x8x8xf32>', 'tensor<4xf32>', but got 'tensor<2xf32>'}}
  %0:3 = nn.batch_norm_adjoint %x, %s, %s, %s, %x : tensor<2x4x8x8xf32>, tensor<2xf32>
  return
}

// -----

func.func @batch_norm_adjoint_c2(%x: tensor<2x4x8x0xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{[C2] expects channels with elements, but got 'tensor<2x4x8x0xf32>'}}
  %0:3 = nn.batch_norm_adjoint %x, %s, %s, %s, %x : tensor<2x4x8x0xf32>, tensor<4xf32>
  return
}

// -----

func.func @batch_norm_adjoint_c3(%x: tensor<2x4x8x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{[C3] expects an epsilon that is not negative, but got -5.0}}
  %0:3 = nn.batch_norm_adjoint %x, %s, %s, %s, %x {epsilon = -0.5} : tensor<2x4x8x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @lrn_c1(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a size that is odd and positive, but got 4}}
  %0 = nn.lrn %x {size = 4 : i64} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @lrn_c1_negative(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a size that is odd and positive, but got -1}}
  %0 = nn.lrn %x {size = -1 : i64} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @lrn_c2(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects a positive bias and an alpha that is not negative, but got}}
  %0 = nn.lrn %x {bias = 0.0} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @lrn_c2_alpha(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects a positive bias and an alpha that is not negative, but got}}
  %0 = nn.lrn %x {alpha = -1.0} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @lrn_adjoint_c1(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a size that is odd and positive, but got 4}}
  %0 = nn.lrn_adjoint %x, %x {size = 4 : i64} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @lrn_adjoint_c1_negative(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects a size that is odd and positive, but got -1}}
  %0 = nn.lrn_adjoint %x, %x {size = -1 : i64} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @lrn_adjoint_c2(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects a positive bias and an alpha that is not negative, but got}}
  %0 = nn.lrn_adjoint %x, %x {bias = 0.0} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @lrn_adjoint_c2_alpha(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C2] expects a positive bias and an alpha that is not negative, but got}}
  %0 = nn.lrn_adjoint %x, %x {alpha = -1.0} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @softmax_adjoint_c1(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects rank 1 or 2, with a static, non-empty last dimension, but got 'tensor<2x4x8x8xf32>'}}
  %0 = nn.softmax_adjoint %x, %x : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @softmax_adjoint_c1_empty(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{[C1] expects rank 1 or 2, with a static, non-empty last dimension, but got 'tensor<4x0xf32>'}}
  %0 = nn.softmax_adjoint %x, %x : tensor<4x0xf32>
  return
}

// -----

func.func @sum_channels_rank(%x: tensor<4xf32>) {
  // expected-error @+1 {{expects an f32 or f64 tensor of rank 2 or 4 and static shape, but got 'tensor<4xf32>'}}
  %0 = nn.sum_channels %x : tensor<4xf32>
  return
}

// -----

func.func @spread_channels_c1(%b: tensor<3xf32>) {
  // expected-error @+1 {{[C1] expects one number for each channel of 'tensor<2x4x8x8xf32>', 'tensor<4xf32>', but got 'tensor<3xf32>'}}
  %0 = nn.spread_channels %b : tensor<3xf32> -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @pad_c1(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects four paddings of at least 0, but got [1, 1, 1]}}
  %0 = nn.pad %x {padding = [1, 1, 1]} : tensor<2x4x8x8xf32>
  return
}

// -----

func.func @pad_c1_negative(%x: tensor<2x4x8x8xf32>) {
  // expected-error @+1 {{[C1] expects four paddings of at least 0, but got [1, 1, -1, 1]}}
  %0 = nn.pad %x {padding = [1, 1, -1, 1]} : tensor<2x4x8x8xf32>
  return
}
