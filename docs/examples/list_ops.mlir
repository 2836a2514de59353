// The value of an expression (ListOps, Nangia and Bowman 2018), by a binary
// Tree-LSTM (Tai, Socher and Manning 2015, equations 9 to 14) over its brackets:
//
//   ( ( ( [MAX 2 ) 9 ) ] )       a vertex is a pair, or a token at a leaf
//
//   [i f_left f_right o u] = x W + [h_left; h_right] U + b
//   c = i u + f_left c_left + f_right c_right        h = o tanh(c)
//
// with i, f and o through sigmoid, u through tanh. These trees are deep and lean
// to the left; values are the ten digits. x are zeros at pairs.
//
// Entry `classify`: `logits`, a row an expression, and `hidden`, a row a vertex.
// Entry `loss`, to train by: the cross entropy of the value of every expression,
// which is that of its root, and whether it is found. An expression of no vertices
// has the value 0, as `roots` says.

vertex.func @tree_lstm(%W: tensor<32x320xf32>, %U: tensor<128x320xf32>,
                       %b: tensor<320xf32>)
    state(tensor<64xf32>, tensor<64xf32>) arity(2) {
  %x = vertex.pull "token" at leaves : tensor<32xf32>
  %hl, %cl = vertex.gather 0 : tensor<64xf32>, tensor<64xf32>
  %hr, %cr = vertex.gather 1 : tensor<64xf32>, tensor<64xf32>

  %children = tensor.concat dim(0) %hl, %hr
      : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %wx = nn.dense %x, %W, %b
      : tensor<32xf32>, tensor<32x320xf32>, tensor<320xf32>
  %uh = nn.matmul %children, %U : tensor<128xf32>, tensor<128x320xf32>
  %gates = arith.addf %wx, %uh : tensor<320xf32>

  %gi = tensor.extract_slice %gates[0] [64] [1] : tensor<320xf32> to tensor<64xf32>
  %gl = tensor.extract_slice %gates[64] [64] [1] : tensor<320xf32> to tensor<64xf32>
  %gr = tensor.extract_slice %gates[128] [64] [1] : tensor<320xf32> to tensor<64xf32>
  %go = tensor.extract_slice %gates[192] [64] [1] : tensor<320xf32> to tensor<64xf32>
  %gu = tensor.extract_slice %gates[256] [64] [1] : tensor<320xf32> to tensor<64xf32>
  %i = nn.sigmoid %gi : tensor<64xf32>
  %fl = nn.sigmoid %gl : tensor<64xf32>
  %fr = nn.sigmoid %gr : tensor<64xf32>
  %o = nn.sigmoid %go : tensor<64xf32>
  %u = math.tanh %gu : tensor<64xf32>

  %iu = arith.mulf %i, %u : tensor<64xf32>
  %fcl = arith.mulf %fl, %cl : tensor<64xf32>
  %fcr = arith.mulf %fr, %cr : tensor<64xf32>
  %fc = arith.addf %fcl, %fcr : tensor<64xf32>
  %c = arith.addf %iu, %fc : tensor<64xf32>
  %tc = math.tanh %c : tensor<64xf32>
  %h = arith.mulf %o, %tc : tensor<64xf32>

  vertex.scatter %h, %c : tensor<64xf32>, tensor<64xf32>
  vertex.push "hidden" %h : tensor<64xf32>
}

func.func @classify(
    %expressions: !vertex.graph {nn.input = "expressions"},
    %token: tensor<?xi32> {nn.input = "token"},
    %embedding: tensor<16x32xf32> {nn.param = "embedding"},
    %W: tensor<32x320xf32> {nn.param = "W"},
    %U: tensor<128x320xf32> {nn.param = "U"},
    %b: tensor<320xf32> {nn.param = "b"},
    %head_W: tensor<64x10xf32> {nn.param = "head.W"},
    %head_b: tensor<10xf32> {nn.param = "head.b"})
    -> (tensor<?x10xf32> {nn.output = "logits"},
        tensor<?x64xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%token] : tensor<16x32xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_lstm(%W, %U, %b) over %expressions
      pull("token" = %x) -> "hidden"
      : (tensor<32x320xf32>, tensor<128x320xf32>, tensor<320xf32>),
        (tensor<?x32xf32>) -> tensor<?x64xf32>
  %root = vertex.roots %expressions, %hidden : tensor<?x64xf32>
  %logits = nn.dense %root, %head_W, %head_b
      : tensor<?x64xf32>, tensor<64x10xf32>, tensor<10xf32>
  return %logits, %hidden : tensor<?x10xf32>, tensor<?x64xf32>
}

func.func @loss(
    %expressions: !vertex.graph {nn.input = "expressions"},
    %token: tensor<?xi32> {nn.input = "token"},
    %value: tensor<?xi32> {nn.input = "value"},
    %embedding: tensor<16x32xf32> {nn.param = "embedding"},
    %W: tensor<32x320xf32> {nn.param = "W"},
    %U: tensor<128x320xf32> {nn.param = "U"},
    %b: tensor<320xf32> {nn.param = "b"},
    %head_W: tensor<64x10xf32> {nn.param = "head.W"},
    %head_b: tensor<10xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%token] : tensor<16x32xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_lstm(%W, %U, %b) over %expressions
      pull("token" = %x) -> "hidden"
      : (tensor<32x320xf32>, tensor<128x320xf32>, tensor<320xf32>),
        (tensor<?x32xf32>) -> tensor<?x64xf32>
  %root = vertex.roots %expressions, %hidden : tensor<?x64xf32>
  %label = vertex.roots %expressions, %value : tensor<?xi32>
  %logits = nn.dense %root, %head_W, %head_b
      : tensor<?x64xf32>, tensor<64x10xf32>, tensor<10xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x10xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x10xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
