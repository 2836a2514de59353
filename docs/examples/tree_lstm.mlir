// Binary Tree-LSTM (Tai, Socher and Manning 2015, equations 9 to 14) and a
// classifier on the root of each tree. Words are at leaves only.
//
// Gate columns of W, U and b: i, f_left, f_right, o, u. Rows of U: the left
// child's h, then the right child's.
//
// Entry `classify`: `logits`, a row a tree, and `hidden`, a row a vertex.
// Entry `loss`, to train by: the cross entropy of the label of every vertex (-1:
// it has none), and whether each vertex is classified correctly.

vertex.func @tree_lstm(%W: tensor<300x1280xf32>, %U: tensor<512x1280xf32>,
                       %b: tensor<1280xf32>)
    state(tensor<256xf32>, tensor<256xf32>) arity(2) {
  %x = vertex.pull "word" at leaves : tensor<300xf32>
  %hl, %cl = vertex.gather 0 : tensor<256xf32>, tensor<256xf32>
  %hr, %cr = vertex.gather 1 : tensor<256xf32>, tensor<256xf32>

  %children = tensor.concat dim(0) %hl, %hr
      : (tensor<256xf32>, tensor<256xf32>) -> tensor<512xf32>
  %wx = nn.dense %x, %W, %b
      : tensor<300xf32>, tensor<300x1280xf32>, tensor<1280xf32>
  %uh = nn.matmul %children, %U : tensor<512xf32>, tensor<512x1280xf32>
  %gates = arith.addf %wx, %uh : tensor<1280xf32>

  %gi = tensor.extract_slice %gates[0] [256] [1] : tensor<1280xf32> to tensor<256xf32>
  %gl = tensor.extract_slice %gates[256] [256] [1] : tensor<1280xf32> to tensor<256xf32>
  %gr = tensor.extract_slice %gates[512] [256] [1] : tensor<1280xf32> to tensor<256xf32>
  %go = tensor.extract_slice %gates[768] [256] [1] : tensor<1280xf32> to tensor<256xf32>
  %gu = tensor.extract_slice %gates[1024] [256] [1] : tensor<1280xf32> to tensor<256xf32>
  %i = nn.sigmoid %gi : tensor<256xf32>
  %fl = nn.sigmoid %gl : tensor<256xf32>
  %fr = nn.sigmoid %gr : tensor<256xf32>
  %o = nn.sigmoid %go : tensor<256xf32>
  %u = math.tanh %gu : tensor<256xf32>

  %iu = arith.mulf %i, %u : tensor<256xf32>
  %fcl = arith.mulf %fl, %cl : tensor<256xf32>
  %fcr = arith.mulf %fr, %cr : tensor<256xf32>
  %fc = arith.addf %fcl, %fcr : tensor<256xf32>
  %c = arith.addf %iu, %fc : tensor<256xf32>
  %tc = math.tanh %c : tensor<256xf32>
  %h = arith.mulf %o, %tc : tensor<256xf32>

  vertex.scatter %h, %c : tensor<256xf32>, tensor<256xf32>
  vertex.push "hidden" %h : tensor<256xf32>
}

func.func @classify(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x1280xf32> {nn.param = "W"},
    %U: tensor<512x1280xf32> {nn.param = "U"},
    %b: tensor<1280xf32> {nn.param = "b"},
    %head_W: tensor<256x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?x5xf32> {nn.output = "logits"},
        tensor<?x256xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_lstm(%W, %U, %b) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<300x1280xf32>, tensor<512x1280xf32>, tensor<1280xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %root = vertex.roots %trees, %hidden : tensor<?x256xf32>
  %logits = nn.dense %root, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
  return %logits, %hidden : tensor<?x5xf32>, tensor<?x256xf32>
}

func.func @loss(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x1280xf32> {nn.param = "W"},
    %U: tensor<512x1280xf32> {nn.param = "U"},
    %b: tensor<1280xf32> {nn.param = "b"},
    %head_W: tensor<256x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_lstm(%W, %U, %b) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<300x1280xf32>, tensor<512x1280xf32>, tensor<1280xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x5xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x5xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
