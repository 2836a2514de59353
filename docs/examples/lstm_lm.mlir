// LSTM language model (Zaremba, Sutskever and Vinyals 2014, of one layer): the
// next word at every token of sequences of any length. A vertex is a token; its
// only child is the token before it.
//
//   [i f g o] = x W + h U + b        i, f, o through sigmoid, g through tanh
//   c' = f c + i g                   h' = o tanh(c')
//
// Gate columns of W, U and b: i, f, g, o. The first token's h and c are zeros.
//
// Entry `predict`: `logits` of the word after the last, a row a sequence, and
// `hidden`, a row a token.
// Entry `loss`, to train by: the cross entropy of the next word at every token
// (the last has none), and whether it is predicted correctly.

vertex.func @lstm(%W: tensor<300x1024xf32>, %U: tensor<256x1024xf32>,
                  %b: tensor<1024xf32>)
    state(tensor<256xf32>, tensor<256xf32>) arity(1) {
  %x = vertex.pull "word" : tensor<300xf32>
  %h0, %c0 = vertex.gather 0 : tensor<256xf32>, tensor<256xf32>

  %wx = nn.dense %x, %W, %b
      : tensor<300xf32>, tensor<300x1024xf32>, tensor<1024xf32>
  %uh = nn.matmul %h0, %U : tensor<256xf32>, tensor<256x1024xf32>
  %gates = arith.addf %wx, %uh : tensor<1024xf32>

  %gi = tensor.extract_slice %gates[0] [256] [1] : tensor<1024xf32> to tensor<256xf32>
  %gf = tensor.extract_slice %gates[256] [256] [1] : tensor<1024xf32> to tensor<256xf32>
  %gg = tensor.extract_slice %gates[512] [256] [1] : tensor<1024xf32> to tensor<256xf32>
  %go = tensor.extract_slice %gates[768] [256] [1] : tensor<1024xf32> to tensor<256xf32>
  %i = nn.sigmoid %gi : tensor<256xf32>
  %f = nn.sigmoid %gf : tensor<256xf32>
  %g = math.tanh %gg : tensor<256xf32>
  %o = nn.sigmoid %go : tensor<256xf32>

  %fc = arith.mulf %f, %c0 : tensor<256xf32>
  %ig = arith.mulf %i, %g : tensor<256xf32>
  %c = arith.addf %fc, %ig : tensor<256xf32>
  %tc = math.tanh %c : tensor<256xf32>
  %h = arith.mulf %o, %tc : tensor<256xf32>

  vertex.scatter %h, %c : tensor<256xf32>, tensor<256xf32>
  vertex.push "hidden" %h : tensor<256xf32>
}

// Over sequences turned round the child is the token after this one. Words are
// passed on as 1 more than they are, since an absent child's state is 0: the
// last token's next word is -1.
vertex.func @next_word() state(tensor<i32>) arity(1) {
  %one = arith.constant dense<1> : tensor<i32>
  %word = vertex.pull "word" : tensor<i32>
  %passed = arith.addi %word, %one : tensor<i32>
  vertex.scatter %passed : tensor<i32>
  %gathered = vertex.gather 0 : tensor<i32>
  %next = arith.subi %gathered, %one : tensor<i32>
  vertex.push "next" %next : tensor<i32>
}

func.func @predict(
    %sequences: !vertex.graph {nn.input = "sequences"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x1024xf32> {nn.param = "W"},
    %U: tensor<256x1024xf32> {nn.param = "U"},
    %b: tensor<1024xf32> {nn.param = "b"},
    %head_W: tensor<256x20000xf32> {nn.param = "head.W"},
    %head_b: tensor<20000xf32> {nn.param = "head.b"})
    -> (tensor<?x20000xf32> {nn.output = "logits"},
        tensor<?x256xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @lstm(%W, %U, %b) over %sequences
      pull("word" = %x) -> "hidden"
      : (tensor<300x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %last = vertex.roots %sequences, %hidden : tensor<?x256xf32>
  %logits = nn.dense %last, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x20000xf32>, tensor<20000xf32>
  return %logits, %hidden : tensor<?x20000xf32>, tensor<?x256xf32>
}

func.func @loss(
    %sequences: !vertex.graph {nn.input = "sequences"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x1024xf32> {nn.param = "W"},
    %U: tensor<256x1024xf32> {nn.param = "U"},
    %b: tensor<1024xf32> {nn.param = "b"},
    %head_W: tensor<256x20000xf32> {nn.param = "head.W"},
    %head_b: tensor<20000xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @lstm(%W, %U, %b) over %sequences
      pull("word" = %x) -> "hidden"
      : (tensor<300x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %reversed = vertex.reverse %sequences : !vertex.graph
  %next = vertex.apply @next_word() over %reversed
      pull("word" = %word) -> "next" : (), (tensor<?xi32>) -> tensor<?xi32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x20000xf32>, tensor<20000xf32>
  %loss = nn.softmax_cross_entropy %logits, %next
      : tensor<?x20000xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %next : tensor<?x20000xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
