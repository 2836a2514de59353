// RUN: espalier-opt %s --hoist-slices | FileCheck %s
// RUN: espalier-opt %s --hoist-slices --remarks-filter="hoist-slices" 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// A slice of a sum is the sum of slices, and a product of which four columns are
// read has four columns.
// CHECK-LABEL: @slice_of_sum
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x12xf32>, %[[B:.*]]: tensor<12xf32>
// CHECK-DAG: %[[COLUMNS:.*]] = tensor.extract_slice %[[W]][0, 0] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
// CHECK-DAG: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[COLUMNS]] : tensor<8xf32>, tensor<8x4xf32>
// CHECK-DAG: %[[BIAS:.*]] = tensor.extract_slice %[[B]][0] [4] [1]
// CHECK: %[[SUM:.*]] = arith.addf %[[PRODUCT]], %[[BIAS]] : tensor<4xf32>
// CHECK-NEXT: return %[[SUM]]
// REMARK-DAG: hoist-slices.mlir:[[@LINE+2]]:{{.*}} narrowed {{.*}} columns=4, saved=8
func.func @slice_of_sum(%x: tensor<8xf32>, %W: tensor<8x12xf32>, %b: tensor<12xf32>) -> tensor<4xf32> {
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x12xf32>
  %1 = arith.addf %0, %b : tensor<12xf32>
  %2 = tensor.extract_slice %1[0] [4] [1] : tensor<12xf32> to tensor<4xf32>
  return %2 : tensor<4xf32>
}

