// Matrix-vector recursive network (Socher, Huval, Manning and Ng 2012): every
// vertex of a binary tree has a vector, what it means, and a matrix, how it
// changes the meaning of its neighbour. A classifier labels every vertex.
//
//   p = tanh([B a; A b] W)                  of children (a, A) and (b, B)
//   P = W_M [A; B]
//
// A word has its vector and, as in the paper, a diagonal and a product of small
// matrices, here of rank 1: 1 + diag(d) + u v^T. Words are at leaves only, so that
// a vertex's state is the sum of what its children make, zeros at a leaf, and of
// what its word brings, zeros at an inner vertex.
//
// Vectors have 8 elements. M has the rows of W_M, one after another, each of 8
// columns for A and 8 for B, less those of [1 1] / 2: where M is 0, P is the mean
// of A and B. A row of P is the product of one of W_M with [A; B], put in
// its place by the outer product with a row of the identity.
//
// Entry `classify`: `logits`, a row a tree, and `hidden` (vectors), a row a vertex.
// Entry `loss`, to train by: the cross entropy of the label of every vertex (-1:
// it has none), and whether each vertex is classified correctly.

vertex.func @compose(%W: tensor<16x8xf32>, %M: tensor<128xf32>)
    state(tensor<8xf32>, tensor<8x8xf32>) arity(2) {
  %word = vertex.pull "word" at leaves : tensor<8xf32>
  %diagonal = vertex.pull "diagonal" at leaves : tensor<8xf32>
  %u = vertex.pull "u" at leaves : tensor<8xf32>
  %v = vertex.pull "v" at leaves : tensor<8xf32>
  %a, %A = vertex.gather 0 : tensor<8xf32>, tensor<8x8xf32>
  %b, %B = vertex.gather 1 : tensor<8xf32>, tensor<8x8xf32>

  %Ba = nn.row_matmul %a, %B transposed : tensor<8xf32>, tensor<8x8xf32>
  %Ab = nn.row_matmul %b, %A transposed : tensor<8xf32>, tensor<8x8xf32>
  %both = tensor.concat dim(0) %Ba, %Ab : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %mixed = nn.matmul %both, %W : tensor<16xf32>, tensor<16x8xf32>
  %p = math.tanh %mixed : tensor<8xf32>
  %vector = arith.addf %p, %word : tensor<8xf32>

  %half = arith.constant dense<0.5> : tensor<8x8xf32>
  %sum = arith.addf %A, %B : tensor<8x8xf32>
  %P = arith.mulf %sum, %half : tensor<8x8xf32>

  %left0 = tensor.extract_slice %M[0] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right0 = tensor.extract_slice %M[8] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place0 = arith.constant dense<[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %of_A0 = nn.row_matmul %left0, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B0 = nn.row_matmul %right0, %B : tensor<8xf32>, tensor<8x8xf32>
  %row0 = arith.addf %of_A0, %of_B0 : tensor<8xf32>
  %only0 = nn.outer %place0, %row0 : tensor<8xf32>, tensor<8xf32>
  %P0 = arith.addf %P, %only0 : tensor<8x8xf32>

  %left1 = tensor.extract_slice %M[16] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right1 = tensor.extract_slice %M[24] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place1 = arith.constant dense<[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %of_A1 = nn.row_matmul %left1, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B1 = nn.row_matmul %right1, %B : tensor<8xf32>, tensor<8x8xf32>
  %row1 = arith.addf %of_A1, %of_B1 : tensor<8xf32>
  %only1 = nn.outer %place1, %row1 : tensor<8xf32>, tensor<8xf32>
  %P1 = arith.addf %P0, %only1 : tensor<8x8xf32>

  %left2 = tensor.extract_slice %M[32] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right2 = tensor.extract_slice %M[40] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place2 = arith.constant dense<[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %of_A2 = nn.row_matmul %left2, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B2 = nn.row_matmul %right2, %B : tensor<8xf32>, tensor<8x8xf32>
  %row2 = arith.addf %of_A2, %of_B2 : tensor<8xf32>
  %only2 = nn.outer %place2, %row2 : tensor<8xf32>, tensor<8xf32>
  %P2 = arith.addf %P1, %only2 : tensor<8x8xf32>

  %left3 = tensor.extract_slice %M[48] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right3 = tensor.extract_slice %M[56] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place3 = arith.constant dense<[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %of_A3 = nn.row_matmul %left3, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B3 = nn.row_matmul %right3, %B : tensor<8xf32>, tensor<8x8xf32>
  %row3 = arith.addf %of_A3, %of_B3 : tensor<8xf32>
  %only3 = nn.outer %place3, %row3 : tensor<8xf32>, tensor<8xf32>
  %P3 = arith.addf %P2, %only3 : tensor<8x8xf32>

  %left4 = tensor.extract_slice %M[64] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right4 = tensor.extract_slice %M[72] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place4 = arith.constant dense<[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
  %of_A4 = nn.row_matmul %left4, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B4 = nn.row_matmul %right4, %B : tensor<8xf32>, tensor<8x8xf32>
  %row4 = arith.addf %of_A4, %of_B4 : tensor<8xf32>
  %only4 = nn.outer %place4, %row4 : tensor<8xf32>, tensor<8xf32>
  %P4 = arith.addf %P3, %only4 : tensor<8x8xf32>

  %left5 = tensor.extract_slice %M[80] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right5 = tensor.extract_slice %M[88] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place5 = arith.constant dense<[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]> : tensor<8xf32>
  %of_A5 = nn.row_matmul %left5, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B5 = nn.row_matmul %right5, %B : tensor<8xf32>, tensor<8x8xf32>
  %row5 = arith.addf %of_A5, %of_B5 : tensor<8xf32>
  %only5 = nn.outer %place5, %row5 : tensor<8xf32>, tensor<8xf32>
  %P5 = arith.addf %P4, %only5 : tensor<8x8xf32>

  %left6 = tensor.extract_slice %M[96] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right6 = tensor.extract_slice %M[104] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place6 = arith.constant dense<[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]> : tensor<8xf32>
  %of_A6 = nn.row_matmul %left6, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B6 = nn.row_matmul %right6, %B : tensor<8xf32>, tensor<8x8xf32>
  %row6 = arith.addf %of_A6, %of_B6 : tensor<8xf32>
  %only6 = nn.outer %place6, %row6 : tensor<8xf32>, tensor<8xf32>
  %P6 = arith.addf %P5, %only6 : tensor<8x8xf32>

  %left7 = tensor.extract_slice %M[112] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %right7 = tensor.extract_slice %M[120] [8] [1] : tensor<128xf32> to tensor<8xf32>
  %place7 = arith.constant dense<[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]> : tensor<8xf32>
  %of_A7 = nn.row_matmul %left7, %A : tensor<8xf32>, tensor<8x8xf32>
  %of_B7 = nn.row_matmul %right7, %B : tensor<8xf32>, tensor<8x8xf32>
  %row7 = arith.addf %of_A7, %of_B7 : tensor<8xf32>
  %only7 = nn.outer %place7, %row7 : tensor<8xf32>, tensor<8xf32>
  %P7 = arith.addf %P6, %only7 : tensor<8x8xf32>

  %identity = arith.constant dense<[
      [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
      [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
      [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
      [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
      [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
      [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
      [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
      [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]]> : tensor<8x8xf32>
  %ones = arith.constant dense<1.0> : tensor<8xf32>
  %columns = nn.outer %diagonal, %ones : tensor<8xf32>, tensor<8xf32>
  %diagonals = arith.mulf %columns, %identity : tensor<8x8xf32>
  %uv = nn.outer %u, %v : tensor<8xf32>, tensor<8xf32>
  %of_word = arith.addf %diagonals, %uv : tensor<8x8xf32>
  %matrix = arith.addf %P7, %of_word : tensor<8x8xf32>

  vertex.scatter %vector, %matrix : tensor<8xf32>, tensor<8x8xf32>
  vertex.push "hidden" %vector : tensor<8xf32>
}

func.func @classify(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x8xf32> {nn.param = "embedding"},
    %diagonal: tensor<20000x8xf32> {nn.param = "diagonal"},
    %u: tensor<20000x8xf32> {nn.param = "u"},
    %v: tensor<20000x8xf32> {nn.param = "v"},
    %W: tensor<16x8xf32> {nn.param = "W"},
    %M: tensor<128xf32> {nn.param = "M"},
    %head_W: tensor<8x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?x5xf32> {nn.output = "logits"},
        tensor<?x8xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %d = nn.embedding %diagonal[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %us = nn.embedding %u[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %vs = nn.embedding %v[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %ones = nn.fill %d with 1.0 : tensor<?x8xf32>
  %diagonals = arith.addf %d, %ones : tensor<?x8xf32>
  %hidden = vertex.apply @compose(%W, %M) over %trees
      pull("word" = %x, "diagonal" = %diagonals, "u" = %us, "v" = %vs) -> "hidden"
      : (tensor<16x8xf32>, tensor<128xf32>),
        (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %root = vertex.roots %trees, %hidden : tensor<?x8xf32>
  %logits = nn.dense %root, %head_W, %head_b
      : tensor<?x8xf32>, tensor<8x5xf32>, tensor<5xf32>
  return %logits, %hidden : tensor<?x5xf32>, tensor<?x8xf32>
}

func.func @loss(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %embedding: tensor<20000x8xf32> {nn.param = "embedding"},
    %diagonal: tensor<20000x8xf32> {nn.param = "diagonal"},
    %u: tensor<20000x8xf32> {nn.param = "u"},
    %v: tensor<20000x8xf32> {nn.param = "v"},
    %W: tensor<16x8xf32> {nn.param = "W"},
    %M: tensor<128xf32> {nn.param = "M"},
    %head_W: tensor<8x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %d = nn.embedding %diagonal[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %us = nn.embedding %u[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %vs = nn.embedding %v[%word] : tensor<20000x8xf32>, tensor<?xi32>
  %ones = nn.fill %d with 1.0 : tensor<?x8xf32>
  %diagonals = arith.addf %d, %ones : tensor<?x8xf32>
  %hidden = vertex.apply @compose(%W, %M) over %trees
      pull("word" = %x, "diagonal" = %diagonals, "u" = %us, "v" = %vs) -> "hidden"
      : (tensor<16x8xf32>, tensor<128xf32>),
        (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x8xf32>, tensor<8x5xf32>, tensor<5xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x5xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x5xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
