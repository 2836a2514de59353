// The tables of a training step, as abi.h has them: numbers of kinds, rows and
// accesses are those of the header.
// REQUIRES: espalier-compile
// RUN: espalier-compile %s --emit=llvm --target-cpu=x86-64 -o - | FileCheck %s

// In abi.h's order an operand is buffer, access, slot, stride, column, elements.
// A reversed loop adds up what parents have (kind 4) in their rows of both slots.
// CHECK: constant [2 x { i32, i32, i32, i32, i64, i64 }] [{{.*}} { i32 [[#DONE:]], i32 0, i32 0, i32 0, i64 0, i64 16 }, {{.*}} { i32 [[#P:]], i32 0, i32 0, i32 0, i64 0, i64 8 }]
// CHECK: c"sum parents\00"
// CHECK: c"matmul 8x16\00"
// CHECK: = {{.*}} [{ i32, i32, ptr, ptr, ptr, i32, i32, i32, i32, i64, i64, ptr } { i32 4, i32 2, {{.*}} { i32 2, i32 2,

// Rows are added up by the caller's ids (access 3), of which buffer [[OWNERS]] has
// the first.
// CHECK: constant [4 x {{.*}}] [{{.*}} { i32 1, i32 3, i32 0, i32 0, i64 0, i64 1 }, {{.*}} { i32 [[#P]], i32 0, {{.*}} { i32 [[#OWNERS:]], i32 0, i32 0, i32 0, i64 0, i64 1 }, {{.*}} { i32 [[#SUMS:]], i32 0, i32 0, i32 0, i64 0, i64 8 }]
// CHECK: c"combine rows\00"
// CHECK: { i32 7, i32 4, {{.*}}, i32 0, i32 2, i32 0, i32 0, i64 8, i64 64, ptr null }

// The kernel writes rows of the table and of its state by id (access 8, the slot
// is the buffer of ids).
// CHECK: constant [5 x {{.*}}] [{{.*}} { i32 3, i32 8, i32 [[#OWNERS]], i32 0, i64 0, i64 8 }, {{.*}} { i32 4, i32 8, i32 [[#OWNERS]], i32 0, i64 0, i64 8 }]
// CHECK: c"step.kernel0\00"
// CHECK: { i32 3, i32 5, {{.*}}, ptr @step.kernel0, i32 0, i32 2,

// Sums have one row (access 1): of rows (kind 5); of outer products (kind 6), as
// columns of a matrix with 16.
// CHECK: c"sum rows\00"
// CHECK: constant [3 x {{.*}} { i32 [[#DW:]], i32 1, i32 0, i32 16, i64 0, i64 120 }]
// CHECK: c"outer sum 8x8\00"
// CHECK: constant [3 x {{.*}} { i32 [[#DW]], i32 1, i32 0, i32 16, i64 8, i64 120 }]
// CHECK: = {{.*}} { i32 5, i32 2, {{.*}} { i32 6, i32 3, {{.*}} { i32 6, i32 3,

// Buffers: a parameter is of kind 0, a state of kind 6.
// CHECK: { ptr @{{[^,]*}}, i32 0, i32 1, i32 0, i32 0, i32 2, {{[^[]*}}[4 x i64] [i64 100, i64 8, i64 0, i64 0], i64 800, ptr null, i64 -1 }
// CHECK-SAME: { ptr @{{[^,]*}}, i32 6, i32 1, i32 0, i32 0, i32 2, {{[^[]*}}[4 x i64] [i64 100, i64 8, i64 0, i64 0], i64 800, ptr null, i64 -1 }
// The weight is the transpose of all of U: K 8, N 16.
// CHECK: [1 x { i32, i32, ptr, i64, i64, i64, i32, i32 }] [{{.*}} { i32 2, i32 1, {{.*}}, i64 0, i64 8, i64 16, i32 1, i32 0 }]
// The reversed loop runs over all tasks (rows 8), reductions over all vertices.
// CHECK: [{{[0-9]+}} x { ptr, i32, i32, i32, i32, ptr }] [{{.*}} { ptr {{[^,]*}}, i32 8, i32 0, i32 2, i32 0, {{.*}} { ptr {{[^,]*}}, i32 1, i32 0, i32 1, i32 0,
func.func @step(%g: !vertex.graph {nn.input = "g"}, %y: tensor<?x8xf32> {nn.input = "y"}, %ids: tensor<?xi32> {nn.input = "ids"},
                %U: tensor<16x8xf32> {nn.param = "U"}, %E: tensor<100x8xf32> {nn.param = "E"}, %m: tensor<100x8xf32> {nn.state = "E.momentum"})
    -> (tensor<8x16xf32> {nn.output = "dW"}, tensor<8xf32> {nn.output = "db"}, tensor<100x8xf32> {nn.update = "E"}, tensor<100x8xf32> {nn.update = "E.momentum"}) {
  %own = vertex.pull_rows %g, %y : tensor<?x8xf32>
  %i = vertex.pull_rows %g, %ids : tensor<?xi32>
  %t = nn.transpose %U : tensor<16x8xf32>
  %loop:2 = vertex.reversed_tasks %g arity 2 eager(%own : tensor<?x8xf32>) states 1 -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x16xf32>, %o: tensor<?x8xf32>):
    %p = vertex.gather_parent_rows %g, %done : tensor<?x16xf32> -> tensor<?x8xf32>
    %both = nn.matmul %p, %t : tensor<?x8xf32>, tensor<8x16xf32>
    vertex.yield(%both, %p) : tensor<?x16xf32>, tensor<?x8xf32>
  }
  %sums, %owners = nn.combine_rows %loop#1 by %i : tensor<?x8xf32>, tensor<?xi32>
  %old = nn.embedding %E[%owners] : tensor<100x8xf32>, tensor<?xi32>
  %old_m = nn.embedding %m[%owners] : tensor<100x8xf32>, tensor<?xi32>
  %new:2 = nn.elementwise(%sums, %old, %old_m) : (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^bb0(%d: tensor<8xf32>, %e: tensor<8xf32>, %n: tensor<8xf32>):
    %0 = arith.addf %d, %n : tensor<8xf32>
    %1 = arith.subf %e, %0 : tensor<8xf32>
    nn.yield %1, %0 : tensor<8xf32>, tensor<8xf32>
  }
  %E1 = nn.update_rows %E by %owners with %new#0 : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
  %m1 = nn.update_rows %m by %owners with %new#1 : tensor<100x8xf32>, tensor<?xi32>, tensor<?x8xf32>
  %row = nn.sum_rows %own : tensor<?x8xf32>
  %a = nn.outer_sum %own, %own : tensor<?x8xf32>, tensor<?x8xf32>
  %b = nn.outer_sum %own, %loop#1 : tensor<?x8xf32>, tensor<?x8xf32>
  %c = tensor.concat dim(1) %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
  return %c, %row, %E1, %m1 : tensor<8x16xf32>, tensor<8xf32>, tensor<100x8xf32>, tensor<100x8xf32>
}
