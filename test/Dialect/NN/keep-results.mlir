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

// What tells whose rows an input has may go: so does the input.
// RUN: espalier-compile %t/two.mlir --results=ha -o %t/two.so
// RUN: espalier-run %t/two.so --describe | FileCheck %s --check-prefix=TWO
// TWO: arguments
// TWO-NEXT: x 4xf32 per vertex
// TWO-NEXT: parameters

//--- two.mlir
vertex.func @f() state(tensor<4xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<4xf32>
  %c = vertex.gather 0 : tensor<4xf32>
  %h = arith.addf %x, %c : tensor<4xf32>
  vertex.scatter %h : tensor<4xf32>
  vertex.push "h" %h : tensor<4xf32>
}
func.func @e(%a: !vertex.graph {nn.input="a"}, %b: !vertex.graph {nn.input="b"}, %x: tensor<?x4xf32> {nn.input="x"}, %y: tensor<?x4xf32> {nn.input="y"})
  -> (tensor<?x4xf32> {nn.output="ha"}, tensor<?x4xf32> {nn.output="hb"}) {
  %ha = vertex.apply @f() over %a pull("x"=%x) -> "h" : (), (tensor<?x4xf32>) -> tensor<?x4xf32>
  %hb = vertex.apply @f() over %b pull("x"=%y) -> "h" : (), (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %ha, %hb : tensor<?x4xf32>, tensor<?x4xf32>
}
