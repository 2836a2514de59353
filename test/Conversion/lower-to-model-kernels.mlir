// What generated kernels look like.
// RUN: espalier-opt %s -split-input-file --lower-to-model | FileCheck %s
// RUN: espalier-opt %s -split-input-file --lower-to-model="vector-bits=128" | FileCheck %s --check-prefix=NARROW

// Ten columns of f32 in vectors of eight: one full vector, and one that ends at
// the last column. In vectors of four: a loop over two, and one that ends there.
// CHECK-LABEL: func.func private @columns.kernel0(
// CHECK-SAME: %[[OPERANDS:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) attributes {model.kernel} {
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]] step %{{.*}} : i64 {
// CHECK: %[[FIRST:.*]] = arith.constant 0 : i64
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK: math.absf %{{.*}} : vector<8xf32>
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
// CHECK: %[[LAST:.*]] = arith.constant 2 : i64
// CHECK: llvm.getelementptr %{{.*}}[%[[LAST]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// NARROW-LABEL: func.func private @columns.kernel0(
// NARROW: scf.for
// NARROW: %[[WHOLE:.*]] = arith.constant 8 : i64
// NARROW: scf.for %{{.*}} = %{{.*}} to %[[WHOLE]] step
// NARROW: llvm.load {{.*}} -> vector<4xf32>
// NARROW: }
// NARROW: %[[LAST:.*]] = arith.constant 6 : i64
// NARROW: llvm.load {{.*}} -> vector<4xf32>
func.func @columns(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x10xf32> {nn.input = "x"}) -> (tensor<?x10xf32> {nn.output = "y"}) {
  %0 = nn.elementwise(%x) : (tensor<?x10xf32>) -> tensor<?x10xf32> {
  ^bb0(%a: tensor<10xf32>):
    %1 = math.absf %a : tensor<10xf32>
    nn.yield %1 : tensor<10xf32>
  }
  return %0 : tensor<?x10xf32>
}

// -----

// A child's row is found through an index; where it is negative there is no
// child, and the row is that of zeros. A row of the task needs no index.
// CHECK-LABEL: func.func private @child.kernel0(
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %{{.*}}[%[[ROW]]] : (!llvm.ptr, i64) -> !llvm.ptr, i32
// CHECK: %[[INDEX:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> i32
// CHECK: %[[ABSENT:.*]] = arith.cmpi slt, %[[INDEX]], %{{.*}} : i32
// CHECK: %[[CHILD:.*]] = llvm.getelementptr
// CHECK: arith.select %[[ABSENT]], %[[ZEROS:.*]], %[[CHILD]] : !llvm.ptr
// CHECK-NOT: arith.select
// CHECK: llvm.store
func.func @child(%g: !vertex.graph {nn.input = "g"}) -> (tensor<?x8xf32> {nn.output = "h"}) {
  %s = vertex.tasks %g arity 1 states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    %c = vertex.gather_rows %done[0] : tensor<?x8xf32>
    %n = nn.elementwise(%c) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %0 = math.absf %a : tensor<8xf32>
      nn.yield %0 : tensor<8xf32>
    }
    vertex.yield(%n) : tensor<?x8xf32>
  }
  %h = vertex.push_rows %g, %s : tensor<?x8xf32>
  return %h : tensor<?x8xf32>
}

// -----

// A group of f32 and f64 has vectors of the wider element's lanes, four; its
// conditions stay in registers, its constants become vectors.
// CHECK-LABEL: func.func private @mixed.kernel0(
// CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : vector<4xf32> to vector<4xf64>
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf64>
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[WIDE]], %[[ZERO]] : vector<4xf64>
// CHECK: arith.select %[[LESS]], %[[ZERO]], %[[WIDE]] : vector<4xi1>, vector<4xf64>
// CHECK: llvm.store %{{.*}} {alignment = 8 : i64} : vector<4xf64>, !llvm.ptr
func.func @mixed(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) -> (tensor<?x8xf64> {nn.output = "y"}) {
  %0 = nn.elementwise(%x) : (tensor<?x8xf32>) -> tensor<?x8xf64> {
  ^bb0(%a: tensor<8xf32>):
    %1 = arith.extf %a : tensor<8xf32> to tensor<8xf64>
    %2 = arith.constant dense<0.0> : tensor<8xf64>
    %3 = arith.cmpf olt, %1, %2 : tensor<8xf64>
    %4 = arith.select %3, %2, %1 : tensor<8xi1>, tensor<8xf64>
    nn.yield %4 : tensor<8xf64>
  }
  return %0 : tensor<?x8xf64>
}

// -----

// Activations become their formulas: relu a comparison that keeps NaN, gelu one
// with erf; indices in a group count as 64 bits.
// CHECK-LABEL: func.func private @formulas.kernel0(
// CHECK-NOT: nn.
// CHECK: arith.cmpf olt
// CHECK: arith.select
// CHECK: math.erf
// CHECK: arith.index_cast %{{.*}} : vector<4xi32> to vector<4xindex>
// CHECK-NOT: nn.
func.func @formulas(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}, %i: tensor<?x8xi32> {nn.input = "i"})
    -> (tensor<?x8xf32> {nn.output = "y"}, tensor<?x8xi32> {nn.output = "j"}) {
  %0:2 = nn.elementwise(%x, %i) : (tensor<?x8xf32>, tensor<?x8xi32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xi32>):
    %1 = nn.relu %a : tensor<8xf32>
    %2 = nn.gelu %1 : tensor<8xf32>
    %3 = arith.index_cast %b : tensor<8xi32> to tensor<8xindex>
    %4 = arith.addi %3, %3 : tensor<8xindex>
    %5 = arith.index_cast %4 : tensor<8xindex> to tensor<8xi32>
    nn.yield %2, %5 : tensor<8xf32>, tensor<8xi32>
  }
  return %0#0, %0#1 : tensor<?x8xf32>, tensor<?x8xi32>
}

// -----

// Softmax over five columns: a maximum, a sum of exponentials, a division, each
// over the four lanes that a vector holds and the one column that is left.
// CHECK-LABEL: func.func private @softmax.kernel0(
// CHECK: vector.reduction <maximumf>
// CHECK: math.exp
// CHECK: vector.reduction <add>
// CHECK: arith.divf
// NARROW-LABEL: func.func private @softmax.kernel0(
// NARROW: vector.reduction <maximumf>, %{{.*}}, %{{.*}} : vector<4xf32> into f32
// NARROW: vector.reduction <maximumf>, %{{.*}}, %{{.*}} : vector<1xf32> into f32
func.func @softmax(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x5xf32> {nn.input = "x"}) -> (tensor<?x5xf32> {nn.output = "y"}) {
  %y = nn.softmax %x : tensor<?x5xf32>
  return %y : tensor<?x5xf32>
}
