// RUN: split-file %s %t
// RUN: espalier-opt %t/model.mlir --keep-results="entry=other results=b,a" | FileCheck %s
// RUN: not espalier-opt %t/model.mlir --keep-results=results=y,z 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not espalier-opt %t/model.mlir --keep-results="entry=none results=y" 2>&1 | FileCheck %s --check-prefix=ENTRY

// In the entry's order, and updates of parameters stay.
// CHECK: func.func @first{{.*}}-> (tensor<8xf32> {nn.output = "y"})
// CHECK: func.func @other
// CHECK-SAME: -> (tensor<8xf32> {nn.output = "a"}, tensor<8xf32> {nn.output = "b"}, tensor<8xf32> {nn.update = "W"})
// CHECK: return %arg0, %arg1, %arg0 :

// UNKNOWN: error: 'func.func' op has no result 'z' to keep; it has y
// ENTRY: error: 'builtin.module' op has no entry 'none' to keep results of

//--- model.mlir
func.func @first(%x: tensor<8xf32> {nn.input = "x"}) -> (tensor<8xf32> {nn.output = "y"}) {
  return %x : tensor<8xf32>
}

func.func @other(%x: tensor<8xf32> {nn.input = "x"}, %W: tensor<8xf32> {nn.param = "W"})
    -> (tensor<8xf32> {nn.output = "a"}, tensor<8xf32> {nn.output = "c"},
        tensor<8xf32> {nn.output = "b"}, tensor<8xf32> {nn.update = "W"}) {
  return %x, %x, %W, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
