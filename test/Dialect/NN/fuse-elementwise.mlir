// RUN: espalier-opt %s --fuse-elementwise | FileCheck %s
// RUN: espalier-opt %s --fuse-elementwise="singletons=true" | FileCheck %s --check-prefix=ALONE
// RUN: espalier-opt %s --fuse-elementwise --remarks-filter="fuse-elementwise" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// Twice the same, whatever the addresses.
// RUN: espalier-opt %s --fuse-elementwise -o %t.first
// RUN: espalier-opt %s --fuse-elementwise -o %t.second
// RUN: cmp %t.first %t.second

// Operators that feed each other become one group; without fusion, one each.
// CHECK-LABEL: @chain
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[GROUP:.*]] = nn.elementwise(%[[X]], %[[Y]]) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[TANH:.*]] = math.tanh %[[SUM]]
// CHECK-NEXT: nn.yield %[[TANH]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[GROUP]]
// ALONE-LABEL: @chain
// ALONE: %[[FIRST:.*]] = nn.elementwise
// ALONE: arith.addf
// ALONE: nn.elementwise(%[[FIRST]])
// ALONE: math.tanh
// REMARK: fuse-elementwise.mlir:[[@LINE+2]]:{{.*}} group {{.*}} inputs=2, operators=2, outputs=1
func.func @chain(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A value that is read outside too is a second result, and an operand that two
// members read is one input.
// CHECK-LABEL: @outputs_and_inputs
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[GROUP:.*]]:2 = nn.elementwise(%[[X]], %[[Y]]) :
// CHECK: nn.yield %[[SUM:.*]], %[[PRODUCT:.*]] :
// CHECK: return %[[GROUP]]#0, %[[GROUP]]#1
func.func @outputs_and_inputs(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = arith.mulf %0, %x : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// Operators that only share an operand are not linked.
// CHECK-LABEL: @siblings
// CHECK-COUNT-2: nn.elementwise
// CHECK-NOT: nn.elementwise
// CHECK: return
func.func @siblings(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = math.tanh %x : tensor<8xf32>
  %1 = math.exp %x : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// tanh feeds the product, the product feeds the sum, and tanh feeds the sum too.
// One group of both would need its own result: they stay apart.
// CHECK-LABEL: @no_cycle_through_matmul
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x8xf32>
// CHECK-NEXT: %[[TANH:.*]] = nn.elementwise(%[[X]])
// CHECK: math.tanh
// CHECK: %[[PRODUCT:.*]] = nn.matmul %[[TANH]], %[[W]]
// CHECK: %[[SUM:.*]] = nn.elementwise(%[[TANH]], %[[PRODUCT]])
// CHECK: arith.addf
// CHECK: return %[[SUM]]
func.func @no_cycle_through_matmul(%x: tensor<8xf32>, %W: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = math.tanh %x : tensor<8xf32>
  %1 = nn.matmul %0, %W : tensor<8xf32>, tensor<8x8xf32>
  %2 = arith.addf %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// The way out and back may lead through another group: tanh, exp of another
// shape, and the sum.
// CHECK-LABEL: @no_cycle_through_group
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[TANH:.*]] = nn.elementwise(%[[X]])
// CHECK: %[[HALF:.*]] = tensor.extract_slice %[[TANH]]
// CHECK: %[[EXP:.*]] = nn.elementwise(%[[HALF]])
// CHECK: %[[WHOLE:.*]] = tensor.concat dim(0) %[[EXP]], %[[EXP]]
// CHECK: nn.elementwise(%[[TANH]], %[[WHOLE]])
func.func @no_cycle_through_group(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.tanh %x : tensor<8xf32>
  %1 = tensor.extract_slice %0[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %2 = math.exp %1 : tensor<4xf32>
  %3 = tensor.concat dim(0) %2, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %4 = arith.addf %0, %3 : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// Two groups, each leading to the other: a, b and c, d are linked, a feeds the
// product that d reads, and c the product that b reads. Either pair may join,
// not both.
// CHECK-LABEL: @no_cycle_between_groups
// CHECK: nn.elementwise
// CHECK: nn.matmul
// CHECK: nn.elementwise
// CHECK: nn.matmul
// CHECK: nn.elementwise
// CHECK-NOT: nn.elementwise
// CHECK: return
func.func @no_cycle_between_groups(%x: tensor<8xf32>, %y: tensor<8xf32>, %W: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = math.tanh %x : tensor<8xf32>
  %c = math.exp %y : tensor<8xf32>
  %ac = nn.matmul %a, %W : tensor<8xf32>, tensor<8x8xf32>
  %ca = nn.matmul %c, %W : tensor<8xf32>, tensor<8x8xf32>
  %b = arith.addf %a, %ca : tensor<8xf32>
  %d = arith.addf %c, %ac : tensor<8xf32>
  return %b, %d : tensor<8xf32>, tensor<8xf32>
}

// Operators between members move out of the way: the product in the middle
// reads nothing of the group, and comes before it.
// CHECK-LABEL: @around_other_operators
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x8xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK-NEXT: nn.elementwise(%[[X]], %[[PRODUCT]])
// CHECK: math.tanh
// CHECK: arith.addf
func.func @around_other_operators(%x: tensor<8xf32>, %W: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = math.tanh %x : tensor<8xf32>
  %1 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x8xf32>
  %2 = arith.addf %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}

// A reader between members moves behind the group.
// CHECK-LABEL: @reader_between_members
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x8xf32>
// CHECK-NEXT: %[[GROUP:.*]]:2 = nn.elementwise(%[[X]])
// CHECK: nn.matmul %[[GROUP]]#0, %[[W]]
func.func @reader_between_members(%x: tensor<8xf32>, %W: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = math.tanh %x : tensor<8xf32>
  %1 = nn.matmul %0, %W : tensor<8xf32>, tensor<8x8xf32>
  %2 = math.exp %0 : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// A constant of one value is cloned into the group, once; another is an input.
// CHECK-LABEL: @constants
// CHECK: %[[DIFFERENT:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: nn.elementwise(%{{.*}}, %[[DIFFERENT]])
// CHECK: arith.constant dense<3.000000e+00> : tensor<2xf32>
// CHECK-NOT: arith.constant
// CHECK: nn.yield
func.func @constants(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.constant dense<3.0> : tensor<2xf32>
  %1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = arith.addf %x, %0 : tensor<2xf32>
  %3 = arith.mulf %2, %1 : tensor<2xf32>
  %4 = arith.mulf %3, %0 : tensor<2xf32>
  return %4 : tensor<2xf32>
}

// Conditions are members: they live in registers only.
// CHECK-LABEL: @conditions
// CHECK: nn.elementwise
// CHECK: arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<8xf32>
// CHECK: arith.select %{{.*}} : tensor<8xi1>, tensor<8xf32>
// CHECK: nn.yield
func.func @conditions(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.cmpf olt, %x, %y : tensor<8xf32>
  %1 = arith.select %0, %x, %y : tensor<8xi1>, tensor<8xf32>
  return %1 : tensor<8xf32>
}

// A condition is computed by each of its readers, which another operator keeps
// apart here, and without fusion too.
// CHECK-LABEL: @condition_of_two_groups
// CHECK: %[[FIRST:.*]] = nn.elementwise
// CHECK: arith.cmpf olt
// CHECK: arith.select
// CHECK: %[[PRODUCT:.*]] = nn.matmul %[[FIRST]]
// CHECK: nn.elementwise
// CHECK: arith.cmpf olt
// CHECK: arith.select
// CHECK: nn.yield %{{.*}} : tensor<8xf32>
// ALONE-LABEL: @condition_of_two_groups
// ALONE-NOT: tensor<8xi1> {
// ALONE: return
func.func @condition_of_two_groups(%x: tensor<8xf32>, %y: tensor<8xf32>, %W: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = arith.cmpf olt, %x, %y : tensor<8xf32>
  %1 = arith.select %0, %x, %y : tensor<8xi1>, tensor<8xf32>
  %2 = nn.matmul %1, %W : tensor<8xf32>, tensor<8x8xf32>
  %3 = arith.select %0, %2, %1 : tensor<8xi1>, tensor<8xf32>
  return %3 : tensor<8xf32>
}

// So is what a condition is made of: four comparisons for two readers.
// CHECK-LABEL: @condition_of_conditions
// CHECK-NOT: -> tensor<8xi1>
// CHECK: return
// ALONE-LABEL: @condition_of_conditions
// ALONE-NOT: -> tensor<8xi1>
// ALONE-COUNT-4: arith.cmpf
// ALONE-NOT: arith.cmpf
// ALONE: return
func.func @condition_of_conditions(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = arith.cmpf olt, %x, %y : tensor<8xf32>
  %1 = arith.cmpf ogt, %x, %y : tensor<8xf32>
  %2 = arith.ori %0, %1 : tensor<8xi1>
  %3 = arith.select %2, %x, %y : tensor<8xi1>, tensor<8xf32>
  %4 = arith.select %2, %y, %x : tensor<8xi1>, tensor<8xf32>
  return %3, %4 : tensor<8xf32>, tensor<8xf32>
}

// Types may change on the way, shapes may not.
// CHECK-LABEL: @types
// CHECK: nn.elementwise(%{{.*}}) : (tensor<8xf32>) -> tensor<8xf64>
// CHECK: arith.addf %{{.*}} : tensor<8xf32>
// CHECK: arith.extf %{{.*}} : tensor<8xf32> to tensor<8xf64>
func.func @types(%x: tensor<8xf32>) -> tensor<8xf64> {
  %0 = arith.addf %x, %x : tensor<8xf32>
  %1 = arith.extf %0 : tensor<8xf32> to tensor<8xf64>
  return %1 : tensor<8xf64>
}

// Around vertex functions, over batches, groups have rows in their bodies.
// CHECK-LABEL: @batch
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x8xf32>
// CHECK: nn.elementwise(%[[X]], %[[Y]]) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] : tensor<8xf32>
// CHECK-NEXT: math.tanh %[[SUM]] : tensor<8xf32>
func.func @batch(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = arith.addf %x, %y : tensor<?x8xf32>
  %1 = math.tanh %0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// In vertex functions, in any of their shapes.
// CHECK-LABEL: vertex.func @in_vertex_function
// CHECK: %[[X:.*]] = vertex.pull "x"
// CHECK: %[[Y:.*]] = nn.elementwise(%[[X]]) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK: nn.gelu
// CHECK: nn.relu
// CHECK: vertex.push "y" %[[Y]]
vertex.func @in_vertex_function() arity(0) {
  %x = vertex.pull "x" : tensor<2x3xf32>
  %0 = nn.gelu %x : tensor<2x3xf32>
  %1 = nn.relu %0 : tensor<2x3xf32>
  vertex.push "y" %1 : tensor<2x3xf32>
}

// What nobody reads goes, with all that only it needed.
// CHECK-LABEL: @unread
// CHECK-NEXT: return
func.func @unread(%x: tensor<8xf32>) {
  %0 = math.tanh %x : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return
}

// Scalars and vectors are no tensors.
// CHECK-LABEL: @scalars_and_vectors
// CHECK-NOT: nn.elementwise
// CHECK: return
func.func @scalars_and_vectors(%s: f32, %v: vector<8xf32>) -> (f32, vector<8xf32>) {
  %0 = math.tanh %s : f32
  %1 = math.tanh %v : vector<8xf32>
  return %0, %1 : f32, vector<8xf32>
}

// Existing groups are left alone, inside and out.
// CHECK-LABEL: @existing_group
// CHECK: %[[GROUP:.*]] = nn.elementwise
// CHECK: math.tanh
// CHECK: nn.elementwise(%[[GROUP]])
// CHECK: math.exp
func.func @existing_group(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%row: tensor<8xf32>):
    %1 = math.tanh %row : tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  %2 = math.exp %0 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
