// Bidirectional LSTM (Graves and Schmidhuber 2005) that tags every token: one
// LSTM reads the sentence forwards, another, of the same shape, backwards, and a
// linear layer sees both states of a token. A vertex is a token; its only child
// is the token before it, and in the reversed sentence the token after it.
//
//   [i f g o] = x W + h U + b        i, f, o through sigmoid, g through tanh
//   c' = f c + i g                   h' = o tanh(c')
//
// Gate columns of W, U and b: i, f, g, o. Rows of head.W: the forward state,
// then the backward one. 17 tags: the universal parts of speech.
//
// Entry `classify`: `logits` and `hidden` (both states), a row a token.
// Entry `loss`, to train by: the cross entropy of the label of every token (-1:
// it has none), and whether each token is tagged correctly.

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

func.func @classify(
    %sentences: !vertex.graph {nn.input = "sentences"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x1024xf32> {nn.param = "forward.W"},
    %U: tensor<256x1024xf32> {nn.param = "forward.U"},
    %b: tensor<1024xf32> {nn.param = "forward.b"},
    %back_W: tensor<300x1024xf32> {nn.param = "backward.W"},
    %back_U: tensor<256x1024xf32> {nn.param = "backward.U"},
    %back_b: tensor<1024xf32> {nn.param = "backward.b"},
    %head_W: tensor<512x17xf32> {nn.param = "head.W"},
    %head_b: tensor<17xf32> {nn.param = "head.b"})
    -> (tensor<?x17xf32> {nn.output = "logits"},
        tensor<?x512xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %reversed = vertex.reverse %sentences : !vertex.graph
  %forward = vertex.apply @lstm(%W, %U, %b) over %sentences
      pull("word" = %x) -> "hidden"
      : (tensor<300x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %backward = vertex.apply @lstm(%back_W, %back_U, %back_b) over %reversed
      pull("word" = %x) -> "hidden"
      : (tensor<300x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %hidden = tensor.concat dim(1) %forward, %backward
      : (tensor<?x256xf32>, tensor<?x256xf32>) -> tensor<?x512xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x512xf32>, tensor<512x17xf32>, tensor<17xf32>
  return %logits, %hidden : tensor<?x17xf32>, tensor<?x512xf32>
}

func.func @loss(
    %sentences: !vertex.graph {nn.input = "sentences"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x1024xf32> {nn.param = "forward.W"},
    %U: tensor<256x1024xf32> {nn.param = "forward.U"},
    %b: tensor<1024xf32> {nn.param = "forward.b"},
    %back_W: tensor<300x1024xf32> {nn.param = "backward.W"},
    %back_U: tensor<256x1024xf32> {nn.param = "backward.U"},
    %back_b: tensor<1024xf32> {nn.param = "backward.b"},
    %head_W: tensor<512x17xf32> {nn.param = "head.W"},
    %head_b: tensor<17xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %reversed = vertex.reverse %sentences : !vertex.graph
  %forward = vertex.apply @lstm(%W, %U, %b) over %sentences
      pull("word" = %x) -> "hidden"
      : (tensor<300x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %backward = vertex.apply @lstm(%back_W, %back_U, %back_b) over %reversed
      pull("word" = %x) -> "hidden"
      : (tensor<300x1024xf32>, tensor<256x1024xf32>, tensor<1024xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %hidden = tensor.concat dim(1) %forward, %backward
      : (tensor<?x256xf32>, tensor<?x256xf32>) -> tensor<?x512xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x512xf32>, tensor<512x17xf32>, tensor<17xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x17xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x17xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
