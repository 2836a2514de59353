// Networks that read an input in parts, are split already, have nothing in a
// tensor, or return what they were given.
// RUN: split-file %s %t
// RUN: espalier-opt %t/parts.mlir --order-operators --plan-memory="machine=%source_dir/docs/machines/k40c.json budget=1500" --assign-buffers | FileCheck %s --check-prefix=PARTS
// RUN: espalier-opt %t/parts.mlir --split-layers=parts=1 --split-layers --split-layers --assign-buffers | FileCheck %s --check-prefix=TWICE
// RUN: espalier-opt %t/empty.mlir --split-layers --assign-buffers | FileCheck %s --check-prefix=EMPTY
// RUN: not espalier-opt %t/empty.mlir --plan-memory="machine=%source_dir/docs/machines/k40c.json budget=10" 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: espalier-opt %t/returned.mlir --separate-results --plan-memory="machine=%source_dir/docs/machines/k40c.json budget=1100" --assign-buffers | FileCheck %s --check-prefix=RETURNED
// RUN: not espalier-opt %t/returned.mlir --assign-buffers --lower-to-model 2>&1 | FileCheck %s --check-prefix=AS-IT-IS

// A part is on the host until it is planned when it is fetched.
// PARTS-LABEL: @parts
// PARTS: tensor.extract_slice
// PARTS: plan.prefetch
// PARTS: nn.lrn

// A part of a part is a part of the input.
// TWICE-LABEL: @parts
// TWICE-DAG: tensor.extract_slice %{{.*}}[1, 0, 0, 0] [1, 1, 8, 8]
// TWICE-DAG: tensor.extract_slice %{{.*}}[2, 0, 0, 0] [1, 1, 8, 8]
// TWICE: return

// EMPTY-LABEL: @empty
// EMPTY: nn.dense {{.*}} : tensor<6x0xf32>
// SMALL: error: @empty has no plan within 10 B (10 bytes)

// RETURNED: plan.memory = #plan.memory<device 1096
// RETURNED: %[[J:.*]] = nn.elementwise
// RETURNED: return %{{.*}}, %[[J]]
// AS-IT-IS: error: 'func.func' op result #1 is not made by an operator for that alone; run separate-results first

//--- parts.mlir
func.func @parts(%x: tensor<4x1x8x8xf32> {nn.input = "x"})
    -> (tensor<1xf32> {nn.output = "y"}, tensor<1xf32> {nn.output = "z"}) {
  %a = tensor.extract_slice %x[0, 0, 0, 0] [2, 1, 8, 8] [1, 1, 1, 1] : tensor<4x1x8x8xf32> to tensor<2x1x8x8xf32>
  %b = tensor.extract_slice %x[2, 0, 0, 0] [2, 1, 8, 8] [1, 1, 1, 1] : tensor<4x1x8x8xf32> to tensor<2x1x8x8xf32>
  %c = nn.lrn %a {size = 1} : tensor<2x1x8x8xf32>
  %d = nn.lrn %b {size = 1} : tensor<2x1x8x8xf32>
  %y = nn.sum_channels %c : tensor<2x1x8x8xf32>
  %z = nn.sum_channels %d : tensor<2x1x8x8xf32>
  return %y, %z : tensor<1xf32>, tensor<1xf32>
}

//--- empty.mlir
func.func @empty(%x: tensor<6x0xf32> {nn.input = "x"}, %w: tensor<0x5xf32> {nn.param = "w"},
                 %b: tensor<5xf32> {nn.param = "b"}) -> (tensor<6x5xf32> {nn.output = "y"}) {
  %0 = nn.dense %x, %w, %b : tensor<6x0xf32>, tensor<0x5xf32>, tensor<5xf32>
  %1 = nn.softmax %0 : tensor<6x5xf32>
  return %1 : tensor<6x5xf32>
}

//--- returned.mlir
func.func @returned(%x: tensor<2x1x8x8xf32> {nn.input = "x"}, %i: tensor<2xf32> {nn.input = "i"})
    -> (tensor<2x1x8x8xf32> {nn.output = "y"}, tensor<2xf32> {nn.output = "j"}) {
  %y = nn.max_pool2d %x {window = [3, 3], padding = [1, 1, 1, 1]} : tensor<2x1x8x8xf32>
  return %y, %i : tensor<2x1x8x8xf32>, tensor<2xf32>
}
