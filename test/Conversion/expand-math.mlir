// RUN: espalier-opt %s --expand-math | FileCheck %s

// Clamped, reduced to r and a power of two s, a polynomial in r, scaled by s
// twice: arithmetic only. How close it comes is the business of ExpandMathTest.
// CHECK-LABEL: @exp
// CHECK-SAME: %[[X:.*]]: vector<8xf32>
// CHECK-NOT: math.exp
// CHECK: arith.cmpf ogt, %[[X]], %{{.*}} : vector<8xf32>
// CHECK: arith.select
// CHECK: arith.cmpf olt
// CHECK: arith.select
// CHECK: math.fma
// CHECK: arith.bitcast %{{.*}} : vector<8xf32> to vector<8xi32>
// CHECK: %[[S:.*]] = arith.bitcast %{{.*}} : vector<8xi32> to vector<8xf32>
// CHECK: %[[ONCE:.*]] = arith.mulf %{{.*}}, %[[S]]
// CHECK-NEXT: %[[TWICE:.*]] = arith.mulf %[[ONCE]], %[[S]]
// CHECK-NEXT: return %[[TWICE]]
func.func @exp(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// A scalar likewise; tanh ends in the one division of its formula.
// CHECK-LABEL: @tanh
// CHECK-NOT: math.tanh
// CHECK: %[[QUOTIENT:.*]] = arith.divf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: return %[[QUOTIENT]]
func.func @tanh(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}

// f64 goes to libm, tensors to a kernel first, and other functions have nothing
// to expand.
// CHECK-LABEL: @left_alone
// CHECK-NEXT: math.exp %{{.*}} : vector<4xf64>
// CHECK-NEXT: math.tanh %{{.*}} : f64
// CHECK-NEXT: math.exp %{{.*}} : tensor<8xf32>
// CHECK-NEXT: math.log %{{.*}} : vector<8xf32>
// CHECK-NEXT: return
func.func @left_alone(%a: vector<4xf64>, %b: f64, %c: tensor<8xf32>, %d: vector<8xf32>) -> (vector<4xf64>, f64, tensor<8xf32>, vector<8xf32>) {
  %0 = math.exp %a : vector<4xf64>
  %1 = math.tanh %b : f64
  %2 = math.exp %c : tensor<8xf32>
  %3 = math.log %d : vector<8xf32>
  return %0, %1, %2, %3 : vector<4xf64>, f64, tensor<8xf32>, vector<8xf32>
}
