// RUN: split-file %s %t
// RUN: not espalier-opt %t/whole.mlir --assign-buffers --select-conv-algorithms 2>&1 | FileCheck %s --check-prefix=NO-MACHINE
// RUN: not espalier-opt %t/whole.mlir --assign-buffers --select-conv-algorithms=machine=%t/none 2>&1 | FileCheck %s --check-prefix=NO-FILE
// RUN: not espalier-opt %t/host.mlir --select-conv-algorithms=machine=%source_dir/docs/machines/local-cpu-builtin.json 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not espalier-opt %t/places.mlir --select-conv-algorithms=machine=%source_dir/docs/machines/local-cpu-builtin.json 2>&1 | FileCheck %s --check-prefix=PLACES

// NO-MACHINE: error: algorithms cannot be selected: which are fast is the machine's business; name the file of one
// NO-FILE: error: algorithms cannot be selected: {{.*}}none
// HOST: 'nn.relu' op cannot be planned: it reads what is in the host's memory
// PLACES: error: algorithms cannot be selected: not every tensor has its place; run assign-buffers before

//--- whole.mlir
func.func @f(%x: tensor<4x8x8x8xf32> {nn.input = "x"}) -> (tensor<4x8x4x4xf32> {nn.output = "y"}) {
  %a = nn.relu %x : tensor<4x8x8x8xf32>
  %b = nn.max_pool2d %a {window = [2, 2], strides = [2, 2]} : tensor<4x8x8x8xf32>
  return %b : tensor<4x8x4x4xf32>
}

//--- host.mlir
func.func @f(%x: tensor<4x8x8x8xf32> {nn.input = "x"}) -> (tensor<4x8x4x4xf32> {nn.output = "y"})
    attributes {plan.memory = #plan.memory<device 16384, host 0, budget 0, machine "">} {
  %a = nn.relu %x : tensor<4x8x8x8xf32>
  %b = nn.max_pool2d %a {window = [2, 2], strides = [2, 2]} : tensor<4x8x8x8xf32>
  return %b : tensor<4x8x4x4xf32>
}

//--- places.mlir
func.func @f(%x: tensor<4x8x8x8xf32> {nn.input = "x", plan.offset = 0 : i64}) -> (tensor<4x8x4x4xf32> {nn.output = "y"})
    attributes {plan.memory = #plan.memory<device 16384, host 0, budget 0, machine "">} {
  %a = nn.relu %x {plan.offsets = array<i64: 8192>} : tensor<4x8x8x8xf32>
  %b = nn.max_pool2d %a {window = [2, 2], strides = [2, 2]} : tensor<4x8x8x8xf32>
  return %b : tensor<4x8x4x4xf32>
}
