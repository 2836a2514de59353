// Binary Tree-GRU, the child-sum GRU of trees with a matrix for each child, and a
// classifier on the root of each tree: for measurements beside published ones.
// Words are at leaves only.
//
//   [z r_left r_right] = sigmoid(x W + [h_left h_right] U + b)
//   n = tanh(x V + [r_left h_left, r_right h_right] T + d)
//   h = z (h_left + h_right) / 2 + (1 - z) n

vertex.func @tree_gru(%W: tensor<300x768xf32>, %U: tensor<512x768xf32>,
                      %b: tensor<768xf32>, %V: tensor<300x256xf32>,
                      %T: tensor<512x256xf32>, %d: tensor<256xf32>)
    state(tensor<256xf32>) arity(2) {
  %x = vertex.pull "word" at leaves : tensor<300xf32>
  %hl = vertex.gather 0 : tensor<256xf32>
  %hr = vertex.gather 1 : tensor<256xf32>

  %children = tensor.concat dim(0) %hl, %hr
      : (tensor<256xf32>, tensor<256xf32>) -> tensor<512xf32>
  %wx = nn.dense %x, %W, %b
      : tensor<300xf32>, tensor<300x768xf32>, tensor<768xf32>
  %uh = nn.matmul %children, %U : tensor<512xf32>, tensor<512x768xf32>
  %gates = arith.addf %wx, %uh : tensor<768xf32>
  %gz = tensor.extract_slice %gates[0] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %gl = tensor.extract_slice %gates[256] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %gr = tensor.extract_slice %gates[512] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %z = nn.sigmoid %gz : tensor<256xf32>
  %rl = nn.sigmoid %gl : tensor<256xf32>
  %rr = nn.sigmoid %gr : tensor<256xf32>

  %kept_l = arith.mulf %rl, %hl : tensor<256xf32>
  %kept_r = arith.mulf %rr, %hr : tensor<256xf32>
  %kept = tensor.concat dim(0) %kept_l, %kept_r
      : (tensor<256xf32>, tensor<256xf32>) -> tensor<512xf32>
  %vx = nn.dense %x, %V, %d
      : tensor<300xf32>, tensor<300x256xf32>, tensor<256xf32>
  %th = nn.matmul %kept, %T : tensor<512xf32>, tensor<512x256xf32>
  %gn = arith.addf %vx, %th : tensor<256xf32>
  %n = math.tanh %gn : tensor<256xf32>

  %half = arith.constant dense<0.5> : tensor<256xf32>
  %one = arith.constant dense<1.0> : tensor<256xf32>
  %sum = arith.addf %hl, %hr : tensor<256xf32>
  %mean = arith.mulf %sum, %half : tensor<256xf32>
  %old = arith.mulf %z, %mean : tensor<256xf32>
  %rest = arith.subf %one, %z : tensor<256xf32>
  %new = arith.mulf %rest, %n : tensor<256xf32>
  %h = arith.addf %old, %new : tensor<256xf32>

  vertex.scatter %h : tensor<256xf32>
  vertex.push "hidden" %h : tensor<256xf32>
}

func.func @classify(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x768xf32> {nn.param = "W"},
    %U: tensor<512x768xf32> {nn.param = "U"},
    %b: tensor<768xf32> {nn.param = "b"},
    %V: tensor<300x256xf32> {nn.param = "V"},
    %T: tensor<512x256xf32> {nn.param = "T"},
    %d: tensor<256xf32> {nn.param = "d"},
    %head_W: tensor<256x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?x5xf32> {nn.output = "logits"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_gru(%W, %U, %b, %V, %T, %d) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<300x768xf32>, tensor<512x768xf32>, tensor<768xf32>,
         tensor<300x256xf32>, tensor<512x256xf32>, tensor<256xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %root = vertex.roots %trees, %hidden : tensor<?x256xf32>
  %logits = nn.dense %root, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
  return %logits : tensor<?x5xf32>
}
