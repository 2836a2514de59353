// GRU (Cho et al. 2014) over sequences of any length, and a classifier on the
// last state of each. A vertex is a token; its only child is the token before
// it. The variant is the one with the reset gate after the product and a bias
// on either side, whose three products with h are one:
//
//   r = sigmoid(x W_r + b_r + h U_r + d_r)
//   z = sigmoid(x W_z + b_z + h U_z + d_z)
//   n = tanh(x W_n + b_n + r (h U_n + d_n))
//   h' = (1 - z) n + z h
//
// Gate columns of W, U, b and d: r, z, n. The first token's h is zeros.
//
// Entry `classify`: `logits` and `last` (the last token's h; zeros for an empty
// sequence), a row a sequence, and `hidden`, a row a token.
// Entry `loss`, to train by: the cross entropy of the label of every token (-1:
// it has none; to classify sequences, label their last tokens), and whether each
// token is classified correctly.

vertex.func @gru(%W: tensor<300x768xf32>, %U: tensor<256x768xf32>,
                 %b: tensor<768xf32>, %d: tensor<768xf32>)
    state(tensor<256xf32>) arity(1) {
  %x = vertex.pull "word" : tensor<300xf32>
  %h0 = vertex.gather 0 : tensor<256xf32>

  %wx = nn.dense %x, %W, %b
      : tensor<300xf32>, tensor<300x768xf32>, tensor<768xf32>
  %uh = nn.dense %h0, %U, %d
      : tensor<256xf32>, tensor<256x768xf32>, tensor<768xf32>
  %wr = tensor.extract_slice %wx[0] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %wz = tensor.extract_slice %wx[256] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %wn = tensor.extract_slice %wx[512] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %ur = tensor.extract_slice %uh[0] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %uz = tensor.extract_slice %uh[256] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %un = tensor.extract_slice %uh[512] [256] [1] : tensor<768xf32> to tensor<256xf32>

  %gr = arith.addf %wr, %ur : tensor<256xf32>
  %gz = arith.addf %wz, %uz : tensor<256xf32>
  %r = nn.sigmoid %gr : tensor<256xf32>
  %z = nn.sigmoid %gz : tensor<256xf32>
  %run = arith.mulf %r, %un : tensor<256xf32>
  %gn = arith.addf %wn, %run : tensor<256xf32>
  %n = math.tanh %gn : tensor<256xf32>

  %one = arith.constant dense<1.0> : tensor<256xf32>
  %keep = arith.subf %one, %z : tensor<256xf32>
  %new = arith.mulf %keep, %n : tensor<256xf32>
  %old = arith.mulf %z, %h0 : tensor<256xf32>
  %h = arith.addf %new, %old : tensor<256xf32>

  vertex.scatter %h : tensor<256xf32>
  vertex.push "hidden" %h : tensor<256xf32>
}

func.func @classify(
    %sequences: !vertex.graph {nn.input = "sequences"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x768xf32> {nn.param = "W"},
    %U: tensor<256x768xf32> {nn.param = "U"},
    %b: tensor<768xf32> {nn.param = "b"},
    %d: tensor<768xf32> {nn.param = "d"},
    %head_W: tensor<256x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?x5xf32> {nn.output = "logits"},
        tensor<?x256xf32> {nn.output = "last"},
        tensor<?x256xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @gru(%W, %U, %b, %d) over %sequences
      pull("word" = %x) -> "hidden"
      : (tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>,
         tensor<768xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %last = vertex.roots %sequences, %hidden : tensor<?x256xf32>
  %logits = nn.dense %last, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
  return %logits, %last, %hidden
      : tensor<?x5xf32>, tensor<?x256xf32>, tensor<?x256xf32>
}

func.func @loss(
    %sequences: !vertex.graph {nn.input = "sequences"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x768xf32> {nn.param = "W"},
    %U: tensor<256x768xf32> {nn.param = "U"},
    %b: tensor<768xf32> {nn.param = "b"},
    %d: tensor<768xf32> {nn.param = "d"},
    %head_W: tensor<256x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @gru(%W, %U, %b, %d) over %sequences
      pull("word" = %x) -> "hidden"
      : (tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>,
         tensor<768xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x5xf32>, tensor<5xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x5xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x5xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