// The first and the last third of the columns are read: the weight becomes
// these two, side by side, so the last third begins at 4 instead of 8.
// CHECK-LABEL: @two_ranges
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x12xf32>
// CHECK-DAG: %[[FIRST:.*]] = tensor.extract_slice %[[W]][0, 0] [8, 4] [1, 1]
// CHECK-DAG: %[[LAST:.*]] = tensor.extract_slice %[[W]][0, 8] [8, 4] [1, 1]
// CHECK: %[[BOTH:.*]] = tensor.concat dim(1) %[[FIRST]], %[[LAST]] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
// CHECK: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[BOTH]]
// CHECK-DAG: %[[A:.*]] = tensor.extract_slice %[[PRODUCT]][0] [4] [1]
// CHECK-DAG: %[[B:.*]] = tensor.extract_slice %[[PRODUCT]][4] [4] [1]
// CHECK: return %[[A]], %[[B]]
// REMARK-DAG: hoist-slices.mlir:[[@LINE+2]]:{{.*}} narrowed {{.*}} columns=8, saved=4
func.func @two_ranges(%x: tensor<8xf32>, %W: tensor<8x12xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x12xf32>
  %1 = tensor.extract_slice %0[0] [4] [1] : tensor<12xf32> to tensor<4xf32>
  %2 = tensor.extract_slice %0[8] [4] [1] : tensor<12xf32> to tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// Ranges that overlap or touch are one: 0..6 and 4..8 leave 8 of 12 columns.
// CHECK-LABEL: @overlapping_ranges
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x12xf32>
// CHECK: %[[COLUMNS:.*]] = tensor.extract_slice %[[W]][0, 0] [8, 8] [1, 1]
// CHECK: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[COLUMNS]]
// CHECK-DAG: tensor.extract_slice %[[PRODUCT]][0] [6] [1]
// CHECK-DAG: tensor.extract_slice %[[PRODUCT]][4] [4] [1]
func.func @overlapping_ranges(%x: tensor<8xf32>, %W: tensor<8x12xf32>) -> (tensor<6xf32>, tensor<4xf32>) {
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x12xf32>
  %1 = tensor.extract_slice %0[0] [6] [1] : tensor<12xf32> to tensor<6xf32>
  %2 = tensor.extract_slice %0[4] [4] [1] : tensor<12xf32> to tensor<4xf32>
  return %1, %2 : tensor<6xf32>, tensor<4xf32>
}

// All columns are read, in parts: nothing is narrowed, and the product stays one.
// CHECK-LABEL: @all_columns
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<8x8xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK-NEXT: tensor.extract_slice %[[PRODUCT]][0] [4] [1]
// CHECK-NEXT: tensor.extract_slice %[[PRODUCT]][4] [4] [1]
func.func @all_columns(%x: tensor<8xf32>, %W: tensor<8x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x8xf32>
  %1 = tensor.extract_slice %0[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %2 = tensor.extract_slice %0[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// The whole value is read too, so slicing earlier would compute it twice.
// CHECK-LABEL: @read_as_a_whole
// CHECK: %[[PRODUCT:.*]] = nn.matmul
// CHECK-NEXT: %[[TANH:.*]] = math.tanh %[[PRODUCT]] : tensor<8xf32>
// CHECK-NEXT: tensor.extract_slice %[[TANH]]
func.func @read_as_a_whole(%x: tensor<8xf32>, %W: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = nn.matmul %x, %W : tensor<8xf32>, tensor<8x8xf32>
  %1 = math.tanh %0 : tensor<8xf32>
  %2 = tensor.extract_slice %1[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return %1, %2 : tensor<8xf32>, tensor<4xf32>
}

// A slice of a slice is one slice, 2 + 1 elements in.
// CHECK-LABEL: @slice_of_slice
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[SLICE:.*]] = tensor.extract_slice %[[X]][3] [2] [1]
// CHECK-NEXT: return %[[SLICE]]
func.func @slice_of_slice(%x: tensor<8xf32>) -> tensor<2xf32> {
  %0 = tensor.extract_slice %x[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %1 = tensor.extract_slice %0[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %1 : tensor<2xf32>
}

// A slice within one piece of a concatenation is a slice of that piece: element
// 5 of the whole is element 1 of the second piece.
// CHECK-LABEL: @slice_of_concat
// CHECK-SAME: %{{.*}}: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[SLICE:.*]] = tensor.extract_slice %[[Y]][1] [2] [1]
// CHECK-NEXT: return %[[SLICE]]
func.func @slice_of_concat(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {
  %0 = tensor.concat dim(0) %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = tensor.extract_slice %0[5] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %1 : tensor<2xf32>
}

// One that reaches over two pieces stays.
// CHECK-LABEL: @slice_over_pieces
// CHECK: tensor.concat
// CHECK: tensor.extract_slice %{{.*}}[3] [2] [1]
func.func @slice_over_pieces(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {
  %0 = tensor.concat dim(0) %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = tensor.extract_slice %0[3] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Strided slices are left alone.
// CHECK-LABEL: @strided
// CHECK: math.tanh %{{.*}} : tensor<8xf32>
// CHECK-NEXT: tensor.extract_slice %{{.*}}[0] [4] [2]
func.func @strided(%x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = math.tanh %x : tensor<8xf32>
  %1 = tensor.extract_slice %0[0] [4] [2] : tensor<8xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// The arithmetic of every gate of a cell ends up as wide as the state, down to
// the sum's operands; the product is read in full and stays one.
// CHECK-LABEL: vertex.func @gates
// CHECK-SAME: %[[U:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>
vertex.func @gates(%U: tensor<4x8xf32>, %b: tensor<8xf32>) state(tensor<4xf32>) arity(1) {
  // CHECK: %[[H:.*]] = vertex.gather 0
  %h = vertex.gather 0 : tensor<4xf32>
  // CHECK: %[[PRODUCT:.*]] = nn.matmul %[[H]], %[[U]]
  %0 = nn.matmul %h, %U : tensor<4xf32>, tensor<4x8xf32>
  // CHECK-NOT: arith.addf %{{.*}} : tensor<8xf32>
  // CHECK-COUNT-2: arith.addf %{{.*}} : tensor<4xf32>
  %1 = arith.addf %0, %b : tensor<8xf32>
  %2 = tensor.extract_slice %1[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %3 = tensor.extract_slice %1[4] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %4 = math.tanh %2 : tensor<4xf32>
  %5 = arith.mulf %4, %3 : tensor<4xf32>
  vertex.scatter %5 : tensor<4xf32>
}
