// Tree-FC (Looks et al. 2017; the Cavs paper's benchmark): a binary tree with
// one dense layer, and a classifier on the root of each tree. Words are at
// leaves only, and an embedding is as wide as the state, so that it is added:
//
//   h = relu([h_left; h_right] W + b + x)
//
// Rows of W: the left child's h, then the right child's. An absent child's h
// and an inner vertex's x are zeros.
//
// Entry `classify`: `logits`, a row a tree, and `hidden`, a row a vertex.
// Entry `loss`, to train by: the cross entropy of the label of every vertex (-1:
// it has none), and whether each vertex is classified correctly.

vertex.func @tree_fc(%W: tensor<512x256xf32>, %b: tensor<256xf32>)
    state(tensor<256xf32>) arity(2) {
  %x = vertex.pull "word" at leaves : tensor<256xf32>
  %left = vertex.gather 0 : tensor<256xf32>
  %right = vertex.gather 1 : tensor<256xf32>

  %children = tensor.concat dim(0) %left, %right
      : (tensor<256xf32>, tensor<256xf32>) -> tensor<512xf32>
  %fc = nn.dense %children, %W, %b
      : tensor<512xf32>, tensor<512x256xf32>, tensor<256xf32>
  %sum = arith.addf %fc, %x : tensor<256xf32>
  %h = nn.relu %sum : tensor<256xf32>

  vertex.scatter %h : tensor<256xf32>
  vertex.push "hidden" %h : tensor<256xf32>
}

func.func @classify(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x256xf32> {nn.param = "embedding"},
    %W: tensor<512x256xf32> {nn.param = "W"},
    %b: tensor<256xf32> {nn.param = "b"},
    %head_W: tensor<256x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?x5xf32> {nn.output = "logits"},
        tensor<?x256xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x256xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_fc(%W, %b) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<512x256xf32>, tensor<256xf32>),
        (tensor<?x256xf32>) -> tensor<?x256xf32>
  %root = vertex.roots %trees, %hidden : tensor<?x256xf32>
  %logits = nn.dense %root, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
  return %logits, %hidden : tensor<?x5xf32>, tensor<?x256xf32>
}

func.func @loss(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %embedding: tensor<20000x256xf32> {nn.param = "embedding"},
    %W: tensor<512x256xf32> {nn.param = "W"},
    %b: tensor<256xf32> {nn.param = "b"},
    %head_W: tensor<256x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x256xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_fc(%W, %b) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<512x256xf32>, tensor<256xf32>),
        (tensor<?x256xf32>) -> tensor<?x256xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x5xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x5xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
