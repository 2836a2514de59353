// RUN: espalier-opt %s --lower-kernels | FileCheck %s
// What comes out has no operator of another dialect.
// RUN: espalier-opt %s --lower-kernels | FileCheck %s --check-prefix=ONLY
// RUN: espalier-opt %s --lower-kernels | FileCheck %s --check-prefix=LIBM
// ONLY-NOT: {{ (func|scf|cf|vector|arith|math|ub)\.}}

// Model tables stay as they are.
// CHECK-LABEL: model.entry @entry graphs [] arities [] {
// CHECK-NEXT: model.buffer
model.entry @entry graphs [] arities [] {
  %0 = model.buffer input "x" rows one of 0 : tensor<8xf32>
}

// A kernel becomes an llvm.func of the same signature, private and marked as
// before; its loop over rows becomes branches.
// CHECK: llvm.func @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) attributes {model.kernel, sym_visibility = "private"} {
// CHECK: llvm.br
// CHECK: llvm.icmp "slt"
// CHECK: llvm.cond_br
// CHECK: llvm.fadd %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: llvm.intr.fma
// CHECK: llvm.return
func.func private @kernel(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel} {
  %one = arith.constant 1 : i64
  scf.for %row = %begin to %end step %one : i64 {
    %0 = llvm.load %operands : !llvm.ptr -> vector<8xf32>
    %1 = arith.addf %0, %0 : vector<8xf32>
    %2 = math.fma %0, %1, %1 : vector<8xf32>
    llvm.store %2, %operands : vector<8xf32>, !llvm.ptr
  }
  return
}

// What the processor lacks goes to libm, element by element; what it has stays a
// vector.
// LIBM: llvm.func @erf(f64) -> f64
// CHECK: llvm.func @libm
// CHECK-COUNT-2: llvm.call @erf(
// CHECK-NOT: llvm.call
// CHECK: llvm.intr.sqrt(%{{.*}}) : (vector<2xf64>) -> vector<2xf64>
func.func private @libm(%x: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel} {
  %0 = llvm.load %x : !llvm.ptr -> vector<2xf64>
  %1 = math.erf %0 : vector<2xf64>
  %2 = math.sqrt %1 : vector<2xf64>
  llvm.store %2, %x : vector<2xf64>, !llvm.ptr
  return
}

// What LLVM has no instruction for, but a formula.
// CHECK: llvm.func @formulas
// CHECK: llvm.sdiv
// CHECK: llvm.select
// CHECK: llvm.intr.minimum
func.func private @formulas(%x: !llvm.ptr, %y: !llvm.ptr, %z: !llvm.ptr) attributes {model.kernel} {
  %0 = llvm.load %x : !llvm.ptr -> vector<4xi32>
  %1 = arith.floordivsi %0, %0 : vector<4xi32>
  llvm.store %1, %x : vector<4xi32>, !llvm.ptr
  %2 = llvm.load %x : !llvm.ptr -> vector<4xf32>
  %low = llvm.load %y : !llvm.ptr -> vector<4xf32>
  %high = llvm.load %z : !llvm.ptr -> vector<4xf32>
  %3 = math.clampf %2 to [%low, %high] : vector<4xf32>
  llvm.store %3, %x : vector<4xf32>, !llvm.ptr
  return
}

// Softmax reduces vectors and broadcasts scalars.
// CHECK: llvm.func @reduction
// CHECK: llvm.intr.vector.reduce.fmaximum
// CHECK: llvm.shufflevector
func.func private @reduction(%x: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel} {
  %0 = llvm.load %x : !llvm.ptr -> vector<4xf32>
  %1 = vector.reduction <maximumf>, %0 : vector<4xf32> into f32
  %2 = vector.broadcast %1 : f32 to vector<4xf32>
  llvm.store %2, %x : vector<4xf32>, !llvm.ptr
  return
}
