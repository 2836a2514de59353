// The pipelines on a small tree model with gates, as a user writes it.
// RUN: espalier-opt %s --verify-roundtrip --espalier-batching-pipeline | FileCheck %s --check-prefix=ROWS
// RUN: espalier-opt %s --verify-roundtrip --espalier-batching-pipeline="specialize=false" | FileCheck %s --check-prefix=WHOLE
// RUN: espalier-opt %s --verify-roundtrip --espalier-batching-pipeline="fuse=false" | FileCheck %s --check-prefix=ALONE
// RUN: espalier-opt %s --verify-roundtrip --espalier-pipeline | FileCheck %s --check-prefix=MODEL
// The same input gives the same output.
// RUN: espalier-opt %s --espalier-pipeline -o %t.first
// RUN: espalier-opt %s --espalier-pipeline -o %t.second
// RUN: cmp %t.first %t.second

// The leaves: words looked up for them only, a product without the columns of
// the forget gate that a leaf does not need, one group. Then the loop: one copy
// of the two children's states side by side, one product, one group. Then the
// head, on roots in schedule order. Nothing else.
// ROWS-LABEL: func.func @classify
// ROWS: vertex.pull_rows %{{.*}}, %{{.*}} at leaves : tensor<?xi32>
// ROWS: nn.embedding
// ROWS: nn.matmul %{{.*}} : tensor<?x6xf32>, tensor<6x8xf32>
// ROWS: nn.elementwise
// ROWS: vertex.tasks {{.*}} arity 2 init({{.*}}) states 2
// ROWS: tensor.concat dim(1)
// ROWS: nn.matmul %{{.*}} : tensor<?x8xf32>, tensor<8x12xf32>
// ROWS: nn.elementwise
// ROWS: vertex.yield
// ROWS: vertex.push_rows
// ROWS: vertex.root_rows
// ROWS: nn.matmul
// ROWS: nn.elementwise
// ROWS: nn.yield
// ROWS-NOT: nn.
// ROWS: return

// Without variants every vertex is an inner one: all words are looked up, with
// zeros at inner vertices, all columns computed, and the loop has no init.
// WHOLE-LABEL: func.func @classify
// WHOLE: vertex.join_rows
// WHOLE: nn.matmul %{{.*}} : tensor<?x6xf32>, tensor<6x12xf32>
// WHOLE: vertex.tasks %{{[^ ]*}} arity 2 eager(

// Without fusion every operator is a group of its own.
// ALONE-LABEL: func.func @classify
// ALONE: nn.elementwise
// ALONE: nn.sigmoid
// ALONE-NEXT: nn.yield
// ALONE: vertex.tasks
// ALONE: nn.elementwise
// ALONE: math.tanh
// ALONE-NEXT: nn.yield

// MODEL-NOT: {{ (nn|vertex|arith|math|scf|vector|func|tensor)\.}}
// MODEL: model.entry @classify graphs ["trees"] arities [2] shared [true] {
// MODEL: model.weight %{{.*}} row 0 for 6 columns [0, 8] for [4, 4]
// MODEL: model.phase "leaves" rows leaves of 0 {
// MODEL: model.phase "path" rows inner_tasks of 0 {
// MODEL: model.phase "structures" rows structures of 0 {
// MODEL: model.phase "lazy" rows vertices of 0 {
// MODEL: llvm.func @classify.kernel0
// MODEL-NOT: {{ (nn|vertex|arith|math|scf|vector|func|tensor)\.}}

vertex.func @cell(%W: tensor<6x12xf32>, %U: tensor<8x12xf32>, %b: tensor<12xf32>)
    state(tensor<4xf32>, tensor<4xf32>) arity(2) {
  %x = vertex.pull "word" at leaves : tensor<6xf32>
  %hl, %cl = vertex.gather 0 : tensor<4xf32>, tensor<4xf32>
  %hr, %cr = vertex.gather 1 : tensor<4xf32>, tensor<4xf32>
  %hs = tensor.concat dim(0) %hl, %hr : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %wx = nn.dense %x, %W, %b : tensor<6xf32>, tensor<6x12xf32>, tensor<12xf32>
  %uh = nn.matmul %hs, %U : tensor<8xf32>, tensor<8x12xf32>
  %gates = arith.addf %wx, %uh : tensor<12xf32>
  %gi = tensor.extract_slice %gates[0] [4] [1] : tensor<12xf32> to tensor<4xf32>
  %gf = tensor.extract_slice %gates[4] [4] [1] : tensor<12xf32> to tensor<4xf32>
  %gu = tensor.extract_slice %gates[8] [4] [1] : tensor<12xf32> to tensor<4xf32>
  %i = nn.sigmoid %gi : tensor<4xf32>
  %f = nn.sigmoid %gf : tensor<4xf32>
  %u = math.tanh %gu : tensor<4xf32>
  %cs = arith.addf %cl, %cr : tensor<4xf32>
  %fc = arith.mulf %f, %cs : tensor<4xf32>
  %iu = arith.mulf %i, %u : tensor<4xf32>
  %c = arith.addf %iu, %fc : tensor<4xf32>
  %h = math.tanh %c : tensor<4xf32>
  vertex.scatter %h, %c : tensor<4xf32>, tensor<4xf32>
  vertex.push "h" %h : tensor<4xf32>
}
func.func @classify(%trees: !vertex.graph {nn.input = "trees"}, %word: tensor<?xi32> {nn.input = "word"},
                    %E: tensor<100x6xf32> {nn.param = "E"}, %W: tensor<6x12xf32> {nn.param = "W"},
                    %U: tensor<8x12xf32> {nn.param = "U"}, %b: tensor<12xf32> {nn.param = "b"},
                    %V: tensor<4x5xf32> {nn.param = "V"}, %d: tensor<5xf32> {nn.param = "d"})
    -> (tensor<?x5xf32> {nn.output = "logits"}, tensor<?x4xf32> {nn.output = "h"}) {
  %x = nn.embedding %E[%word] : tensor<100x6xf32>, tensor<?xi32>
  %h = vertex.apply @cell(%W, %U, %b) over %trees pull("word" = %x) -> "h"
      : (tensor<6x12xf32>, tensor<8x12xf32>, tensor<12xf32>), (tensor<?x6xf32>) -> tensor<?x4xf32>
  %root = vertex.roots %trees, %h : tensor<?x4xf32>
  %logits = nn.dense %root, %V, %d : tensor<?x4xf32>, tensor<4x5xf32>, tensor<5xf32>
  return %logits, %h : tensor<?x5xf32>, tensor<?x4xf32>
}
